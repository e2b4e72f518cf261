"""Decisions of all CP-SAT models of a task graph apart from time: optional iterations and places of runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from mlsched.core.aliases import BackendModel
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.formulations.taskgraph._places import Place, symmetric

#: 0, 1, or a literal of CP-SAT.
Literal = Any
Run = tuple[int, int]


class Choices:
    """The literals of iterations and places in a model `cp`.

    runs[j, i]: an optional iteration runs. where[run]: place -> literal; the same object for all runs of a task that
    may not move. ranks: classes of interchangeable nodes that are used in the order of the tasks.
    """

    def __init__(self, layout: Layout, cp: BackendModel, group: Sequence[Place]) -> None:
        self.layout, self.cp, self.places = layout, cp, group
        self.place_of = [0] * layout.nodes
        for p, place in enumerate(group):
            for n in place.nodes:
                self.place_of[n] = p
        self.runs: dict[tuple[int, int], Literal] = {}
        self.where: dict[Run, dict[int, Literal]] = {}
        self.apart_literals: dict[tuple[int, int], Literal] = {}
        self.conjunctions: dict[tuple[int, int], Literal] = {}
        self.ranks: Sequence[tuple[int, ...]] = ()
        self._add_optional_iterations()
        self._places()

    def _add_optional_iterations(self) -> None:
        """Let an optional iteration run only after the iteration before it."""
        for j in range(self.layout.jobs):
            for i in range(self.layout.mandatory[j], self.layout.maximum[j]):
                self.runs[j, i] = self.cp.new_bool_var("")
                if (j, i - 1) in self.runs:
                    self.cp.add_implication(self.runs[j, i], self.runs[j, i - 1])

    def _places(self) -> None:
        """Put each run on one of the places that it may use."""
        layout = self.layout
        present: dict[int, dict[int, Literal]] = {}
        places_of: dict[tuple[int, ...], list[int]] = {}
        only: list[dict[int, Literal]] = [{p: 1} for p in range(len(self.places))]
        for _, i, k in layout.runs():
            if layout.sticky and k in present:
                self.where[k, i] = present[k]
                continue
            nodes = layout.nodes_of(k, i) if layout.fixed else layout.allowed[k]
            if nodes not in places_of:
                places_of[nodes] = list(dict.fromkeys(self.place_of[n] for n in nodes))
            allowed = places_of[nodes]
            if len(allowed) == 1:
                choice: dict[int, Literal] = only[allowed[0]]
            elif len(allowed) == 2:
                first = self.cp.new_bool_var("")
                choice = {allowed[0]: first, allowed[1]: first.negated()}
            else:
                choice = {p: self.cp.new_bool_var("") for p in allowed}
                self.cp.add_exactly_one(choice.values())
            self.where[k, i] = present[k] = choice

    def node_of(self, run: Run, value: Callable[[Literal], int]) -> int:
        """Return the node of a run in a solution; places must be single nodes."""
        return self.places[next(p for p, y in self.where[run].items() if value(y))].nodes[0]

    def running(self, j: int, i: int) -> Literal:
        """Return the literal of iteration i of job j."""
        return self.runs.get((j, i), 1)

    def both(self, a: Literal, b: Literal) -> Literal:
        """Return a literal for the conjunction of two literals."""
        if isinstance(a, int):
            return b if a else 0
        if isinstance(b, int):
            return a if b else 0
        key = (a.index, b.index)
        if key not in self.conjunctions:
            literal = self.cp.new_bool_var("")
            self.cp.add_implication(literal, a)
            self.cp.add_implication(literal, b)
            self.cp.add_bool_or([a.negated(), b.negated(), literal])
            self.conjunctions[key] = literal
        return self.conjunctions[key]

    def apart(self, a: Run, b: Run) -> Literal:
        """Return a literal: two runs are on different nodes."""
        one, other = self.where[a], self.where[b]
        if one is other:
            return 0
        if not one.keys() & other.keys():
            return 1
        if len(one) == 1 and len(other) == 1:
            return 0
        if len(other) == 1:
            one, other = other, one
        if len(one) == 1:
            return other[next(iter(one))].negated()
        key = (id(one), id(other)) if id(one) < id(other) else (id(other), id(one))
        if key not in self.apart_literals:
            apart = self.cp.new_bool_var("")
            for p, here in one.items():
                there = other.get(p)
                self.cp.add_bool_or([here.negated(), apart] if there is None else [here.negated(), there, apart])
                if there is not None:
                    self.cp.add_bool_or([here.negated(), there.negated(), apart.negated()])
            self.apart_literals[key] = apart
        return self.apart_literals[key]

    def away(self, run: Run, node: int) -> Literal:
        """Return a literal: a run is not on a node; the places must be single nodes if this matters."""
        choice, p = self.where[run], self.place_of[node]
        if p not in choice:
            return 1
        return 0 if len(choice) == 1 else choice[p].negated()

    def sent(self, j: int, i: int, k: int) -> list[tuple[int, Literal]]:
        """Return (volume, literal of a transfer between nodes) of the inputs of run (k, i), if its iteration runs."""
        layout = self.layout
        volume = []
        for arc in layout.into[k]:
            source = i - arc.lag
            if not arc.volume or (source < layout.finished[j] and not layout.finished[j]):
                continue
            if source < layout.finished[j]:
                between = self.away((k, i), layout.home[arc.u])
            else:
                between = self.apart((arc.u, source), (k, i))
            volume.append((arc.volume, self.both(between, self.running(j, i))))
        return volume

    def break_symmetry(self) -> None:
        """Use the c-th of interchangeable nodes only after an earlier task uses the node before it.

        Valid: every plan can be renamed in this way (`symmetric`) without changing a value. Tasks are in the order of
        their numbers. The first iteration of each is constrained; later iterations follow or, if runs may move, are
        left free.
        """
        layout = self.layout
        if any(place.whole for place in self.places) or not layout.sticky:
            return
        self.ranks = symmetric(layout)
        first = [(k, layout.finished[j]) for k, j in enumerate(layout.job) if (k, layout.finished[j]) in self.where]
        for nodes in self.ranks:
            for before, node in itertools.pairwise(nodes):
                earlier: list[Literal] = []
                for run in first:
                    # A task that may be on one node of a class may be on all, so these are literals.
                    if (literal := self.where[run].get(self.place_of[node])) is not None:
                        self.cp.add_bool_or([*earlier, literal.negated()])
                    if (mine := self.where[run].get(self.place_of[before])) is not None:
                        earlier.append(mine)
