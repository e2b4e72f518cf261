"""The measurements of an experiment, asked for by policy, metric and place."""

import dataclasses

import numpy as np
import pytest

from mlsched_papers.claim import Bound, estimate, exact
from mlsched_papers.statement import Piece, stated
from mlsched_papers.view import View, change, ratio_of_means


@dataclasses.dataclass(frozen=True)
class Run:
    values: dict


class Table(View):
    """Runs written down: (policy, place) -> the values of `x`, a list of runs a workload."""

    def __init__(self, runs):
        super().__init__("written down", "here")
        self._runs = runs

    def runs(self, policy, at):
        return [[Run({"x": x}) for x in each] for each in self._runs.get((policy, at), [])]


VIEW = Table({("a", "here"): [[1.0, 3.0], [4.0]], ("b", "here"): [[4.0], [0.0]], ("a", "there"): [[None], [7.0]]})


def test_a_value_is_the_mean_over_the_runs_of_a_workload():
    assert VIEW.values("a", "x").tolist() == [2.0, 4.0]
    np.testing.assert_array_equal(VIEW.values("a", "x", "there"), [np.nan, 7.0])
    np.testing.assert_array_equal(VIEW.values("a", "y"), [np.nan, np.nan])
    assert VIEW.values("c", "x").size == 0
    assert VIEW.estimate("a", "x").mean == 3.0
    assert VIEW.estimate("a", "x", "there") is None


def test_comparisons_are_paired_by_workload():
    np.testing.assert_array_equal(VIEW.cut("a", "b", "x"), [50.0, np.nan])
    assert VIEW.less("a", "b", "x").tolist() == [2.0, -4.0]
    np.testing.assert_array_equal(change(VIEW.values("a", "x"), VIEW.values("b", "x")), [-50.0, np.nan])
    assert VIEW.cut("a", "c", "x").size == VIEW.less("c", "a", "x").size == 0


def test_a_claim_is_judged_on_each_of_several_measurements():
    @stated("small", text="it is small", where="Section 1", tested="at most 20")
    def small(view):
        return [Piece(view.name, "x", view.values("a", "x"), Bound(high=20.0), "s", 2.0)]

    claim = small.judge(VIEW, VIEW)
    assert [e.measured.mean for e in claim.measurements] == [3.0, 3.0]
    assert claim.verdict == "undecided"  # two workloads have no interval
    assert small.judge().verdict == "not measured"


def test_a_piece_may_be_an_estimate_or_not_measured():
    assert Piece("r", "x", exact(1.0), Bound()).measurements().measured == exact(1.0)
    assert Piece("r", "x", None, Bound()).measurements().side() is None


def test_the_ratio_of_means_is_jackknifed():
    new, old = np.array([1.0, 2.0, 6.0]), np.array([2.0, 2.0, 8.0])
    found = ratio_of_means(new, old)  # 9 / 12; without each of them 8 / 10, 7 / 10 and 3 / 4, 3 / 4 on average
    assert found == pytest.approx([0.75 - 2 * 0.05, 0.75 + 2 * 0.05, 0.75])
    assert found.mean() == pytest.approx(0.75)
    assert ratio_of_means(2 * old, old).tolist() == [2.0, 2.0, 2.0]
    assert ratio_of_means(new[:1], old[:1]).tolist() == [0.5]
    assert ratio_of_means(new[:0], old[:0]).size == 0
    assert np.isnan(ratio_of_means(new, 0 * old)).all()


def test_its_interval_covers_a_planted_ratio():
    """Ten workloads, fair's means log-normal (0.3), SLAQ's 0.55 of them but for log-normal noise (0.15)."""
    rng, covered = np.random.default_rng(0), 0
    true = 0.55
    for _ in range(400):
        old = rng.lognormal(0.0, 0.3, 10)
        found = estimate(ratio_of_means(true * old * rng.lognormal(-(0.15**2) / 2, 0.15, 10), old))
        covered += abs(found.mean - true) <= found.half
    assert 0.92 <= covered / 400 <= 0.97
