"""EASY backfilling: first come, first served, and later jobs may pass where they do not delay the first that waits.

After Lifka, "The ANL/IBM SP scheduling system" (JSSPP 1995), as described by Mu'alem and Feitelson (IEEE TPDS 12(6),
2001, Section 2): jobs start in order of arrival as long as they fit. The first that does not gets a reservation at the
earliest time at which enough is free if everything that runs ends when it is estimated to. A later job starts now if it
fits and is estimated to end by then, or takes nothing that the reservation needs.

What is other here:

- The source counts processors, and so does this rule where all tasks ask for the same and may go anywhere. Elsewhere,
  and with `reserve = nodes`, it looks at what is free on every node: the reservation is of certain nodes, those on
  which the first job fits at that time (tightest first). It is kept until the job starts unless an earlier one is
  found. So the first job never starts later than it was first promised, if nothing outlasts its estimate, and no tasks
  that differ come to a queue of equal ones.
- Estimates and what is started as one: see `_reserve`. Jobs are not killed at their time limit.
- A job that would not fit even if all that runs had ended (what is in use beyond it does not end) is passed by.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph._order import Order
from mlsched.heuristics.taskgraph._reserve import Profile, Slot, Unit, by_count, hold_ticks, start, unit_of, waiting
from mlsched.heuristics.taskgraph.measures import by_job, tasks_of
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.instances.taskgraph import Round, Snapshot


def order(*, reserve: str = "auto", stop: str = "most", nodes: str = "auto") -> Order:
    """Return the order of arrival, with a reservation for the first job that waits."""
    return Order(lambda job: (), strict=True, reserves=reserve, stop=stop, nodes=nodes)


@solver("easy-backfill", problem="taskgraph", called="online", stateful=True, order=order, paper="Lifka, JSSPP 1995")
def answer(
    snapshot: Snapshot,
    *,
    memory: dict[str, Any] | None,
    rng: np.random.Generator,
    reserve: Literal["auto", "count", "nodes"] = "auto",
    stop: str = "most",
    nodes: str = "auto",
) -> tuple[Round, dict[str, Any]]:
    """Start jobs in order of arrival; behind the first that waits, those that do not delay it.

    reserve: of the first that waits, "count" - as much room as it asks for, wherever it is; "nodes" - certain nodes;
    "auto" - by count, where that is exact. stop, nodes: as for fifo.
    """
    placer = Placer(snapshot, stop, nodes)
    queue = waiting(placer, by_job(snapshot))
    placer.start_in_order(queue, strict=True)
    queue = waiting(placer, queue)
    if not queue.size:
        return placer.round(), {}
    ticks, counts = hold_ticks(snapshot, placer.stop_after), by_count(placer, reserve)
    while queue.size:
        head = unit_of(snapshot, int(queue[0]), ticks)
        queue = queue[(queue < head.first) | (queue >= head.end)]
        profile = Profile(placer, ticks, counts=counts)
        slot = promise(profile, head, memory or {})
        if slot is None:
            continue
        if slot.start > snapshot.now or not start(placer, head, slot, profile):
            _backfill(placer, queue, ticks, profile, head, slot)
            return placer.round(), {head.name: profile.noted(slot)}
    return placer.round(), {}


def promise(profile: Profile, unit: Unit, memory: dict[str, Any]) -> Slot | None:
    """The earliest slot of a unit, or the one promised to it before where that is no later and still there."""
    found = profile.earliest(unit)
    old = profile.recalled(unit, memory)
    if old is not None and (found is None or old.start < found.start):
        return old if old.start >= profile.times[0] and profile.fits(unit, old) else found
    return found


def _backfill(placer: Placer, queue: IntArray, ticks: IntArray, profile: Profile, head: Unit, slot: Slot) -> None:
    """Start what fits now and ends by the reservation, or fits beside it."""
    at = int(np.searchsorted(profile.times, slot.start, side="right")) - 1
    beside = profile.free[at].copy()
    np.subtract.at(beside, slot.nodes, profile.held[head.first : head.end])
    longer = placer.snapshot.now + ticks > slot.start
    queue = queue[placer.may_fit(queue)]
    while queue.size:
        task, queue = int(queue[0]), queue[1:]
        if not placer.open[task]:
            continue
        before = len(placer.starts)
        long = bool(longer[task])
        if not _fits(placer, profile, task, beside if long else None):
            same = placer.as_hopeless(task, queue)
            queue = queue[placer.may_fit(queue) & ~(same & longer[queue] if long else same)]
        elif long:
            for started, node in placer.starts[before:]:
                beside[0 if profile.counts else node] -= profile.held[started]


def _fits(placer: Placer, profile: Profile, task: int, beside: IntArray | None) -> bool:
    """Start a task, or its gang, within what is free, and (unless None) what is `beside` the reservation."""
    if beside is None:
        return placer.start(task)
    if not profile.counts:
        return placer.start_within(task, np.minimum(placer.free, beside))
    job = int(placer.snapshot.task_job[task])
    first, end = tasks_of(placer.snapshot, job) if placer.snapshot.gang[job] else (task, task + 1)
    return bool((profile.held[first:end].sum(axis=0) <= beside[0]).all()) and placer.start(task)
