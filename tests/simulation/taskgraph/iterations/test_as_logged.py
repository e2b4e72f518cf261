"""The log itself as a policy: its figures and gap, and what in it cannot have been."""

from __future__ import annotations

import csv
import gzip
import json
import pickle

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

import mlsched
from mlsched.core.errors import InvalidInput
from mlsched.instances.traces import read_nodes, read_trace
from mlsched.simulation.taskgraph.iterations import SIMULATION
from mlsched.simulation.taskgraph.iterations.from_log import from_trace


def as_logged(source, cluster, **options):
    return mlsched.simulate(mlsched.workload(source, cluster=cluster, **options), "as-logged")


# -- the gap ----------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:the offered load")
@pytest.mark.parametrize("policy", ["fifo", "srpt:preempt=true"])
def test_a_log_that_our_own_replay_wrote_has_the_gap_of_its_run(write, tmp_path, policy: str) -> None:
    first = mlsched.workload("sample:philly", cluster="2x(8gpu)", limit=100, tick=1, pause_cost=0)
    run = mlsched.simulate(first, policy)
    table = run.table()
    runs = [(row[0], row[1], row[2]) for row in run.log.rows]
    names = list(table["job"])
    path = tmp_path / "replayed.json"
    jobs = []
    for number, name in enumerate(names):
        own = [(start, end) for job, start, end in runs if job == number]
        gpus = int(table["gpus"][number])
        jobs.append(
            {
                "jobid": str(name),
                "vc": "v",
                "status": "Pass",
                "user": "u",
                "submitted_time": stamp(int(first.arrival[number])),
                "attempts": [
                    {"start_time": stamp(start), "end_time": stamp(end), "detail": [{"ip": "m", "gpus": ["g"] * gpus}]}
                    for start, end in own
                ],
            }
        )
    path.write_text(json.dumps(jobs))
    again = as_logged(path, "2x(8gpu)", tick=1)
    assert again.lint() == []
    assert again.violations() == []
    whole = run.summary()
    assert again.summary()["total_jct"] == whole["total_jct"]
    assert again.summary()["makespan"] == whole["makespan"]
    assert again.summary()["mean_waiting"] == pytest.approx(whole["mean_waiting"])
    assert again.summary()["utilisation"]["gpu_milli"] == pytest.approx(whole["utilisation"]["gpu_milli"])
    assert again.bound["total_jct"] <= whole["total_jct"]
    known = whole["total_jct"] / SIMULATION.bound(first, True)["total_jct"] - 1  # a log may pause, whatever the rule
    assert again.gaps["total_jct"].share == pytest.approx(known, abs=2e-3)
    assert known > 0.01, "there is something to see"
    assert again.bounded_by.startswith("all schedules with pauses")
    assert (again.table()["pauses"].sum() > 0) == ("preempt" in policy)


def stamp(seconds: int) -> str:
    return str(np.datetime64("2017-10-03 00:00:00") + np.timedelta64(seconds, "s")).replace("T", " ")


def test_figures_by_hand(write) -> None:
    log = "submit,start,end,gpus,user\n0,0,100,1,a\n10,100,160,1,b\n20.5,160.25,170,1,a\n"
    run = as_logged(write(log), "1x(1gpu)", tick=1)
    assert run.summary()["total_jct"] == 100 + 150 + 150, "submits are in whole seconds"
    assert run.summary()["mean_waiting"] == pytest.approx((90 + 140.25) / 3)
    assert run.summary()["utilisation"] == {"gpu_milli": pytest.approx(169.75 / 170)}
    assert run.table()["start_s"].tolist() == [0, 100, 160.25]
    assert run.table()["slowdown"].tolist() == [1, 2.5, pytest.approx(150 / 9.75)]
    assert list(run.over_time()["waiting_jobs"]) == [0, 1, 2, 1, 1, 0, 0]
    assert run.bound["total_jct"] == 100 + 150 + 29.75 - 60 + 60 - 60 or run.bound["total_jct"] <= 400
    assert pickle.loads(pickle.dumps(run)) == run
    assert run.assumed["shape"].startswith("as logged")


