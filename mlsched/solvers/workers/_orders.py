"""Orders of events: a first order, and a local search over adjacent swaps."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from mlsched.core.fields import FloatArray
from mlsched.solvers.workers._event_lp import ARRIVE, FINISH, Event, EventLP, Solved
from mlsched.solvers.workers._fluid import Fluid

#: Preference of the first orders for jobs of little remaining work: from equal shares towards SRPT.
GREED = (0.0, 1.0, 3.0)


@dataclasses.dataclass(frozen=True)
class Incumbent:
    """A schedule: its order, its flow time `value`, and its LP solution.

    time: of each event. price: of each resource in the stage before each event. work: the cost of a unit of each job's
    work. entries: (event that ends the stage, job, configuration, time in that configuration).
    """

    order: tuple[Event, ...]
    value: float
    time: FloatArray
    price: FloatArray
    work: FloatArray
    entries: list[tuple[int, int, int, float]]

    @property
    def finish(self) -> dict[int, float]:
        """Return the finish of each job."""
        return {job: float(t) for (kind, job), t in zip(self.order, self.time, strict=True) if kind == FINISH}


def first_incumbent(lp: EventLP, out_of_time: Callable[[], bool]) -> Incumbent:
    """Return the best order by several sharing rules, after local search from each."""
    best, attempts = None, set()
    for greed in GREED:
        order = tuple(shared_order(lp.fluid, greed))
        if order in attempts or (best is not None and out_of_time()):
            continue
        attempts.add(order)
        start = solve_order(lp, order)
        assert start is not None, "an order that a schedule led to is possible"
        incumbent = descend(lp, start, out_of_time)
        if best is None or incumbent.value < best.value * (1 - 1e-9):
            best = incumbent
    assert best is not None
    return best


def shared_order(fluid: Fluid, greed: float = 0.0) -> list[Event]:
    """Return the order of events if jobs share the cluster in proportion to (remaining time alone) ** -greed."""
    remaining, events, present = fluid.work.copy(), [], [0]
    events.append((ARRIVE, 0))
    now, coming = 0.0, 1
    while present or coming < fluid.jobs:
        weight = {j: max(float(remaining[j]), 1e-6) ** -greed for j in present}
        whole = sum(weight.values())
        speed = {j: _best_shared_speed(fluid, j, weight[j] / whole) for j in present}
        ends = {j: now + remaining[j] / speed[j] for j in present}
        first = min(present, key=lambda j: ends[j], default=None)
        arrives = fluid.arrival[coming] if coming < fluid.jobs else np.inf
        if first is None or arrives <= ends[first]:
            until, event = float(arrives), (ARRIVE, coming)
        else:
            until, event = ends[first], (FINISH, first)
        for j in present:
            remaining[j] = max(0.0, remaining[j] - speed[j] * (until - now))
        if event[0] == ARRIVE:
            present.append(coming)
            coming += 1
        else:
            present.remove(event[1])
        now = until
        events.append(event)
    return events


def _best_shared_speed(fluid: Fluid, job: int, share: float) -> float:
    """Return the best speed of a mixture of idling and one configuration within `share` of the capacity."""
    kind = fluid.of(job)
    most = kind.use.max(axis=1, initial=0.0)
    return float((kind.speed * np.minimum(1.0, share / np.maximum(most, 1e-12))).max())


def solve_order(lp: EventLP, order: list[Event] | tuple[Event, ...]) -> Incumbent | None:
    """Solve one complete order; return None if it is impossible. The LP is empty before and after."""
    for event in order:
        lp.push(event)
    lp.set_tails({}, 0.0)
    solution = lp.solve()
    better = None if solution is None else read(lp, tuple(order), solution)
    for _ in order:
        lp.pop()
    return better


def read(lp: EventLP, order: tuple[Event, ...], solved: Solved) -> Incumbent:
    """Return the schedule of the LP's optimum, whose order is complete."""
    x, resources = np.maximum(solved.columns, 0.0), lp.fluid.resources
    lengths, price = np.zeros(len(order)), np.zeros((len(order), resources))
    entries = []
    for k, stage in enumerate(lp.closed):
        if stage is not None:
            lengths[k] = x[stage.length]
            price[k] = -solved.rows[stage.rows : stage.rows + resources]
            entries += [(k, job, c, float(x[column])) for column, job, c in stage.entries if x[column] > 0]
    time = np.cumsum(lengths)
    work = np.array([solved.rows[lp.work_row[j]] for j in range(lp.fluid.jobs)])
    return Incumbent(order, solved.value, time, np.maximum(price, 0.0), work, entries)


def descend(lp: EventLP, start: Incumbent, out_of_time: Callable[[], bool]) -> Incumbent:
    """Swap adjacent events as long as one swap improves; first improvement, every order solved once."""
    best, visited = start, {start.order}
    improving = True
    while improving:
        improving = False
        for i in range(1, len(best.order) - 1):
            a, b = best.order[i], best.order[i + 1]
            if (a[0] == ARRIVE and b[0] == ARRIVE) or (a[0] == ARRIVE and b == (FINISH, a[1])):
                continue
            order = (*best.order[:i], b, a, *best.order[i + 2 :])
            if order in visited:
                continue
            if out_of_time():
                return best
            visited.add(order)
            incumbent = solve_order(lp, order)
            if incumbent is not None and incumbent.value < best.value * (1 - 1e-9):
                best, improving = incumbent, True
    return best
