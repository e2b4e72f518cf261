"""`fifo` on Philly, against a simulator that shares nothing with the library: the start of every job.

It reads the file itself. A job of g GPUs needs g free ones, on whatever nodes (shape="anywhere": single GPUs); so
nodes do not matter. At every arrival and end, jobs start in order of submission; what does not fit is passed by, or,
when strict, blocks all behind it.
"""

from __future__ import annotations

import csv
import functools
import gzip
import heapq
import itertools
import math
from collections import deque
from datetime import datetime
from fractions import Fraction

import pytest
from draws import THOROUGH

from mlsched import api


def read(path, limit):
    """(arrival in minutes, GPUs, whole minutes that it runs) of the file's first jobs, in order of submission.

    A job is so many iterations of about a minute, whose length is rounded down to a millionth of a minute: of a job of
    two weeks that may take a second.
    """
    with gzip.open(path, "rt", newline="") as stream:
        rows = list(itertools.islice((row for row in csv.DictReader(stream) if float(row["duration"]) > 0), limit))
    submitted = [datetime.fromisoformat(row["timestamp"]) for row in rows]
    order = sorted(range(len(rows)), key=lambda k: submitted[k])
    first = submitted[order[0]]
    return [
        (
            int((submitted[k] - first).total_seconds()) // 60,
            int(rows[k]["num_gpus"]),
            minutes(Fraction(rows[k]["duration"]) / 60),
        )
        for k in order
    ]


def minutes(length):
    rounds = max(1, round(length))
    return math.ceil(rounds * Fraction(math.floor(length / rounds * 10**6), 10**6))


def fifo(jobs, gpus, strict):
    """When each job starts: events in order of time, ends before arrivals, and then whoever may start does."""
    free, starts = gpus, [-1] * len(jobs)
    ends = []  # (time, GPUs)
    waiting = {}  # GPUs -> numbers of the jobs that wait for so many, in order
    arrived = 0
    while arrived < len(jobs) or ends:
        now = min([job[0] for job in jobs[arrived : arrived + 1]] + [end[0] for end in ends[:1]])
        while ends and ends[0][0] <= now:
            free += heapq.heappop(ends)[1]
        while arrived < len(jobs) and jobs[arrived][0] <= now:
            waiting.setdefault(jobs[arrived][1], deque()).append(arrived)
            arrived += 1
        while heads := [queue[0] for size, queue in waiting.items() if queue and (strict or size <= free)]:
            job = min(heads)
            size = jobs[job][1]
            if size > free:
                break
            waiting[size].popleft()
            starts[job] = now
            free -= size
            heapq.heappush(ends, (now + jobs[job][2], size))
    return starts


@functools.cache
def philly(file, jobs, nodes):
    """The workload of the first jobs, and what is read of them here."""
    cluster = f"{nodes}x(8gpu)"
    load = api.workload(file, "taskgraph", simulator="iterations", cluster=cluster, limit=jobs, shape="anywhere")
    return load, read(file, jobs)


@pytest.mark.filterwarnings("ignore:the offered load")
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("jobs", "nodes"),
    [(800, 12)] + [pytest.param(None, n, marks=pytest.mark.skipif(not THOROUGH, reason="thorough")) for n in (50, 309)],
)
def test_every_job_of_philly_starts_when_the_other_simulator_starts_it(jobs, nodes, strict, shared_data):
    load, own = philly(shared_data / "philly" / "philly.csv.gz", jobs, nodes)
    run = api.simulate(load, f"fifo:strict={str(strict).lower()}")
    assert run.jobs["start"].tolist() == fifo(own, 8 * nodes, strict)
    assert nodes == 309 or (run.jobs["start"] > load.arrival).mean() > 0.1, "jobs queue"