def test_philly_as_it_was(write) -> None:
    """Two attempts on other servers, with a pause between; and a gang over two servers."""

    def attempt(start: str, end: str, *servers: tuple[str, int]) -> dict[str, object]:
        detail = [{"ip": ip, "gpus": [f"gpu{g}" for g in range(count)]} for ip, count in servers]
        return {"start_time": f"2017-10-03 {start}", "end_time": f"2017-10-03 {end}", "detail": detail}

    def job(name: str, submitted: str, *attempts: dict[str, object]) -> dict[str, object]:
        more = {"status": "Pass", "vc": "ee9e8c", "user": "u"}
        return {**more, "jobid": name, "submitted_time": f"2017-10-03 {submitted}", "attempts": list(attempts)}

    jobs = [
        job("a", "10:00:00", attempt("10:01:00", "10:11:00", ("m1", 8)), attempt("10:20:00", "10:30:00", ("m2", 8))),
        job("b", "10:02:00", attempt("10:02:30", "10:12:30", ("m2", 8), ("m3", 4))),
    ]
    log = write(json.dumps(jobs), "cluster_job_log")
    machines = write("machineId, number of GPUs, single GPU mem\nm1,8,24GB\nm2,8,24GB\nm3,8,24GB\n", "machines.csv")
    run = as_logged(log, str(machines), tick=1)
    assert run.lint() == []
    table = run.table()
    assert table["jct_s"].tolist() == [1800, 630]
    assert table["waiting_s"].tolist() == [60 + 540, 30]
    assert (table["pauses"].tolist(), table["nodes"].tolist(), table["gpus"].tolist()) == ([1, 0], [2, 2], [8, 12])
    assert run.gaps["total_jct"].share == pytest.approx((1800 + 630) / (1200 + 600) - 1)
    apart = mlsched.workload(log, cluster=str(machines), tick=1, attempts="separate")
    assert (apart.job_names, apart.arrival.tolist()) == (("a", "b", "a#run2"), [0, 120, 660])
    assert mlsched.simulate(apart, "as-logged").table()["waiting_s"].tolist() == [60, 30, 540]
    small = write("machineId,number of GPUs\nm1,8\nm2,4\n", "small.csv")
    said = [str(finding) for finding in as_logged(log, str(small), tick=1).lint()]
    assert said[0].startswith(
        "capacity: from 2017-10-03 10:02:30 to 2017-10-03 10:11:00, 20 GPUs are in use on the cluster, which has 12"
    )
    assert any("8 GPUs are in use on node m2, which has 4" in sentence for sentence in said)
    assert any(
        "unknown node: 1 jobs ran on m3, which the list of nodes does not have (4 GPUs of theirs" in sentence
        for sentence in said
    )


def test_helios_as_it_was(write) -> None:
    log = write(
        "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
        "1,u1,vcA,8,48,1,COMPLETED,2020-06-09 10:00:00,2020-06-09 10:10:00,2020-06-09 11:10:00,3600,600\n"
        "2,u2,vcB,4,8,1,FAILED,2020-06-09 10:00:00,2020-06-09 10:00:00,2020-06-09 10:30:00,1800,0\n"
        "3,u2,vcB,8,8,1,COMPLETED,2020-06-09 10:05:00,2020-06-09 10:30:00,2020-06-09 10:40:00,600,1500\n"
    )
    nodes = write("node,gpus,vc\nn1,8,vcA\nn2,8,vcB\n", "nodes.csv")
    run = as_logged(log, str(nodes), tick=1)
    assert run.table()["waiting_s"].tolist() == [600, 0, 1500]
    assert run.workload.eligible.tolist() == [[0, 1], [1, 0]], "a partition's jobs run on its nodes alone"
    assert run.lint() == []
    assert run.gaps["total_jct"].share == pytest.approx(2100 / 6000, abs=0.3)
    fifo = mlsched.simulate(run.workload, "fifo")
    assert fifo.violations() == []
    assert fifo.table()["waiting_s"].tolist() == [0, 0, 1500]
    anywhere = mlsched.workload(log, cluster=str(nodes), tick=1, partitions="ignore")
    assert mlsched.simulate(anywhere, "fifo").table()["waiting_s"].tolist() == [0, 0, 1500]
    narrow = write("node,gpus,vc\nn1,16,vcA\nn2,4,vcB\n", "narrow.csv")
    workload = mlsched.workload(log, cluster=str(narrow), tick=1, oversize="drop")
    assert workload.job_names == ("1", "2")
    crowded = write("node,gpus,vc\nn1,16,vcA\nn2,4,vcB\nn3,4,vcB\n", "crowded.csv")
    early = log.read_text().replace(
        "2020-06-09 10:30:00,2020-06-09 10:40:00", "2020-06-09 10:20:00,2020-06-09 10:30:00"
    )
    said = [str(f) for f in as_logged(write(early, "early.csv"), str(crowded), tick=1, shape="anywhere").lint()]
    assert said == [
        "capacity: from 2020-06-09 10:20:00 to 2020-06-09 10:30:00, 12 GPUs are in use on partition vcB (2 nodes), "
        "which has 8 (at 2020-06-09 10:20:00, by 2 jobs: 2, 3)"
    ]


def test_pods_of_a_job_count_by_their_own_gpus(write) -> None:
    log = (
        "id,pod_group,submit,start,end,gpus,node\n"
        "w0,t,0,10,110,4,a\nw1,t,0,10,60,4,b\nx,,0,60,110,4,b\n"
    )  # fmt: skip
    nodes = write("node,gpus\na,4\nb,4\n", "nodes.csv")
    run = as_logged(write(log), str(nodes), tick=1)
    assert run.lint() == []
    assert run.table()["gpus"].tolist() == [8, 4]
    assert run.table()["waiting_s"].tolist() == [10, 60]
    assert run.summary()["utilisation"]["gpu_milli"] == pytest.approx((400 + 200 + 200) / (8 * 110))
    assert run.bound["total_jct"] <= 220


