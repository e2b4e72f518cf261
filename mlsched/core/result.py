"""The one shape of every answer: exact, heuristic or trained."""

from __future__ import annotations

import dataclasses
from typing import Any

from mlsched.core.contract import Plan
from mlsched.core.errors import InvalidInput
from mlsched.core.formulation import Status, StoppedBy


def relative_gap(value: float, bound: float) -> float:
    """|value - bound| / max(1, |value|, |bound|)."""
    return abs(value - bound) / max(1, abs(value), abs(bound))


@dataclasses.dataclass(frozen=True)
class Result:
    """An answer that the judge has recomputed.

    `values` holds every objective as the judge sees it and `value` the one that was asked for; both are None exactly
    when there is no plan, and then `status` is "infeasible" or "unknown". `bound` is proved: no plan is better. A
    heuristic or a policy proves nothing, so its bound and gap are None. `stopped_by` says why the search ended:
    after a "time limit" another machine may answer differently. `seconds` is wall time, `work` the
    backend's deterministic measure.
    """

    instance_hash: str
    problem: str
    answerer: str
    objective: str
    params: dict[str, Any]
    seed: int
    plan: Plan | None
    values: dict[str, int] | None
    value: int | None
    bound: int | float | None
    gap: float | None
    status: Status
    stopped_by: StoppedBy | None
    seconds: float
    work: dict[str, float]
    versions: dict[str, str]

    def gap_to(self, reference: Result) -> float:
        """The relative gap of this answer to what `reference` proved: to its bound, which for an optimum is its value.

        Both must answer the same instance for the same objective.
        """
        if (self.instance_hash, self.objective) != (reference.instance_hash, reference.objective):
            raise InvalidInput("gap_to: the reference answers another instance or another objective")
        if reference.bound is None:
            raise InvalidInput(f"gap_to: {reference.answerer} proved no bound; give an exact answer as reference")
        if self.value is None:
            raise InvalidInput(f"gap_to: {self.answerer} found no plan ({self.status})")
        return relative_gap(self.value, reference.bound)

    def to_json(self) -> dict[str, Any]:
        """The result as plain JSON data."""
        data = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        data["plan"] = self.plan.to_json() if self.plan is not None else None
        return data
