"""The measurements by interpretation, policy and metric: one value per seed."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from mlsched_papers.claim import Estimate, Exclusion
from mlsched_papers.slaq.grid import FAIR, SLAQ, Case, Grid, Interpretation, Policy
from mlsched_papers.slaq.measure import Line, Metrics
from mlsched_papers.slaq.prediction import Errors
from mlsched_papers.slaq.recorded import RecordedErrors
from mlsched_papers.view import Values, View, change, ratio_of_means


class SlaqView(View[Policy, float, Metrics]):
    """The measurements under one interpretation; a place is the mean time between arrivals, s."""

    def __init__(self, interpretation: Interpretation, metrics: Mapping[Case, Metrics]) -> None:
        super().__init__(interpretation.name, interpretation.at)
        self.interpretation = interpretation
        self._runs: dict[tuple[Policy, float], dict[int, Metrics]] = defaultdict(dict)
        for case, result in metrics.items():
            if case.interpretation == interpretation:
                self._runs[case.policy, case.mean_arrival][case.seed] = result

    def runs(self, policy: Policy, at: float) -> list[list[Metrics]]:
        return [[result] for _, result in sorted(self._runs.get((policy, at), {}).items(), key=lambda item: item[0])]

    def cut_of_fair(self, metric: str, at: float | None = None) -> Values:
        """Return the percentage by which SLAQ's value is below the fair scheduler's, workload by workload."""
        return self.cut(SLAQ, FAIR, metric, at)

    def cut_of_means(self, metric: str, at: float | None = None) -> Values:
        """Return the percentage by which SLAQ's mean over workloads is below fair's, one pseudo-value per workload."""
        return 100 * (1 - ratio_of_means(*self._pair(metric, at)))

    def fair_above(self, metric: str) -> Values:
        """Return the percentage by which the fair scheduler's value is above SLAQ's, workload by workload."""
        slaq, fair = self._pair(metric)
        return change(fair, slaq)

    def fair_above_of_means(self, metric: str) -> Values:
        """Return the percentage by which fair's mean over workloads is above SLAQ's, one pseudo-value per workload."""
        slaq, fair = self._pair(metric)
        return 100 * (ratio_of_means(fair, slaq) - 1)

    def _pair(self, metric: str, at: float | None = None) -> tuple[Values, Values]:
        """Return SLAQ's values and fair's; both empty if one of them did not run."""
        slaq, fair = self.values(SLAQ, metric, at), self.values(FAIR, metric, at)
        return (slaq, fair) if slaq.shape == fair.shape else (np.zeros(0), np.zeros(0))

    def curve(self, policy: Policy, name: str) -> Line:
        """Return a curve over time of the first workload."""
        result = self._runs.get((policy, self.here), {}).get(0)
        return result.curves[name] if result else ([], [])


@dataclasses.dataclass(frozen=True)
class Measured:
    """All measurements.

    Attributes:
        core: Interpretations, variants and departures.
        sweeps: Fig. 9.
        seconds: Fig. 10(c).
        recorded: Prediction errors on recorded curves, by kind; empty without a file of such curves.
    """

    grid: Grid
    core: Sequence[SlaqView]
    sweeps: Sequence[SlaqView]
    errors: Errors
    seconds: dict[int, Estimate | None]
    recorded: Mapping[str, RecordedErrors] = dataclasses.field(default_factory=dict)

    @property
    def departures(self) -> dict[str, Exclusion]:
        """Return the interpretations excluded from all verdicts, with the reason."""
        return {
            interpretation.name: interpretation.excluded
            for interpretation in self.grid.departures
            if interpretation.excluded is not None
        }
