"""Earliest finish: each job waits for, or starts on, the type of nodes on which it is estimated to end first.

The list rule of minimum completion time for machines of different speeds (MCT, Ibarra and Kim, J. ACM 24(2), 1977; of
tasks of a graph HEFT, Topcuoglu, Hariri and Wu, IEEE TPDS 13(3), 2002), over reservations as backfilling has them: in
order, every job is given the slot in which it ends first, on whichever type, beside what runs and all before it. A job
that would end later on a slow type that is free than on a fast one that is not waits for the latter; others use the
former until then, as far as they delay none before them.

Slots are made anew at every round, so that nothing is remembered: the first in order always has the slot it likes
best. It sees rates (`information="profiled"`); where all nodes are alike it is conservative backfilling without
promises. Estimates and what is started as one: see `_reserve`.
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
    """Give each of the first `depth` jobs the slot in which it ends first, on whichever type; start those due now.

    order: "arrival"; "shortest" - the least time left where it is fastest. depth: inf for all of them. stop, nodes: as
    for fifo.
    """
    placer = Placer(snapshot, stop, nodes, rates=True)
    keys = []
    if order == "shortest":
        keys = [remaining_time(snapshot, placer.stop_after) * (least_slowness(snapshot) / WHOLE)]
    queue = waiting(placer, by_job(snapshot, *keys))
    if not queue.size:
        return placer.round()
    stated = hold_ticks(snapshot, placer.stop_after)
    profile = Profile(placer, _where_they_are(snapshot, stated))
    wake = 0
    for unit in first_units(snapshot, queue, stated, depth):
        found = _first_to_end(profile, unit)
        if found is None:
            continue
        timed, slot, kind = found
        if placer.types is not None:
            placer.types.only[int(snapshot.task_job[unit.first])] = [kind]
        if slot.start == snapshot.now and (places := start(placer, timed, slot, profile)):
            slot = Slot(slot.start, places)
        elif slot.start > snapshot.now:
            wake = slot.start if not wake else min(wake, slot.start)
        profile.take(timed, slot)
    return placer.round(wake_at=wake)


def _where_they_are(snapshot: Snapshot, ticks: IntArray) -> IntArray:
    """For how long tasks hold their nodes, on the types of these."""
    if not snapshot.slowness.shape[1]:
        return ticks
    kind = snapshot.node_type[np.maximum(snapshot.node, 0)]
    factor = snapshot.slowness[snapshot.task_class, kind] / WHOLE
    return np.asarray(np.maximum(np.ceil(ticks * np.where(snapshot.node >= 0, factor, 1.0)), 1).astype(np.int64))


def _first_to_end(profile: Profile, unit: Unit) -> tuple[Unit, Slot, int] | None:
    """Of all types, the unit as long as it takes there, its earliest slot and the type, where it ends first."""
    snapshot, best, found = profile.snapshot, None, None
    for kind in fastest(snapshot, unit.first):
        ticks = max(1, -(-unit.ticks * slowness_on(snapshot, unit.first, kind) // WHOLE))
        if best is not None and snapshot.now + ticks >= best:
            continue
        timed = unit._replace(ticks=ticks)
        slot = profile.earliest(timed, kind)
        if slot is not None and (best is None or slot.start + ticks < best):
            best, found = slot.start + ticks, (timed, slot, kind)
    return found
