"""The bound of preemption runs: by hand, and below every run of drawn workloads."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

import mlsched
from mlsched.simulation.preemption import SIMULATION, Workload, strategies
from mlsched.simulation.preemption.bound import bound


def workload(capacity, jobs) -> Workload:
    """jobs: (submit, execution, demand)."""
    submit, execution, demand = (np.array(column, dtype=np.int64) for column in zip(*jobs, strict=True))
    none = np.zeros(len(jobs), dtype=np.int64)
    return Workload(
        resources=("gpu",),
        node_capacity=[[c] for c in capacity],
        submit=submit,
        te=none,
        execution=execution,
        demand=demand[:, None],
        grace=none,
    )


def test_by_hand() -> None:
    one = workload([1], [(0, 10, 1), (0, 2, 1), (1, 2, 1)])
    assert bound(one) == {"mean_completion_s": pytest.approx((14 + 2 + 3) / 3), "makespan_s": 14}
    wide = workload([4, 4], [(0, 10, 1), (5, 2, 1)])
    assert bound(wide) == {"mean_completion_s": 6, "makespan_s": 10}, "there is room for all"
    assert bound(wide.replace(submit=[], te=[], execution=[], demand=np.zeros((0, 1)), grace=[])) == {
        "mean_completion_s": 0,
        "makespan_s": 0,
    }


@settings(max_examples=draws(20, 1000))
@given(load=strategies.workloads(), rule=st.sampled_from(["fifo", "fitgpp", "rand", "lrtp"]))
def test_no_run_is_below(load, rule) -> None:
    if SIMULATION.never_start(load) or not len(load.submit):
        return
    run = mlsched.simulate(load, rule)
    for name, least in run.bound.items():
        assert run.summary()[name] >= least - 1e-6
    assert run.bounded_by == "all schedules with pauses at any time, without cost"
