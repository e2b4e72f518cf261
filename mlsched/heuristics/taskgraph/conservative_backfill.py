"""Conservative backfilling: every job that waits has a reservation, and a later job may pass where it delays none.

After Mu'alem and Feitelson (IEEE TPDS 12(6), 2001, Section 2): a job that arrives is given the earliest slot that fits
beside what runs and all reservations before it. When something ends early, the schedule is compressed: one job after
the other, in order of arrival, gives up its slot and takes the earliest there is, at worst the same. So no job ever
starts later than it was first promised, if nothing outlasts its estimate.

What is other here:

- The source counts processors, and so does this rule where all tasks ask for the same and may go anywhere. Elsewhere,
  and with `reserve = nodes`, a slot is of certain nodes. They may change, to no later time. Where tasks that differ
  come to a queue of equal ones, slots that were counted are made anew.
- It wants to be asked at every arrival, also when nothing is free (`asked = events`), since promises are made then.
- Where a promise no longer holds, since something has outlasted its estimate, it and all behind it are made anew, in
  order of arrival. A job that is promised the next tick again and again so stays ahead of those behind it.
- `depth`: only the first so many units that wait have reservations, and the others do not start. The work of a round
  grows with their number times the number of ends to come, on every node.
- Estimates and what is started as one: see `_reserve`. Jobs are not killed at their time limit.
- What would not fit even if all that runs had ended is passed by.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from mlsched.core.params import Number
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph._reserve import Profile, Slot, Unit, by_count, first_units, hold_ticks, start, waiting
from mlsched.heuristics.taskgraph.easy_backfill import promise
from mlsched.heuristics.taskgraph.measures import by_job
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.instances.taskgraph import Round, Snapshot


@solver(
    "conservative-backfill",
    problem="taskgraph",
    called="online",
    stateful=True,
    world=lambda params: {"asked": "events"},
    paper="Mu'alem and Feitelson, IEEE TPDS 2001",
)
def answer(
    snapshot: Snapshot,
    *,
    memory: dict[str, Any] | None,
    rng: np.random.Generator,
    depth: Number = 100,
    reserve: Literal["auto", "count", "nodes"] = "auto",
    stop: str = "most",
    nodes: str = "auto",
) -> tuple[Round, dict[str, Any]]:
    """Give each of the first `depth` jobs that wait the earliest slot that delays none before it; start those due now.

    depth: inf for all of them. reserve: as for easy-backfill. stop, nodes: as for fifo.
    """
    placer = Placer(snapshot, stop, nodes)
    queue = waiting(placer, by_job(snapshot))
    if not memory:
        placer.start_in_order(queue, strict=True)  # no promises: in order of arrival, the slots are now
        queue = waiting(placer, queue)
    if not queue.size:
        return placer.round(), {}
    memory = memory or {}
    ticks = hold_ticks(snapshot, placer.stop_after)
    units = first_units(snapshot, queue, ticks, depth)
    profile = Profile(placer, ticks, _times(units, memory), by_count(placer, reserve))
    kept = _kept(profile, units, memory)
    slots = {}
    for unit in units:
        slot = kept.get(unit.name)
        if slot is not None and slot.start > snapshot.now and not profile.may_come_forward(unit, slot):
            slots[unit.name] = slot
            continue
        if slot is not None:
            profile.take(unit, slot, -1)
        slot = promise(profile, unit, memory if slot is not None else {})
        if slot is None:
            continue
        if slot.start == snapshot.now and (places := start(placer, unit, slot, profile)):
            slot = Slot(slot.start, places)
        else:
            slots[unit.name] = slot
        profile.take(unit, slot)
    wake = min((slot.start for slot in slots.values() if slot.start > snapshot.now), default=0)
    return placer.round(wake_at=wake), {name: profile.noted(slot) for name, slot in slots.items()}


def _times(units: list[Unit], memory: dict[str, Any]) -> list[int]:
    """When the promises begin and end."""
    starts = [(memory[unit.name][0], unit.ticks) for unit in units if unit.name in memory]
    return [time for start, ticks in starts for time in (start, start + ticks)]


def _kept(profile: Profile, units: list[Unit], memory: dict[str, Any]) -> dict[str, Slot]:
    """The promises that still hold, up to the first in the queue that does not; the profile has them taken."""
    promised = [(unit, slot) for unit in units if (slot := profile.recalled(unit, memory)) is not None]
    if promised and profile.take_all(promised):
        return {unit.name: slot for unit, slot in promised}
    kept = {}
    for unit in units:
        slot = profile.recalled(unit, memory)
        if slot is not None:
            if slot.start < profile.times[0] or not profile.fits(unit, slot):
                break
            kept[unit.name] = slot
            profile.take(unit, slot)
    return kept
