"""The objectives as linear expressions over the literals of a CP-SAT model, for all representations of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from mlsched.core.aliases import Expression
from mlsched.formulations.taskgraph._choices import Choices, Literal

#: An objective: (literal or variable, weight) pairs, and a constant that is added to their sum.
Parts = tuple[list[tuple[Any, int]], int]


class Timing(Protocol):
    """A model's representation of time."""

    choices: Choices

    def punctual(self, j: int, i: int, before: Literal) -> Literal:
        """Return a literal that implies `before`, and that iteration i of job j runs and ends by the deadline."""

    def timed_objectives(self) -> Mapping[str, Callable[[], Parts]]:
        """Return the objectives that depend on times of completion, as far as the model supports them."""


class Objectives:
    """Builder of a model's objectives; on_time[j, i]: iteration i of job j counts towards its accuracy."""

    def __init__(self, timing: Timing) -> None:
        self._timing, self._choices, self._layout = timing, timing.choices, timing.choices.layout
        self.on_time: dict[tuple[int, int], Literal] = {}

    def sums(self, names: Sequence[str]) -> tuple[dict[str, Expression], dict[str, int]]:
        """Return some of the six objectives as CP-SAT expressions, and their constants."""
        from ortools.sat.python import cp_model

        plain = {"total_accuracy": self._total_accuracy, "accuracy_met": self._accuracy_met, "traffic": self._traffic}
        measures = {**plain, **self._timing.timed_objectives()}
        built_object = {name: measures[name]() for name in names}
        terms = {
            name: cp_model.LinearExpr.weighted_sum([v for v, _ in parts], [w for _, w in parts])
            for name, (parts, _) in built_object.items()
        }
        return terms, {name: constant for name, (_, constant) in built_object.items()}

    def _counted(self, j: int) -> tuple[int, list[Literal]]:
        """Return (iterations that certainly count, literals for one more each) towards job j's accuracy."""
        layout = self._layout
        if layout.instance.accuracy_at == "final":
            optional = range(layout.mandatory[j], layout.maximum[j])
            return layout.mandatory[j], [self._choices.runs[j, i] for i in optional]
        sure = int(layout.instance.on_time[j])
        if sure < layout.finished[j]:
            return sure, []
        columns: list[Literal] = []
        for i in layout.iterations(j):
            if max(layout.head[k][i] + layout.duration[k] for k in layout.tasks_of[j]) > layout.deadline[j]:
                break
            if (j, i) not in self.on_time:
                self.on_time[j, i] = self._timing.punctual(j, i, columns[-1] if columns else 1)
            columns.append(self.on_time[j, i])
        return sure, columns

    def _total_accuracy(self) -> Parts:
        accuracy = self._layout.instance.accuracy.tolist()
        parts, constant = [], 0
        for j in range(self._layout.jobs):
            sure, more = self._counted(j)
            constant += accuracy[j][sure]
            parts += [(v, accuracy[j][sure + n + 1] - accuracy[j][sure + n]) for n, v in enumerate(more)]
        return [(v, w) for v, w in parts if w], constant

    def _accuracy_met(self) -> Parts:
        accuracy, required = self._layout.instance.accuracy.tolist(), self._layout.instance.required.tolist()
        parts, constant = [], 0
        for j in range(self._layout.jobs):
            sure, more = self._counted(j)
            if accuracy[j][sure] >= required[j]:
                constant += 1
                continue
            enough = [v for n, v in enumerate(more) if accuracy[j][sure + n + 1] >= required[j]]
            parts += [(enough[0], 1)] if enough else []
        return parts, constant

    def _traffic(self) -> Parts:
        total: dict[int, tuple[Expression, int]] = {}
        constant = 0
        for j, i, k in self._layout.runs():
            for volume, literal in self._choices.sent(j, i, k):
                if isinstance(literal, int):
                    constant += volume * literal
                else:
                    _, so_far = total.get(literal.index, (literal, 0))
                    total[literal.index] = literal, so_far + volume
        return list(total.values()), constant
