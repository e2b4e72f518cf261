"""The one shape of every answer: exact, heuristic or trained."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Literal

from mlsched.core import html, tables
from mlsched.core.arguments import validate_arguments
from mlsched.core.brief import short_repr
from mlsched.core.contract import Instance, Plan, Primary, Sense, format_value, stated_bound
from mlsched.core.errors import InvalidInput
from mlsched.core.formulation import Status, StoppedBy
from mlsched.core.gap import Gap, format_percentage, gap_between

#: How an optimum is backed: an independent checker accepted a proof of it; two engines of different code proved the
#: same value; or one engine says so.
Evidence = Literal["certified", "confirmed", "unconfirmed"]


def relative_gap(value: float, bound: float) -> float:
    """|value - bound| / max(1, |value|, |bound|): how far a search is from proving its own value, `Result.gap`.

    It lies between 0 and 1 for values of one sign, whatever the units. How much worse an answer is than an optimum is
    another question, which `gap_between` answers.
    """
    return abs(value - bound) / max(1, abs(value), abs(bound))


@dataclasses.dataclass(frozen=True)
class Result:
    """An answer that the judge has recomputed.

    `values` holds every objective's value in its unit and `value` that of the objective asked for; both are None
    exactly when there is no plan, and then `status` is "infeasible" or "unknown". `sense` and `unit` are that
    objective's, and `primary` is its primary criterion on this instance, which is compared first (None: nothing); the
    count of that stands in `values` under its own name. `sort_keys` and `sort_key` order plans: value and count as one
    number. `sort_bound` is proved: no plan's sort key is better. `bound` is the value of it, None where its count is
    not the plan's. `gap` is the search's own, between sort key and bound: |key - bound| / max(1, |key|, |bound|). A
    heuristic or a policy proves nothing, so its bound and gap are None; `gap_to` holds it against an answer that does.
    `stopped_by` says why the search ended: after a "time limit" another machine may answer differently. `seconds` is
    wall time, `work` the backend's deterministic measure.

    `evidence` says what "optimal" or "infeasible" rests on (`Evidence`; None where nothing is proved). `confirmed_by`
    names the other engine's solver that confirmed it, and `confirm_seconds` is the wall time that all who were asked
    to took, which is no part of `seconds` (both None where nobody was asked). `doubt` says why an answer that a backend
    calls optimal is not called so here: its version is known to be wrong about such models.

    `params` are those that are not at the solver's default.

    `instance` is what was asked; it is no part of comparisons and of `to_json`, but of the file that `mlsched.save`
    writes, so that `mlsched.load` judges the plan again. Two results are equal when all but it and the seconds is.

    Examples:
        >>> mlsched.solve(mlsched.generate("preemption", preset="surge", seed=21), "fitgpp")
        <Result: fitgpp on preemption, total_score 8924660 millionths, feasible>
    """

    #: What the file is that `mlsched.save` writes.
    kind: ClassVar[str] = "result"

    instance_hash: str
    problem: str
    solver: str
    objective: str
    sense: Sense
    unit: str
    primary: Primary | None
    params: dict[str, Any]
    seed: int
    plan: Plan | None
    sort_keys: dict[str, int] | None
    sort_key: int | None
    sort_bound: int | float | None
    gap: float | None
    status: Status
    stopped_by: StoppedBy | None
    seconds: float = dataclasses.field(compare=False)
    work: dict[str, float]
    versions: dict[str, str]
    evidence: Evidence | None = None
    confirmed_by: str | None = None
    confirm_seconds: float | None = dataclasses.field(default=None, compare=False)
    doubt: str | None = None
    values: dict[str, int] | None = None
    instance: Instance | None = dataclasses.field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        value = format_value(self.sort_key, self.primary, self.unit) if self.sort_key is not None else "no plan"
        return short_repr(self, f"{self.solver} on {self.problem}", f"{self.objective} {value}", self.status)

    @property
    def value(self) -> int | None:
        """The objective's value, in its unit; None where there is no plan."""
        return None if self.values is None else self.values.get(self.objective)

    @property
    def bound(self) -> int | float | None:
        """The bound on the value; None where it has another count than the plan (`Primary`)."""
        return stated_bound(self.sort_key, self.sort_bound, self.primary)

    def __hash__(self) -> int:
        """Equal results have equal hashes; params, values, work and versions are dictionaries, which have none."""
        return hash(
            (self.instance_hash, self.solver, self.objective, self.seed, self.status, self.plan, self.sort_bound)
        )

    @validate_arguments
    def gap_to(self, reference: Result) -> Gap:
        """How much worse this answer is than what `reference` proved: its bound, which for an optimum is its value.

        As a share of |bound|, positive when worse; `Gap` says what stands in its place where the bound is 0 or the
        objective's rank decides. Both must answer the same instance for the same objective.
        """
        if (self.instance_hash, self.objective) != (reference.instance_hash, reference.objective):
            raise InvalidInput("gap_to: the reference answers another instance or another objective")
        if reference.sort_bound is None:
            raise InvalidInput(f"gap_to: {reference.solver} proved no bound; give an exact answer as reference")
        if self.sort_key is None:
            raise InvalidInput(f"gap_to: {self.solver} found no plan ({self.status})")
        return gap_between(self.sort_key, reference.sort_bound, sense=self.sense, unit=self.unit, primary=self.primary)

    def to_json(self) -> dict[str, Any]:
        """The result as plain JSON data: values in their units, and under "sort_keys" the numbers that order plans.

        The primary criterion stands in "primary", with the plan's count.
        """
        data = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "instance"}
        kept = {"value": "sort_key", "values": "sort_keys", "bound": "sort_bound"}
        data["sort_keys"] = {name: data.pop(field) for name, field in kept.items()}
        data["value"], data["bound"] = self.value, self.bound
        if self.values is not None:
            data["values"] = {name: self.values[name] for name in data["sort_keys"]["values"]}
        data["plan"] = self.plan.to_json() if self.plan is not None else None
        if self.primary is not None:
            count = None if self.sort_key is None else self.primary.split(self.sort_key)[0]
            data["primary"] = {**dataclasses.asdict(self.primary), "count": count}
        return data

    def table(self) -> dict[str, list[Any]]:
        """One row, column by column: who answered what, how it ended, and every objective's value (None: no plan).

        The primary criterion has a column of its own ("deferred").
        """
        columns = ["problem", "instance_hash", "solver", "seed", "status", "objective", "sense", "unit"]
        row = {name: getattr(self, name) for name in columns} | {"value": self.value, "bound": self.bound}
        row |= {name: getattr(self, name) for name in ("gap", "seconds", "stopped_by", "evidence")}
        return {name: [value] for name, value in (row | (self.values or {})).items()}

    def dataframe(self) -> Any:
        """`table` as a pandas DataFrame; `pandas.concat` puts those of several answers below one another.

        The plan itself as a DataFrame: `instance.dataframe(plan)`.
        """
        return tables.dataframe(self.table())

    def _repr_html_(self) -> str:
        """For notebooks: how the answer ended, every objective, and the plan, folded away."""
        asked = [self.objective, self.sense, self.unit, self.value, self.bound, _share(self.gap)]
        others = [[k, None, None, v, None, None] for k, v in (self.values or {}).items() if k != self.objective]
        facts = [self.status, f"{self.seconds:.3g} s", self.evidence or "", self.stopped_by or "", self.doubt or ""]
        values = html.table(["objective", "sense", "unit", "value", "bound", "gap to bound"], [asked, *others])
        plan = "no plan" if self.plan is None else html.folded("plan", self.plan._repr_html_())
        return html.block(f"{self.solver} on {self.problem}", facts, values, plan)


def _share(gap: float | None) -> str | None:
    return None if gap is None else format_percentage(gap)
