"""The answer to a snapshot of a cluster: what starts, pauses, moves and stops now."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from mlsched.core import contract
from mlsched.core.fields import UNLIMITED, IntArray, array, integer


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Round(contract.Plan):
    """What a scheduler does at one instant. Tasks and jobs are those of the snapshot; a task is named at most once.

    `start`: a waiting task begins its run, or a paused one goes on, on a node. `pause`: a running task leaves its node.
    `migrate`: a running task goes on elsewhere. `stop`: a job ends after so many iterations in all, as long as no later
    round says otherwise. `wake_at`: the scheduler wants to be asked again then, whatever happens (0: no new wish); a
    later wish replaces an earlier one.
    Where GPUs inside nodes count (`gpu_unit`), a task that asks for a fraction of a GPU names the GPU, one of a single
    whole GPU may; else the world takes those that are wholly free, the first ones.
    """

    kind: ClassVar[str] = "taskgraph.round"

    # A fill of -1 is out of range: leaving out one of two columns that belong together is refused, not filled up.
    start_task: IntArray = array("starts", high=UNLIMITED, fill=-1, doc="tasks that start or resume now")
    start_node: IntArray = array("starts", high=UNLIMITED, fill=-1, doc="where")
    start_gpu: IntArray = array("starts", low=-1, high=UNLIMITED, fill=-1, doc="on which GPU of it, -1: not named")
    pause_task: IntArray = array("pauses", high=UNLIMITED, fill=-1, doc="running tasks that leave their node now")
    migrate_task: IntArray = array("migrations", high=UNLIMITED, fill=-1, doc="running tasks that change node now")
    migrate_node: IntArray = array("migrations", high=UNLIMITED, fill=-1, doc="to where")
    migrate_gpu: IntArray = array("migrations", low=-1, high=UNLIMITED, fill=-1, doc="on which GPU, -1: not named")
    stop_job: IntArray = array("stops", high=UNLIMITED, fill=-1, doc="jobs that are given a last iteration")
    stop_after: IntArray = array("stops", high=10**6, fill=-1, doc="after how many iterations in all they stop")
    wake_at: int = integer(default=0, doc="when to ask again at the latest, ticks; 0: no wish")
