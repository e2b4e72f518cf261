"""Summaries of rows: the gap table, the hardness table, and the verification of a run."""

from __future__ import annotations

import dataclasses
import statistics
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypedDict, TypeVar

from mlsched.benchmark.bootstrap import bootstrap_interval
from mlsched.benchmark.paired import Interval
from mlsched.benchmark.reference import disagreements, failures, references
from mlsched.benchmark.row import BROKEN, Row
from mlsched.core.arguments import validate_arguments
from mlsched.core.brief import count_of, short_repr
from mlsched.core.gap import Gaps, sum_up
from mlsched.core.registry import registry
from mlsched.core.solver import Kind

K = TypeVar("K", bound=Hashable)


@dataclasses.dataclass(frozen=True)
class GapLine:
    """One solver on the instances of one preset, by one objective.

    Shares and means are None if there is nothing to average.

    Attributes:
        problem: Problem of the instances.
        preset: Preset and changed sizes.
        objective: Objective.
        unit: Unit of the objective.
        solver: Name of the solver.
        kind: Kind of the solver.
        instances: Number of instances.
        gaps: Gaps to the optimum, over the instances with a plan and an undisputed proven optimum.
        proven: Share of the answered instances on which it proved its own optimum (exact solvers).
        confirmed: Share of these proofs that another engine confirmed or a checker accepted.
        seconds: Mean wall time of a call in seconds.
        failures: Number of failed calls.
        skipped: Number of rejected instances.
        wall_limited: Number of calls cut by the clock, which may differ on another machine.
        cpu_seconds: Mean CPU time of a call in seconds.
        censored: Number of calls that a limit of time or work ended, whose times are lower bounds.
        unsolved: Number of answers without a plan (infeasible or unknown).
        interval: 95 % bootstrap interval of the mean gap; None if it was not requested, or with fewer than five
            instances.
        cpu_interval: 95 % bootstrap interval of the mean CPU time; also None for censored times.
        restricted: The solver's model covers only some plans, so that it proves nothing.
    """

    problem: str
    preset: str
    objective: str
    unit: str
    solver: str
    kind: Kind
    instances: int
    gaps: Gaps
    proven: float | None
    confirmed: float | None
    seconds: float | None
    failures: int
    skipped: int
    wall_limited: int
    cpu_seconds: float | None = None
    censored: int = 0
    unsolved: int = 0
    interval: Interval | None = None
    cpu_interval: Interval | None = None
    restricted: bool = False

    def __repr__(self) -> str:
        return short_repr(self, f"{self.solver} on {self.problem} {self.preset}", self.objective, str(self.gaps))

    @property
    def label(self) -> str:
        """Kind of solver in tables; a restricted model is not exact."""
        return "restricted" if self.restricted else self.kind

    @property
    def covered(self) -> str:
        """Number of instances in the mean gap, and their total: "8", "6 of 8"."""
        over, asked = self.gaps.relative, self.instances
        return str(asked) if over == asked else f"{over} of {asked}"


@dataclasses.dataclass(frozen=True)
class HardnessLine:
    """Frequency of a property over the instances of one preset: a special case, or a binding constraint."""

    problem: str
    preset: str
    what: str
    binding: bool
    count: int
    of: int


