"""Literals "run v has started by time t"."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mlsched.core.aliases import Expression
from mlsched.formulations.taskgraph._choices import Choices, Literal, Run
from mlsched.formulations.taskgraph._rows import Rows, Terms, no


class Started:
    """Literals of runs that have started by a time.

    Before window[run][0], a run has not started. Then begun[run] has a literal per time. At all later times
    after[run] applies: 1, or a literal that is false in plans in which the run never starts or is ignored.
    """

    def __init__(self, choices: Choices, rows: Rows) -> None:
        self.layout, self._rows = choices.layout, rows
        self.window: dict[Run, tuple[int, int]] = {}
        self.begun: dict[Run, list[Expression]] = {}
        self.after: dict[Run, Literal] = {}

    def add(self, run: Run, window: tuple[int, int], times: int, after: Literal) -> None:
        """Add literals for `times` times from the start of a window on, and the literal after them."""
        self.window[run], self.after[run] = window, after
        self.begun[run] = [self._rows.cp.new_bool_var("") for _ in range(times)]
        self._rows.rising([*self.begun[run], after])

    def by(self, run: Run, t: int) -> Literal:
        """Return the literal of a run's start by t."""
        first, present = self.window[run][0], self.begun[run]
        return 0 if t < first else present[t - first] if t - first < len(present) else self.after[run]

    def ended(self, run: Run, t: int) -> Literal:
        """Return the literal of a run's end by t."""
        return self.by(run, t - self.layout.duration[run[0]])

    def under_way(self, run: Run, t: int) -> Terms:
        """Return literals whose weighted sum is 1 while the run is under way; empty if that is impossible."""
        opened, end_literals = self.by(run, t), self.ended(run, t)
        if isinstance(opened, int):
            if not opened or (isinstance(end_literals, int) and end_literals):
                return []
        elif not isinstance(end_literals, int) and opened.index == end_literals.index:
            return []
        return [(1, opened), (-1, end_literals)]

    def start_of(self, run: Run, value: Callable[[Literal], int]) -> int:
        """Return the start of a run that starts in a solution."""
        return self.window[run][0] + len(self.begun[run]) - sum(map(value, self.begun[run]))

    def punctual(self, runs: Iterable[Run], deadline: int, *conditions: Literal) -> Literal:
        """Return a literal that implies the end of some runs by a deadline, and other literals."""
        literal = self._rows.cp.new_bool_var("")
        for run in runs:
            if not self.layout.is_fixed(*run):  # the end of a fixed run was compared before
                self._rows.clause(no(literal), self.ended(run, deadline))
        for condition in conditions:
            self._rows.clause(no(literal), condition)
        return literal

    def all_ended(self, runs: Iterable[Run], t: int) -> list[Literal]:
        """Return literals that are all true if and only if some runs have all ended by t."""
        return [self.ended(run, t) for run in runs]
