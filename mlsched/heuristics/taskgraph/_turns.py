"""Jobs take turns on the cluster: a running job is preempted at the earliest when its turn is over.

A turn is over whenever a job has been executed for another integer number of turns. If a pause has a cost
(`Snapshot.pause_cost`), turns become longer, so that the share of them that is lost to pauses stays small. In turns
as long as a pause, jobs would never end.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from mlsched.core.aliases import Array
from mlsched.core.fields import BoolArray
from mlsched.core.params import Range
from mlsched.heuristics.taskgraph.measures import per_job
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import holding, serve
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.states import RUNNING

#: The share of a turn that the longest pause may cost at most.
Lost = Annotated[float, Range(0, 0.5, open_low=True)]
LOST = 0.05


def in_turns(placer: Placer, seconds: float, lost: float, *keys: Array) -> Round:
    """Serve jobs in order of the keys, the first key first, in turns of `seconds` (see `turn_of`).

    A job whose turn is not over comes before all others; a job whose turn is over continues unless another takes its
    place. The round requests a wake-up at the end of the next turn, if some job waits.
    """
    snapshot, turn = placer.snapshot, turn_of(placer.snapshot, seconds, lost)
    pauses = serve(placer, ~(runs(snapshot) & (snapshot.executed % turn > 0)), *keys)
    holds = per_job(snapshot, holding(placer, pauses)) > 0
    if not holds.any() or not (pauses or placer.open.any()):
        return placer.round(pauses)
    return placer.round(pauses, snapshot.now + int((turn - snapshot.executed[holds] % turn).min()))


def turn_of(snapshot: Snapshot, seconds: float, lost: float) -> int:
    """Return the ticks of a turn, at least one; without a stated length of a tick, it is a second."""
    ticks = 1000 * seconds / (snapshot.tick_ms or 1000)
    return max(1, math.ceil(ticks), math.ceil(int(snapshot.pause_cost.max(initial=0)) / lost))


def runs(snapshot: Snapshot) -> BoolArray:
    """Return for each job if some task of it runs."""
    return np.asarray(per_job(snapshot, snapshot.state == RUNNING) > 0)
