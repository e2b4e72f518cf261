"""Earliest finish: each job waits for, or starts on, the type of nodes on which it is estimated to end first.

This is the list rule of minimum completion time for machines of different speeds (MCT, Ibarra and Kim, J. ACM 24(2),
1977; HEFT for tasks of a graph, Topcuoglu, Hariri and Wu, IEEE TPDS 13(3), 2002), over reservations as in
backfilling. In order, every job gets the slot in which it ends first, on any type, beside the running jobs and all
earlier slots. A job that would end later on a free slow type than on a busy fast type waits for the latter. Others
use the slow type until then, unless they delay an earlier job.

Slots are computed again in every round, without memory: the first job always has its best slot. The rule sees rates
(`information="profiled"`). If all nodes are alike it is conservative backfilling without promises. Estimates and
units: see `_reserve`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.params import Number
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph._reserve import Profile, Slot, Unit, first_units, hold_ticks, start, waiting
from mlsched.heuristics.taskgraph.measures import by_job, remaining_time
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.types import WHOLE, fastest, least_slowness, slowness_on
from mlsched.instances.taskgraph import Round, Snapshot


@solver(
    "earliest-finish",
    problem="taskgraph",
    called="online",
    information="profiled",
    objectives=("total_jct",),
    paper="Ibarra and Kim, J. ACM 1977",
)
def answer(
    snapshot: Snapshot,
    *,
    rng: np.random.Generator,
    order: Literal["arrival", "shortest"] = "arrival",
    depth: Number = 100,
    stop: str = "most",
    nodes: str = "auto",
) -> Round:
    """Give each of the first `depth` jobs the slot in which it ends first, on any type; start slots that are due now.

    order: "arrival"; "shortest" - the least time left on its fastest type. depth: inf for all of them. stop, nodes:
    as for fifo.
    """
    placer = Placer(snapshot, stop, nodes, rates=True)
    keys = []
    if order == "shortest":
        keys = [remaining_time(snapshot, placer.stop_after) * (least_slowness(snapshot) / WHOLE)]
    queue = waiting(placer, by_job(snapshot, *keys))
    if not queue.size:
        return placer.round()
    stated = hold_ticks(snapshot, placer.stop_after)
    profile = Profile(placer, _ticks_on_their_nodes(snapshot, stated))
    wake = 0
    for unit in first_units(snapshot, queue, stated, depth):
        best_slot = _slot_with_first_end(profile, unit)
        if best_slot is None:
            continue
        timed, slot, kind = best_slot
        if placer.types is not None:
            placer.types.only[int(snapshot.task_job[unit.first])] = [kind]
        if slot.start == snapshot.now and (places := start(placer, timed, slot, profile)):
            slot = Slot(slot.start, places)
        elif slot.start > snapshot.now:
            wake = slot.start if not wake else min(wake, slot.start)
        profile.take(timed, slot)
    return placer.round(wake_at=wake)


def _ticks_on_their_nodes(snapshot: Snapshot, ticks: IntArray) -> IntArray:
    """Return how long tasks occupy their nodes, on the types of these nodes."""
    if not snapshot.slowness.shape[1]:
        return ticks
    kind = snapshot.node_type[np.maximum(snapshot.node, 0)]
    factor = snapshot.slowness[snapshot.task_class, kind] / WHOLE
    return np.asarray(np.maximum(np.ceil(ticks * np.where(snapshot.node >= 0, factor, 1.0)), 1).astype(np.int64))


def _slot_with_first_end(profile: Profile, unit: Unit) -> tuple[Unit, Slot, int] | None:
    """Return the slot in which the unit ends first, on any type of nodes; None without a slot.

    Returns:
        The unit with its length on that type, the slot, and the type.
    """
    snapshot, best, best_slot = profile.snapshot, None, None
    for kind in fastest(snapshot, unit.first):
        ticks = max(1, -(-unit.ticks * slowness_on(snapshot, unit.first, kind) // WHOLE))
        if best is not None and snapshot.now + ticks >= best:
            continue
        timed = unit._replace(ticks=ticks)
        slot = profile.earliest(timed, kind)
        if slot is not None and (best is None or slot.start + ticks < best):
            best, best_slot = slot.start + ticks, (timed, slot, kind)
    return best_slot
