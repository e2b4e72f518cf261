"""The clairvoyant optimum: the smallest total completion time over a horizon of known arrivals (fluid model).

For a given order of events (arrivals and finishes) the fluid problem is a linear program over stage lengths and times
in configurations (`_event_lp.py`). The optimum is the best over all orders:

1. an incumbent: orders from a few ways of sharing the cluster, improved by local search (`_orders.py`);
2. prices of the resources over time, which prove a bound mostly within half a percent, and with it windows in which
   each job can finish in a schedule better than the incumbent (`_prices.py`, `_price_lp.py`);
3. a depth-first search over orders inside the windows, in which each prefix is bounded by its LP and the price bound
   of the remaining work (`_order_search.py`). A better schedule restarts it from 2.

Bounds are floats: dual rather than primal values, less the largest effect of the solver's tolerances. A prefix is cut
when its bound reaches the incumbent less 10^-7 of it, so "optimal" means within 10^-6, the horizon's `tolerance`.

The model allows time-sharing inside a stage and has no floor (parts of iterations count), and re-scheduling is free:
this value is a lower bound for every scheduler of integer workers and PSs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.fields import IntArray
from mlsched.core.formulation import Limits, Outcome, StoppedBy
from mlsched.core.registry import exact_algorithm
from mlsched.instances.workers.horizon import NS, Horizon, Stages
from mlsched.solvers.workers import _price_lp
from mlsched.solvers.workers._event_lp import ARRIVE, FINISH, EventLP
from mlsched.solvers.workers._fluid import Fluid, fluid
from mlsched.solvers.workers._order_search import BetterFound, OutOfLimits, Search
from mlsched.solvers.workers._orders import Incumbent, descend, first_incumbent
from mlsched.solvers.workers._prices import Bound, Prices, Pricing

#: Longest cell of the price grid, in mean works / 1000.
CELL = 200.0
#: Grids for prices, the finest first: cell length in CELLs, and whether the incumbent's events are borders. If the
#: program of the first is too large, coarser grids narrow the windows until the program of a finer grid is small
#: enough.
LEVELS = ((1.0, True), (2.5, False), (1.75, False), (1.25, False), (1.0, False), (1.0, True))
#: Share of a time limit that local search may use.
LOCAL = 0.3


@dataclasses.dataclass
class _Clock:
    """The stopping rule: the wall clock, or the nodes of all searches."""

    limits: Limits
    nodes: int = 0

    def __post_init__(self) -> None:
        self.deadline = Deadline(self.limits.seconds)

    def local_search_over(self) -> bool:
        """Return whether local search has used its share of the time; the remaining time is for the bound."""
        remaining = self.deadline.remaining()
        if remaining is None or self.limits.seconds is None:
            return False
        return remaining <= (1 - LOCAL) * self.limits.seconds

    def stop(self, nodes: int) -> bool:
        return self.deadline.passed() or (self.limits.work is not None and self.nodes + nodes >= self.limits.work)

    def reason(self) -> StoppedBy:
        return "time limit" if self.deadline.passed() else "work limit"


@exact_algorithm("clairvoyant", problem="workers", objectives=("total_jct",), called="offline")
def answer(instance: Horizon, *, objective: str, limits: Limits, hint: Stages | None = None) -> Outcome:
    """Find the fluid optimum over all orders of events, a lower bound for every scheduler."""
    if not len(instance.arrival):
        return Outcome("optimal", _empty_outcome(), 0.0, work={"nodes": 0})
    clock, data = _Clock(limits), fluid(instance)
    lp = EventLP(data)
    best = first_incumbent(lp, clock.local_search_over)
    stopped: StoppedBy = "proof"
    proved_bound = float(data.work.sum())
    while True:
        pricing, root = priced(data, best, clock.deadline.remaining)
        proved_bound = max(proved_bound, min(root.value, best.value))
        search = Search(lp, pricing, best, clock.stop)
        try:
            search.run()
            proved_bound = max(proved_bound, min(search.lowest, best.value))
        except BetterFound as better:
            clock.nodes += search.nodes
            lp = EventLP(data)
            best = descend(lp, better.incumbent, clock.deadline.passed)
            continue
        except OutOfLimits:
            stopped = clock.reason()
            proved_bound = max(proved_bound, min(search.lowest, best.value))
        clock.nodes += search.nodes
        break
    plan, value = _integer_stages(instance, data, best)
    bound = min(proved_bound * data.unit_ns / NS, value)
    optimal = stopped == "proof" and value - bound <= instance.tolerance * max(1.0, value)
    # Rounding to integer ns may spoil a proof in scaled units (a total of less than a ms); then the plan is unproven.
    why: StoppedBy = "proof" if optimal else "backend" if stopped == "proof" else stopped
    return Outcome("optimal" if optimal else "feasible", plan, bound, why, {"nodes": clock.nodes})


def priced(data: Fluid, best: Incumbent, remaining_seconds: Callable[[], float | None]) -> tuple[Pricing, Bound]:
    """Return the best available prices and their bound, with windows for schedules better than `best`."""
    times = _price_lp.grid(best.time, data.arrival, CELL)
    # First the capacity duals of the incumbent's own LP.
    stage = np.clip(np.searchsorted(best.time, times[1:] - 1e-9), 0, len(best.price) - 1)
    price = best.price[stage]
    price[times[1:] > best.time[-1] + 1e-6] = 0.0
    prices = Prices(times, price)
    bound = Pricing(data, prices).bound()
    windows = bound.windows(prices, best.value)
    for level, (size, with_events) in enumerate(LEVELS):
        times = _price_lp.grid(best.time if with_events else best.time[-1:], data.arrival, size * CELL)
        remaining = remaining_seconds()
        better = _price_lp.improved(data, times, windows, None if remaining is None else remaining / 4)
        if better is None:
            continue
        root = Pricing(data, better, windows).bound()
        narrower = root.windows(better, best.value)
        windows = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(windows, narrower, strict=True)]
        if root.value > bound.value:
            prices, bound = better, root
        if level == 0:
            break
    return Pricing(data, prices, windows), bound


def _empty_outcome() -> Stages:
    none = np.zeros(0, dtype=np.int64)
    return Stages(ends=none, stage=none, job=none, workers=none, ps=none, time=none, finish=none)


def _integer_stages(instance: Horizon, data: Fluid, best: Incumbent) -> tuple[Stages, float]:
    """Return the incumbent in integer ns, and its total completion time in ms."""
    ends, length, finish = [data.start_ns], [0.0], np.zeros(data.jobs, dtype=np.int64)
    for (kind, job), before, now in zip(best.order[1:], best.time, best.time[1:], strict=False):
        exact = int(instance.arrival[job]) * NS if kind == ARRIVE else data.start_ns + int(np.ceil(now * data.unit_ns))
        ends.append(max(ends[-1], exact))
        length.append(float(now - before))
        if kind == FINISH:
            finish[job] = len(ends) - 1
    rows: list[tuple[int, int, int, int, int]] = []
    by_stage: dict[int, list[tuple[int, int, float]]] = {}
    for k, job, c, work_spent in best.entries:
        by_stage.setdefault(k, []).append((job, c, work_spent))
    for k, entries in by_stage.items():
        whole = ends[k] - ends[k - 1]
        if whole > 0 and length[k] > 0:
            rows += _integer_entries(instance, data, k, entries, whole, whole / length[k])
    table = np.array(rows, dtype=np.int64).reshape(len(rows), 5)
    names = ("stage", "job", "workers", "ps", "time")
    columns = {name: table[:, i] for i, name in enumerate(names)}
    plan = Stages(ends=np.array(ends), finish=finish, **columns)
    total = sum(ends[k] - int(a) * NS for k, a in zip(finish.tolist(), instance.arrival, strict=True))
    return plan, total / NS


def _integer_entries(
    instance: Horizon, data: Fluid, stage: int, entries: list[tuple[int, int, float]], length: int, ns: float
) -> list[tuple[int, int, int, int, int]]:
    """Return (stage, job, workers, PSs, ns) of a stage's entries, rounded down to satisfy time and capacity exactly.

    Args:
        instance: The horizon.
        data: Its scaled data.
        stage: Number of the stage.
        entries: (job, configuration, time in that configuration), scaled.
        length: Length of the stage in ns.
        ns: Nanoseconds per scaled unit.
    """
    job = np.array([j for j, _, _ in entries])
    w = np.array([int(data.of(j).workers[c]) for j, c, _ in entries])
    p = np.array([int(data.of(j).ps[c]) for j, c, _ in entries])
    work_spent = np.array([x * ns for _, _, x in entries])
    demand = w[:, None] * instance.worker_demand[job] + p[:, None] * instance.ps_demand[job]
    excess = 1.0
    for j in set(job.tolist()):
        excess = max(excess, float(work_spent[job == j].sum()) / length)
    there = instance.capacity * float(length)
    needed = work_spent @ demand
    excess = max(excess, float((needed[there > 0] / there[there > 0]).max(initial=0.0)))
    floored: IntArray = np.floor(work_spent / (excess * (1 + 1e-15) if excess > 1 else 1.0)).astype(np.int64)
    keep = np.flatnonzero(floored > 0)
    return [(stage, int(job[e]), int(w[e]), int(p[e]), int(floored[e])) for e in keep]
