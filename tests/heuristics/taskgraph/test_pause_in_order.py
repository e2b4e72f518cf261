"""Rules of one's own that preempt: by a key, as orders of jobs that preempt."""

from __future__ import annotations

import numpy as np
import pytest

import mlsched
from mlsched.core.errors import SolverError

KEEP = {"pausing": "keep"}


def smallest(snapshot, *, rng):
    return mlsched.pause_in_order(snapshot, np.bincount(snapshot.task_job, snapshot.demand[:, 0]))


@mlsched.order(preempts=True)
def small(job):
    return job.gpus


def test_running_jobs_pause_for_smaller_keys() -> None:
    """A job of both nodes pauses for the one of a single node, and goes on afterwards."""
    log = {"submit": [0, 60], "duration": [600, 120], "gpus": [16, 8]}
    jobs = mlsched.workload(log, cluster="2x(8gpu)", pause_cost=0)
    run = mlsched.simulate(jobs, smallest, options=KEEP)
    assert run.violations() == []
    assert run.table()["pauses"].tolist() == [1, 0]
    assert run.table()["end_s"].tolist() == [720, 180]


def test_it_is_an_order_that_preempts() -> None:
    jobs = mlsched.workload("sample:philly", limit=120, cluster="3x(8gpu)")
    ours, order = (mlsched.simulate(jobs, rule, options=KEEP) for rule in (smallest, small))
    assert ours.log.rows == order.log.rows
    assert ours.summary()["pauses"] > 0


def test_wrong_calls() -> None:
    jobs = mlsched.workload("sample:philly", limit=20, cluster="3x(8gpu)")
    with pytest.raises(SolverError, match=r"pause_in_order: runs may not pause.*or call start_in_order"):
        mlsched.simulate(jobs, smallest)

    def odd(snapshot, *, rng):
        return mlsched.pause_in_order(snapshot, np.zeros(len(snapshot.arrival) + 1))

    with pytest.raises(SolverError, match="key: has shape"):
        mlsched.simulate(jobs, odd, options=KEEP)
