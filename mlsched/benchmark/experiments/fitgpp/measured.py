"""The measurements, asked for by reading, policy and metric: one value a seed, averaged over repeats."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from mlsched.benchmark.experiments.fitgpp.grid import GRACE_SCALE, TE_SHARE, Case, Grid, Policy
from mlsched.benchmark.experiments.fitgpp.measure import Metrics
from mlsched.benchmark.experiments.view import View


@dataclasses.dataclass(frozen=True)
class At:
    """A point of the sweeps of Figs. 6 and 7; the default is the tables'."""

    te_share: float = TE_SHARE
    grace_scale: float = GRACE_SCALE


HERE = At()


class FitGppView(View[Policy, At, Metrics]):
    """The measurements under one reading. Policies that differ in their labels alone are one."""

    def __init__(self, reading: str, grid: Grid, metrics: Mapping[Case, Metrics]) -> None:
        super().__init__(reading.upper(), HERE)
        self.grid = grid
        self._runs: dict[tuple[str, At], dict[int, list[Metrics]]] = defaultdict(lambda: defaultdict(list))
        for case, found in metrics.items():
            if case.reading == reading:
                self._runs[case.policy.text, At(case.te_share, case.grace_scale)][case.seed].append(found)

    def runs(self, policy: Policy, at: At) -> list[list[Metrics]]:
        by_seed = self._runs.get((policy.text, at), {})
        return [by_seed[seed] for seed in sorted(by_seed)]

    def quantiles(self, policy: Policy, series: str) -> list[float]:
        """The mean over runs of each quantile of a slowdown distribution."""
        found = [run.quantiles.get(series, []) for each in self.runs(policy, HERE) for run in each]
        kept = [quantiles for quantiles in found if quantiles]
        return [float(q) for q in np.mean(kept, axis=0)] if kept else []
