"""One machine as fast as all nodes: examples by hand, and no order of the jobs is better."""

from __future__ import annotations

import itertools

import numpy as np
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from mlsched.simulation.bound.machine import least_remaining_work, most_weight


def test_the_least_work_left_goes_first():
    """Speed 2. Job 0 (8) runs from 0; job 1 (2) takes over from 1 to 2; job 2 (5) has less left than the 6, to 4.5."""
    ends = least_remaining_work(np.array([0, 1, 2]), np.array([8, 2, 5]), 2)
    assert ends.tolist() == [7.5, 2.0, 4.5]


def test_the_most_weight_for_its_work_goes_first():
    """Job 0 (4) runs at 0-1 and 3-6, job 1 (2) at 1-3: means (.5 + 3 x 4.5) / 4 and 2. No work: its release."""
    busy = most_weight(np.array([0, 1, 5]), np.array([4, 2, 0]), np.array([1.0, 1.0, 1.0]), 1)
    assert busy.tolist() == [3.5, 2.0, 5.0]
    heavy = most_weight(np.array([0, 1]), np.array([4, 2]), np.array([4.0, 1.0]), 1)
    assert heavy.tolist() == [2.0, 5.0]


@settings(max_examples=draws(15, 500))
@given(jobs=st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4)), min_size=1, max_size=4))
def test_no_list_of_jobs_is_better(jobs):
    """Every order of the jobs, the first that has arrived and is not done running at each tick."""
    release, work = (np.array(column) for column in zip(*jobs, strict=True))
    ends = least_remaining_work(release, work, 1).sum()
    busy = most_weight(release, work, np.ones(len(jobs)), 1).sum()
    for order in itertools.permutations(range(len(jobs))):
        left, times = work.tolist(), [[] for _ in jobs]
        for tick in range(6 + int(work.sum())):
            job = next((j for j in order if left[j] and release[j] <= tick), None)
            if job is not None:
                left[job] -= 1
                times[job].append(tick + 0.5)
        assert ends <= sum(t[-1] + 0.5 for t in times) + 1e-9
        assert busy <= sum(float(np.mean(t)) for t in times) + 1e-9
