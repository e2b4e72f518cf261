"""The measurements by policy, metric and load: one value per workload."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from mlsched_papers.mlfs.grid import BOUND, HELD, Case, Grid, Policy, as_read
from mlsched_papers.mlfs.measure import REACHABLE, Metrics, better
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
        result = self._runs.get((read, at), {})
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
            if not policy.feature and self.values(policy, "waiting", x).size
        ]
        share = float(np.median(shares)) if shares else 0.0
        return f"jobs wait {share:.1f} % of their time at x = {x:g}, in the median of the schedulers" * (share < WAIT)

    def better(self, policy: Policy, other: Policy, metric: str, at: float | None = None) -> Values:
        """Return the percentage by which a policy improves on another, for each workload on which both ran."""
        new, old = self.values(policy, metric, at), self.values(other, metric, at)
        count = min(len(new), len(old))  # the workloads of both begin at seed 0
        return np.asarray(better(metric, new[:count], old[:count]))

    def loads(self, policy: Policy, other: Policy) -> list[float]:
        """Return the loads at which both policies ran."""
        return [x for x in self.grid.loads if self.runs(policy, x) and self.runs(other, x)]

    def reach(self, policy: Policy, other: Policy, metric: str, at: float, *, stops: bool) -> float | None:
        """Return the most by which any scheduler could improve on another, on the workloads of `better`.

        None for a metric without a bound. stops: the scheduler may stop jobs early.
        """
        if metric not in REACHABLE:
            return None
        most = self.values(BOUND, "deadlines_stopping" if stops and metric == "deadlines" else metric, at)
        old = self.values(other, metric, at)
        count = min(len(most), len(old), len(self.values(policy, metric, at)))
        return float(better(metric, most[:count], old[:count]).mean()) if count else None
