"""GPUs inside nodes, in the time-indexed model: the GPU of a run that needs a fraction of a GPU.

Binary gpu[k, i, n, g, t]: run (k, i) starts on GPU g of node n at time t; over the GPUs of a node these sum to
start[k, i, n, t]. gpu_used[n, g, t] in [0, 1]: a fraction of GPU g is used at t. The used fractions of a GPU sum to
at most gpu_used, and so does each single run, so that it is 1 if a run is there. The number of these GPUs plus the
entire GPUs in use is at most the GPUs of the node, which is rule 6 of the judge. Entire GPUs need no number: see
there.

Only nodes with several GPUs need this, and times from `now` on.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mlsched.core.aliases import Array, BackendModel, Expression, Variable
from mlsched.formulations.taskgraph._decoder import Decoder, Run
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances.taskgraph import Timetable
from mlsched.instances.taskgraph.gpus import gpu_column

#: (node, start) of a run.
Slot = tuple[int, int]


class GpuColumns:
    """The columns and rows of this module's docstring, for a model with columns start[k, i, n, t].

    slots: of each run, the nodes and times at which it may start; slots from `end` on need no room.
    """

    def __init__(self, layout: Layout, slots: Mapping[Run, Sequence[Slot]], end: int) -> None:
        self._layout, self._slots, self._end = layout, slots, end
        self.columns: list[tuple[int, int, int, int, int]] = []
        for run, own in slots.items():
            if run[0] in layout.gpus.parts:
                for n, t in own:
                    self.columns += [(*run, n, g, t) for g in self._possible_gpus(run, n, t)]

    def _possible_gpus(self, run: Run, n: int, t: int) -> Sequence[int]:
        """Return the GPUs of a run that starts there; empty if the choice does not matter."""
        gpus = self._layout.gpus
        if t >= self._end or gpus.count[n] < 2 or t + self._layout.duration[run[0]] <= self._layout.instance.now:
            return ()
        return (gpus.fixed[run[0]],) if self._layout.is_fixed(*run) else range(gpus.count[n])

    def add(self, mip: Any, add: Callable[..., None]) -> None:
        """Add the variables and rows to a Pyomo model with `start`; add: takes a row, its group and its index."""
        import pyomo.environ as pyo

        layout, now = self._layout, self._layout.instance.now
        mip.gpu = pyo.Var(self.columns, domain=pyo.Binary)
        starts: dict[tuple[int, int, int, int], list[Any]] = {}
        usage: dict[tuple[int, int, int], dict[Run, list[Any]]] = {}
        for k, i, n, g, t in self.columns:
            starts.setdefault((k, i, n, t), []).append(mip.gpu[k, i, n, g, t])
            for at in range(max(t, now), t + layout.duration[k]):
                usage.setdefault((n, g, at), {}).setdefault((k, i), []).append(mip.gpu[k, i, n, g, t])
        for column, labelled in starts.items():
            add(sum(labelled) == mip.start[column], "on_gpu", *column)
        mip.gpu_used = pyo.Var(list(usage), bounds=(0, 1))
        common: dict[Slot, list[Any]] = {}
        for (n, g, at), runs in usage.items():
            common.setdefault((n, at), []).append(mip.gpu_used[n, g, at])
            for run, own in runs.items():
                add(sum(own) <= mip.gpu_used[n, g, at], "gpu_held", *run, n, g, at)
            parts = sum(layout.gpus.need[k] * sum(own) for (k, _), own in runs.items())
            add(parts <= layout.gpus.unit * mip.gpu_used[n, g, at], "gpu_parts", n, g, at)
        whole = self._entire_gpus(mip)
        for (n, at), labels in common.items():
            add(sum(labels) + sum(whole.get((n, at), ())) <= layout.gpus.count[n], "gpus", n, at)

    def _entire_gpus(self, mip: BackendModel) -> dict[Slot, list[Expression]]:
        """Return, by node and time, the entire GPUs that each start of a run uses then."""
        layout, whole = self._layout, dict[Slot, list[Any]]()
        for (k, i), slots in self._slots.items():
            many = layout.gpus.need.get(k, 0) // layout.gpus.unit
            for n, t in slots if many else ():
                for at in range(t, t + layout.duration[k]) if t < self._end else ():
                    whole.setdefault((n, at), []).append(many * mip.start[k, i, n, t])
        return whole

    def timetable(
        self, node: Mapping[Run, int], start: Mapping[Run, int], chosen: Callable[[Variable], int]
    ) -> Timetable:
        """Return the plan of some runs on their nodes and GPUs; runs without a start come last, one after the other.

        chosen: the value of `gpu` at a column.
        """
        gpu = {(k, i): g for k, i, n, g, t in self.columns if chosen((k, i, n, g, t))}
        return self._layout.timetable(node, _sequential_starts(self._layout, node, start), gpu)

    def encode(self, runs: Mapping[Run, Slot], gpu: Mapping[Run, int], columns: Array) -> list[tuple[Variable, int]]:
        """Return values of `gpu` for a plan: node and start, and GPU, of its runs."""
        return [
            (columns[k, i, n, g, t], int(runs.get((k, i)) == (n, t) and gpu[k, i] == g))
            for k, i, n, g, t in self.columns
        ]


def _sequential_starts(layout: Layout, node: Mapping[Run, int], start: Mapping[Run, int]) -> dict[Run, int]:
    """Return the start of each run; runs without a start begin after all others, one by one."""
    begins = dict(start)
    time = max((t + layout.duration[k] for (k, _), t in start.items()), default=layout.instance.now)
    for j, i, k in layout.runs():
        if (k, i) not in node or (k, i) in begins:
            continue
        time = max(time, layout.ready[j])
        for u, source, delay in layout.sources(k, i):
            before = source < layout.finished[j]
            place = layout.home[u] if before else node[u, source]
            end_literals = layout.last_end[u] if before else begins[u, source] + layout.duration[u]
            time = max(time, end_literals + (delay if place != node[k, i] else 0))
        begins[k, i] = time
        time += layout.duration[k]
    return begins


def roomy_plans(layout: Layout) -> list[Timetable]:
    """Return list schedules in which each run with a fraction has a GPU for itself, except for runs under way."""
    column, plans = gpu_column(layout.instance.resources), []
    demand = [list(amounts) for amounts in layout.demand]
    for k in layout.gpus.parts:
        demand[k][column] = layout.gpus.unit
    decoder = Decoder(dataclasses.replace(layout, demand=demand))
    for order in decoder.orders():
        placed = decoder.decode(order)
        node, start = {run: n for run, (n, _) in placed.items()}, {run: t for run, (_, t) in placed.items()}
        plans.append(layout.timetable(node, start, _first_free_gpus(layout, placed)))
    return plans


def _first_free_gpus(layout: Layout, placed: Mapping[Run, Slot]) -> dict[Run, int]:
    """Return the first free GPU of its node for each run with a fraction; 0 if all are used by other fractions."""
    usage = [[0] * max(1, count) for count in layout.gpus.count]  # end of the current use
    assigned: dict[Run, int] = {}
    for run in sorted(placed, key=lambda run: (not layout.is_fixed(*run), placed[run][1])):
        n, start = placed[run]
        if run[0] in layout.gpus.parts:
            free = (g for g, until in enumerate(usage[n]) if until <= start)
            assigned[run] = layout.gpus.fixed[run[0]] if layout.is_fixed(*run) else next(free, 0)
            usage[n][assigned[run]] = max(usage[n][assigned[run]], start + layout.duration[run[0]])
    return assigned
