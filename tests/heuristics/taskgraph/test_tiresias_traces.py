"""Tiresias on public traces: what it counts, computed again from the files and the log of the run."""

from __future__ import annotations

import csv
import gzip
import itertools

import numpy as np
import pytest
from snapshot_examples import standings

from mlsched import api

#: File, first jobs, a cluster on which they queue, and the GPUs that a row asks for.
TRACES = {
    "philly": ("philly/philly.csv.gz", 30, "1x(4gpu)", lambda row: float(row["num_gpus"])),
    "helios": ("helios/helios_venus_gpu_jobs.csv.gz", 10, "3x(8gpu)", lambda row: float(row["gpu_count"])),
    "alibaba": (
        "alibaba_gpu_v2023/openb_pod_list_default.csv.gz",
        40,
        "1x(64cpu,384gb,4gpu)",
        lambda row: int(row["num_gpu"]) * int(row["gpu_milli"]) / 1000,
    ),
}
#: Column of the submission, by which the library orders jobs.
SUBMIT = {"philly": "timestamp", "helios": "arrival_s", "alibaba": "creation_time"}
KEY = {"philly": str, "helios": float, "alibaba": float}
TICK = 60


def gpus_of(path, name, count):
    """GPUs of the first jobs of a trace by submission, read without the library; pods without times are no jobs."""
    with gzip.open(path, "rt", newline="") as stream:
        table = csv.DictReader(stream)
        ran = (row for row in table if name != "alibaba" or (row["scheduled_time"] and row["deletion_time"]))
        first = sorted(itertools.islice(ran, count), key=lambda row: KEY[name](row[SUBMIT[name]]))
    return [TRACES[name][3](row) for row in first]


@pytest.mark.filterwarnings("ignore:the offered load")
@pytest.mark.parametrize("name", list(TRACES))
def test_attained_service_on_a_trace(name, shared_data):
    file, count, cluster, _ = TRACES[name]
    load = api.workload(shared_data / file, "taskgraph", simulator="tasks", limit=count, cluster=cluster)
    first = api.simulate(load, "fifo")
    run = api.simulate(load, "tiresias", record=1.0, options={"pausing": "none"})  # it gives way between iterations
    assert run.violations() == []
    assert run.jobs["completion"].tolist() != first.jobs["completion"].tolist(), "Tiresias is not FIFO here"

    gpus = gpus_of(shared_data / file, name, count)
    log = run.log.columns()
    workers = np.bincount(load.horizon.task_job).tolist()
    longest = np.argsort(-run.jobs["jct"], kind="stable")[:10].tolist()
    queues = set()
    for decision in run.recorded[:: max(1, len(run.recorded) // 40)]:
        seen = decision.instance
        standing, _ = standings(seen, {}, (3250.0, 7200.0), 0.0)
        for place in np.flatnonzero(np.isin(seen.job_id, longest)).tolist():
            job = int(seen.job_id[place])
            mine = (log["job"] == job) & (log["start"] < seen.now)
            held = np.minimum(log["end"][mine], seen.now) - log["start"][mine]
            attained = TICK * int(held.sum()) * gpus[job] / workers[job]
            assert standing.attained[place] == pytest.approx(attained), (seen.now, job)
            assert standing.queue[place] == (attained >= 3250) + (attained >= 7200)
            queues.add(int(standing.queue[place]))
    assert queues >= {0, 2}, "jobs of the top and the bottom queue were looked at"
