"""Pooled percentiles of re-scheduling intervals, and their spread over drawn workloads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlsched_papers.fitgpp import grid as g
from mlsched_papers.fitgpp.measure import Metrics
from mlsched_papers.fitgpp.measured import FitGppView, percentiles


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.sampled_from([0, 50, 75, 95, 99, 100]))
def test_a_percentile_of_counts_is_that_of_the_numbers(numbers, p):
    rows = np.array([np.bincount(numbers, minlength=10), np.bincount(numbers[:1], minlength=10)])
    assert percentiles(rows, p).tolist() == pytest.approx([float(np.percentile(numbers, p)), numbers[0]])


def view(*workloads: tuple[int, ...], **how: bool) -> FitGppView:
    metrics = {
        g.Case("z", seed, g.FITGPP): Metrics({"interval_p50": float(seed)}, {}, (), counts)
        for seed, counts in enumerate(workloads)
    }
    return FitGppView("z", g.QUICK, metrics, **how)


def median(at):
    return at(g.FITGPP, 50)


def test_pooled_percentiles_are_of_all_workloads_together():
    # One workload has three intervals of 1 min, the other a single one of 9: together the median is 1.
    found = view((0, 3), (0,) * 9 + (1,), pooled=True).over_intervals(median, g.FITGPP)
    assert found.mean == 1.0
    assert found.count == 2
    assert found.half > 0


def test_alike_workloads_leave_no_spread():
    found = view((0, 2, 1), (0, 2, 1), (0, 2, 1), pooled=True).over_intervals(median, g.FITGPP)
    assert (found.mean, found.half) == (1.0, 0.0)


def test_one_workload_has_no_interval():
    assert view((0, 2), pooled=True).over_intervals(median, g.FITGPP).half is None


def test_a_workload_without_intervals_is_not_measured():
    assert view((0, 2), (), pooled=True).over_intervals(median, g.FITGPP) is None
    assert view(pooled=True).over_intervals(median, g.FITGPP) is None


def test_otherwise_there_is_one_value_a_workload():
    assert view((0, 3), (0, 0, 5)).over_intervals(median, g.FITGPP).tolist() == [0.0, 1.0]


def test_the_literal_reading_takes_the_literal_fallback():
    metrics = {
        g.Case("z", 0, g.FITGPP): Metrics({"te_p95": 1.0}, {}),
        g.Case("z", 0, g.AGAIN): Metrics({"te_p95": 2.0}, {}),
    }
    assert FitGppView("z", g.QUICK, metrics).values(g.FITGPP, "te_p95").tolist() == [1.0]
    literal = FitGppView("z", g.QUICK, metrics, literal=True)
    assert literal.values(g.FITGPP, "te_p95").tolist() == [2.0]
    assert literal.name == "Z, literal fallback"
