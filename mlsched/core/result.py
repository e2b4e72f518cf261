"""The one shape of every answer: exact, heuristic or trained."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Literal

from mlsched.core import html, tables
from mlsched.core.arguments import checked
from mlsched.core.brief import brief
from mlsched.core.contract import Instance, Plan, Rank, Sense, bound_figure, worded
from mlsched.core.errors import InvalidInput
from mlsched.core.formulation import Status, StoppedBy
from mlsched.core.gap import Gap, gap_between, percentage

#: How an optimum is backed: an independent checker accepted a proof of it; two engines of different code proved the
#: same value; or one engine says so.
Backing = Literal["certified", "agreed", "claimed"]


def relative_gap(value: float, bound: float) -> float:
    """|value - bound| / max(1, |value|, |bound|): how far a search is from proving its own value, `Result.gap`.

    It lies between 0 and 1 for values of one sign, whatever the units. How much worse an answer is than an optimum is
    another question, which `gap_between` answers.
    """
    return abs(value - bound) / max(1, abs(value), abs(bound))


@dataclasses.dataclass(frozen=True)
class Result:
    """An answer that the judge has recomputed.

    `values` holds every objective as the judge compares it and `value` the one that was asked for; both are None
    exactly when there is no plan, and then `status` is "infeasible" or "unknown". `sense` and `unit` are that
    objective's, and `rank` is what it compares first on this instance (None: nothing): `value`, `values` and `bound`
    then order plans, and `figures` holds what people read, each objective's own value and the count apart. `bound` is
    proved: no plan is better. `gap` is the search's own, between its value and its bound:
    |value - bound| / max(1, |value|, |bound|). A heuristic or a policy proves nothing, so its bound and gap are None;
    `gap_to` holds it against an answer that does. `stopped_by` says why the search ended: after a "time limit" another
    machine may answer differently. `seconds` is wall time, `work` the backend's deterministic measure.

    `backing` says what "optimal" or "infeasible" rests on (`Backing`; None where nothing is proved). `confirmed_by`
    names the other engine's answerer that confirmed it, and `confirm_seconds` is the wall time that all who were asked
    to took, which is no part of `seconds` (both None where nobody was asked). `doubt` says why an answer that a backend
    calls optimal is not called so here: its version is known to be wrong about such models.

    `params` are those that are not at the answerer's default.

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
    answerer: str
    objective: str
    sense: Sense
    unit: str
    rank: Rank | None
    params: dict[str, Any]
    seed: int
    plan: Plan | None
    values: dict[str, int] | None
    value: int | None
    bound: int | float | None
    gap: float | None
    status: Status
    stopped_by: StoppedBy | None
    seconds: float = dataclasses.field(compare=False)
    work: dict[str, float]
    versions: dict[str, str]
    backing: Backing | None = None
    confirmed_by: str | None = None
    confirm_seconds: float | None = dataclasses.field(default=None, compare=False)
    doubt: str | None = None
    figures: dict[str, int] | None = None
    instance: Instance | None = dataclasses.field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        value = worded(self.value, self.rank, self.unit) if self.value is not None else "no plan"
        return brief(self, f"{self.answerer} on {self.problem}", f"{self.objective} {value}", self.status)

    @property
    def figure(self) -> int | None:
        """The value as people read it: of `figures`, that of the objective."""
        return None if self.figures is None else self.figures.get(self.objective)

    @property
    def bound_figure(self) -> int | float | None:
        """The bound as people read it; None where it has another count than the plan (`Rank`)."""
        return bound_figure(self.value, self.bound, self.rank)

    def __hash__(self) -> int:
        """Equal results have equal hashes; params, values, work and versions are dictionaries, which have none."""
        return hash((self.instance_hash, self.answerer, self.objective, self.seed, self.status, self.plan, self.bound))

    @checked
    def gap_to(self, reference: Result) -> Gap:
        """How much worse this answer is than what `reference` proved: its bound, which for an optimum is its value.

        As a share of |bound|, positive when worse; `Gap` says what stands in its place where the bound is 0 or the
        objective's rank decides. Both must answer the same instance for the same objective.
        """
        if (self.instance_hash, self.objective) != (reference.instance_hash, reference.objective):
            raise InvalidInput("gap_to: the reference answers another instance or another objective")
        if reference.bound is None:
            raise InvalidInput(f"gap_to: {reference.answerer} proved no bound; give an exact answer as reference")
        if self.value is None:
            raise InvalidInput(f"gap_to: {self.answerer} found no plan ({self.status})")
        return gap_between(self.value, reference.bound, sense=self.sense, unit=self.unit, rank=self.rank)

    def to_json(self) -> dict[str, Any]:
        """The result as plain JSON data: values as people read them, and under "compared" as they order plans.

        What is compared before a value stands in "rank", with the plan's count.
        """
        data = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "instance"}
        figures = data.pop("figures")
        data["compared"] = {name: data[name] for name in ("value", "values", "bound")}
        data["bound"] = self.bound_figure
        if figures is not None:
            data["values"] = {name: figures[name] for name in data["values"]}
            data["value"] = self.figure
        data["plan"] = self.plan.to_json() if self.plan is not None else None
        if self.rank is not None:
            count = None if self.value is None else self.rank.split(self.value)[0]
            data["rank"] = {**dataclasses.asdict(self.rank), "count": count}
        return data

    def table(self) -> dict[str, list[Any]]:
        """One row, column by column: who answered what, how it ended, and every objective's value (None: no plan).

        Values and the bound are `figures`; what is compared before them has a column of its own ("deferred").
        """
        columns = ["problem", "instance_hash", "answerer", "seed", "status", "objective", "sense", "unit"]
        row = {name: getattr(self, name) for name in columns} | {"value": self.figure, "bound": self.bound_figure}
        row |= {name: getattr(self, name) for name in ("gap", "seconds", "stopped_by", "backing")}
        return {name: [value] for name, value in (row | (self.figures or {})).items()}

    def dataframe(self) -> Any:
        """`table` as a pandas DataFrame; `pandas.concat` puts those of several answers below one another.

        The plan itself as a DataFrame: `instance.dataframe(plan)`.
        """
        return tables.dataframe(self.table())

    def _repr_html_(self) -> str:
        """For notebooks: how the answer ended, every objective, and the plan, folded away."""
        asked = [self.objective, self.sense, self.unit, self.figure, self.bound_figure, _share(self.gap)]
        others = [[k, None, None, v, None, None] for k, v in (self.figures or {}).items() if k != self.objective]
        facts = [self.status, f"{self.seconds:.3g} s", self.backing or "", self.stopped_by or "", self.doubt or ""]
        values = html.table(["objective", "sense", "unit", "value", "bound", "gap to bound"], [asked, *others])
        plan = "no plan" if self.plan is None else html.folded("plan", self.plan._repr_html_())
        return html.block(f"{self.answerer} on {self.problem}", facts, values, plan)


def _share(gap: float | None) -> str | None:
    return None if gap is None else percentage(gap)
