"""Parts of a run's distance from a bound: they add up, and the true parts, found by trying all, lie between."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from draws import draws
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from jobs_examples import jobs_of
from shares import told_shares
from small_logs import best_with_pauses, best_without_pauses, logs, odd_logs

import mlsched
from mlsched.core.errors import InvalidInput
from mlsched.simulation.taskgraph.iterations.fits import never_start
from mlsched.simulation.taskgraph.iterations.reference.decomposition import (
    FUTURE,
    PRICE,
    RUNNING_TIMES,
    SHAPE,
    STAY,
    SUM,
    UNKNOWN,
    WHOLE_RUNS,
    pooled,
)


@functools.cache
def counted() -> dict[str, int]:
    return dict.fromkeys(("logs", "shape costs", "forgone preemption costs", "rule not best", "part not known"), 0)


@settings(max_examples=draws(8, 2000), deadline=None)
@example(load=jobs_of([[(1, 2)]], [(0, 0, 2)] * 3, nodes=((3,), (3,)), movement="anytime"))
@given(load=st.one_of(odd_logs(), logs().filter(lambda load: not never_start(load))))
def test_the_true_parts_lie_between(load):
    best = best_without_pauses(load, np.ones(len(load.arrival), dtype=np.int64))
    assume(best < 10**9)
    free, shaped = best_with_pauses(pooled(load)), best_with_pauses(load)
    run = mlsched.simulate(load, "fifo")
    found, total = mlsched.decompose(run), run.summary()["total_jct"]
    parts = {part.name: part for part in found.parts}
    assert list(parts) == [UNKNOWN, SHAPE, WHOLE_RUNS, FUTURE, RUNNING_TIMES]
    assert (found.total, sum(part.value for part in found.parts)) == (total, total - found.bound)
    true = {UNKNOWN: free - found.bound, SHAPE: shaped - free, WHOLE_RUNS: best - shaped}
    for name, value in true.items():
        assert parts[name].at_least <= value <= parts[name].at_most, name
    own = [parts[FUTURE], parts[RUNNING_TIMES]]
    assert sum(p.at_least for p in own) <= total - best <= sum(p.at_most for p in own)
    for part in found.parts:
        assert 0 <= part.at_least <= part.at_most
        assert 0 <= part.value <= part.at_most
    seen = counted()
    for name, happened in (
        ("logs", True),
        ("shape costs", shaped > free),
        ("forgone preemption costs", best > shaped),
        ("rule not best", total > best),
        ("part not known", any(part.at_least < part.at_most for part in found.parts)),
    ):
        seen[name] += happened


def test_the_logs_had_parts(report):
    """Run after the test above; alone it has nothing to say."""
    seen = told_shares(report, "parts of small logs", counted())
    assert seen["shape costs"], "three jobs of 2 GPUs do not fit two nodes of 3"


def gangs(jobs):
    return mlsched.workload(
        f"synthetic:gangs:jobs={jobs},nodes=2,load=1.0,length=20,shape=fewest,pause_cost=30,movement=anytime"
    )


@pytest.fixture(scope="module")
def load():
    return gangs(50)


@pytest.fixture(scope="module")
def fifo(load):
    """A run of fifo, and its parts."""
    run = mlsched.simulate(load, "fifo")
    return run, mlsched.decompose(run)


def test_a_run_that_pauses_pays_for_pauses_and_for_staying():
    load = gangs(20)
    run = mlsched.simulate(load, "las")
    assert [part.name for part in mlsched.decompose(run).parts] == [UNKNOWN, SHAPE, PRICE, FUTURE, RUNNING_TIMES]
    stays = mlsched.simulate(load, "las", options={"movement": "none"})
    assert [part.name for part in mlsched.decompose(stays).parts][2:4] == [PRICE, STAY]
    free = mlsched.simulate(load.replace(pause_cost=0 * load.pause_cost), "las")
    assert PRICE not in [part.name for part in mlsched.decompose(free).parts]


def test_references_narrow_what_is_known(load, fifo, tmp_path):
    straight = mlsched.make_reference(load, tmp_path / "straight", moves=100)
    pausing = mlsched.make_reference(load, tmp_path / "pausing", pausing=True, moves=100)
    run, before = fifo
    after = mlsched.decompose(run, [straight, pausing])
    wide, narrow = ({part.name: part for part in found.parts} for found in (before, after))
    for name, part in narrow.items():
        assert part.at_least >= wide[name].at_least or name in (FUTURE, UNKNOWN)
        assert part.at_most <= wide[name].at_most
    least, most = mlsched.losses(run, straight)
    own = [narrow[FUTURE], narrow[RUNNING_TIMES]]
    assert sum(p.at_least for p in own) >= least * straight.value - 1
    assert sum(p.at_most for p in own) <= most * straight.bound + 1
    assert narrow[FUTURE].at_least > wide[FUTURE].at_least, "the schedule without pauses is better than any rule's"


def test_it_is_told_as_data_and_in_notebooks(fifo):
    _, found = fifo
    table = found.table()
    assert table["part"][-1] == SUM
    assert sum(table["share"][:-1]) == pytest.approx(found.distance)
    frame = found.dataframe()
    assert list(frame.columns) == ["policy", "part", "share", "at_least", "at_most"]
    assert found.to_json()["parts"][0]["name"] == UNKNOWN
    assert f"<td>{SHAPE}</td>" in found._repr_html_()


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        ({}, {"pausing": "restart"}, "'none' or 'keep'"),
        ({}, {"usage": "drawn"}, "usage=demand"),
        ({"failure_node": [0], "failure_from": [3], "failure_to": [5]}, {}, "nodes do not fail"),
    ],
)
def test_worlds_without_parts_are_refused(change, options, said):
    with pytest.raises(InvalidInput, match=said):
        mlsched.decompose(mlsched.simulate(gangs(5).replace(**change), "fifo", options=options))


def test_other_references_and_other_runs_are_refused(tmp_path):
    load = gangs(10)
    area = mlsched.make_reference(load, tmp_path / "area", weights="area", moves=0)
    run = mlsched.simulate(load, "fifo")
    with pytest.raises(InvalidInput, match="weights jobs"):
        mlsched.decompose(run, [area])
    tasks = mlsched.simulate(mlsched.workload("synthetic:mlfs", "taskgraph", simulator="tasks", jobs=3), "fifo")
    with pytest.raises(InvalidInput, match="are for runs of logs"):
        mlsched.decompose(tasks)
