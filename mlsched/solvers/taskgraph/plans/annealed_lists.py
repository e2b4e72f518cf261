"""Better plans for total_jct by annealed lists of runs, decoded by compiled code.

A list has a node for each task and an order of all mandatory runs. Compiled code (`annealed_lists.c`) tries about a
million lists per second, a hundred times as many as Python. Without the compiled code the search is skipped.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
from pathlib import Path
from typing import Any

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.fields import IntArray
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances.taskgraph import Timetable
from mlsched.solvers.taskgraph.state import State

#: The compiled code; `hatch_build.py` makes it.
LIBRARY = Path(__file__).with_name("libannealed_lists.so")
#: Share of the limits for the search, and the lists tried without a limit.
SHARE, LISTS = 0.12, 200_000
#: Deterministic time that is charged for placing a run.
PLACING = 5e-8
#: Temperature at first and at last in each round, in units of time, and the rounds, each from the best list.
HOT, COLD, ROUNDS = 6.0, 0.12, 3
#: Lists per call of the compiled code: the temperature, limits and Ctrl-C are checked only between calls.
SLICE = 2_000
#: Largest search: runs, times, cells in the table of used resources, and any number.
MOST_RUNS, MOST_TIME, MOST_CELLS, MOST = 4_000, 20_000, 20_000_000, 2**30
#: The value of a list that exceeds `MOST_TIME`.
IMPOSSIBLE = 2**60

Run = tuple[int, int]


class _Lists(ctypes.Structure):
    """The problem, as `Lists` in `annealed_lists.c`."""

    _fields_ = (
        *((name, ctypes.c_int32) for name in ("tasks", "nodes", "resources", "runs", "jobs", "horizon")),
        *(
            (name, ctypes.c_void_p)
            for name in ("task", "job", "duration", "ready", "demand", "capacity", "allowed", "first", "source", "lag")
        ),
    )


class _Search(ctypes.Structure):
    """The current list and the best one, as `Search` in `annealed_lists.c`."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("order", "node", "best_order", "best_node", "best_start")),
        ("current", ctypes.c_int64),
        ("best", ctypes.c_int64),
        ("random", ctypes.c_uint64 * 2),
    )


@functools.cache
def compiled() -> Any:
    """Return the compiled function, or None if this machine lacks it."""
    try:
        function = ctypes.CDLL(str(LIBRARY)).anneal_lists
    except (OSError, AttributeError):
        return None
    function.argtypes = (ctypes.POINTER(_Lists), ctypes.POINTER(_Search), ctypes.c_int64, ctypes.c_double)
    return function


def improve(state: State) -> None:
    """Offer the state the plan of the best list that a share of its limits finds."""
    if state.plan is None or state.done or compiled() is None:
        return
    model = list_model(state.layout)
    if model is None:
        return
    lists = AnnealedLists(state.layout, model, state.plan, state.limits.seed)
    work, seconds = state.limits.work, state.limits.seconds
    per_list = PLACING * len(model.runs)
    most = LISTS if seconds is None else None
    if work is not None:
        most = int(SHARE * work / per_list)
    lists.anneal(most, None if seconds is None else SHARE * seconds, state)
    state.work["decodings"] = state.work.get("decodings", 0.0) + lists.tried
    state.spend(per_list * lists.tried)
    plan = lists.plan()
    if plan is not None:
        state.offer(plan)


