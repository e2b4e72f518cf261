"""Jobs take turns on the cluster: what runs is preempted at the earliest when its turn is over.

A turn is over whenever a job has been executed for another whole number of turns. Where a pause costs something
(`Snapshot.pause_cost`), turns are as much longer as keeps the share of them that is lost to pauses small: in turns as
long as a pause takes, nobody would ever end.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from mlsched.core.params import Range
from mlsched.heuristics.taskgraph.measures import Flags, per_job
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import holding, serve
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.states import RUNNING

#: The share of a turn that the dearest pause may cost at most.
Lost = Annotated[float, Range(0, 0.5, open_low=True)]
LOST = 0.05


def in_turns(placer: Placer, seconds: float, lost: float, *keys: Any) -> Round:
    """Serve jobs in order of the keys, the first key first, where a turn is of so many seconds, or longer by `lost`.

    A job whose turn is not over comes before all others; one whose turn is over goes on where nobody takes its place.
    It asks to be woken when the next turn is over, if something waits.
    """
    snapshot, turn = placer.snapshot, turn_of(placer.snapshot, seconds, lost)
    pauses = serve(placer, ~(runs(snapshot) & (snapshot.executed % turn > 0)), *keys)
    holds = per_job(snapshot, holding(placer, pauses)) > 0
    if not holds.any() or not (pauses or placer.open.any()):
        return placer.round(pauses)
    return placer.round(pauses, snapshot.now + int((turn - snapshot.executed[holds] % turn).min()))


def turn_of(snapshot: Snapshot, seconds: float, lost: float) -> int:
    """Ticks of a turn, at least one; where the length of a tick is not stated, it is a second."""
    ticks = 1000 * seconds / (snapshot.tick_ms or 1000)
    return max(1, math.ceil(ticks), math.ceil(int(snapshot.pause_cost.max(initial=0)) / lost))


def runs(snapshot: Snapshot) -> Flags:
    """jobs: whether some task of it runs."""
    return np.asarray(per_job(snapshot, snapshot.state == RUNNING) > 0)
