"""Row of a benchmark: one answer to one instance for one objective, with everything needed to repeat the call."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Literal

from mlsched.core.aliases import Data
from mlsched.core.brief import short_repr
from mlsched.core.contract import Primary, Sense, format_value
from mlsched.core.gap import Gap
from mlsched.core.registry import registry
from mlsched.core.result import Evidence
from mlsched.core.solver import Kind

#: Status of a Result; or "skipped" (the solver rejects the instance, for example as too large), "failed" (a broken
#: contract), or the end of an isolated solver (`RuleFailure.how`).
RowStatus = Literal[
    "optimal", "feasible", "infeasible", "unknown", "skipped", "failed", "crash", "timeout", "memory", "cheated"
]
#: Statuses that count as failures.
BROKEN = ("failed", "crash", "timeout", "memory", "cheated")
#: Module of the names of the plain models (`benchmark/plain`).
PLAIN = "mlsched.benchmark.plain"
Key = tuple[str, str, str, str, str, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """Answer of a solver to an instance.

    Attributes:
        suite: Name of the suite.
        problem: Problem of the instance.
        preset: Preset of the instance.
        sizes: Changes to the preset's sizes.
        seed: Seed of the instance.
        instance_hash: Hash of the instance.
        size: Number of integers in the instance.
        objective: Objective of the call.
        sense: "min" or "max".
        unit: Unit of the objective.
        primary: Primary criterion of the objective on this instance.
        solver: Name with the parameters that differ from their defaults. "published" is a published optimum, "judge"
            the timed judge.
        kind: Kind of the solver.
        params: Parameters that differ from their defaults.
        answer_seed: Seed of the solver.
        time_limit: Wall seconds.
        work_limit: Deterministic limit of the backend.
        status: Status of the answer.
        sort_key: Sort key of the plan, from the judge.
        sort_keys: Sort keys of all objectives.
        sort_bound: Proven bound on the sort key.
        gap: The solver's own gap to its bound (`Result.gap`).
        stopped_by: Reason for the end of the search.
        seconds: Wall seconds of one call; a rule is called once for all objectives.
        work: The backend's deterministic measure.
        cases: Special cases of instance and plan, for exact optima only.
        binding: Constraints whose removal improves the optimum.
        versions: Versions of Python and relevant packages.
        error: Why a row is skipped or failed.
        evidence: Evidence of the proof (`Result.evidence`): "confirmed" by `confirmed_by`, or by an equal proof in
            another engine's row.
        confirmed_by: Solver that confirmed the proof.
        confirm_seconds: Wall seconds of the confirmation, separate from `seconds`.
        doubt: Why a backend's proof is not accepted.
        source: File of the instance, None if it was drawn.
        cpu_seconds: CPU seconds of the call, including processes that it started.
        peak_mib: Peak memory of the process so far, in MiB.
        machine: Description of the machine.
        made: Time of the row (UTC, ISO 8601).
        proof_engine: Engine that a function outside the registry declares, as `@solver(engine="highs")`.
        gap_to_optimum: Gap to the proven optimum, which depends on other rows; `reference.with_gaps` computes it, and
            stores omit it.
    """

    suite: str
    problem: str
    preset: str | None
    sizes: Data
    seed: int
    instance_hash: str
    size: int
    objective: str
    sense: Sense
    unit: str
    primary: Primary | None
    solver: str
    kind: Kind
    params: Data
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
    proof_engine: str | None = None
    gap_to_optimum: Gap | None = None

    def __repr__(self) -> str:
        value = None if self.sort_key is None else format_value(self.sort_key, self.primary, self.unit)
        return short_repr(self, self.place, f"{self.solver} by {self.objective}", self.status, value)

    @property
    def key(self) -> Key:
        """Identity of the row within a store."""
        return self.suite, self.instance_hash, self.objective, self.solver, canonical_json(self.params), self.seed

    @property
    def censored(self) -> bool:
        """Whether a limit ended the search, so that `seconds` is a lower bound."""
        return self.stopped_by in ("time limit", "work limit") or self.status == "timeout"

    @property
    def engine(self) -> str:
        """Code that the row's proof relies on; for a solver that is not registered here, its name.

        The engine of plain models is CP-SAT. Foreign functions are not imported: `proof_engine` has theirs.
        """
        if self.proof_engine is not None:
            return self.proof_engine
        name = self.solver.partition(":")[0]
        if name == PLAIN:
            return "cp-sat"
        solver = registry().solvers.get((self.problem, name))
        return name if solver is None else solver.engine_of(self.params)

    @property
    def restricted(self) -> bool:
        """Whether the solver's model covers only some plans, so that it proves nothing about the instance."""
        solver = registry().solvers.get((self.problem, self.solver.partition(":")[0]))
        return solver is not None and solver.restricted

    @property
    def case(self) -> str:
        """Preset and changed sizes: "small", "small nodes=4"."""
        changed = [f"{name}={value}" for name, value in sorted(self.sizes.items())]
        return " ".join([self.preset or "defaults", *changed])

    @property
    def place(self) -> str:
        """Instance and objective in words: "preemption small, seed 3, total_score"."""
        where = f"seed {self.seed}" if self.source is None else self.source
        return f"{self.problem} {self.case}, {where}, {self.objective}"


def canonical_json(params: Mapping[str, object]) -> str:
    """Return parameters as one text, equal exactly if they are."""
    return json.dumps(dict(params), sort_keys=True, separators=(",", ":"))
