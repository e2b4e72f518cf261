"""Incumbents of total_jct: annealed orders of jobs, decoded by serial schedule generation.

Each task is placed on the node with its earliest start. A number of decodings, not a time, limits the search, so that
a seed gives one answer. Without annealing: 3 instead of 4 of 6 hard `six-replicas` proved, 1.1 times the work on
`eight-replicas`.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.formulations.taskgraph._decoder import Decoder, Run
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances.taskgraph import Timetable
from mlsched.solvers.taskgraph.state import State

#: Schedules that are generated for an incumbent, one run of the instance each, and their share of the seconds.
DECODINGS, DECODING_SHARE = 60, 0.1
#: Deterministic time that is charged for placing a run in a schedule.
PLACING = 2e-5
#: Temperature at first, as a share of the value.
HEAT = 0.02


def generate(state: State) -> None:
    """Offer the state the plan of the smallest total_jct among some schedules."""
    layout, limits = state.layout, state.limits
    runs = sum(1 for _ in layout.runs())
    deadline = Deadline(None if limits.seconds is None else DECODING_SHARE * limits.seconds)
    enough = (state.lower or 0) + sum(layout.arrival)
    most = DECODINGS * runs
    if limits.work is not None and runs:
        most = min(most, int(DECODING_SHARE * limits.work / PLACING / runs) + 1)
    plan, decodings = search(layout, most, limits.seed, deadline, enough)
    state.work["decodings"] = float(decodings)
    state.spend(PLACING * decodings * runs)
    # Started runs that conflict are placed unchanged: then every plan is infeasible.
    if plan is not None and not (layout.fixed and layout.instance.violations(plan)):
        state.offer(plan)


def search(
    layout: Layout, decodings: int, seed: int, deadline: Deadline | None = None, enough: int = 0
) -> tuple[Timetable | None, int]:
    """Return the plan of smallest total_jct among some decodings (None if a task has no node), and their number.

    The search ends early when its completions sum to `enough`, a bound, or when the time is over.

    Args:
        layout: The layout.
        decodings: Number of decodings.
        seed: Seed of the annealing.
        deadline: End of the search.
        enough: A lower bound on the sum of completions.
    """
    decoder = Decoder(layout)
    if layout.reason is not None or not layout.jobs or any(not layout.allowed[k] for k in decoder.tasks):
        return None, 0
    annealing = _Annealing(decoder, np.random.default_rng(seed), deadline or Deadline(), enough)
    for order in decoder.orders():
        annealing.try_(order)
    annealing.anneal(decodings // 2)
    annealing.anneal(decodings)  # heated again
    return decoder.plan(annealing.placed), annealing.used


class _Annealing:
    """The best plan so far, the current order, and the number of decodings."""

    def __init__(self, decoder: Decoder, rng: np.random.Generator, deadline: Deadline, enough: int) -> None:
        self.decoder, self.rng, self.deadline, self.enough = decoder, rng, deadline, enough
        self.placed: dict[Run, tuple[int, int]] = {}
        self.best: int | None = None
        self.used = self.value = 0
        self.order: list[int] = []

    def try_(self, order: list[int], heat: float = 1e-9) -> None:
        """Decode an order; accept it if it is at least as good, or by chance."""
        placed = self.decoder.decode(order)
        total = sum(self.decoder.completions(placed))
        self.used += 1
        if self.best is not None and total > self.value and self.rng.random() >= np.exp((self.value - total) / heat):
            return
        self.order, self.value = order, total
        if self.best is None or total < self.best:
            self.best, self.placed = total, placed

    def anneal(self, until: int) -> None:
        """Run until `until` plans were decoded, at a falling temperature."""
        assert self.best is not None
        first = self.used
        hot = max(1.0, HEAT * (self.best - sum(self.decoder.layout.arrival)))
        for step in range(first, until):
            if self.best <= self.enough or self.deadline.passed():
                break
            self.try_(_reorder_randomly(self.order, self.rng), hot * (1 - (step - first) / (until - first)) + 1e-9)


def _reorder_randomly(allocation: list[int], rng: np.random.Generator) -> list[int]:
    """Return the order with two jobs swapped, or one moved."""
    order = list(allocation)
    if rng.random() < 0.6:
        a, b = (int(rng.integers(len(order))) for _ in range(2))
        order[a], order[b] = order[b], order[a]
    else:
        job = order.pop(int(rng.integers(len(order))))
        order.insert(int(rng.integers(len(order) + 1)), job)
    return order
