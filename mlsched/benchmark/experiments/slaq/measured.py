"""The measurements, asked for by reading, policy and metric: one value a seed."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Mapping, Sequence

from mlsched.benchmark.experiments.claim import Estimate
from mlsched.benchmark.experiments.slaq.grid import FAIR, SLAQ, Case, Grid, Policy, Reading
from mlsched.benchmark.experiments.slaq.measure import Line, Metrics
from mlsched.benchmark.experiments.slaq.prediction import Errors
from mlsched.benchmark.experiments.view import Values, View


class SlaqView(View[Policy, float, Metrics]):
    """The measurements under one reading; a place is the mean time between arrivals, s."""

    def __init__(self, reading: Reading, metrics: Mapping[Case, Metrics]) -> None:
        super().__init__(reading.name, reading.at)
        self.reading = reading
        self._runs: dict[tuple[Policy, float], dict[int, Metrics]] = defaultdict(dict)
        for case, found in metrics.items():
            if case.reading == reading:
                self._runs[case.policy, case.mean_arrival][case.seed] = found

    def runs(self, policy: Policy, at: float) -> list[list[Metrics]]:
        return [[found] for _, found in sorted(self._runs.get((policy, at), {}).items(), key=lambda item: item[0])]

    def cut_of_fair(self, metric: str, at: float | None = None) -> Values:
        """By how many percent SLAQ's value is below the fair scheduler's, workload by workload."""
        return self.cut(SLAQ, FAIR, metric, at)

    def curve(self, policy: Policy, name: str) -> Line:
        """A curve over time of the first workload."""
        found = self._runs.get((policy, self.here), {}).get(0)
        return found.curves[name] if found else ([], [])


@dataclasses.dataclass(frozen=True)
class Measured:
    """Everything that was measured. core: readings and variants; sweeps: Fig. 9; seconds: Fig. 10(c)."""

    grid: Grid
    core: Sequence[SlaqView]
    sweeps: Sequence[SlaqView]
    errors: Errors
    seconds: dict[int, Estimate | None]
