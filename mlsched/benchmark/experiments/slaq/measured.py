"""The measurements, asked for by reading, policy and metric: one value a seed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from mlsched.benchmark.experiments.claim import Estimate, estimate
from mlsched.benchmark.experiments.slaq.grid import FAIR, SLAQ, Case, Policy, Reading
from mlsched.benchmark.experiments.slaq.measure import Line, Metrics

Values = npt.NDArray[np.float64]


class View:
    """The measurements under one reading."""

    def __init__(self, reading: Reading, metrics: Mapping[Case, Metrics]) -> None:
        self.reading = reading
        self._runs = {(c.policy, c.mean_arrival, c.seed): m for c, m in metrics.items() if c.reading == reading}

    def values(self, policy: Policy, metric: str, arrival: float | None = None) -> Values:
        """One value a seed; NaN where nothing was measured."""
        at = self.reading.at if arrival is None else arrival
        seeds = sorted(seed for p, a, seed in self._runs if (p, a) == (policy, at))
        found = [self._runs[policy, at, seed].values.get(metric) for seed in seeds]
        return np.array([np.nan if v is None else v for v in found], dtype=np.float64)

    def estimate(self, policy: Policy, metric: str, arrival: float | None = None) -> Estimate | None:
        """Mean and interval over seeds; None where some seed has no value."""
        return estimate(self.values(policy, metric, arrival))

    def cut(self, metric: str, arrival: float | None = None, policy: Policy = SLAQ) -> Values:
        """By how many percent SLAQ's value is below the fair scheduler's, workload by workload."""
        new, old = self.values(policy, metric, arrival), self.values(FAIR, metric, arrival)
        if new.shape != old.shape:
            return np.zeros(0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(100 * (1 - new / np.where(old == 0, np.nan, old)), dtype=np.float64)

    def curve(self, policy: Policy, name: str) -> Line:
        """A curve over time of the first workload."""
        found = self._runs.get((policy, self.reading.at, 0))
        return found.curves[name] if found else ([], [])
