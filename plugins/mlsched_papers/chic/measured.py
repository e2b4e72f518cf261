"""The measurements by interpretation, policy and metric: one value per sequence of jobs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from mlsched_papers.chic.grid import Case, Grid, Interpretation, Policy, case
from mlsched_papers.chic.measure import Metrics
from mlsched_papers.view import Values, View


@dataclasses.dataclass(frozen=True)
class At:
    """Arrivals per hour, and the number of jobs in a sequence (0: the grid's)."""

    rate: float
    jobs: int = 0


class ChicView(View[Policy, At, Metrics]):
    """The measurements under one interpretation; a workload is a sequence of jobs."""

    def __init__(self, interpretation: Interpretation, grid: Grid, metrics: Mapping[Case, Metrics]) -> None:
        super().__init__(interpretation.name, At(grid.at))
        self.interpretation, self.grid, self._metrics = interpretation, grid, metrics

    def runs(self, policy: Policy, at: At) -> list[list[Metrics]]:
        request = [case(self.interpretation, policy, at.rate, seed, at.jobs) for seed in range(self.grid.seeds)]
        return [[self._metrics[one]] for one in request if one in self._metrics]

    def has(self, policy: Policy, at: At) -> bool:
        """Return whether the policy ran there."""
        return bool(self.runs(policy, at))

    def completions(self, policy: Policy) -> Values:
        """Return the completion times of the jobs of all sequences at the usual rate, s."""
        return np.array([s for each in self.runs(policy, self.here) for run in each for s in run.completion])


@dataclasses.dataclass(frozen=True)
class Measured:
    """All measurements, by interpretation; all policies ran under the first."""

    grid: Grid
    views: Sequence[ChicView]
