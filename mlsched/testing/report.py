"""What a scheduler was held to, and what came of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

from mlsched.core import html
from mlsched.core.brief import count_of, short_repr
from mlsched.core.gap import Gaps
from mlsched.testing.counterexample import Counterexample

Status = Literal["passed", "failed", "expected", "skipped"]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """One check. count: of what it looked at.

    reason: why it was skipped, or why its failure was expected. note: what else is to be said of one that passed.
    """

    check: str
    status: Status
    count: int = 0
    reason: str = ""
    counterexample: Counterexample | None = None
    note: str = ""

    def __str__(self) -> str:
        said = f"{self.check:13} {self.status}"
        if self.status == "skipped":
            return f"{said}: {self.reason}"
        said += f" on {self.count} {'runs' if self.check == 'runs' else 'instances'}"
        if self.status == "passed" and self.reason:
            said += f", though a failure was expected: {self.reason}"
            return f"{said}; {self.note}" if self.note else said
        if self.note:
            return f"{said}: {self.note}"
        return f"{said}: {self.reason}" if self.reason else said


@dataclasses.dataclass(frozen=True)
class Report:
    """What a check of a scheduler saw: every check by name, on how many instances, and the gaps to proven optima.

    gaps: of no instance when nothing was compared.
    """

    scheduler: str
    problem: str
    objective: str
    instances: int
    gaps: Gaps
    outcomes: Mapping[str, Outcome]

    def __repr__(self) -> str:
        failed = ", ".join(name for name, outcome in self.outcomes.items() if outcome.status == "failed")
        return short_repr(self, f"{self.scheduler} on {self.problem}", str(self), f"fails {failed}" if failed else None)

    def _repr_html_(self) -> str:
        """For notebooks: every check, and the gaps."""
        rows = [[o.check, o.status, o.count, o.reason or o.note] for o in self.outcomes.values()]
        checks = html.html_table(["check", "status", "looked at", "note"], rows)
        return html.titled_block(f"{self.scheduler} on {self.problem}, {self.objective}", [str(self)], checks)

    @property
    def failures(self) -> tuple[Counterexample, ...]:
        """The counterexamples of the checks that failed unexpectedly."""
        examples = [o.counterexample for o in self.outcomes.values() if o.status == "failed"]
        return tuple(c for c in examples if c is not None)

    def __str__(self) -> str:
        """One line: how many instances, how often optimal, and the gaps."""
        if self.gaps.optimal is None:
            return count_of(self.instances, "instance")
        return f"{count_of(self.instances, 'instance')}: optimal on {100 * self.gaps.optimal:.0f} %, {self.gaps}"

    def lines(self) -> list[str]:
        """The whole report, a line a check."""
        title = f"{self.scheduler}, {self.problem}, {self.objective}: {self}"
        return [title, *(f"  {outcome}" for outcome in self.outcomes.values())]

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON data."""
        return {
            "scheduler": self.scheduler,
            "problem": self.problem,
            "objective": self.objective,
            "instances": self.instances,
            "gaps": dataclasses.asdict(self.gaps),
            "checks": {
                name: {"status": o.status, "count": o.count, "reason": o.reason}
                | ({"sentence": o.counterexample.sentence} if o.counterexample else {})
                | ({"note": o.note} if o.note else {})
                for name, o in self.outcomes.items()
            },
        }


class CheckFailed(AssertionError):
    """A scheduler failed checks; `report` has all of them. Its text is the first counterexample, under thirty lines."""

    def __init__(self, report: Report) -> None:
        first, *more = report.failures
        text = f"{report.scheduler} fails\n{first}"
        if more:
            text += f"\nand {len(more)} more checks: {', '.join(c.check for c in more)}"
        super().__init__(text)
        self.report = report
