"""GPUs inside nodes, for models: which runs need a part of one, and what keeps them apart in the interval model.

Most models know a node's GPUs as one pool, which is a relaxation: 60 + 60 + 80 hundredths fit in a pool of two GPUs. So
their bounds hold, and where it matters (`Layout.gpus_apart`) their plans are not asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsched.core.errors import TooLarge
from mlsched.instances.taskgraph import Instance, gpus

if TYPE_CHECKING:
    from mlsched.formulations.taskgraph._choices import Choices, Literal, Run
    from mlsched.formulations.taskgraph._layout import Layout


class Gpus:
    """unit: see `Instance.gpu_unit`. need[k]: what a lasting task needs of it. parts: the tasks that need a part of a
    GPU. count[n]: GPUs of a node. fixed[k]: the GPU of a part that is under way. halves[k]: half GPUs of which no
    other part can make use: two a whole GPU or a part over one half, one a half (a dual feasible function, as in
    `_pools.packed`); runs under way at once have at most two of them for each GPU."""

    def __init__(self, instance: Instance) -> None:
        self.unit = instance.gpu_unit
        self.need: dict[int, int] = {}
        self.count = gpus.counts(instance).tolist()
        self.fixed: dict[int, int] = {}
        if self.unit:
            needs = np.where(instance.duration > 0, instance.demand[:, gpus.gpu_column(instance.resources)], 0).tolist()
            self.need = {k: need for k, need in enumerate(needs) if need}
            named = zip(instance.fixed_task.tolist(), instance.fixed_gpu.tolist(), strict=True)
            self.fixed = {k: gpu for k, gpu in named if gpu >= 0}
        self.halves = {
            k: 2 * (n // self.unit) or (2 * n >= self.unit) + (2 * n > self.unit) for k, n in self.need.items()
        }
        self.parts = [k for k, need in self.need.items() if need < self.unit]

    def label(self, k: int, fixed: bool) -> int:
        """The GPU of a run for which no model says one: none, that of the run under way, or the first."""
        if not self.unit or not 0 < self.need.get(k, 0) < self.unit:
            return -1
        return self.fixed.get(k, -1) if fixed else 0


def refuse_apart(layout: Layout, who: str) -> None:
    """Raise TooLarge where `who`, which knows only pools of GPUs, would make plans that nodes cannot hold."""
    if layout.gpus_apart:
        raise TooLarge(
            f"{who}: gpu_unit = {layout.gpus.unit} and tasks that need parts of GPUs: knows a node's GPUs as one pool "
            "only: use cp-sat (brute-force where it is tiny)"
        )


class Held:
    """Which GPUs of its node each run holds: literals by (run, place), a GPU each, on nodes where it matters.

    A run that needs a part of a GPU holds one, a run that needs m whole ones holds m of them. On each GPU, what is held
    at once is at most what it has.
    """

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.gpus: dict[tuple[Run, int], list[Literal]] = {}

    def add(self, p: int, runs: Sequence[tuple[Run, Literal]], interval: Callable[[Run, Literal], Any]) -> None:
        """The GPUs of place p for runs that may be there; interval(run, literal): its time, if the literal holds."""
        layout, cp, gpus = self.choices.layout, self.choices.cp, self.choices.layout.gpus
        count = gpus.count[self.choices.places[p].nodes[0]]
        now = layout.instance.now
        users = [
            (run, present)
            for run, present in runs
            # What has ended by now needs no GPU any more.
            if run[0] in gpus.need and not (layout.is_fixed(*run) and sum(self._span(run)) <= now)
        ]
        if count < 2 or not any(gpus.need[k] < gpus.unit for (k, _), _ in users):
            return
        for run, present in users:
            held = self.gpus[run, p] = [cp.new_bool_var("") for _ in range(count)]
            cp.add(sum(held) == max(1, gpus.need[run[0]] // gpus.unit) * present)
            if layout.is_fixed(*run) and run[0] in gpus.parts:
                cp.add_bool_and([held[gpus.fixed[run[0]]]])
        for g in range(count):
            times = [interval(run, self.gpus[run, p][g]) for run, _ in users]
            share(cp, times, [min(gpus.unit, gpus.need[k]) for (k, _), _ in users], gpus.unit)
        halves = [(interval(run, present), gpus.halves[run[0]]) for run, present in users if gpus.halves[run[0]]]
        share(cp, [time for time, _ in halves], [half for _, half in halves], 2 * count)
        self._break_symmetry([run for run, _ in users], p, count)

    def _span(self, run: Run) -> tuple[int, int]:
        """Start and duration of a fixed run."""
        return self.choices.layout.fixed[run[0]][1], self.choices.layout.duration[run[0]]

    def _break_symmetry(self, users: Sequence[Run], p: int, count: int) -> None:
        """Of a node's GPUs, the c-th is held in first iterations only after, or with, the one before it.

        Valid where no run under way names a GPU: the GPUs of a node may be renamed at will.
        """
        layout = self.choices.layout
        if any(layout.is_fixed(*run) for run in users):
            return
        first = [self.gpus[run, p] for run in users if run[1] == layout.finished[layout.job[run[0]]]]
        for g in range(1, count):
            before: list[Literal] = []
            for held in first:
                before.append(held[g - 1])
                self.choices.cp.add_bool_or([*before, held[g].negated()])

    def labels(self, at: dict[Run, int], value_of: Callable[[Any], int]) -> dict[Run, int]:
        """The GPU of each run that needs a part of one and for which there are literals; at: the place of every run."""
        parts = set(self.choices.layout.gpus.parts)
        return {
            run: next(g for g, literal in enumerate(held) if value_of(literal))
            for (run, p), held in self.gpus.items()
            if run[0] in parts and at.get(run) == p
        }


def share(cp: Any, intervals: list[Any], demands: list[int], capacity: int) -> None:
    """Optional intervals that share a capacity: without overlap where any two exceed it."""
    if len(intervals) > 1 and min(demands) * 2 > capacity:
        cp.add_no_overlap(intervals)
        if max(demands) <= capacity:
            return
    if intervals:
        cp.add_cumulative(intervals, demands, capacity)
