"""Two stores against each other: which rows are paired, what the numbers are, and intervals."""

from __future__ import annotations

import numpy as np
import pytest
from benchmark_examples import row, rule
from draws import draws

from mlsched import InvalidInput
from mlsched.benchmark.compare import compared, interval


def rows(*values: int | None, **changes):
    return [rule(v, instance_hash=f"h{k}", cpu_seconds=2.0, **changes) for k, v in enumerate(values)]


def test_questions_are_paired_and_what_only_one_answered_is_counted_apart():
    first = rows(10, 20, 30, None, 50)
    second = rows(5, 20, 45, 40, None)[::-1]
    (line,) = compared(first, second)
    assert (line.pairs, line.better, line.worse) == (3, 1, 1)
    assert line.change == pytest.approx((-0.5 + 0 + 0.5) / 3)
    assert (line.only_first, line.only_second, line.apart) == (1, 1, 0)
    assert (line.time, line.change_interval) == (1.0, None), "too few for an interval"


def test_censored_times_are_counted_and_in_no_mean():
    cut = {"status": "feasible", "stopped_by": "time limit"}
    first = [*rows(10, 20, 30), rule(40, instance_hash="h9", cpu_seconds=60.0, **cut)]
    second = [*rows(10, 20, 30), rule(40, instance_hash="h9", cpu_seconds=1.0)]
    (line,) = compared(first, second)
    assert (line.pairs, line.cut, line.time) == (4, 1, 1.0)
    broken = rule(None, instance_hash="h0", status="failed", cpu_seconds=99.0)
    (line,) = compared(rows(10, 20), [broken, *rows(10, 20)[1:]])
    assert (line.pairs, line.cut, line.time, line.only_first) == (1, 0, 1.0, 1)


def test_a_reference_of_zero_has_no_percentage():
    (line,) = compared(rows(0, 10), rows(3, 10))
    assert (line.worse, line.apart, line.change) == (1, 1, 0.0)


def test_more_may_be_better():
    (line,) = compared(rows(10, sense="max"), rows(15, sense="max"))
    assert (line.better, line.change) == (1, -0.5)


def test_solvers_by_name():
    both = [*rows(10), row(sort_key=8, cpu_seconds=1.0)]
    assert [(c.first, c.second) for c in compared(both, both)] == [("rule", "rule"), ("cp-sat", "cp-sat")]
    (line,) = compared(both, both, ["rule=cp-sat"])
    assert (line.first, line.second, line.change, line.time) == ("rule", "cp-sat", pytest.approx(-0.2), 0.5)
    with pytest.raises(InvalidInput, match="must be a solver of both stores, or A=B; there are rule, cp-sat"):
        compared(both, both, ["rul"])
    with pytest.raises(InvalidInput, match="no question in common"):
        compared(rows(1), [rule(1, instance_hash="other")])


def test_labels_may_hold_an_equals_sign():
    first, second = rows(10, solver="f:s=8"), rows(9, solver="f:s=4")
    (line,) = compared(first, second, ["f:s=8=f:s=4"])
    assert line.better == 1


def test_intervals_cover_the_mean_and_are_reproducible():
    rng = np.random.default_rng(0)
    covered, count = 0, draws(30, 60)
    for _ in range(count):
        low, high = interval(rng.normal(1.0, 1.0, 30).tolist())
        covered += low <= 1.0 <= high
    assert 5 * count <= 6 * covered
    assert interval([1.0, 2.0, 3.0, 4.0, 9.0]) == interval([1.0, 2.0, 3.0, 4.0, 9.0])
    assert interval([2.0] * 9) is None
