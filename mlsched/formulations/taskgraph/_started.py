"""Literals "run v has started by time t"."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from mlsched.formulations.taskgraph._choices import Choices, Literal, Run
from mlsched.formulations.taskgraph._rows import Rows, Terms, no


class Started:
    """Whether runs have started by a time.

    A run has started by no time before window[run][0]; then by begun[run], a literal per time; then, at all times, by
    after[run]: 1, or a literal that is false in plans in which the run never starts or is not looked at.
    """

    def __init__(self, choices: Choices, rows: Rows) -> None:
        self.layout, self._rows = choices.layout, rows
        self.window: dict[Run, tuple[int, int]] = {}
        self.begun: dict[Run, list[Any]] = {}
        self.after: dict[Run, Literal] = {}

    def add(self, run: Run, window: tuple[int, int], times: int, after: Literal) -> None:
        """Literals for so many times from the start of a window on, and what holds after them."""
        self.window[run], self.after[run] = window, after
        self.begun[run] = [self._rows.cp.new_bool_var("") for _ in range(times)]
        self._rows.rising([*self.begun[run], after])

    def by(self, run: Run, t: int) -> Literal:
        """Whether a run has started by t."""
        first, known = self.window[run][0], self.begun[run]
        return 0 if t < first else known[t - first] if t - first < len(known) else self.after[run]

    def ended(self, run: Run, t: int) -> Literal:
        """Whether a run has ended by t."""
        return self.by(run, t - self.layout.duration[run[0]])

    def under_way(self, run: Run, t: int) -> Terms:
        """Literals whose weighted sum is 1 while the run is under way, or none where it cannot be."""
        begun, ended = self.by(run, t), self.ended(run, t)
        if isinstance(begun, int):
            if not begun or (isinstance(ended, int) and ended):
                return []
        elif not isinstance(ended, int) and begun.index == ended.index:
            return []
        return [(1, begun), (-1, ended)]

    def start_of(self, run: Run, value: Callable[[Literal], int]) -> int:
        """When a run starts that does so in a solution."""
        return self.window[run][0] + len(self.begun[run]) - sum(map(value, self.begun[run]))

    def punctual(self, runs: Iterable[Run], deadline: int, *conditions: Literal) -> Literal:
        """A literal that holds only if some runs have ended by a deadline, and other literals hold."""
        literal = self._rows.cp.new_bool_var("")
        for run in runs:
            if not self.layout.is_fixed(*run):  # the end of a fixed run is constant and was compared before
                self._rows.clause(no(literal), self.ended(run, deadline))
        for condition in conditions:
            self._rows.clause(no(literal), condition)
        return literal

    def all_ended(self, runs: Iterable[Run], t: int) -> list[Literal]:
        """Literals that all hold if and only if some runs have all ended by t."""
        return [self.ended(run, t) for run in runs]
