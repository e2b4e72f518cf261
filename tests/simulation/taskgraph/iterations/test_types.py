"""Nodes of several types: paces, gangs on one type, changes of type after a pause, and what the replay check names.

Nodes 0 and 1 are of type 0, node 2 of type 1, 2 GPUs each. Job 0 is a gang of two tasks of 2 GPUs, 3 iterations of 4
ticks on type 0 (it does not fit type 1). Job 1, 2 GPUs, takes 2 iterations of 4 ticks on type 0 and half as much again
on type 1; there it runs until 9, and pauses. At 12 job 0 has ended, and it goes on on node 1.
"""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from gangs_exhausted import typed, typed_workload
from jobs_examples import jobs_of, play, rows
from snapshot_examples import scripted

import mlsched
from mlsched import api
from mlsched.core.errors import InvalidInput, SolverError
from mlsched.simulation.taskgraph.adapters import residual
from mlsched.simulation.taskgraph.iterations import Options, Segments
from mlsched.simulation.taskgraph.iterations.fits import never_start, oversize
from mlsched.simulation.taskgraph.iterations.reference.decomposition import pooled
from mlsched.simulation.taskgraph.iterations.replay import violations
from mlsched.simulation.wake import Wake

EVENTS = Wake(True, 0)
READ = {"pausing": "keep", "movement": "anytime"}
M = 10**6
JOBS = jobs_of(
    [[(4, 2), (4, 2)], [(4, 2)]],
    [(0, 0, 3), (0, 1, 2)],
    nodes=((2,), (2,), (2,)),
    eligible=[[1, 1, 1]] * 2,
    task_class=[0, 0, 1],
    node_type=[0, 0, 1],
    slowness=[[M, 3 * M], [M, M * 3 // 2]],
    type_names=("fast", "slow"),
    pause_cost=[M, M],
)
SCRIPT = {0: {"start": [(0, 0), (1, 1), (2, 2)], "wake_at": 9}, 9: {"pause": [2]}, 12: {"start": [(0, 1)]}}


def test_a_job_goes_on_on_another_type_at_the_pace_there():
    world, asked = play(JOBS, scripted(SCRIPT), **READ)
    # 9 of 12 ticks on type 1: one iteration and a half; the cost of the pause, and half an iteration at 4 ticks.
    assert [(r["job"], r["start"], r["end"], r["nodes"]) for r in rows(world.log)] == [
        (0, 0, 12, (0, 1)),
        (1, 0, 9, (2,)),
        (1, 12, 15, (1,)),
    ]
    assert violations(JOBS, Options(**READ), EVENTS, world.log) == []
    assert asked[0].node_type.tolist() == [0, 0, 1]
    assert asked[0].slowness.tolist() == JOBS.slowness.tolist()


def test_rates_are_shown_to_those_that_declare_it():
    asked = play(JOBS, scripted(SCRIPT), **READ)[1][0]
    for information in ("profiled", "oracle"):
        assert asked.shown(information).slowness.shape == (2, 2)
    with pytest.raises(InvalidInput, match=r"slowness: is hidden from .* declares information='profiled'"):
        _ = asked.shown("observed").slowness
    alike = JOBS.replace(node_type=[0] * 3, slowness=np.zeros((2, 0), dtype=np.int64), type_names=())
    plain = play(alike, scripted({0: {"start": [(0, 0), (1, 1), (2, 2)]}}), **READ)[1][0]
    assert plain.shown("observed") is plain


def test_a_gang_is_on_one_type():
    asked = play(JOBS, scripted(SCRIPT), **READ)[1][0]
    wrong = asked.violations(asked.round(start=[(0, 0), (1, 2)]))
    assert wrong == ["job 0 is a gang: holds nodes of types 0, 1, expected of one"]
    log = play(JOBS, scripted(SCRIPT), **READ)[0].log
    log.places[[row[:2] for row in log.rows].index((0, 0))] = (0, 2)
    assert any("from 0 on it holds nodes of several types" in v for v in violations(JOBS, Options(**READ), EVENTS, log))


@pytest.mark.parametrize(
    ("row", "change", "kind"),
    [
        (1, {"first": 4 * M, "cycle": 4 * M}, "pace"),
        (2, {"first": 6 * M, "cycle": 6 * M}, "pace"),
        (2, {"end": 16}, "work"),
        (2, {"part": 400_000}, "work"),
    ],
)
def test_the_replay_names_faults(row, change, kind):
    log = play(JOBS, scripted(SCRIPT), **READ)[0].log
    order = sorted(range(len(log.rows)), key=lambda k: (log.rows[k][0], log.rows[k][1]))
    changed = dict(zip(Segments.names, log.rows[order[row]], strict=True)) | change
    log.rows[order[row]] = tuple(changed.values())
    assert any(kind in sentence for sentence in violations(JOBS, Options(**READ), EVENTS, log))


def test_what_fits_no_type_alone_never_starts():
    assert oversize(JOBS, 0) == "" == oversize(JOBS, 1)
    apart = JOBS.replace(node_type=[0, 1, 1], eligible=[[1, 1, 0], [1, 1, 1]])
    assert "2 tasks of 2 gpu at once" in never_start(apart)[0]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"node_type": [0, 0, 2]}, r"node_type\[2\]: 2, expected below 2"),
        ({"slowness": [[M, 0], [M, M]]}, r"slowness\[0\]\[1\]: 0, expected between 1"),
        ({"gang": [1, 0]}, r"gang\[1\]: 0, expected 1 where nodes have types"),
        ({"task_class": [0, 1, 1]}, r"task_class\[1\]: 1, expected that of the job's first"),
        ({"slowness": [[M, 10**12], [M, M]], "scale": [10**9, M]}, r"scale\[0\].*could end after tick"),
        ({"slowness": [[M, 10**12 + 1], [M, M]]}, r"expected between 1 and 10"),
    ],
)
def test_wrong_types_are_refused_in_one_line(change, line):
    with pytest.raises(InvalidInput, match=line) as error:
        JOBS.replace(**change)
    assert "\n" not in str(error.value)


