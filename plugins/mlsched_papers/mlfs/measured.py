"""The measurements by policy, metric and load: one value per workload."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from mlsched_papers.mlfs.grid import HELD, Case, Grid, Policy, as_read
from mlsched_papers.mlfs.measure import Metrics, better
from mlsched_papers.view import Values, View

#: Threshold of waiting: share of the jobs' time under the median scheduler, percent.
WAIT = 1.0


class Measured(View[Policy, float, Metrics]):
    """A place is a load x; the default is the highest. Policies are those of the first interpretation."""

    def __init__(self, grid: Grid, metrics: Mapping[Case, Metrics], interpretation: str = HELD) -> None:
        super().__init__(interpretation, max(grid.loads))
        self.grid = grid
        self._runs: dict[tuple[Policy, float], dict[int, Metrics]] = defaultdict(dict)
        for case, result in metrics.items():
            self._runs[case.policy, case.x][case.seed] = result
        self.all: Sequence[Policy] = tuple(dict.fromkeys(case.policy for case in metrics))
        here = [p for p in self.all if p.under in ("", HELD) and as_read(p, interpretation) in self.all]
        self.policies: Sequence[Policy] = tuple(here)
        self._idle: dict[float, str] = {}

    def runs(self, policy: Policy, at: float) -> list[list[Metrics]]:
        read = as_read(policy, self.name) if policy.under in ("", HELD) else policy
        result = {} if read is None else self._runs.get((read, at), {})
        return [[metrics] for _, metrics in sorted(result.items(), key=lambda item: item[0])]

    def idle(self, x: float) -> str:
        """Explain why the schedulers cannot differ much at a load with few waiting jobs; "" if jobs do wait."""
        if x not in self._idle:
            self._idle[x] = self._idle_at(x)
        return self._idle[x]

    def _idle_at(self, x: float) -> str:
        shares = [
            100 * self.values(policy, "waiting", x).mean() / self.values(policy, "jct", x).mean()
            for policy in self.policies
            if not policy.feature
        ]
        share = float(np.median(shares)) if shares else 0.0
        return f"jobs wait {share:.1f} % of their time at x = {x:g}, in the median of the schedulers" * (share < WAIT)

    def better(self, policy: Policy, other: Policy, metric: str, at: float | None = None) -> Values:
        """Return the percentage by which a policy improves on another, workload by workload; empty without a pair."""
        new, old = self.values(policy, metric, at), self.values(other, metric, at)
        return np.zeros(0) if new.shape != old.shape else np.asarray(better(metric, new, old))
