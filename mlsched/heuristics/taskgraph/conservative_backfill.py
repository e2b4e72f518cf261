"""Conservative backfilling: every waiting job has a reservation, and a later job may pass if it delays no other.

After Mu'alem and Feitelson (IEEE TPDS 12(6), 2001, Section 2): an arriving job gets the earliest slot that fits
beside the running jobs and all earlier reservations. When a job ends early, the schedule is compressed: one job after
the other, in order of arrival, gives up its slot and takes the earliest slot, at worst the same. So a job never
starts later than first promised, if all jobs keep to their estimates.

Differences here:

- The source counts processors, and so does this rule if all tasks have the same demand and may use any node.
  Otherwise, and with `reserve = nodes`, a slot is of certain nodes. They may change, but never to a later time. If a
  queue of equal tasks receives different tasks, counted slots are replaced.
- The rule is called at every arrival, even without free capacity (`asked = events`), since promises are made then.
- If a promise fails, since a job has exceeded its estimate, it and all later promises are replaced, in order of
  arrival. A job that is repeatedly promised the next tick so stays ahead of later jobs.
- `depth`: only the first `depth` waiting units have reservations, and the others do not start. The work of a round
  grows with their number times the number of coming ends, on every node.
- Estimates and units: see `_reserve`. Jobs are not killed at their time limit.
- A job that would not fit even after all running jobs have ended is skipped.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from mlsched.core.aliases import Data
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
    memory: Data | None,
    rng: np.random.Generator,
    depth: Number = 100,
    reserve: Literal["auto", "count", "nodes"] = "auto",
    stop: str = "most",
    nodes: str = "auto",
) -> tuple[Round, Data]:
    """Give each of the first `depth` jobs that wait the earliest slot that delays none before it; start those due now.

    depth: inf for all of them. reserve: as for easy-backfill. stop, nodes: as for fifo.
    """
    placer = Placer(snapshot, stop, nodes)
    queue = waiting(placer, by_job(snapshot))
    if not memory:
        placer.start_in_order(queue, strict=True)  # without promises, slots are now, in order of arrival
        queue = waiting(placer, queue)
    if not queue.size:
        return placer.round(), {}
    memory = memory or {}
    ticks = hold_ticks(snapshot, placer.stop_after)
    units = first_units(snapshot, queue, ticks, depth)
    profile = Profile(placer, ticks, _promised_times(units, memory), by_count(placer, reserve))
    promises = _valid_promises(profile, units, memory)
    slots = {}
    for unit in units:
        slot = promises.get(unit.name)
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


def _promised_times(units: list[Unit], memory: Data) -> list[int]:
    """Return the starts and ends of the promises."""
    starts = [(memory[unit.name][0], unit.ticks) for unit in units if unit.name in memory]
    return [time for start, ticks in starts for time in (start, start + ticks)]


def _valid_promises(profile: Profile, units: list[Unit], memory: Data) -> dict[str, Slot]:
    """Return the valid promises up to the first invalid one in the queue; the profile includes them."""
    promised = [(unit, slot) for unit in units if (slot := profile.recalled(unit, memory)) is not None]
    if promised and profile.take_all(promised):
        return {unit.name: slot for unit, slot in promised}
    promises = {}
    for unit in units:
        slot = profile.recalled(unit, memory)
        if slot is not None:
            if slot.start < profile.times[0] or not profile.fits(unit, slot):
                break
            promises[unit.name] = slot
            profile.take(unit, slot)
    return promises
