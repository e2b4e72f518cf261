"""The measurements, asked for by reading, policy and metric: one value a sequence of jobs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from mlsched.benchmark.experiments.chic.grid import OPTIMUS_600, Case, Grid, Policy, Reading, case
from mlsched.benchmark.experiments.chic.measure import Metrics
from mlsched.benchmark.experiments.claim import Estimate, estimate

Values = npt.NDArray[np.float64]


class View:
    """The measurements under one reading."""

    def __init__(self, reading: Reading, grid: Grid, metrics: Mapping[Case, Metrics]) -> None:
        self.reading, self.grid, self._metrics = reading, grid, metrics

    def has(self, policy: Policy, rate: float, jobs: int = 0) -> bool:
        """Whether the policy ran at that rate, on sequences of that many jobs (0: the grid's)."""
        return case(self.reading, policy, rate, 0, jobs) in self._metrics

    def values(self, policy: Policy, metric: str, rate: float, jobs: int = 0) -> Values:
        """One value a sequence; empty where the policy did not run."""
        if not self.has(policy, rate, jobs):
            return np.zeros(0)
        runs = [self._metrics[case(self.reading, policy, rate, seed, jobs)] for seed in range(self.grid.seeds)]
        return np.array([run.values[metric] for run in runs], dtype=np.float64)

    def completions(self, policy: Policy, rate: float) -> Values:
        """Completion times of the jobs of all sequences, s."""
        if not self.has(policy, rate):
            return np.zeros(0)
        runs = [self._metrics[case(self.reading, policy, rate, seed)] for seed in range(self.grid.seeds)]
        return np.concatenate([run.completion for run in runs])

    def estimate(self, policy: Policy, metric: str, rate: float, jobs: int = 0) -> Estimate | None:
        """Mean and interval over sequences."""
        return estimate(self.values(policy, metric, rate, jobs))

    def cut(
        self, policy: Policy, rate: float, metric: str = "act", against: Policy = OPTIMUS_600, jobs: int = 0
    ) -> Values:
        """By how many percent the policy's value is below that of `against`, sequence by sequence."""
        new, old = self.values(policy, metric, rate, jobs), self.values(against, metric, rate, jobs)
        return np.zeros(0) if new.shape != old.shape else np.asarray(100 * (1 - new / old), dtype=np.float64)

    def less(self, policy: Policy, rate: float, metric: str = "act", against: Policy = OPTIMUS_600) -> Values:
        """How much the policy's value is below that of `against`, sequence by sequence."""
        new, old = self.values(policy, metric, rate), self.values(against, metric, rate)
        return np.zeros(0) if new.shape != old.shape else np.asarray(old - new, dtype=np.float64)


@dataclasses.dataclass(frozen=True)
class Measured:
    """Everything that was measured, reading by reading; all policies ran under the first."""

    grid: Grid
    views: Sequence[View]
