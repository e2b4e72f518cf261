"""Reports of checks of a scheduler."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal

from mlsched.core import html
from mlsched.core.aliases import Data
from mlsched.core.brief import count_of, short_repr
from mlsched.core.gap import Gaps
from mlsched.testing.counterexample import Counterexample

Status = Literal["passed", "failed", "expected", "skipped"]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Outcome of one check.

    Attributes:
        check: Name of the check.
        status: "passed", "failed", "expected" (a known failure) or "skipped".
        count: Number of examined instances or runs.
        reason: Why it was skipped, or why its failure was expected.
        counterexample: Counterexample of a failure.
        note: Remark on a passed check.
    """

    check: str
    status: Status
    count: int = 0
    reason: str = ""
    counterexample: Counterexample | None = None
    note: str = ""

    def __str__(self) -> str:
        line = f"{self.check:13} {self.status}"
        if self.status == "skipped":
            return f"{line}: {self.reason}"
        line += f" on {self.count} {'runs' if self.check == 'runs' else 'instances'}"
        if self.status == "passed" and self.reason:
            line += f", though a failure was expected: {self.reason}"
            return f"{line}; {self.note}" if self.note else line
        if self.note:
            return f"{line}: {self.note}"
        return f"{line}: {self.reason}" if self.reason else line


@dataclasses.dataclass(frozen=True)
class Report:
    """Report of a scheduler: the outcome of every check by name, and the gaps to proven optima.

    Attributes:
        scheduler: Name of the scheduler.
        problem: Name of the problem.
        objective: Objective of the comparison.
        instances: Number of examined instances.
        gaps: Gaps to proven optima; empty without a comparison.
        outcomes: Check -> outcome.
    """

    scheduler: str
    problem: str
    objective: str
    instances: int
    gaps: Gaps
    outcomes: Mapping[str, Outcome]

    def __repr__(self) -> str:
        return short_repr(self, f"{self.scheduler} on {self.problem}", self._statistics, self._failing or None)

    def _repr_html_(self) -> str:
        """Show every check and the gaps in a notebook."""
        rows = [[o.check, o.status, o.count, o.reason or o.note] for o in self.outcomes.values()]
        checks = html.html_table(["check", "status", "looked at", "note"], rows)
        return html.titled_block(f"{self.scheduler} on {self.problem}, {self.objective}", [str(self)], checks)

    @property
    def failures(self) -> tuple[Counterexample, ...]:
        """Counterexamples of the checks that failed unexpectedly."""
        examples = [o.counterexample for o in self.outcomes.values() if o.status == "failed"]
        return tuple(c for c in examples if c is not None)

    def __str__(self) -> str:
        """Summarise in one line: failed checks, if any, number of instances, share of optima, and gaps."""
        return "; ".join(filter(None, (self._failing, self._statistics)))

    @property
    def _failing(self) -> str:
        """Name the checks that failed; "" if none did."""
        failed = ", ".join(name for name, outcome in self.outcomes.items() if outcome.status == "failed")
        return f"fails {failed}" if failed else ""

    @property
    def _statistics(self) -> str:
        """Count the instances, and summarise the gaps."""
        if self.gaps.optimal is None:
            return count_of(self.instances, "instance")
        return f"{count_of(self.instances, 'instance')}: optimal on {100 * self.gaps.optimal:.0f} %, {self.gaps}"

    def lines(self) -> list[str]:
        """Return the complete report, one line per check."""
        title = f"{self.scheduler}, {self.problem}, {self.objective}: {self}"
        return [title, *(f"  {outcome}" for outcome in self.outcomes.values())]

    def to_json(self) -> Data:
        """Return the report as plain JSON data."""
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
    """Raised if a scheduler failed checks; its text is the first counterexample, `report` has all of them."""

    def __init__(self, report: Report) -> None:
        first, *more = report.failures
        text = f"{report.scheduler} fails\n{first}"
        if more:
            text += f"\nand {len(more)} more checks: {', '.join(c.check for c in more)}"
        super().__init__(text)
        self.report = report
