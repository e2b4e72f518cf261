"""The one shape of every answer: exact, heuristic or trained."""

from __future__ import annotations

import dataclasses
from typing import Any

from mlsched.core.contract import Plan
from mlsched.core.formulation import Status, StoppedBy


def relative_gap(value: float, bound: float) -> float:
    """|value - bound| / max(1, |value|, |bound|)."""
    return abs(value - bound) / max(1, abs(value), abs(bound))


@dataclasses.dataclass(frozen=True)
class Result:
    """An answer that the judge has recomputed.

    `values` holds every objective as the judge sees it and `value` the one that was asked for; both are None exactly
    when there is no plan, and then `status` is "infeasible" or "unknown". `bound` is proved: no plan is better. A
    heuristic or a policy proves nothing, so its bound and gap are None. `stopped_by` says whether the answer hangs on
    the wall clock ("time limit") and may therefore differ on another machine. `seconds` is wall time, `work` the
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

    def to_json(self) -> dict[str, Any]:
        """The result as plain JSON data."""
        data = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        data["plan"] = self.plan.to_json() if self.plan is not None else None
        return data
