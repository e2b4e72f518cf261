"""One line of a benchmark: one answer to one instance for one objective, with everything needed to ask again."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Literal

from mlsched.core.brief import short_repr
from mlsched.core.contract import Primary, Sense, format_value
from mlsched.core.gap import Gap
from mlsched.core.registry import registry
from mlsched.core.result import Evidence
from mlsched.core.solver import Kind

#: Of a Result; or "skipped" (the solver refuses the instance, e.g. too large), "failed" (a broken contract), or how
#: an isolated solver ended (`RuleFailure.how`).
RowStatus = Literal[
    "optimal", "feasible", "infeasible", "unknown", "skipped", "failed", "crash", "timeout", "memory", "cheated"
]
#: The statuses of a row that counts as a failure.
BROKEN = ("failed", "crash", "timeout", "memory", "cheated")
#: The module of the names by which the plain models (`benchmark/plain`) are asked.
PLAIN = "mlsched.benchmark.plain"
Key = tuple[str, str, str, str, str, int]


@dataclasses.dataclass(frozen=True)
class Row:
    """What a solver made of an instance.

    `solver` is the name with the parameters that differ from their defaults, `params` holds these. `seed` drew
    the instance, `answer_seed` is the solver's. `size` counts the integers in the instance. `sort_key`,
    `sort_keys` and `sort_bound` order plans, as the judge has them; `primary` is what the objective compares first on
    this instance; `gap` is the solver's own, to its bound (`Result.gap`). `seconds`
    is wall time of one call (a rule is called once for all objectives), `work` the backend's deterministic measure.
    `evidence` is what the proof rests on (`Result.evidence`): "confirmed" where `confirmed_by` confirmed it, in
    `confirm_seconds` apart from `seconds`, or where another engine's row proves the same (`reference.with_evidence`).
    `cases` (exact optima only) names special cases of instance and plan, `binding` constraints whose removal improves
    the optimum. `error` says why a row is skipped or failed. `source` is the instance's file, None where it was drawn;
    `cpu_seconds` are those of the call, of processes that it started too, and `peak_mib` is the most memory that the
    process that made the row had taken by then; `made` says when (UTC, ISO 8601). The solver "published" stands for a
    published optimum, "judge" for the judge, whose time is taken. `gap_to_optimum` depends on the other rows:
    `reference.with_gaps` fills it, stores do not keep it.
    """

    suite: str
    problem: str
    preset: str | None
    sizes: dict[str, Any]
    seed: int
    instance_hash: str
    size: int
    objective: str
    sense: Sense
    unit: str
    primary: Primary | None
    solver: str
    kind: Kind
    params: dict[str, Any]
    answer_seed: int
    time_limit: float | None
    work_limit: float | None
    status: RowStatus
    sort_key: int | float | None = None
    sort_keys: dict[str, int] | None = None
    sort_bound: int | float | None = None
    gap: float | None = None
    stopped_by: str | None = None
    seconds: float | None = None
    work: dict[str, float] = dataclasses.field(default_factory=dict)
    cases: dict[str, bool] | None = None
    binding: dict[str, bool] | None = None
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    error: str | None = None
    evidence: Evidence | None = None
    confirmed_by: str | None = None
    confirm_seconds: float | None = None
    doubt: str | None = None
    source: str | None = None
    cpu_seconds: float | None = None
    peak_mib: float | None = None
    machine: str | None = None
    made: str | None = None
    gap_to_optimum: Gap | None = None

    def __repr__(self) -> str:
        value = None if self.sort_key is None else format_value(self.sort_key, self.primary, self.unit)
        return short_repr(self, self.place, f"{self.solver} by {self.objective}", self.status, value)

    @property
    def key(self) -> Key:
        """What identifies the row within a store."""
        return self.suite, self.instance_hash, self.objective, self.solver, canonical(self.params), self.seed

    @property
    def censored(self) -> bool:
        """Whether a limit ended the search: it would have taken longer than the row says."""
        return self.stopped_by in ("time limit", "work limit") or self.status == "timeout"

    @property
    def engine(self) -> str:
        """The code that the row's proof rests on; that of a solver which is not registered here is its name.

        Plain models are CP-SAT's; others' functions are not imported for this.
        """
        name = self.solver.partition(":")[0]
        if name == PLAIN:
            return "cp-sat"
        solver = registry().solvers.get((self.problem, name))
        return name if solver is None else solver.engine_of(self.params)

    @property
    def restricted(self) -> bool:
        """Whether the solver's model holds only some of the plans: it proves nothing about the instance."""
        solver = registry().solvers.get((self.problem, self.solver.partition(":")[0]))
        return solver is not None and solver.restricted

    @property
    def case(self) -> str:
        """Preset and changed sizes: "small", "small nodes=4"."""
        changed = [f"{name}={value}" for name, value in sorted(self.sizes.items())]
        return " ".join([self.preset or "defaults", *changed])

    @property
    def place(self) -> str:
        """The question in words: "preemption small, seed 3, total_score"."""
        where = f"seed {self.seed}" if self.source is None else self.source
        return f"{self.problem} {self.case}, {where}, {self.objective}"


def canonical(params: Mapping[str, Any]) -> str:
    """Parameters as one text, equal exactly when they are."""
    return json.dumps(dict(params), sort_keys=True, separators=(",", ":"))
