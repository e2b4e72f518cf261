"""EASY backfilling: first come, first served; later jobs may pass if they do not delay the first waiting job.

After Lifka, "The ANL/IBM SP scheduling system" (JSSPP 1995), as described by Mu'alem and Feitelson (IEEE TPDS 12(6),
2001, Section 2): jobs start in order of arrival as long as they fit. The first job that does not fit gets a
reservation at the earliest time with enough free capacity, if all running jobs end at their estimates. A later job
starts now if it fits and is estimated to end by then, or uses only capacity that the reservation does not need.

Differences here:

- The source counts processors, and so does this rule if all tasks have the same demand and may use any node.
  Otherwise, and with `reserve = nodes`, it looks at every node: the reservation is of certain nodes, on which the
  first job fits at that time (tightest first). It is kept until the job starts unless an earlier time is found. So
  the first job never starts later than first promised, if all jobs keep to their estimates and a queue of equal tasks
  does not receive different tasks.
- Estimates and units: see `_reserve`. Jobs are not killed at their time limit.
- A job that would not fit even after all running jobs have ended is skipped (use beyond the capacity does not end).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from mlsched.core.aliases import Data
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
    memory: Data | None,
    rng: np.random.Generator,
    reserve: Literal["auto", "count", "nodes"] = "auto",
    stop: str = "most",
    nodes: str = "auto",
) -> tuple[Round, Data]:
    """Start jobs in order of arrival; behind the first waiting job, start jobs that do not delay it.

    reserve: for the first waiting job, "count" - its amount of room, on any node; "nodes" - certain nodes; "auto" -
    by count, if that is exact. stop, nodes: as for fifo.
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
            _backfill_behind(placer, queue, ticks, profile, head, slot)
            return placer.round(), {head.name: profile.noted(slot)}
    return placer.round(), {}


def promise(profile: Profile, unit: Unit, memory: Data) -> Slot | None:
    """Return the earliest slot of a unit, or its promised slot if that is not later and still possible."""
    earliest = profile.earliest(unit)
    old = profile.recalled(unit, memory)
    if old is not None and (earliest is None or old.start < earliest.start):
        return old if old.start >= profile.times[0] and profile.fits(unit, old) else earliest
    return earliest


def _backfill_behind(
    placer: Placer, queue: IntArray, ticks: IntArray, profile: Profile, head: Unit, slot: Slot
) -> None:
    """Start units that fit now and end by the reservation, or fit beside it.

    Args:
        placer: Free capacity and starts, changed in place.
        queue: Waiting tasks behind the reserved unit, in order.
        ticks: Ticks that each task occupies its node.
        profile: Free capacity over time.
        head: Unit with the reservation.
        slot: Its reservation.
    """
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
        if not _start_within_room(placer, profile, task, beside if long else None):
            same = placer.as_hopeless(task, queue)
            queue = queue[placer.may_fit(queue) & ~(same & longer[queue] if long else same)]
        elif long:
            for start_task, node in placer.starts[before:]:
                beside[0 if profile.counts else node] -= profile.held[start_task]


def _start_within_room(placer: Placer, profile: Profile, task: int, beside: IntArray | None) -> bool:
    """Start a task, or its gang, within the free capacity and (unless None) the capacity `beside` the reservation."""
    if beside is None:
        return placer.start(task)
    if not profile.counts:
        return placer.start_within(task, np.minimum(placer.free, beside))
    job = int(placer.snapshot.task_job[task])
    first, end = tasks_of(placer.snapshot, job) if placer.snapshot.gang[job] else (task, task + 1)
    return bool((profile.held[first:end].sum(axis=0) <= beside[0]).all()) and placer.start(task)
