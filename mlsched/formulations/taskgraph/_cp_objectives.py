"""The six objectives over the variables of the task-level CP-SAT model.

A method `_<objective>` gives (variable, weight) pairs and leaves a constant in `constant`.
"""

from __future__ import annotations

from typing import Any

from mlsched.formulations.taskgraph._layout import Layout


class Objectives:
    """What `_cp_model` holds when objectives are measured: see there."""

    layout: Layout
    cp: Any
    x: dict[tuple[int, int], Any]
    end: dict[tuple[int, int], Any]
    completion: dict[int, Any]
    last: Any
    met: dict[int, Any]
    on_time: dict[tuple[int, int], Any]
    constant: dict[str, int]

    def _apart(self, a: tuple[int, int], b: tuple[int, int]) -> Any:
        raise NotImplementedError  # pragma: no cover - the model defines it

    def _away(self, k: int, i: int, node: int) -> Any:
        raise NotImplementedError  # pragma: no cover - the model defines it

    def _and(self, a: Any, b: Any) -> Any:
        raise NotImplementedError  # pragma: no cover - the model defines it

    def _total_jct(self) -> list[tuple[Any, int]]:
        self.constant["total_jct"] = -sum(self.layout.arrival)
        return [(c, 1) for c in self.completion.values()]

    def _makespan(self) -> list[tuple[Any, int]]:
        self.constant["makespan"] = -min(self.layout.arrival, default=0)
        return [] if self.last is None else [(self.last, 1)]

    def _deadlines_met(self) -> list[tuple[Any, int]]:
        layout = self.layout
        for j in range(layout.jobs):
            if layout.least_completion(j) > layout.deadline[j]:
                continue
            self.met[j] = self.cp.new_bool_var("")
            self.cp.add(self.completion[j] <= layout.deadline[j]).only_enforce_if(self.met[j])
        return [(v, 1) for v in self.met.values()]

    def _counted(self, j: int) -> tuple[int, list[Any]]:
        """(iterations that count for sure, literals for one more each) towards job j's accuracy."""
        layout = self.layout
        if layout.instance.accuracy_at == "final":
            return layout.least[j], [self.x[j, i] for i in range(layout.least[j], layout.most[j])]
        sure = int(layout.instance.on_time[j])
        if sure < layout.first[j]:
            return sure, []
        found = []
        for i in layout.iterations(j):
            ends = [layout.head[k][i] + layout.duration[k] for k in layout.tasks_of[j]]
            if max(ends) > layout.deadline[j]:
                break
            if (j, i) not in self.on_time:
                self.on_time[j, i] = self._punctual(j, i)
            found.append(self.on_time[j, i])
        return sure, found

    def _punctual(self, j: int, i: int) -> Any:
        """A literal that is true only if iteration i of job j runs and ends by the deadline."""
        layout = self.layout
        literal = self.cp.new_bool_var("")
        for k in layout.sinks(j, i):
            if layout.is_fixed(k, i):
                continue  # its end is constant and was compared above
            row = self.end[k, i] <= layout.deadline[j]
            self.cp.add(row).only_enforce_if(literal)
        if (j, i) in self.x:
            self.cp.add_implication(literal, self.x[j, i])
        if (j, i - 1) in self.on_time:
            self.cp.add_implication(literal, self.on_time[j, i - 1])
        return literal

    def _total_accuracy(self) -> list[tuple[Any, int]]:
        accuracy = self.layout.instance.accuracy.tolist()
        parts, constant = [], 0
        for j in range(self.layout.jobs):
            sure, more = self._counted(j)
            constant += accuracy[j][sure]
            parts += [(v, accuracy[j][sure + n + 1] - accuracy[j][sure + n]) for n, v in enumerate(more)]
        self.constant["total_accuracy"] = constant
        return [(v, w) for v, w in parts if w]

    def _accuracy_met(self) -> list[tuple[Any, int]]:
        accuracy, required = self.layout.instance.accuracy.tolist(), self.layout.instance.required.tolist()
        parts, constant = [], 0
        for j in range(self.layout.jobs):
            sure, more = self._counted(j)
            if accuracy[j][sure] >= required[j]:
                constant += 1
                continue
            enough = [v for n, v in enumerate(more) if accuracy[j][sure + n + 1] >= required[j]]
            if enough:
                parts.append((enough[0], 1))
        self.constant["accuracy_met"] = constant
        return parts

    def _traffic(self) -> list[tuple[Any, int]]:
        layout = self.layout
        total: dict[int, tuple[Any, int]] = {}
        constant = 0
        for j, i, k in layout.runs():
            x = self.x.get((j, i), 1)
            for arc in layout.into[k]:
                source = i - arc.lag
                if not arc.volume or (source < layout.first[j] and not layout.first[j]):
                    continue
                if source < layout.first[j]:
                    cut = self._away(k, i, layout.home[arc.u])
                else:
                    cut = self._apart((arc.u, source), (k, i))
                if isinstance(cut, int) and not cut:
                    continue
                literal = self._and(cut, x)
                if isinstance(literal, int):
                    constant += arc.volume
                else:
                    _, so_far = total.get(literal.index, (literal, 0))
                    total[literal.index] = literal, so_far + arc.volume
        self.constant["traffic"] = constant
        return list(total.values())
