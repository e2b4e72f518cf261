"""Incumbents of total_jct: annealed orders of jobs and placements, decoded by serial schedule generation.

The first half of the decodings looks for an order, with tasks on the nodes where they can start first; the second
starts from its placement and changes both. A number of decodings, not a time, limits the search, so that a seed
gives one answer. Without annealing: 3 instead of 4 of 6 hard `six-replicas` proved, 1.1 times the work on
`eight-replicas`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from mlsched.formulations.taskgraph._decoder import ANY, Decoder, Run
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances.taskgraph import Timetable
from mlsched.solvers.taskgraph.state import State

#: Schedules that are generated for an incumbent, a run of the instance each, and the share of the seconds for them.
DECODINGS, DECODING_SHARE = 60, 0.1
#: Deterministic time that is booked for placing a run in a schedule.
PLACING = 2e-5
#: Temperature at first, as a share of the value.
HEAT = 0.02


def generate(state: State) -> None:
    """Offer the state the plan of the smallest total_jct among some schedules."""
    layout, limits = state.layout, state.limits
    runs = sum(1 for _ in layout.runs())
    until = None if limits.seconds is None else time.perf_counter() + DECODING_SHARE * limits.seconds
    enough = (state.lower or 0) + sum(layout.arrival)
    most = DECODINGS * runs
    if limits.work is not None and runs:
        most = min(most, int(DECODING_SHARE * limits.work / PLACING / runs) + 1)
    plan, decodings = search(layout, most, limits.seed, until, enough)
    state.work["decodings"] = float(decodings)
    state.spend(PLACING * decodings * runs)
    # Runs under way that do not fit together are placed as they are: then there is no plan at all.
    if plan is not None and not (layout.fixed and layout.instance.violations(plan)):
        state.offer(plan)


def search(
    layout: Layout, decodings: int, seed: int, until: float | None, enough: int = 0
) -> tuple[Timetable | None, int]:
    """The plan of the smallest total_jct among some decodings, and their number; no plan where a task has no node.

    The search ends at once when its completions sum to `enough`, a bound, or at time `until`.
    """
    decoder = Decoder(layout)
    if layout.reason is not None or not layout.jobs or any(not layout.allowed[k] for k in decoder.tasks):
        return None, 0
    annealing = _Annealing(decoder, np.random.default_rng(seed), until, enough)
    for order in decoder.orders():
        annealing.try_(order, [ANY] * layout.tasks)
    annealing.anneal(decodings // 2, _reordered)
    annealing.settle()
    annealing.anneal(decodings, _moved if decoder.free else _reordered)
    return decoder.plan(annealing.placed), annealing.used


class _Annealing:
    """The best plan so far, the current order and placement, and how many were tried."""

    def __init__(self, decoder: Decoder, rng: np.random.Generator, until: float | None, enough: int) -> None:
        self.decoder, self.rng, self.until, self.enough = decoder, rng, until, enough
        self.placed: dict[Run, tuple[int, int]] = {}
        self.best: int | None = None
        self.used = self.value = 0
        self.order: list[int] = []
        self.node: list[int] = []
        self._best_order: list[int] = []

    def try_(self, order: list[int], node: list[int], heat: float = 1e-9) -> None:
        """Decode; go on from here when it is no worse, or by chance."""
        placed = self.decoder.decode(order, node)
        total = sum(self.decoder.completions(placed))
        self.used += 1
        if self.best is not None and total > self.value and self.rng.random() >= np.exp((self.value - total) / heat):
            return
        self.order, self.node, self.value = order, node, total
        if self.best is None or total < self.best:
            self.best, self.placed, self._best_order = total, placed, order

    def anneal(self, until: int, move: Callable[[_Annealing], tuple[list[int], list[int]]]) -> None:
        """Moves until so many plans were decoded, colder and colder."""
        assert self.best is not None
        first = self.used
        hot = max(1.0, HEAT * (self.best - sum(self.decoder.layout.arrival)))
        for step in range(first, until):
            if self.best <= self.enough or (self.until is not None and time.perf_counter() > self.until):
                break
            self.try_(*move(self), heat=hot * (1 - (step - first) / (until - first)) + 1e-9)

    def settle(self) -> None:
        """Go on from the best plan, with the nodes on which it has its tasks."""
        first = self.decoder.layout.finished
        self.order, self.node = self._best_order, [ANY] * self.decoder.layout.tasks
        assert self.best is not None
        self.value = self.best
        for k in self.decoder.tasks:
            self.node[k] = self.placed[k, first[self.decoder.layout.job[k]]][0]


def _pick(rng: np.random.Generator, of: Sequence[int]) -> int:
    return of[int(rng.integers(len(of)))]


def _reordered(annealing: _Annealing) -> tuple[list[int], list[int]]:
    """Two jobs swap, or one moves."""
    order, rng = list(annealing.order), annealing.rng
    if rng.random() < 0.6:
        a, b = (int(rng.integers(len(order))) for _ in range(2))
        order[a], order[b] = order[b], order[a]
    else:
        job = order.pop(int(rng.integers(len(order))))
        order.insert(int(rng.integers(len(order) + 1)), job)
    return order, annealing.node


def _moved(annealing: _Annealing) -> tuple[list[int], list[int]]:
    """A new order, or: two tasks swap nodes, a task or a whole job goes to another node, a job wherever it fits."""
    rng, decoder = annealing.rng, annealing.decoder
    allowed, kind = decoder.layout.allowed, rng.random()
    if kind < 0.4:
        return _reordered(annealing)
    node = list(annealing.node)
    k = _pick(rng, decoder.free)
    mine = [other for other in decoder.layout.tasks_of[decoder.layout.job[k]] if len(allowed[other]) > 1]
    if kind < 0.6:
        other = _pick(rng, decoder.free)
        if node[other] in (ANY, *allowed[k]) and node[k] in (ANY, *allowed[other]):
            node[k], node[other] = node[other], node[k]
    elif kind < 0.75:
        node[k] = _pick(rng, allowed[k])
    elif kind < 0.85:
        n = _pick(rng, allowed[k])
        for other in mine:
            if n in allowed[other]:
                node[other] = n
    else:
        for other in mine:
            node[other] = ANY
    return annealing.order, node
