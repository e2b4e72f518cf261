"""References: bound <= the best schedule, found by trying all, <= the schedule; nothing in a folder is believed."""

from __future__ import annotations

import dataclasses
import functools
import gzip
import json

import numpy as np
import pytest
from draws import draws
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jobs_examples import jobs_of
from shares import told_shares
from small_logs import best_without_pauses, logs

import mlsched
from mlsched.api.taskgraph import references
from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.simulation.taskgraph.iterations import Options, replay
from mlsched.simulation.taskgraph.iterations.fits import never_start
from mlsched.simulation.taskgraph.iterations.reference import folder as files
from mlsched.simulation.taskgraph.iterations.reference import proof, search
from mlsched.simulation.taskgraph.iterations.reference.question import as_log, question
from mlsched.simulation.wake import Wake


@functools.cache
def counted() -> dict[str, int]:
    return dict.fromkeys(("logs", "restricted", "weighted", "list not best", "bound below", "waits"), 0)


@settings(max_examples=draws(6, 2000), deadline=None)
@given(load=logs().filter(lambda load: not never_start(load)), weights=st.sampled_from(["jobs", "urgency", "area"]))
def test_the_best_schedule_lies_between(load, weights):
    weight = proof.weights(load, weights)
    best = best_without_pauses(load, weight)
    assume(best < 10**9)
    asked, pieces = question(load, weight), proof.weighted(load, weight)
    climb = references.climbed(
        pieces, references.earliest_end(pieces), pausing=False, effort=references.OF_REFERENCES[False]
    )
    bound = proof.rounded(pieces, climb, False)[1]
    first = search.first_schedule(asked, pieces, lambda *_: False)
    listed = asked.value(first[0])
    start, places, _ = search.search(first, 60, 0, lambda *_: False)[0]
    value = asked.value(start)
    log = as_log(asked, start, places)
    assert replay.violations(load, Options(pausing="none"), Wake.parse("events"), log) == []
    assert files.total(load, log, weights) == value
    assert bound <= best <= value <= listed
    run = mlsched.simulate(load, "srpt:preempt=true")
    climb = references.climbed(
        pieces, references.earliest_end(pieces), pausing=True, effort=references.OF_REFERENCES[True]
    )
    paused = proof.rounded(pieces, climb, True)[1]
    assert paused <= min(best, files.total(load, run.log, weights))
    seen = counted()
    for name, happened in (
        ("logs", True),
        ("restricted", not load.eligible[load.task_class].all()),
        ("weighted", len(set(weight.tolist())) > 1),
        ("list not best", listed > best),
        ("bound below", bound < best),
        ("waits", best > sum((weight * asked.length).tolist())),
    ):
        seen[name] += happened


def test_the_logs_were_hard_enough(report):
    """Run after the test above; alone it has nothing to say."""
    seen = told_shares(report, "references of small logs", counted())
    assert seen["waits"] >= 0.2 * seen["logs"]


GANGS = "synthetic:gangs:jobs=50,nodes=2,load=1.0,length=20,shape=fewest,pause_cost=30,movement=anytime"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    load = mlsched.workload(GANGS)
    folder = tmp_path_factory.mktemp("references") / "straight"
    return load, folder, mlsched.make_reference(load, folder, moves=300)


def test_a_reference_is_an_interval_and_can_be_checked(made, tmp_path):
    load, folder, found = made
    assert 0 < found.bound < found.value < 1.1 * found.bound
    assert mlsched.read_reference(folder) == found
    claim, values, wrong = mlsched.check_reference(folder, load)
    assert (claim, values, wrong) == (found, {"bound": found.bound, "value": found.value}, [])
    with_pauses = mlsched.make_reference(load, tmp_path / "pauses", pausing=True, moves=100)
    assert mlsched.check_reference(tmp_path / "pauses", load)[2] == []
    assert with_pauses.bound <= found.value
    run = mlsched.simulate(load, "fifo")
    least, most = mlsched.losses(run, found)
    value = run.summary()["total_jct"]
    assert least == pytest.approx(value / found.value - 1)
    assert most == pytest.approx(value / found.bound - 1)
    with pytest.raises(InvalidInput, match="does not let jobs pause"):
        mlsched.losses(mlsched.simulate(load, "srpt:preempt=true"), found)
    with pytest.raises(InvalidInput, match="not of the run's workload"):
        mlsched.losses(mlsched.simulate(mlsched.workload("synthetic:gangs:jobs=5"), "fifo"), found)


def test_it_goes_on_where_it_stopped(made, tmp_path, monkeypatch):
    load, folder, _ = made
    monkeypatch.setattr(references, "SAVE_INTERVAL", 40)
    whole = mlsched.make_reference(load, tmp_path / "whole", moves=120)
    for moves in (0, 40, 120):
        found = mlsched.make_reference(load, tmp_path / "parts", moves=moves)
    assert (found.value, found.moves) == (whole.value, 120)
    for name in (files.PRICES, files.SCHEDULE):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    with pytest.raises(InvalidInput, match="of another log, cluster or question"):
        mlsched.make_reference(load, folder, pausing=True)
    stopped = mlsched.make_reference(
        load, tmp_path / "stopped", moves=120, progress=lambda stage, made, value: made >= 40
    )
    assert stopped.moves < 120
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="is not a reference; give another folder"):
        mlsched.make_reference(load, tmp_path / "other")


