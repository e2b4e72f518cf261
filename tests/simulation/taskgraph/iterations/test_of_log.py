"""What a log says besides GPUs and times: where jobs may run, in which class, when they come, how long at most."""

from __future__ import annotations

import log_examples as logs
import numpy as np
import pytest

import mlsched
from mlsched.core.errors import InvalidInput
from mlsched.instances.traces import ABSENT, Nodes, read_trace
from mlsched.instances.traces.picked import from_eligible, picked, separated
from mlsched.simulation.taskgraph.iterations.from_log import from_trace


def nodes(*rows: tuple[str, int, str, str]) -> Nodes:
    """Nodes of (name, GPUs, model, partition)."""
    ids, gpus, model, partition = zip(*rows, strict=True)
    nothing = np.zeros(len(ids), dtype=np.int64)
    return Nodes(ids, nothing, nothing, np.array(gpus), model, partition=partition)


CLUSTER = nodes(("a1", 8, "A100", "big"), ("a2", 8, "A100", "big,shared"), ("v1", 4, "V100", "shared"))


def trace(**columns):
    frame = {"submit": [0, 0, 0, 0], "duration": [600] * 4, "gpus": [4] * 4}
    return read_trace({**frame, **columns})


def test_partitions_and_types_decide_where_jobs_run() -> None:
    asked = trace(partition=["big", "shared", "shared,big", None], gpu_type=["", "v100", "A100|V100", "a100"])
    jobs = from_trace(asked, CLUSTER)
    of_job = jobs.eligible[jobs.task_class[[jobs.tasks[t][0] for t in jobs.template.tolist()]]]
    assert of_job.tolist() == [[1, 1, 0], [0, 0, 1], [1, 1, 1], [1, 1, 0]]
    assert "partitions and GPU types decide which nodes may run a job" in jobs.source
    for policy in ("fifo", "srpt:preempt=true"):
        run = mlsched.simulate(jobs, policy)
        assert run.violations() == []
        places = {row[0]: nodes[0] for row, nodes in zip(run.log.rows, run.log.places, strict=True)}
        assert all(of_job[job][place] for job, place in places.items())
    free = from_trace(asked, CLUSTER, partitions="ignore", gpu_types="ignore")
    assert free.eligible.tolist() == [[1, 1, 1]]
    plain = from_trace(asked, np.array([[0, 0, 8000]] * 3))
    assert "partitions and GPU types of the log do not count: the cluster states none" in plain.source


def test_the_shape_of_a_job_is_that_of_the_nodes_that_may_run_it() -> None:
    jobs = from_trace(trace(gpus=[8] * 4, partition=["big", "shared", "big", "shared"]), CLUSTER, oversize="drop")
    sizes = [jobs.demand[slice(*jobs.tasks[t]), 0].tolist() for t in jobs.template.tolist()]
    assert sizes == [[8000]] * 4, "eight GPUs are one task on a node of eight"
    small = nodes(("v1", 4, "", "s"), ("v2", 4, "", "s"), ("a1", 8, "", "b"))
    jobs = from_trace(trace(gpus=[8] * 4, partition=["s", "b", "s", "b"]), small)
    sizes = [jobs.demand[slice(*jobs.tasks[t]), 0].tolist() for t in jobs.template.tolist()]
    assert sizes == [[4000, 4000], [8000], [4000, 4000], [8000]]


def test_who_asks_for_what_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidInput, match="job 'row-1' needs gpu_type 'H100', which is missing; the cluster has a10"):
        from_trace(trace(gpu_type=["", "H100", "", ""]), CLUSTER)


@pytest.mark.parametrize(("classes", "order"), [("", [0, 1, 2, 3]), ("log", [2, 0, 3, 1]), ("gold/iron", [1, 3, 0, 2])])
def test_classes_come_in_their_order(classes: str, order: list[int]) -> None:
    asked = trace(priority=[5, None, 9, 5], qos=["iron", "gold", "iron", "gold"])
    jobs = from_trace(asked, np.array([[0, 0, 4000]]), classes=classes)
    for policy in ("fifo", "best-effort-fifo", "easy-backfill", "srpt", "las"):
        run = mlsched.simulate(jobs, policy)
        assert run.violations() == []
        first: dict[int, int] = {}
        for row in run.log.rows:
            first.setdefault(row[0], row[1])
        assert sorted(first, key=first.__getitem__) == order, policy
    assert ("do not count (set classes)" in jobs.source) == (not classes)


