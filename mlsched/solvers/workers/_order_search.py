"""Depth-first search over orders of events, with a bound for every prefix.

A node is a prefix of events. Its lower bound is the prefix' LP, in which the tails of the price bound give the cost of
each job's remaining work. After an arrival, the tails begin at that moment; after a finish, a stage stays open until
the next arrival, and the tails begin there. Events outside the windows of the price bound are not tried.

The search is exact: it covers all orders; each bound is valid for every schedule whose order begins with the prefix
and whose flow time is below the incumbent's; and a complete order's LP gives its optimum. If one of two jobs of one
type has at most the work of the other and arrives at the latest with it, it may be assumed to finish first. Otherwise,
both would have the same remaining work at some moment, and could be exchanged from then on.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from mlsched.solvers.workers._event_lp import ARRIVE, FINISH, Event, EventLP
from mlsched.solvers.workers._fluid import Fluid
from mlsched.solvers.workers._orders import Incumbent, read
from mlsched.solvers.workers._prices import Pricing
from mlsched.solvers.workers._tails import Tail

#: A node is cut when its bound reaches the incumbent less this share of it: one tenth of the tolerance of answers.
CUT = 1e-7


def _finishes_first(fluid: Fluid, i: int, j: int) -> bool:
    """Return whether job i may be assumed to finish no later than j (see the module); equal jobs finish by number."""
    same = fluid.kind[i] == fluid.kind[j] and fluid.arrival[i] <= fluid.arrival[j] and fluid.work[i] <= fluid.work[j]
    equal = fluid.arrival[i] == fluid.arrival[j] and fluid.work[i] == fluid.work[j]
    return bool(same and (not equal or i < j))


class OutOfLimits(Exception):
    """A limit ends the search."""


class BetterFound(Exception):
    """A schedule is better than the incumbent: prices and windows must be recomputed for it."""

    def __init__(self, incumbent: Incumbent) -> None:
        super().__init__("better schedule")
        self.incumbent = incumbent


@dataclasses.dataclass
class Search:
    """A search. lowest: the smallest bound of the nodes that were cut or remain open. nodes: LPs of prefixes so far."""

    lp: EventLP
    pricing: Pricing
    best: Incumbent
    stop: Callable[[int], bool]
    lowest: float = float("inf")
    nodes: int = 0
    _tails: dict[tuple[int, int], Tail | None] = dataclasses.field(default_factory=dict)
    _later: dict[int, float] = dataclasses.field(default_factory=dict)
    _before: list[set[int]] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        fluid = self.lp.fluid
        self._before = [
            {i for i in range(fluid.jobs) if i != j and _finishes_first(fluid, i, j)} for j in range(fluid.jobs)
        ]

    @property
    def _check_limits(self) -> float:
        return self.best.value * (1 - CUT)

    def run(self) -> None:
        """Search all orders; when it returns, or raises OutOfLimits, `lowest` is a valid bound.

        Raises BetterFound with a better schedule. After an exception the LP cannot be used any more.
        """
        self.lp.push((ARRIVE, 0))
        self._search_below(((ARRIVE, 0),), 0.0)

    def _search_below(self, order: tuple[Event, ...], bound: float) -> None:
        """Search below a node whose events are pushed; they are popped at the end."""
        children = []
        try:
            for event in self._possible_events():
                if self.stop(self.nodes):
                    raise OutOfLimits
                child_bound = self._bound_of_child((*order, event))
                if child_bound < self._check_limits:
                    children.append((max(bound, child_bound), event))
                else:
                    self.lowest = min(self.lowest, child_bound)
        except OutOfLimits:
            self.lowest = min(self.lowest, bound)
            raise
        children.sort()
        while children:
            lower_bound, event = children.pop(0)
            if lower_bound >= self._check_limits:
                self.lowest = min(self.lowest, lower_bound)
                continue
            self.lp.push(event)
            try:
                self._search_below((*order, event), lower_bound)
            except OutOfLimits:
                self.lowest = min([self.lowest, *(b for b, _ in children)])
                raise
        self.lp.pop()

    def _possible_events(self) -> list[Event]:
        """Return the possible next events."""
        lp, fluid = self.lp, self.lp.fluid
        windows = self.pricing.windows
        coming = float(fluid.arrival[lp.arrived]) if lp.arrived < fluid.jobs else float("inf")
        able = [
            (FINISH, j)
            for j in lp.present
            if not any(i in self._before[j] for i in lp.present)
            and windows[j][0] <= coming
            and fluid.arrival[j] + fluid.work[j] <= coming * (1 + 1e-9)
        ]
        if lp.arrived < fluid.jobs and all(windows[j][1] >= coming for j in lp.present):
            able.append((ARRIVE, lp.arrived))
        return able

    def _bound_of_child(self, order: tuple[Event, ...]) -> float:
        """Return the lower bound of a child. Raises BetterFound if the child is a complete order and better."""
        lp = self.lp
        lp.push(order[-1])
        self.nodes += 1
        self.charge_rest()
        solution = lp.solve()
        complete = not lp.present and lp.arrived == lp.fluid.jobs
        if complete and solution is not None:
            if solution.value < self._check_limits:
                raise BetterFound(read(lp, order, solution))
            self.lowest = min(self.lowest, solution.bound)
        lp.pop()
        return float("inf") if complete or solution is None else solution.bound

    def charge_rest(self) -> None:
        """Charge the LP of the prefix for later events, by tails and offset."""
        lp, fluid = self.lp, self.lp.fluid
        finished = bool(lp.stages) and lp.stages[-1].open
        # The job at whose arrival the tails begin: the latest arrival, or after a finish the next one.
        begin = lp.arrived if finished else lp.arrived - 1
        if begin >= fluid.jobs or (not lp.present and lp.arrived == fluid.jobs):
            lp.set_tails({}, 0.0)
        else:
            known_bound = {j: self._tail_of_job(j, begin) for j in lp.present}
            tails = {j: t for j, t in known_bound.items() if t is not None}
            lp.set_tails(tails, self._bound_of_later_jobs(begin + (not finished), begin))

    def _tail_of_job(self, job: int, begin: int) -> Tail | None:
        if (job, begin) not in self._tails:
            start = self.pricing.prices.cell(float(self.lp.fluid.arrival[begin]))
            self._tails[job, begin] = self.pricing.tail(job, start)
        return self._tails[job, begin]

    def _bound_of_later_jobs(self, job: int, begin: int) -> float:
        """Return the bound of `job` and all later jobs: their costs less the prices from the arrival of `begin` on."""
        key = 2 * begin + (job - begin)
        if key not in self._later:
            pricing = self.pricing
            start = pricing.prices.cell(float(self.lp.fluid.arrival[begin]))
            costs = sum(float(pricing.finish_costs(j).min()) for j in range(job, self.lp.fluid.jobs))
            self._later[key] = costs - float(pricing.paid[start])
        return self._later[key]