@pytest.mark.parametrize(
    ("rule", "options", "said"),
    [
        ("srpt:preempt=true", {"movement": "none"}, "movement is 'none' in the run, 'anytime' in the reference"),
        ("las", {"pausing": "restart"}, "lose their work at a pause"),
        ("las", {"usage": "drawn"}, "draws what tasks use"),
        ("fifo", {}, "lets jobs pause, other than the run"),
    ],
)
def test_a_run_of_another_simulator_is_measured_by_no_reference(made, rule, options, said):
    load, _, found = made
    pausing = dataclasses.replace(found, pausing=True)
    with pytest.raises(InvalidInput, match=said):
        mlsched.losses(mlsched.simulate(load, rule, options=options), pausing)


def test_nodes_that_fail_have_no_references(made, tmp_path):
    load, _, found = made
    failing = load.replace(failure_node=[0], failure_from=[3], failure_to=[5])
    with pytest.raises(InvalidInput, match="nodes fail in this workload"):
        mlsched.make_reference(failing, tmp_path / "x")
    with pytest.raises(InvalidInput, match="nodes fail in the run"):
        mlsched.losses(mlsched.simulate(failing, "fifo"), found)


def changed(folder, to, name, change):
    """A copy of a reference in which a file's JSON was changed."""
    to.mkdir()
    for file in folder.iterdir():
        (to / file.name).write_bytes(file.read_bytes())
    packed = name.endswith(".gz")
    content = (to / name).read_bytes()
    data = json.loads(gzip.decompress(content) if packed else content)
    change(data)
    text = json.dumps(data).encode()
    (to / name).write_bytes(gzip.compress(text) if packed else text)
    return to


@settings(max_examples=draws(9, 300), deadline=None)
@given(data=st.data())
def test_changed_prices_are_still_true_or_refused(made, tmp_path_factory, data):
    load, folder, found = made
    column = data.draw(st.integers(0, 1))
    place = data.draw(st.integers(0, 120))
    factor = data.draw(st.sampled_from([0, 0.5, 0.99, 1.01, 3]))

    def change(prices):
        row = prices["values"][column % len(prices["values"])]
        row[place % len(row)] = int(row[place % len(row)] * factor)

    to = changed(folder, tmp_path_factory.mktemp("changed") / "x", files.PRICES, change)
    _, values, wrong = mlsched.check_reference(to, load)
    assert values["bound"] <= found.value, "whatever the prices are, they prove no more than what is true"
    assert bool(wrong) == (values["bound"] < found.bound)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        (files.MANIFEST, lambda d: d.update(bound=d["bound"] + 1), "the prices prove"),
        (files.MANIFEST, lambda d: d.update(value=d["value"] - 1), "the schedule has"),
        (files.MANIFEST, lambda d: d.update(weights="area"), "the schedule has"),
        (files.MANIFEST, lambda d: d.update(workload_hash="0" * 64), "of another log"),
        (files.SCHEDULE, lambda d: d["wait"].__setitem__(slice(None), [0] * len(d["wait"])), "in use, its capacity is"),
        (files.PRICES, lambda d: d["values"].append(d["values"][0]), "resources"),
        (files.PRICES, lambda d: d.update(step=0), "prove nothing"),
    ],
)
def test_what_is_changed_is_refused(made, tmp_path, name, change, said):
    load, folder, _ = made
    wrong = mlsched.check_reference(changed(folder, tmp_path / "x", name, change), load)[2]
    assert any(said in sentence for sentence in wrong), wrong


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (files.MANIFEST, lambda d: d.pop("bound")),
        (files.MANIFEST, lambda d: d.update(kind="x")),
        (files.MANIFEST, lambda d: d.update(jobs="many")),
        (files.SCHEDULE, lambda d: d["wait"].pop()),
        (files.SCHEDULE, lambda d: d["places"].__setitem__(0, [99])),
        (files.PRICES, lambda d: d.update(bits=99)),
        (files.PRICES, lambda d: d.update(values=[[1], [2**70]])),
        (files.PRICES, lambda d: d.update(values=[["1"]])),
    ],
)
def test_files_that_make_no_sense_are_refused(made, tmp_path, name, change):
    load, folder, _ = made
    with pytest.raises(InvalidFile):
        mlsched.check_reference(changed(folder, tmp_path / "x", name, change), load)


def test_a_job_that_fits_no_nodes_is_named():
    load = jobs_of([[(1, 2), (1, 1)]], [(0, 0, 1)], nodes=((2,), (2,)), eligible=[[1, 0]])
    asked, pieces = question(load, np.ones(1, dtype=np.int64)), proof.weighted(load, np.ones(1, dtype=np.int64))
    with pytest.raises(InvalidInput, match="job 0 does not fit on the empty cluster"):
        search.first_schedule(asked, pieces, lambda *_: False)


def test_a_changed_log_is_refused_and_one_that_has_moved_is_not(made):
    load, folder, _ = made
    assert mlsched.check_reference(folder, load.replace(source="elsewhere"))[2] == []
    assert proof.said("/some/where/log.csv (own); gangs") == "log.csv (own); gangs"
    for other in (load.replace(arrival=load.arrival + 1), load.replace(urgency=load.urgency + 1)):
        assert "of another log" in mlsched.check_reference(folder, other)[2][0]