def test_a_class_comes_before_what_runs_where_jobs_may_pause() -> None:
    late = read_trace({"submit": [0, 60], "duration": [6000, 600], "gpus": [4, 4], "priority": [1, 2]})
    cluster = np.array([[0, 0, 4000]])
    plain, first = (from_trace(late, cluster, classes=c, pause_cost=0) for c in ("", "log"))
    waits = [mlsched.simulate(jobs, "las").table()["waiting_s"].tolist() for jobs in (plain, first)]
    assert waits == [[600, 840], [600, 0]]


def test_jobs_are_killed_at_their_limit_if_asked() -> None:
    asked = trace(time_limit=[300, 900, None, 600])
    length = {limits: from_trace(asked, None, tick=1, limits=limits) for limits in ("ignore", "kill")}
    ran = {name: mlsched.simulate(jobs, "fifo").table()["jct_s"].tolist() for name, jobs in length.items()}
    assert ran == {"ignore": [600] * 4, "kill": [300, 600, 600, 600]}
    assert "1 jobs are killed at their time limit" in length["kill"].source


def test_jobs_come_when_they_are_eligible() -> None:
    asked = trace(eligible=[0, 120, None, 60], after=["", "row-0", "", ""])
    jobs = from_trace(asked, None, tick=1, arrive="eligible")
    assert jobs.job_names == ("row-0", "row-2", "row-3", "row-1")
    assert jobs.arrival.tolist() == [0, 0, 60, 120]
    plain = from_trace(asked, None, tick=1)
    assert "2 jobs were eligible after their submit only (arrive=eligible)" in plain.source
    assert "1 jobs of the log wait for others: that does not count" in plain.source


def test_jobs_without_a_logged_start_can_be_left_out(tmp_path) -> None:
    (tmp_path / "log.swf").write_text(logs.SWF)
    log = read_trace(tmp_path / "log.swf")
    cluster = np.array([[8000, 0, 0]])
    with pytest.raises(InvalidInput, match=r"lacks the start of some jobs; .* with unlogged=drop"):
        mlsched.simulate(from_trace(log, cluster), "as-logged")
    jobs = from_trace(log, cluster, unlogged="drop", tick=1)
    assert jobs.job_names == ("1", "5")
    assert "1 jobs left out of which the log does not say when they ran" in jobs.source
    assert mlsched.simulate(jobs, "as-logged").table()["start_s"].tolist() == [5, 32]
    with pytest.raises(InvalidInput, match="start times are missing; read start=COLUMN"):
        from_trace(trace(), cluster, unlogged="drop")


def test_runs_of_interrupted_jobs_as_jobs(tmp_path) -> None:
    (tmp_path / "sacct").write_text(logs.SACCT)
    log = read_trace(tmp_path / "sacct")
    apart, more = separated(log)
    assert more == 2
    assert [name for name in apart.ids if name.startswith("105")] == ["105", "105#run2", "105#run3"]
    rows = [apart.ids.index(name) for name in ("105", "105#run2", "105#run3")]
    assert apart.submit[rows].tolist() == [1200, 1860, 3000], "when the run before ended"
    assert apart.duration_ms[rows].tolist() == [600_000, 600_000, 2_400_000]
    assert np.bincount(apart.runs.job).tolist() == [1] * len(apart)
    assert int(apart.duration_ms.sum()) == int(log.duration_ms.sum())
    assert separated(apart) == (apart, 0)


def test_picked_jobs_keep_what_is_theirs() -> None:
    log = read_trace(
        {
            "submit": [10, 20, 30],
            "start": [15, 40, 31],
            "end": [25, 50, 61],
            "gpus": [1, 2, 3],
            "eligible": [10, None, 31],
        }
    )
    twice = picked(log, np.array([2, 0, 2]), np.array([20, 100, 60]), ids=["c", "a", "c again"])
    assert (twice.ids, twice.submit.tolist()) == (("c", "c again", "a"), [0, 40, 80])
    assert (twice.start_ms - 1000 * twice.submit).tolist() == [1000, 1000, 5000]
    assert (twice.eligible_ms - 1000 * twice.submit).tolist() == [1000, 1000, 0]
    assert twice.gpu_count.tolist() == [3, 3, 1]
    assert twice.origin_ms == log.origin_ms + 20_000
    assert from_eligible(twice)[1] == 2
    assert ABSENT not in twice.eligible_ms
