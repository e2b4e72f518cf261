"""The measurements of Figure 8 by interpretation, policy, metric and arrival pattern; one value per seed."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Mapping, Sequence

from mlsched_papers.harmony.grid import Case, Grid, Interpretation, Policy
from mlsched_papers.harmony.measure import Metrics
from mlsched_papers.harmony.prediction import Errors
from mlsched_papers.view import View

#: The paper's metric, and the same in full intervals.
COMPLETION, WHOLE = "average_completion", "average_whole"


class HarmonyView(View[Policy, str, Metrics]):
    """The measurements under one interpretation; a place is an arrival pattern. `metric`: measure of completion."""

    def __init__(
        self, interpretation: Interpretation, metrics: Mapping[Case, Metrics], metric: str = COMPLETION
    ) -> None:
        super().__init__(
            interpretation.name + (", whole intervals" if metric == WHOLE else ""), interpretation.patterns[0]
        )
        self.interpretation, self.metric = interpretation, metric
        self._runs: dict[tuple[Policy, str], dict[int, Metrics]] = defaultdict(dict)
        for case, result in metrics.items():
            if case.interpretation == interpretation:
                self._runs[case.policy, case.pattern][case.seed] = result
        self.policies: Sequence[Policy] = tuple(dict.fromkeys(policy for policy, _ in self._runs))

    def runs(self, policy: Policy, at: str) -> list[list[Metrics]]:
        return [[result] for _, result in sorted(self._runs.get((policy, at), {}).items(), key=lambda item: item[0])]

    def baselines(self) -> dict[str, list[Policy]]:
        """Return interpretation -> the paper's baselines under it; first the view's own, then with each variant."""
        plain = self.of_kind("baseline")
        result = {self.name: plain}
        for policy in self.of_kind("interpretation"):
            name = f"{self.name}, {policy.variant}"
            result[name] = [policy if p.label == policy.of else p for p in result.get(name, plain)]
        return result

    def shown(self) -> list[Policy]:
        """Return the policies of Figure 8: without Table II and Figure 10."""
        return [policy for policy in self.policies if policy.kind != "variant"]

    def of_kind(self, *kinds: str) -> list[Policy]:
        """Return the policies of some kinds that ran."""
        return [policy for policy in self.policies if policy.kind in kinds]


@dataclasses.dataclass(frozen=True)
class Measured:
    """All measurements.

    Attributes:
        views: Fig. 8 by interpretation.
        rack: The same on 30 servers.
        errors: Fig. 9 by model.
    """

    grid: Grid
    views: Sequence[HarmonyView]
    rack: HarmonyView | None
    errors: Mapping[str, Errors]