@dataclasses.dataclass(frozen=True)
class Verification:
    """Checks by the judge and the exact methods among the rows.

    Attributes:
        plans: Number of judged plans (one per call).
        instances: Number of instances.
        questions: Number of pairs of instance and objective.
        optima: Number of those with a proven optimum.
        certified: Number of optima with a proof that a checker accepted.
        confirmed: Number of other optima proved by two or more engines; the rest is unconfirmed.
        confirm_seconds: Wall seconds of separate confirmations.
        disagreements: Number of contradictions.
        failed: Number of failed rows.
        skipped: Number of skipped rows.
        wall_limited: Number of rows cut by the clock.
    """

    plans: int
    instances: int
    questions: int
    optima: int
    certified: int
    confirmed: int
    confirm_seconds: float
    disagreements: int
    failed: int
    skipped: int
    wall_limited: int

    @property
    def sentence(self) -> str:
        """The statement in words."""
        wrong = self.disagreements
        agree = (
            "they all agree" if not wrong else f"answers contradict each other in {count_of(wrong, 'way')}, see below"
        )
        return (
            f"The judge checked {count_of(self.plans, 'plan')} for {count_of(self.instances, 'instance')}. "
            f"Of {count_of(self.questions, 'pair')} of an instance and an objective, {self.optima} "
            f"{'has' if self.optima == 1 else 'have'} a proven optimum: {self.backed}; {agree}."
        )

    @property
    def backed(self) -> str:
        """Evidence of the optima in words."""
        claimed = self.optima - self.certified - self.confirmed
        parts = [f"{self.certified} certified"] * bool(self.certified)
        return ", ".join([*parts, f"{self.confirmed} confirmed by two or more engines", f"{claimed} unconfirmed"])


