"""The measurements of Figure 8, asked for by reading, pattern, policy and metric: one value a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from mlsched.benchmark.experiments.claim import Estimate, estimate
from mlsched.benchmark.experiments.harmony.grid import Case, Policy, Reading
from mlsched.benchmark.experiments.harmony.measure import Metrics

Values = npt.NDArray[np.float64]

#: The paper's figure of merit, and it in whole intervals.
COMPLETION, WHOLE = "average_completion", "average_whole"


class View:
    """The measurements under one reading. `metric` is how completion is counted, `name` says so where it is unusual."""

    def __init__(self, reading: Reading, metrics: Mapping[Case, Metrics], metric: str = COMPLETION) -> None:
        self.reading, self.metric = reading, metric
        self.name = reading.name + (", whole intervals" if metric == WHOLE else "")
        self._runs = {(c.pattern, c.policy, c.seed): m for c, m in metrics.items() if c.reading == reading}
        self.policies: Sequence[Policy] = tuple(dict.fromkeys(policy for _, policy, _ in self._runs))

    def of_kind(self, *kinds: str) -> list[Policy]:
        """The policies of some kinds that ran."""
        return [policy for policy in self.policies if policy.kind in kinds]

    def values(self, policy: Policy, pattern: str, metric: str | None = None) -> Values:
        """One value a seed; NaN where nothing was measured."""
        seeds = sorted(seed for at, p, seed in self._runs if (at, p) == (pattern, policy))
        found = [self._runs[pattern, policy, seed].values.get(metric or self.metric) for seed in seeds]
        return np.array([np.nan if v is None else v for v in found], dtype=np.float64)

    def estimate(self, policy: Policy, pattern: str, metric: str | None = None) -> Estimate | None:
        """Mean and interval over seeds; None where some seed has no value."""
        return estimate(self.values(policy, pattern, metric))

    def cut(self, policy: Policy, other: Policy, pattern: str) -> Values:
        """By how many percent the policy's completion time is below the other's, workload by workload."""
        new, old = self.values(policy, pattern), self.values(other, pattern)
        if new.shape != old.shape:
            return np.zeros(0)
        return np.asarray(100 * (1 - new / old), dtype=np.float64)
