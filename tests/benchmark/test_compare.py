"""Two stores against each other: pairs, the one statistic of a comparison, verdicts and intervals."""

from __future__ import annotations

import numpy as np
import pytest
from benchmark_examples import row, rule
from draws import draws

from mlsched import InvalidInput
from mlsched.benchmark.bootstrap import bootstrap_interval
from mlsched.benchmark.compare import compare_rows
from mlsched.core.contract import Primary


def rows(*values: int | None, **changes):
    return [rule(v, instance_hash=f"h{k}", cpu_seconds=2.0, **changes) for k, v in enumerate(values)]


def test_questions_are_paired_and_what_only_one_answered_is_counted_apart():
    first = rows(10, 20, 30, None, 50)
    second = rows(5, 20, 45, 40, None)[::-1]
    (line,) = compare_rows(first, second)
    assert (line.pairs, line.better, line.worse) == (3, 1, 1)
    assert line.statistic == "value"
    assert line.difference == pytest.approx((-1 / 2 + 0 + 1 / 3) / 3)
    assert (line.only_first, line.only_second, line.apart) == (1, 1, 0)
    assert (line.time, line.interval, line.verdict) == (1.0, None, "undecided"), "too few for an interval"


def test_censored_times_are_counted_and_in_no_mean():
    cut = {"status": "feasible", "stopped_by": "time limit"}
    first = [*rows(10, 20, 30), rule(40, instance_hash="h9", cpu_seconds=60.0, **cut)]
    second = [*rows(10, 20, 30), rule(40, instance_hash="h9", cpu_seconds=1.0)]
    (line,) = compare_rows(first, second)
    assert (line.pairs, line.cut, line.time) == (4, 1, 1.0)
    broken = rule(None, instance_hash="h0", status="failed", cpu_seconds=99.0)
    (line,) = compare_rows(rows(10, 20), [broken, *rows(10, 20)[1:]])
    assert (line.pairs, line.cut, line.time, line.only_first) == (1, 0, 1.0, 1)


def test_values_of_zero_are_compared_too():
    (line,) = compare_rows(rows(0, 10, 0), rows(3, 10, 0))
    assert (line.worse, line.apart, line.difference) == (1, 0, pytest.approx(1 / 3))


def test_more_may_be_better():
    (line,) = compare_rows(rows(10, sense="max"), rows(15, sense="max"))
    assert (line.better, line.difference) == (1, pytest.approx(-1 / 3))


def optima(*values):
    return [row(sort_key=v, instance_hash=f"h{k}", cpu_seconds=1.0) for k, v in enumerate(values)]


def test_gaps_are_compared_if_every_pair_has_both():
    first, second = rows(120, 200), rows(110, 200)
    (line,) = compare_rows([*first, *optima(100, 100)], second)
    assert (line.statistic, line.difference) == ("gap", pytest.approx(-0.05)), "the optima of either store serve both"
    (line,) = compare_rows([*first, *optima(100)], second)
    assert (line.statistic, line.difference) == ("value", pytest.approx(-10 / 240))
    (line,) = compare_rows([*first, *optima(0, 100)], second)
    assert line.statistic == "value", "an optimum of 0 has no gap in percent"


def test_pairs_of_the_primary_criterion_are_in_no_mean_and_never_contradict_the_verdict():
    first = Primary("deferred", 1000)
    mine, better = ([rule(v, instance_hash=f"h{k}", primary=first) for k, v in enumerate(values)]
                    for values in ([500] * 9, [400] * 9))  # fmt: skip
    (line,) = compare_rows(mine, better)
    assert (line.verdict, line.apart, line.better) == ("better", 0, 9)
    more = [rule(v, instance_hash="more", primary=first) for v in (500, 1400)]
    (line,) = compare_rows([*mine, more[0]], [*better, more[1]])
    assert (line.verdict, line.apart, line.better, line.worse) == ("undecided", 1, 9, 1)
    assert line.difference == pytest.approx(-0.2)
    (line,) = compare_rows([*mine, more[1]], [*better, more[0]])
    assert (line.verdict, line.apart, line.better) == ("better", 1, 10)
    deferring = [rule(1300, instance_hash=f"h{k}", primary=first) for k in range(9)]
    (line,) = compare_rows(mine, deferring)
    assert (line.verdict, line.apart, line.difference) == ("worse", 9, None), "the criterion decides all pairs"


def test_the_more_comparisons_the_wider_the_intervals():
    first, second = (rows(*values) for values in ([100] * 9, [99, 98, 97, 96, 95, 94, 93, 92, 101]))
    (line,) = compare_rows(first, second)
    (corrected,) = compare_rows(first, second, comparisons=10)
    assert (line.verdict, line.comparisons, corrected.verdict, corrected.interval) == (
        "better",
        1,
        "undecided",
        pytest.approx((-0.08, 1 / 101)),
    )


def test_solvers_by_name():
    both = [*rows(10), row(sort_key=8, cpu_seconds=1.0)]
    assert [(c.first, c.second) for c in compare_rows(both, both)] == [("rule", "rule"), ("cp-sat", "cp-sat")]
    (line,) = compare_rows(both, both, ["rule=cp-sat"])
    assert (line.first, line.second, line.difference, line.time) == ("rule", "cp-sat", pytest.approx(-0.25), 0.5)
    with pytest.raises(InvalidInput, match="expected a solver of both stores, or A=B; there are rule, cp-sat"):
        compare_rows(both, both, ["rul"])
    with pytest.raises(InvalidInput, match="do not share a question"):
        compare_rows(rows(1), [rule(1, instance_hash="other")])


def test_labels_may_hold_an_equals_sign():
    first, second = rows(10, solver="f:s=8"), rows(9, solver="f:s=4")
    (line,) = compare_rows(first, second, ["f:s=8=f:s=4"])
    assert line.better == 1


def test_intervals_cover_the_mean_and_are_reproducible():
    rng = np.random.default_rng(0)
    covered, count = 0, draws(30, 60)
    for _ in range(count):
        low, high = bootstrap_interval(rng.normal(1.0, 1.0, 30).tolist())
        covered += low <= 1.0 <= high
    assert 5 * count <= 6 * covered
    assert bootstrap_interval([1.0, 2.0, 3.0, 4.0, 9.0]) == bootstrap_interval([1.0, 2.0, 3.0, 4.0, 9.0])
    assert bootstrap_interval([2.0] * 9) is None