# -- what cannot have been --------------------------------------------------------------------------------------------


def test_a_gap_is_refused_with_the_proof(write) -> None:
    run = as_logged(write("submit,start,end,gpus\n0,0,100,3\n5,50,120,2\n7,6,20,1\n"), "1x(4gpu)", tick=1)
    assert [finding.kind for finding in run.lint()] == ["capacity", "start before submit"]
    message = "as-logged: the log is impossible, so the gap is undefined: capacity: from 50 s to"
    with pytest.raises(InvalidInput, match=message):
        _ = run.gaps


def test_what_as_logged_needs(write) -> None:
    with pytest.raises(InvalidInput, match="as-logged: the log lacks the start of some jobs; read start="):
        as_logged(write("submit,duration,gpus\n0,1,1\n"), "1x(1gpu)")
    log = write("submit,start,end,gpus\n0,1,2,1\n", "starts.csv")
    with pytest.raises(InvalidInput, match="ran at its own rate of arrivals, not 2 times as fast"):
        as_logged(log, "1x(1gpu)", arrivals=2.0)
    with pytest.raises(InvalidInput, match=r"fifo: 'pausing' is an option of the simulator.*; pass options="):
        mlsched.simulate(mlsched.workload("sample:philly", limit=5), "fifo", pausing="keep")
    with pytest.raises(InvalidInput, match="as-logged: does not take parameters; leave out depth"):
        mlsched.simulate(mlsched.workload(log, cluster="1x(1gpu)"), "as-logged", depth=3)
    with pytest.raises(InvalidInput, match="unknown solver 'as-logged' for preemption"):
        mlsched.simulate(mlsched.workload("synthetic:z:jobs=3,nodes=2"), "as-logged")


def test_a_saved_run_of_a_log(write, tmp_path) -> None:
    run = as_logged(write("submit,start,end,gpus\n0,1,2,1\n0,1,5,4\n"), "1x(4gpu)", tick=1)
    assert run.lint(), "five GPUs of four"
    mlsched.save(run, tmp_path / "run.json")
    again = mlsched.load(tmp_path / "run.json")
    assert again == run
    assert [str(finding) for finding in again.lint()] == [str(finding) for finding in run.lint()]


RUNS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(-3, 20), st.integers(1, 20), st.integers(1, 5)), min_size=1, max_size=12
)


@settings(max_examples=draws(36, 2000))
@given(RUNS, st.integers(1, 12))
def test_capacity_is_broken_exactly_where_counting_second_by_second_says(runs, capacity: int) -> None:
    submit, wait, length, gpus = (np.array(column) for column in zip(*runs, strict=True))
    start = np.maximum(submit + wait, 0)
    frame = {"submit": submit, "start": start, "end": start + length, "gpus": gpus}
    workload = from_trace(read_trace(frame), np.array([[0, 0, 1000 * max(capacity, 5)]]), tick=1)
    workload = workload.replace(node_capacity=np.array([[1000 * capacity]]))
    findings = mlsched.simulate(workload, "as-logged", options={}).lint() if capacity >= gpus.max() else None
    if findings is None:
        return
    use = np.zeros(80, dtype=int)
    for first, ticks, held in zip(start, length, gpus, strict=True):
        use[first : first + ticks] += held
    broken = [finding for finding in findings if finding.kind == "capacity"]
    over = use > capacity
    assert bool(broken) == bool(over.any())
    early = {finding.jobs for finding in findings if finding.kind == "start before submit"}
    assert bool(early) == bool((start < submit).any())
    if broken:
        first = int(over.argmax()) - int(submit.min())
        assert broken[0].start_ms == 1000 * first
        spans = int((np.diff(np.append(False, over).astype(int)) == 1).sum())
        assert len(broken) == min(spans, 4)
        if spans <= 3:
            assert max(finding.amount for finding in broken) == use.max()
            assert sum(finding.end_ms - finding.start_ms for finding in broken) == 1000 * over.sum()


# -- the public log that says when its pods started -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["default", "gpushare100"])
def test_alibabas_pods_as_they_ran(shared_data, name: str) -> None:
    folder = shared_data / "alibaba_gpu_v2023"
    trace = read_trace(folder / f"openb_pod_list_{name}.csv.gz")
    workload = from_trace(trace, read_nodes(folder / "openb_node_list_all_node.csv"), tick=1)
    run = mlsched.simulate(workload, "as-logged")
    assert run.lint() == []
    with gzip.open(folder / f"openb_pod_list_{name}.csv.gz", "rt") as raw:
        rows = [row for row in csv.DictReader(raw) if row["scheduled_time"]]
    waited = sum(int(row["scheduled_time"]) - int(row["creation_time"]) for row in rows)
    stay = sum(int(row["deletion_time"]) - int(row["creation_time"]) for row in rows)
    kept = len(workload.arrival)
    assert kept == len(rows), "none of the pods ran for no time"
    assert run.summary()["total_jct"] == stay
    assert run.summary()["mean_waiting"] == pytest.approx(waited / kept)
    assert 0 <= run.gaps["total_jct"].share < 0.05
