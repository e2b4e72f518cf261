"""One line of a benchmark: one answer to one instance for one objective, with everything needed to ask again."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Literal

from mlsched.core.answerer import Kind
from mlsched.core.brief import brief
from mlsched.core.contract import Rank, Sense, worded
from mlsched.core.gap import Gap
from mlsched.core.registry import registry
from mlsched.core.result import Backing

#: Of a Result; or "skipped" (the answerer refuses the instance, e.g. too large), "failed" (a broken contract), or how
#: an isolated answerer ended (`RuleFailure.how`).
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
    """What an answerer made of an instance.

    `answerer` is the name with the parameters that differ from their defaults, `params` holds all of them. `seed` drew
    the instance, `answer_seed` is the answerer's. `size` counts the integers in the instance. `value`, `values` and
    `bound` are in the objectives' units, as the judge sees them; `rank` is what the objective compares first on this
    instance; `gap` is the answerer's own, to its bound (`Result.gap`). `seconds`
    is wall time of one call (a rule is called once for all objectives), `work` the backend's deterministic measure.
    `backing` is what the proof rests on (`Result.backing`): "agreed" where `confirmed_by` confirmed it, in
    `confirm_seconds` apart from `seconds`, or where another engine's row proves the same (`reference.with_backing`).
    `cases` (exact optima only) names special cases of instance and plan, `binding` constraints whose removal improves
    the optimum. `error` says why a row is skipped or failed. `source` is the instance's file, None where it was drawn;
    `cpu_seconds` are those of the call, of processes that it started too, and `peak_mib` is the most memory that the
    process that made the row had taken by then; `made` says when (UTC, ISO 8601). The answerer "published" stands for a
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
    rank: Rank | None
    answerer: str
    kind: Kind
    params: dict[str, Any]
    answer_seed: int
    time_limit: float | None
    work_limit: float | None
    status: RowStatus
    value: int | float | None = None
    values: dict[str, int] | None = None
    bound: int | float | None = None
    gap: float | None = None
    stopped_by: str | None = None
    seconds: float | None = None
    work: dict[str, float] = dataclasses.field(default_factory=dict)
    cases: dict[str, bool] | None = None
    binding: dict[str, bool] | None = None
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    error: str | None = None
    backing: Backing | None = None
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
        value = None if self.value is None else worded(self.value, self.rank, self.unit)
        return brief(self, self.place, f"{self.answerer} by {self.objective}", self.status, value)

    @property
    def key(self) -> Key:
        """What identifies the row within a store."""
        return self.suite, self.instance_hash, self.objective, self.answerer, canonical(self.params), self.seed

    @property
    def censored(self) -> bool:
        """Whether a limit ended the search: it would have taken longer than the row says."""
        return self.stopped_by in ("time limit", "work limit") or self.status == "timeout"

    @property
    def engine(self) -> str:
        """The code that the row's proof rests on; that of an answerer which is not registered here is its name.

        Plain models are CP-SAT's; others' functions are not imported for this.
        """
        name = self.answerer.partition(":")[0]
        if name == PLAIN:
            return "cp-sat"
        answerer = registry().answerers.get((self.problem, name))
        return name if answerer is None else answerer.engine_of(self.params)

    @property
    def restricted(self) -> bool:
        """Whether the answerer's model holds only some of the plans: it proves nothing about the instance."""
        answerer = registry().answerers.get((self.problem, self.answerer.partition(":")[0]))
        return answerer is not None and answerer.restricted

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
