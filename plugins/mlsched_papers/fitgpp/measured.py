"""The measurements by interpretation, policy and metric: one value per seed, averaged over repeats."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mlsched.core.fields import IntArray
from mlsched_papers.claim import Estimate
from mlsched_papers.fitgpp import grid as g
from mlsched_papers.fitgpp.grid import GRACE_SCALE, TE_SHARE, Case, Grid, Policy
from mlsched_papers.fitgpp.measure import Metrics
from mlsched_papers.view import Values, View, change


@dataclasses.dataclass(frozen=True)
class At:
    """A point of the sweeps of Figs. 6 and 7, or another number of jobs; the default is the tables'."""

    te_share: float = TE_SHARE
    grace_scale: float = GRACE_SCALE
    jobs: int = 0


HERE = At()


#: Under the literal reading of "a random BE job", FitGpp is the policy that evaluates Eq. 4 after each random victim.
LITERAL = {g.FITGPP: g.AGAIN, g.FITGPP_FREE: g.AGAIN_FREE}


class FitGppView(View[Policy, At, Metrics]):
    """The measurements under one interpretation. Policies that differ only in their labels are one.

    Attributes:
        reading: A calibration or the trace.
        literal: "a random BE job" is one job (fallback=again).
        pooled: Percentiles of re-scheduling intervals are of all workloads' intervals together; `values` has one value
            per workload.
    """

    def __init__(
        self,
        interpretation: str,
        grid: Grid,
        metrics: Mapping[Case, Metrics],
        *,
        literal: bool = False,
        pooled: bool = False,
    ) -> None:
        name = interpretation.upper() + (", literal fallback" if literal else "") + (", pooled" if pooled else "")
        super().__init__(name, HERE)
        self.grid, self.literal, self.pooled = grid, literal, pooled
        self._runs: dict[tuple[str, Any, At], dict[int, list[Metrics]]] = defaultdict(lambda: defaultdict(list))
        for case, result in metrics.items():
            if case.interpretation == interpretation:
                at = At(case.te_share, case.grace_scale, case.jobs)
                self._runs[case.policy.text, case.policy.options, at][case.seed].append(result)

    def runs(self, policy: Policy, at: At) -> list[list[Metrics]]:
        policy = LITERAL.get(policy, policy) if self.literal else policy
        by_seed = self._runs.get((policy.text, policy.options, at), {})
        return [by_seed[seed] for seed in sorted(by_seed)]

    def be_rise(self, at: At) -> Values:
        """Return the percentage by which FitGpp's median BE slowdown is above FIFO's, workload by workload."""
        return change(self.values(g.FITGPP, "be_p50", at), self.values(g.FIFO, "be_p50", at))

    def quantiles(self, policy: Policy, series: str) -> list[float]:
        """Return the mean over runs of each quantile of a slowdown distribution."""
        result = [run.quantiles.get(series, []) for each in self.runs(policy, HERE) for run in each]
        keep = [quantiles for quantiles in result if quantiles]
        return [float(q) for q in np.mean(keep, axis=0)] if keep else []

    def over_intervals(self, figure: Callable[[Percentile], Values], *policies: Policy) -> Values | Estimate | None:
        """Compute a figure from percentiles of the policies' re-scheduling intervals, by figure(percentile).

        The result has one value per workload. If pooled, it is the value over all intervals, with the spread of
        REPLICATES draws of as many workloads; None if some workload lacks intervals.
        """
        if not self.pooled:
            return figure(lambda policy, p: self.values(policy, f"interval_p{p}"))
        counts = {policy: self._counts(policy) for policy in policies}
        workloads = {len(each) for each in counts.values()}
        if len(workloads) != 1 or 0 in workloads or any((c.sum(axis=1) == 0).any() for c in counts.values()):
            return None
        return _bootstrap(figure, counts, workloads.pop())

    def _counts(self, policy: Policy) -> IntArray:
        """Return the number of intervals by length over all repeats, shape (workloads, minutes)."""
        result = [[run.intervals for run in each] for each in self.runs(policy, HERE)]
        longest = max((len(minutes) for each in result for minutes in each), default=0)
        padded = [[(*minutes, *[0] * (longest - len(minutes))) for minutes in each] for each in result]
        return np.array([np.sum(each, axis=0) for each in padded], dtype=np.int64).reshape(len(result), longest)


#: (policy, p) -> the p-th percentile of its intervals, min: one value per workload, or a single value of all together.
Percentile = Callable[[Policy, int], Values]
#: Number of workload draws for the interval of a pooled figure, and their seed.
REPLICATES, SEED = 1000, 2019


def percentiles(counts: IntArray, p: int) -> Values:
    """Return, for each row, the p-th percentile of integers with `counts` occurrences of 0, 1, 2, ..."""
    ends = np.cumsum(counts, axis=1)
    place = p / 100 * (ends[:, -1] - 1)
    below, above = ((ends <= result(place)[:, None]).sum(axis=1) for result in (np.floor, np.ceil))
    return np.asarray(below + (place - np.floor(place)) * (above - below), dtype=np.float64)


def _bootstrap(figure: Callable[[Percentile], Values], counts: Mapping[Policy, IntArray], workloads: int) -> Estimate:
    """Compute the figure over all workloads; its symmetric interval covers 95 % of the figures over drawn ones."""
    choice = np.random.default_rng(SEED).integers(0, workloads, (REPLICATES, workloads))
    times = (choice[:, :, None] == np.arange(workloads)).sum(axis=1)
    times = np.concatenate([np.ones((1, workloads), dtype=np.int64), times])
    result = figure(lambda policy, p: percentiles(times @ counts[policy], p))
    half = float(np.quantile(np.abs(result[1:] - result[0]), 0.95)) if workloads > 1 else None
    return Estimate(float(result[0]), half, workloads)


@dataclasses.dataclass(frozen=True)
class Readings:
    """The interpretations of one calibration, or of the trace, as views of the same runs."""

    plain: FitGppView
    literal: FitGppView
    pooled: FitGppView
    literal_pooled: FitGppView

    @classmethod
    def of(cls, interpretation: str, grid: Grid, metrics: Mapping[Case, Metrics]) -> Readings:
        """Return all views of a calibration's or the trace's runs."""

        def view(**how: bool) -> FitGppView:
            return FitGppView(interpretation, grid, metrics, **how)

        return cls(view(), view(literal=True), view(pooled=True), view(literal=True, pooled=True))