def test_one_type_at_the_stated_rate_is_as_no_types():
    """Every rule does the same where the only type is as fast as stated."""
    plain = jobs_of([[(4, 2), (4, 1)], [(3, 1)]], [(0, 0, 3), (1, 1, 2), (2, 0, 1), (2, 1, 3)], tick_ms=1000)
    alike = plain.replace(slowness=[[M]], type_names=("one",))
    for rule in ("fifo", "srpt", "srpt:preempt=true", "easy-backfill", "tiresias", "gandiva"):
        assert api.simulate(plain, rule).log.to_json() == api.simulate(alike, rule).log.to_json()
    assert plain.hash == plain.replace(slowness=np.zeros((1, 0), dtype=np.int64)).hash


RULES = (
    *("fifo", "best-effort-fifo", "srpt", "srpt:preempt=true", "easy-backfill", "conservative-backfill", "drf", "las"),
    *("tiresias", "tiresias-gittins", "gandiva", "fair", "graphene", "hypersched", "optimus", "slaq", "srpt:size=time"),
)


@pytest.mark.parametrize("seed", range(draws(6, 300)))
def test_rules_that_see_no_rates_keep_gangs_on_one_type(seed):
    load = typed_workload(*typed(np.random.default_rng(1000 + seed)))
    for rule in RULES[seed % 3 :: 3]:
        assert api.simulate(load, rule).violations() == []


def by_slowness(snapshot, *, rng):
    slowest = snapshot.slowness.max(axis=1)[snapshot.task_class]
    most = np.zeros(len(snapshot.arrival), dtype=np.int64)
    np.maximum.at(most, snapshot.task_job, slowest)
    return mlsched.start_in_order(snapshot, -most)


def test_a_rule_of_ones_own_sees_rates_where_it_declares_it(monkeypatch):
    with pytest.raises(SolverError, match="slowness: is hidden"):
        api.simulate(JOBS, by_slowness)
    monkeypatch.setattr(by_slowness, "information", "profiled", raising=False)
    assert api.simulate(JOBS, by_slowness).violations() == []


@pytest.mark.parametrize("rule", ["fifo", "fastest-first"])
def test_runs_repeat_isolated_and_from_files(rule, tmp_path):
    load = typed_workload(*typed(np.random.default_rng(3)))
    run = api.simulate(load, rule, record=1.0)
    assert all(run.replay(decision) == decision.plan for decision in run.recorded)
    assert api.simulate(load, rule, isolate=True).log.to_json() == run.log.to_json()
    mlsched.save(load, tmp_path / "jobs.json")
    assert mlsched.load(tmp_path / "jobs.json").hash == load.hash


@pytest.mark.parametrize("rule", ["mlf-h", "mlf-c", "mlfs-h", "mlf-rl", "mlfs", "mirhoseini-rl"])
def test_rules_that_place_each_task_refuse(rule):
    assert "nodes: several types, expected one type" in api.refusal(JOBS, rule)


def test_what_knows_no_types_refuses(tmp_path):
    with pytest.raises(InvalidInput, match="references are for nodes on which jobs run alike"):
        api.make_reference(JOBS, tmp_path / "folder")
    with pytest.raises(InvalidInput, match="nodes of several types, which a horizon instance"):
        residual(play(JOBS, scripted(SCRIPT), **READ)[1][0])


def test_parts_of_a_run_have_a_large_node_for_each_type():
    assert pooled(JOBS).node_capacity.tolist() == [[4], [2]]
    run = mlsched.simulate(JOBS, "fifo")
    found = mlsched.decompose(run)
    assert sum(part.value for part in found.parts) == found.total - found.bound
    assert found.bound <= run.bound["total_jct"] <= found.total


@pytest.mark.parametrize(("seconds", "ticks"), [(7056, 147), (7057, 148), (4800, 100), (3601, 76)])
def test_a_job_holds_another_type_for_whole_ticks_of_its_time_there(tmp_path, seconds: int, ticks: int):
    """7,056 s at a rate of 100 are 8,820 s at one of 80: 147 minutes, however many iterations they are cut into."""
    (tmp_path / "rates.csv").write_text("model,gpus,fast,slow\nm,1,100,80\n")
    log = {"submit": [0], "duration": [seconds], "gpus": [1], "model": ["m"]}
    rates = {"throughputs": str(tmp_path / "rates.csv"), "measured_on": "fast"}
    run = mlsched.simulate(mlsched.workload(log, cluster="1x(1gpu:slow)", **rates), "fifo")
    assert (run.summary()["makespan"], run.bound["makespan"], run.violations()) == (ticks, ticks, [])