class AnnealedLists:
    """A search that starts from the list of a plan."""

    def __init__(self, layout: Layout, model: ListModel, plan: Timetable, seed: int) -> None:
        self.layout, self.tried = layout, 0
        self._runs = model.runs
        self._kept = {name: np.ascontiguousarray(values, dtype=np.int32) for name, values in model.arrays.items()}
        sizes = (layout.tasks, layout.nodes, len(layout.instance.resources), len(self._runs), layout.jobs)
        self._lists = _Lists(*sizes, model.horizon, *(self._kept[name].ctypes.data for name in _ARRAYS))
        columns = (plan.task, plan.iteration, plan.node, plan.start)
        placed = {(k, i): (n, s) for k, i, n, s in zip(*(c.tolist() for c in columns), strict=True)}
        nodes = [max(layout.allowed[k][:1], default=0) for k in range(layout.tasks)]
        for (k, _), (n, _) in placed.items():
            nodes[k] = n
        order = sorted(range(len(self._runs)), key=lambda v: placed[self._runs[v]][1])
        self._state = [np.array(each, dtype=np.int32) for each in (order, nodes, order, nodes, order)]
        self._search = _Search(*(each.ctypes.data for each in self._state))
        # Any two words but 0: the seed, mixed.
        self._search.random[:] = [int(word) | 1 for word in np.random.SeedSequence(seed).generate_state(2, np.uint64)]
        self._call_compiled(0, 1.0)

    @property
    def value(self) -> int:
        """Return the sum of completions of the best list, `IMPOSSIBLE` if it is too long."""
        return int(self._search.best)

    def anneal(self, most: int | None, seconds: float | None, state: State) -> None:
        """Run the annealing until `most` lists were tried, the seconds are over, or the state is done."""
        deadline, current_round = Deadline(seconds), 0
        while self.value < IMPOSSIBLE and not state.over:
            progress = 0.0 if most is None else self.tried / max(most, 1)
            remaining = deadline.remaining()
            if seconds is not None and remaining is not None:
                progress = max(progress, 1 - remaining / seconds)
            if progress >= 1 or self.value <= (state.lower or 0) + sum(self.layout.arrival):
                return
            if int(progress * ROUNDS) > current_round:
                current_round = int(progress * ROUNDS)
                self._restart_from_best()
            self._call_compiled(SLICE, HOT * (COLD / HOT) ** (progress * ROUNDS % 1))
            self.tried += SLICE

    def _restart_from_best(self) -> None:
        """Continue from the best list."""
        order, node, best_order, best_node, _ = self._state
        order[:], node[:], self._search.current = best_order, best_node, self._search.best

    def _call_compiled(self, moves: int, temperature: float) -> None:
        if not compiled()(ctypes.byref(self._lists), ctypes.byref(self._search), moves, temperature):
            raise MemoryError("the table of used resources does not fit in memory")

    def plan(self) -> Timetable | None:
        """Return the plan of the best list; None if the first list was too long already."""
        if self.value >= IMPOSSIBLE:
            return None
        *_, node, start = (each.tolist() for each in self._state)
        at = {run: node[run[0]] for run in self._runs}
        return self.layout.timetable(at, dict(zip(self._runs, start, strict=True)))


#: The arrays of `Lists`, in its order.
_ARRAYS = ("task", "job", "duration", "ready", "demand", "capacity", "allowed", "first", "source", "lag")


@dataclasses.dataclass(frozen=True)
class ListModel:
    """The problem of a layout for lists.

    runs: the mandatory runs, (task, iteration), sources first. arrays: those of `Lists`. horizon: a time by which every
    list has ended, at most `MOST_TIME`.
    """

    runs: list[Run]
    arrays: dict[str, IntArray]
    horizon: int


def list_model(layout: Layout) -> ListModel | None:
    """Return the problem for lists; None if lists cannot describe all plans, or for a search that is too large."""
    instance = layout.instance
    if layout.fixed or any(layout.finished) or instance.movement != "none" or instance.gpu_unit:
        return None
    runs = [(k, i) for j, i, k in layout.runs() if i < layout.mandatory[j]]
    if layout.reason is not None or not 0 < len(runs) <= MOST_RUNS:
        return None
    index = {run: v for v, run in enumerate(runs)}
    sources = [layout.sources(*run) for run in runs]
    allowed_mask = np.zeros((layout.tasks, layout.nodes), dtype=np.int64)
    for k, nodes in enumerate(layout.allowed):
        allowed_mask[k, list(nodes)] = 1
    arrays = {
        "task": [k for k, _ in runs],
        "job": layout.job,
        "duration": layout.duration,
        "ready": layout.ready,
        "demand": layout.demand,
        "capacity": layout.capacity,
        "allowed": allowed_mask,
        "first": np.cumsum([0, *map(len, sources)]),
        "source": [index[k, i] for each in sources for k, i, _ in each],
        "lag": [delay for each in sources for _, _, delay in each],
    }
    result = {name: np.asarray(values, dtype=np.int64) for name, values in arrays.items()}
    if max(int(each.max(initial=0)) for each in result.values()) >= MOST:
        return None
    last = int(result["ready"].max(initial=0)) + int(result["duration"][result["task"]].sum() + result["lag"].sum())
    horizon = min(last + 2, MOST_TIME)
    cells = layout.nodes * horizon * len(instance.resources)
    return ListModel(runs, result, horizon) if cells <= MOST_CELLS else None