def group_by(items: Iterable[Row], key: Callable[[Row], K]) -> dict[K, list[Row]]:
    """Group rows by key, both in order of appearance."""
    groups: dict[K, list[Row]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return dict(groups)


@validate_arguments
def gap_lines(rows: Sequence[Row], *, intervals: bool = False) -> list[GapLine]:
    """Return the gap table: the gaps of each solver to the proven optimum, by preset and objective.

    Args:
        rows: Rows from `run_suite` (or `reference.with_gaps` of stored ones).
        intervals: Add 95 % bootstrap intervals of the means, which take about 10 ms each.

    Returns:
        One line per solver, preset and objective.

    Examples:
        >>> import pathlib
        >>> pathlib.Path("instances").mkdir()
        >>> mlsched.save(mlsched.generate("quality", "small"), "instances/0.json")
        >>> for line in mlsched.gap_lines(mlsched.run_suite("instances", solvers=["slaq", "dp"])):
        ...     print(line.solver, line.objective, line.gaps)
        slaq total_loss_reduction mean gap 67.5 %, largest 67.5 %
        dp total_loss_reduction mean gap 0 %, largest 0 %
        slaq worst_loss mean gap 77.1 %, largest 77.1 %
        dp worst_loss mean gap 0 %, largest 0 %
    """
    groups = group_by(rows, lambda r: (r.problem, r.objective, r.case, r.solver))
    places = {key: i for i, key in enumerate(dict.fromkeys((p, o, c) for p, o, c, _ in groups))}
    order = sorted(groups, key=lambda k: places[k[:3]])
    return [_gap_line(groups[key], intervals) for key in order]


def _gap_line(group: list[Row], intervals: bool) -> GapLine:
    first = group[0]
    gaps = [row.gap_to_optimum for row in group if row.gap_to_optimum is not None]
    answered = [row for row in group if row.status not in ("skipped", *BROKEN)]
    times = [row.seconds for row in answered if row.seconds is not None]
    cpu_times = [row.cpu_seconds for row in answered if row.cpu_seconds is not None]
    proven = [row.status == "optimal" or row.status == "infeasible" for row in answered]
    exact = first.kind == "exact" and not first.restricted
    censored_count = sum(row.censored for row in answered)
    return GapLine(
        problem=first.problem,
        preset=first.case,
        objective=first.objective,
        unit=first.unit,
        solver=first.solver,
        kind=first.kind,
        instances=len(group),
        gaps=sum_up(gaps),
        proven=_mean(proven) if exact else None,
        confirmed=_mean([row.evidence in ("confirmed", "certified") for row in answered if row.evidence is not None]),
        seconds=_mean(times),
        failures=sum(row.status in BROKEN for row in group),
        skipped=sum(row.status == "skipped" for row in group),
        wall_limited=sum(row.stopped_by == "time limit" for row in group),
        cpu_seconds=_mean(cpu_times),
        censored=censored_count,
        unsolved=sum(row.sort_key is None for row in answered),
        interval=bootstrap_interval([gap.share for gap in gaps if gap.share is not None]) if intervals else None,
        cpu_interval=bootstrap_interval(cpu_times) if intervals and not censored_count else None,
        restricted=first.restricted,
    )


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def hardness_lines(rows: Sequence[Row]) -> list[HardnessLine]:
    """Return special cases over one optimal plan per instance (its first objective's), then binding constraints."""
    lines = []
    first = {problem: group[0].objective for problem, group in group_by(rows, lambda r: r.problem).items()}
    first_rows = [row for row in rows if row.objective == first[row.problem]]
    for (problem, preset), group in group_by(first_rows, lambda r: (r.problem, r.case)).items():
        for binding in (False, True):
            properties_by_instance: dict[str, dict[str, bool]] = {}
            for row in group:
                properties = row.binding if binding else row.cases
                if properties is not None:
                    properties_by_instance.setdefault(row.instance_hash, properties)
            for property_name in dict.fromkeys(
                name for properties in properties_by_instance.values() for name in properties
            ):
                values = [
                    properties[property_name]
                    for properties in properties_by_instance.values()
                    if property_name in properties
                ]
                lines.append(HardnessLine(problem, preset, property_name, binding, sum(values), len(values)))
    return lines


def runs_note(rows: Sequence[Row]) -> list[str]:
    """Return the sentence about exact solvers in tables of complete runs, if there are any."""
    problems = registry().problems
    presets = dict.fromkeys(
        r.preset for r in rows if r.problem in problems and r.preset in problems[r.problem].suites.runs
    )
    if not presets:
        return []
    named = ", ".join(str(preset) for preset in presets)
    return [
        f"Complete runs: {named}. There, an exact solver of single decisions (cp-sat, dp) takes the optimum of each "
        "decision; that need not be good for the run."
    ]


def verification_of(rows: Sequence[Row]) -> Verification:
    """Return the verification of the rows."""
    undisputed = [r for r in references(rows).values() if not r.disputes]
    # A rule's one plan appears in a row for every objective; an exact solver makes a plan for each.
    calls = {
        (r.instance_hash, r.solver, r.objective if r.kind == "exact" else "") for r in rows if r.sort_keys is not None
    }
    return Verification(
        plans=len(calls),
        instances=len({row.instance_hash for row in rows}),
        questions=len({(row.instance_hash, row.objective) for row in rows}),
        optima=len(undisputed),
        certified=sum(r.evidence == "certified" for r in undisputed),
        confirmed=sum(r.evidence == "confirmed" for r in undisputed),
        confirm_seconds=sum(row.confirm_seconds or 0.0 for row in rows),
        disagreements=len(disagreements(rows)),
        failed=sum(row.status in BROKEN for row in rows),
        skipped=sum(row.status == "skipped" for row in rows),
        wall_limited=sum(row.stopped_by == "time limit" for row in rows),
    )


def version_sets(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Return the versions of each distribution in the rows; several after a resume with another version."""
    sets: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        for name, version in row.versions.items():
            sets[name].add(version)
    return {name: sorted(sets[name]) for name in sorted(sets)}


#: Fields of a dataclass by name.
FieldValues = dict[str, Any]


class Summary(TypedDict):
    """Aggregates of the report as plain JSON data.

    Attributes:
        suites: Names of the suites.
        rows: Number of rows.
        versions: Versions of each distribution.
        verified: The `Verification`.
        gaps: One object per `GapLine`.
        hardness: One object per `HardnessLine`.
        failures: One sentence per failed call.
    """

    suites: list[str]
    rows: int
    versions: dict[str, list[str]]
    verified: FieldValues
    gaps: list[FieldValues]
    hardness: list[FieldValues]
    failures: list[str]


def summary_json(rows: Sequence[Row]) -> Summary:
    """Return the aggregates of the report as plain JSON data, without rows."""
    return {
        "suites": list(dict.fromkeys(row.suite for row in rows)),
        "rows": len(rows),
        "versions": version_sets(rows),
        "verified": dataclasses.asdict(verification_of(rows)),
        "gaps": [dataclasses.asdict(line) for line in gap_lines(rows, intervals=True)],
        "hardness": [dataclasses.asdict(line) for line in hardness_lines(rows)],
        "failures": failures(rows),
    }
