"""Clusters that are made for a log: as large as its own peak, or for a load while jobs arrive."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mlsched
from mlsched.core.errors import InvalidInput
from mlsched.simulation.taskgraph.iterations.fits import never_start, overload

LOGS = Path(__file__).parents[3] / "instances" / "traces" / "logs"


def gpus(workload) -> list[int]:
    """GPUs of each node."""
    return (workload.node_capacity[:, workload.resources.index("gpu_milli")] // 1000).tolist()


@pytest.mark.parametrize(
    ("name", "nodes", "mean"),
    [("acme_kalos", [8] * 8, 50), ("kal2", [8], 10_800), ("acme_seren", [8], (149 + 2706) / 2), ("11_dups", [2], 2410)],
)
def test_a_log_without_names_of_nodes_has_its_own_peak(name: str, nodes: list[int], mean: float) -> None:
    path = next(LOGS.glob(f"{name}.*"))
    workload = mlsched.workload(path, tick=1)
    assert gpus(workload) == nodes
    assert f"no cluster given: sized by the log's own peak, {sum(nodes)} gpu" in workload.source
    run = mlsched.simulate(workload, "as-logged")
    assert run.lint() == []
    assert run.summary()["mean_jct"] == mean
    if name == "acme_kalos":
        assert run.table()["jct_s"].tolist() == [18, 82]


def test_a_log_with_names_of_nodes_has_the_peak_of_each() -> None:
    workload = mlsched.workload(LOGS / "sacct-two-clusters.txt", tick=1, log_cluster="alpha")
    assert dict(zip(workload.node_names, gpus(workload), strict=True)) == {
        "gpu01": 8, "gpu02": 6, "gpu03": 6, "gpu04": 8, "cpu01": 0
    }  # fmt: skip
    run = mlsched.simulate(workload, "as-logged")
    assert run.lint() == []
    assert run.summary()["mean_waiting"] == 6841 / 28, "from Submit and Start of the rows"
    assert never_start(workload) == []


def test_names_of_nodes_on_which_a_job_does_not_fit_are_left(tmp_path: Path) -> None:
    """Six GPUs on two nodes, and three nodes are stated: three tasks of two GPUs do not fit two nodes of three."""
    path = tmp_path / "log.csv"
    path.write_text("submit,start,end,gpus,num_nodes,nodelist\n0,0,60,6,3,n[1-2]\n")
    workload = mlsched.workload(path, tick=1)
    assert (gpus(workload), never_start(workload)) == ([6], [])
    assert "sized by the log's own peak, 6 gpu" in workload.source


def test_a_gang_fits_the_nodes_that_it_had(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    job = (
        '[{"jobid": "a", "vc": "v", "status": "Pass", "user": "u", "submitted_time": "2017-10-03 10:00:00", "attempts":'
        ' [{"start_time": "2017-10-03 10:00:00", "end_time": "2017-10-03 11:00:00", "detail": [{"ip": "m1", "gpus": '
        '["a", "b", "c", "d", "e"]}, {"ip": "m2", "gpus": ["a"]}]}]}]'
    )
    path.write_text(job)
    workload = mlsched.workload(path, tick=1)
    assert (gpus(workload), never_start(workload)) == ([5, 1], [])


@pytest.mark.parametrize("name", [path.name for path in sorted(LOGS.glob("*")) if path.suffix != ".json"])
def test_no_log_exceeds_the_cluster_that_is_made_for_it(name: str) -> None:
    chosen = {"log_cluster": "beta"} if "clusters" in name else {}
    run = mlsched.simulate(mlsched.workload(LOGS / name, tick=1, **chosen), "as-logged")
    assert run.lint() == []
    assert run.gaps["total_jct"].share >= 0


def test_a_load_is_of_what_can_be_done_while_jobs_arrive() -> None:
    workload = mlsched.workload("sample:philly")
    assert overload(workload) == []
    jobs = mlsched.read_log("sample:philly")
    within = np.minimum(jobs.duration_ms / 1000, jobs.submit[-1] - jobs.submit)
    mean = float((jobs.gpus_milli / 1000 * within).sum()) / int(jobs.submit[-1])
    assert gpus(workload) == [8] * round(mean / 0.8 / 8)


def test_a_cluster_for_a_load_is_not_held_against_the_log() -> None:
    workload = mlsched.workload(LOGS / "kal2.csv", load=0.5)
    with pytest.raises(InvalidInput, match="the nodes were made for a load, not for the log's own run; leave out load"):
        mlsched.simulate(workload, "as-logged")
