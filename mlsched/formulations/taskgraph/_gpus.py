"""GPUs inside nodes, for models: runs that need a fraction, and their separation in the interval model.

Most models treat a node's GPUs as one pool, which is a relaxation: 60 + 60 + 80 hundredths fit in a pool of two GPUs.
So their bounds are valid, and their plans are not used if individual GPUs matter (`Layout.gpus_apart`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsched.core.aliases import BackendModel, Expression, Variable
from mlsched.core.errors import TooLarge
from mlsched.instances.taskgraph import Instance, gpus

if TYPE_CHECKING:
    from mlsched.formulations.taskgraph._choices import Choices, Literal, Run
    from mlsched.formulations.taskgraph._layout import Layout


class Gpus:
    """GPU demands of the tasks and GPU counts of the nodes.

    unit: see `Instance.gpu_unit`. need[k]: GPU demand of a lasting task. parts: the tasks that need a fraction of a
    GPU. count[n]: GPUs of a node. fixed[k]: the GPU of a fraction that is under way. halves[k]: half GPUs that other
    fractions cannot use. They are two per entire GPU or per fraction over one half, one per half (a dual feasible
    function, as in `_pools.packed`); simultaneous runs have at most two of them for each GPU.
    """

    def __init__(self, instance: Instance) -> None:
        self.unit = instance.gpu_unit
        self.need: dict[int, int] = {}
        self.count = gpus.counts(instance).tolist()
        self.fixed: dict[int, int] = {}
        if self.unit:
            needs = np.where(instance.duration > 0, instance.demand[:, gpus.gpu_column(instance.resources)], 0).tolist()
            self.need = {k: need for k, need in enumerate(needs) if need}
            plan_columns = zip(instance.fixed_task.tolist(), instance.fixed_gpu.tolist(), strict=True)
            self.fixed = {k: gpu for k, gpu in plan_columns if gpu >= 0}
        self.halves = {
            k: 2 * (n // self.unit) or (2 * n >= self.unit) + (2 * n > self.unit) for k, n in self.need.items()
        }
        self.parts = [k for k, need in self.need.items() if need < self.unit]

    def label(self, k: int, fixed: bool) -> int:
        """Return a GPU for a run whose GPU the model does not decide.

        It is the GPU of a run under way, otherwise the first; -1 for a run without a fraction of a GPU.
        """
        if not self.unit or not 0 < self.need.get(k, 0) < self.unit:
            return -1
        return self.fixed.get(k, -1) if fixed else 0


def refuse_apart(layout: Layout, who: str) -> None:
    """Raise TooLarge if the plans of `who`, which only uses pools of GPUs, could be infeasible on nodes."""
    if layout.gpus_apart:
        raise TooLarge(
            f"{who}: gpu_unit = {layout.gpus.unit} and tasks that need parts of GPUs: knows a node's GPUs as one pool "
            "only: use cp-sat (brute-force where it is tiny)"
        )


class Held:
    """GPUs of each run on its node: literals by (run, place), one per GPU, on nodes with individual GPUs.

    A run that needs a fraction uses one GPU, a run that needs m entire GPUs uses m of them. On each GPU, the
    simultaneous use is at most its capacity.
    """

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.gpus: dict[tuple[Run, int], list[Literal]] = {}

    def add(self, p: int, runs: Sequence[tuple[Run, Literal]], interval: Callable[[Run, Literal], Any]) -> None:
        """Add the GPUs of place p for runs that may be there; interval(run, literal): its optional time."""
        layout, cp, gpus = self.choices.layout, self.choices.cp, self.choices.layout.gpus
        count = gpus.count[self.choices.places[p].nodes[0]]
        now = layout.instance.now
        users = [
            (run, present)
            for run, present in runs
            # Runs that have ended by now do not need a GPU.
            if run[0] in gpus.need and not (layout.is_fixed(*run) and sum(self._fixed_span(run)) <= now)
        ]
        if count < 2 or not any(gpus.need[k] < gpus.unit for (k, _), _ in users):
            return
        for run, present in users:
            usage = self.gpus[run, p] = [cp.new_bool_var("") for _ in range(count)]
            cp.add(sum(usage) == max(1, gpus.need[run[0]] // gpus.unit) * present)
            if layout.is_fixed(*run) and run[0] in gpus.parts:
                cp.add_bool_and([usage[gpus.fixed[run[0]]]])
        for g in range(count):
            times = [interval(run, self.gpus[run, p][g]) for run, _ in users]
            share(cp, times, [min(gpus.unit, gpus.need[k]) for (k, _), _ in users], gpus.unit)
        halves = [(interval(run, present), gpus.halves[run[0]]) for run, present in users if gpus.halves[run[0]]]
        share(cp, [time for time, _ in halves], [half for _, half in halves], 2 * count)
        self._break_symmetry([run for run, _ in users], p, count)

    def _fixed_span(self, run: Run) -> tuple[int, int]:
        """Return start and duration of a fixed run."""
        return self.choices.layout.fixed[run[0]][1], self.choices.layout.duration[run[0]]

    def _break_symmetry(self, users: Sequence[Run], p: int, count: int) -> None:
        """Let the runs `users` take the `count` GPUs of place `p` in order: each only after, or with, the one before.

        Only runs of first iterations count. Valid if runs under way do not name a GPU: the GPUs of a node may then be
        renamed.
        """
        layout = self.choices.layout
        if any(layout.is_fixed(*run) for run in users):
            return
        first = [self.gpus[run, p] for run in users if run[1] == layout.finished[layout.job[run[0]]]]
        for g in range(1, count):
            before: list[Literal] = []
            for usage in first:
                before.append(usage[g - 1])
                self.choices.cp.add_bool_or([*before, usage[g].negated()])

    def labels(self, at: dict[Run, int], value_of: Callable[[Variable], int]) -> dict[Run, int]:
        """Return the GPU of each run with a fraction and literals; at: the place of every run."""
        parts = set(self.choices.layout.gpus.parts)
        return {
            run: next(g for g, literal in enumerate(usage) if value_of(literal))
            for (run, p), usage in self.gpus.items()
            if run[0] in parts and at.get(run) == p
        }


def share(cp: BackendModel, intervals: list[Expression], demands: list[int], capacity: int) -> None:
    """Let optional intervals share a capacity: without overlap if any two exceed it."""
    if len(intervals) > 1 and min(demands) * 2 > capacity:
        cp.add_no_overlap(intervals)
        if max(demands) <= capacity:
            return
    if intervals:
        cp.add_cumulative(intervals, demands, capacity)
