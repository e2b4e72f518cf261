"""The one type of every answer: exact, heuristic or trained."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from mlsched.core import html, tables
from mlsched.core.aliases import Data
from mlsched.core.arguments import validate_arguments
from mlsched.core.brief import short_repr
from mlsched.core.contract import Instance, Plan, Primary, Sense, format_value, stated_bound
from mlsched.core.errors import InvalidInput
from mlsched.core.formulation import Status, StoppedBy
from mlsched.core.gap import Gap, format_percentage, gap_between

if TYPE_CHECKING:
    import pandas

#: Evidence of an optimum: an independent checker accepted its proof; two engines with different code proved the same
#: value; or one engine reported it.
Evidence = Literal["certified", "confirmed", "unconfirmed"]


def relative_gap(value: float, bound: float) -> float:
    """Return |value - bound| / max(1, |value|, |bound|): the distance of a search from proving its own value.

    The result is between 0 and 1 for values of one sign, in any unit. `gap_between` measures the distance of an answer
    from an optimum, a separate quantity.
    """
    return abs(value - bound) / max(1, abs(value), abs(bound))


@dataclasses.dataclass(frozen=True)
class Result:
    """Answer whose values the judge has recomputed.

    Two results are equal if all fields except `instance`, `seconds` and `confirm_seconds` are equal.

    Attributes:
        instance_hash: Hash of the instance.
        problem: Problem of the instance.
        solver: Name of the solver.
        objective: Objective of the call.
        sense: "min" or "max", of the objective.
        unit: Unit of the objective.
        primary: Primary criterion of the objective on this instance, compared first; None if values are compared
            directly.
        params: Parameters that differ from the solver's default.
        seed: Random seed.
        plan: The plan; None exactly if `status` is "infeasible" or "unknown".
        sort_keys: Every objective's sort key, which orders plans: value and primary count as one number.
        sort_key: Sort key of the objective.
        sort_bound: Proven bound: no plan has a better sort key. None for heuristics and policies, which prove nothing.
        gap: Distance of the search from proving its value: |key - bound| / max(1, |key|, |bound|). `gap_to` compares
            with another answer.
        status: "optimal", "feasible", "infeasible" or "unknown".
        stopped_by: Reason for the end of the search; after a "time limit" another machine may answer differently.
        seconds: Wall time in seconds.
        work: The backend's deterministic measure of work.
        versions: Versions of Python and relevant packages.
        evidence: Evidence for "optimal" or "infeasible" (`Evidence`); None if nothing is proved.
        confirmed_by: Name of the other engine's solver that confirmed the proof.
        confirm_seconds: Wall time of all solvers that were called to confirm, in seconds; not part of `seconds`.
        doubt: Why an answer that a backend calls optimal is not accepted as such: its version is known to be wrong
            about such models.
        values: Every objective's value in its unit, and the count of the primary criterion under its own name.
        instance: The instance. It is omitted from comparisons and `to_json`, but saved by `mlsched.save`, so that
            `mlsched.load` can judge the plan again.

    Examples:
        >>> mlsched.solve(mlsched.generate("preemption", preset="surge", seed=21), "fitgpp")
        <Result: fitgpp on preemption, total_score 8924660 millionths, feasible>
    """

    #: Kind of the file that `mlsched.save` writes.
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
        """The objective's value in its unit; None without a plan."""
        return None if self.values is None else self.values.get(self.objective)

    @property
    def bound(self) -> int | float | None:
        """The bound on the value; None if its primary count differs from the plan's (`Primary`)."""
        return stated_bound(self.sort_key, self.sort_bound, self.primary)

    def __hash__(self) -> int:
        """Hash the fields that are hashable; params, values, work and versions are dictionaries."""
        return hash(
            (self.instance_hash, self.solver, self.objective, self.seed, self.status, self.plan, self.sort_bound)
        )

    @validate_arguments
    def gap_to(self, reference: Result) -> Gap:
        """Return the gap of this answer to the bound that `reference` proved, which for an optimum is its value.

        The gap is a share of |bound|, positive if this answer is worse. `Gap` describes the cases in which the bound is
        0 or the primary criterion decides. Both answers must have the same instance and objective.

        Args:
            reference: An answer with a bound.

        Raises:
            InvalidInput: The answers do not match, the reference has no bound, or this answer has no plan.
        """
        if (self.instance_hash, self.objective) != (reference.instance_hash, reference.objective):
            raise InvalidInput("gap_to: the reference answers another instance or another objective")
        if reference.sort_bound is None:
            raise InvalidInput(
                f"gap_to: the result of {reference.solver} lacks a bound; give an exact answer as reference"
            )
        if self.sort_key is None:
            raise InvalidInput(f"gap_to: {self.solver} found no plan ({self.status})")
        return gap_between(self.sort_key, reference.sort_bound, sense=self.sense, unit=self.unit, primary=self.primary)

    def to_json(self) -> Data:
        """Return the result as JSON data: values in their units, and under "sort_keys" the numbers that order plans.

        "primary" has the primary criterion, with the plan's count.
        """
        data = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "instance"}
        key_fields = {"value": "sort_key", "values": "sort_keys", "bound": "sort_bound"}
        data["sort_keys"] = {name: data.pop(field) for name, field in key_fields.items()}
        data["value"], data["bound"] = self.value, self.bound
        if self.values is not None:
            data["values"] = {name: self.values[name] for name in data["sort_keys"]["values"]}
        data["plan"] = self.plan.to_json() if self.plan is not None else None
        if self.primary is not None:
            count = None if self.sort_key is None else self.primary.split(self.sort_key)[0]
            data["primary"] = {**dataclasses.asdict(self.primary), "count": count}
        return data

    def table(self) -> dict[str, list[Any]]:
        """Return one row as columns: solver, status and every objective's value (None without a plan).

        The primary criterion has its own column ("deferred").
        """
        columns = ["problem", "instance_hash", "solver", "seed", "status", "objective", "sense", "unit"]
        row = {name: getattr(self, name) for name in columns} | {"value": self.value, "bound": self.bound}
        row |= {name: getattr(self, name) for name in ("gap", "seconds", "stopped_by", "evidence")}
        return {name: [value] for name, value in (row | (self.values or {})).items()}

    def dataframe(self) -> pandas.DataFrame:
        """Return `table` as a pandas DataFrame; `pandas.concat` combines several answers.

        `instance.dataframe(plan)` returns the plan itself as a DataFrame.
        """
        return tables.dataframe(self.table())

    def _repr_html_(self) -> str:
        """Show status, every objective and the plan, in a closed block, in a notebook."""
        own_row = [self.objective, self.sense, self.unit, self.value, self.bound, _share(self.gap)]
        other_rows = [[k, None, None, v, None, None] for k, v in (self.values or {}).items() if k != self.objective]
        facts = [self.status, f"{self.seconds:.3g} s", self.evidence or "", self.stopped_by or "", self.doubt or ""]
        values = html.html_table(
            ["objective", "sense", "unit", "value", "bound", "gap to bound"], [own_row, *other_rows]
        )
        plan = "no plan" if self.plan is None else html.collapsible("plan", self.plan._repr_html_())
        return html.titled_block(f"{self.solver} on {self.problem}", facts, values, plan)


def _share(gap: float | None) -> str | None:
    return None if gap is None else format_percentage(gap)
