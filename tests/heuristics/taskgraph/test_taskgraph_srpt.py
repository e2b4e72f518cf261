"""SRPT: the least estimated work left comes first, by work or by time, whatever has been done."""

from __future__ import annotations

import pytest
from snapshot_examples import horizon

from mlsched import api


def starts(inst, rule):
    plan = api.solve(inst, rule).plan
    return {(t, i): s for t, i, s in zip(plan.task.tolist(), plan.iteration.tolist(), plan.start.tolist(), strict=True)}


def test_the_shortest_job_goes_first():
    inst = horizon([(0, 1, [(5, 1)]), (0, 1, [(2, 1)]), (0, 1, [(3, 1)])], nodes=[(1,)])
    assert starts(inst, "srpt") == {(1, 0): 0, (2, 0): 2, (0, 0): 5}


def test_what_counts_is_what_is_left():
    """Job 0 has one iteration of 4 left when job 1 comes with 5 ticks of work; two when it comes with 7."""
    for work, order in ((5, [(0, 1), (1, 0)]), (3, [(1, 0), (0, 1)])):
        inst = horizon([(0, 2, [(4, 1)]), (1, 1, [(work, 1)])], nodes=[(1,)])
        later = {key: start for key, start in starts(inst, "srpt").items() if start}
        assert sorted(later, key=later.get) == order


@pytest.mark.parametrize(("size", "first"), [("work", 1), ("time", 0)])
def test_work_counts_what_is_held_time_only_the_longest_chain(size, first):
    """Job 0: 3 ticks on 4 of 4 GPUs; job 1: 5 ticks on one. Work 12 against 5, time 3 against 5."""
    inst = horizon([(0, 1, [(3, 4)]), (0, 1, [(5, 1)])], nodes=[(4,)])
    found = starts(inst, f"srpt:size={size}")
    assert min(found, key=found.get) == (first, 0)


def test_estimates_decide_not_the_truth():
    from mlsched.simulation.taskgraph import Workload

    inst = horizon([(0, 1, [(5, 1)]), (0, 1, [(4, 1)])], nodes=[(1,)])
    load = Workload(horizon=inst, true_duration=[1, 9])
    assert api.simulate(load, "srpt").jobs["start"].tolist() == [9, 0]
    assert api.simulate(load, "srpt", options={"information": "oracle"}).jobs["start"].tolist() == [0, 1]
