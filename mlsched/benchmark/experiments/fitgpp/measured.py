"""The measurements, asked for by reading, policy and metric: one value a seed, averaged over repeats."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from mlsched.benchmark.experiments.claim import Estimate, estimate
from mlsched.benchmark.experiments.fitgpp.grid import GRACE_SCALE, TE_SHARE, Case, Policy
from mlsched.benchmark.experiments.fitgpp.measure import Metrics

Values = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class At:
    """A point of the sweeps of Figs. 6 and 7; the default is the tables'."""

    te_share: float = TE_SHARE
    grace_scale: float = GRACE_SCALE


HERE = At()


class View:
    """The measurements under one reading."""

    def __init__(self, reading: str, metrics: Mapping[Case, Metrics]) -> None:
        self.reading = reading
        self._runs: dict[tuple[str, At], dict[int, list[Metrics]]] = defaultdict(lambda: defaultdict(list))
        for case, found in metrics.items():
            if case.reading == reading:
                self._runs[case.policy.text, At(case.te_share, case.grace_scale)][case.seed].append(found)

    def values(self, policy: Policy, metric: str, at: At = HERE) -> Values:
        """One value a seed, the mean over repeats; NaN where nothing was measured."""
        seeds = self._runs.get((policy.text, at), {})
        means = [np.mean([_number(m.values.get(metric)) for m in seeds[seed]]) for seed in sorted(seeds)]
        return np.array(means, dtype=np.float64)

    def estimate(self, policy: Policy, metric: str, at: At = HERE) -> Estimate | None:
        """Mean and interval over seeds; None where some seed has no value."""
        return estimate(self.values(policy, metric, at))

    def quantiles(self, policy: Policy, series: str) -> list[float]:
        """The mean over runs of each quantile of a slowdown distribution."""
        runs = [m.quantiles.get(series, []) for seed in self._runs.get((policy.text, HERE), {}).values() for m in seed]
        kept = [run for run in runs if run]
        return [float(q) for q in np.mean(kept, axis=0)] if kept else []


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def change(new: Values, old: Values) -> Values:
    """`new` relative to `old`, percent more, seed by seed; NaN where `old` is 0."""
    return 100 * (ratio(new, old) - 1)


def ratio(new: Values, old: Values) -> Values:
    """`new` / `old`, seed by seed; NaN where `old` is 0."""
    divided: Any = np.divide(new, old, out=np.full_like(new, np.nan), where=old != 0)
    return np.asarray(divided, dtype=np.float64)
