"""The answer to a snapshot of a cluster: the starts, pauses, moves and stops of this instant."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from mlsched.core import contract
from mlsched.core.fields import UNLIMITED, IntArray, array, integer


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Round(contract.Plan):
    """A scheduler's actions at one instant. Tasks and jobs belong to the snapshot; a task is named at most once.

    `start`: a waiting task begins its run, or a paused task resumes, on a node. `pause`: a running task leaves its
    node. `migrate`: a running task continues on another node. `stop`: a job ends after this total number of iterations,
    unless a later round changes it. `wake_at`: the scheduler requests a decision at this time (0: no new request); a
    later request replaces an earlier one. If GPUs inside nodes count (`gpu_unit`), a task that needs a fraction of a
    GPU names the GPU, and a task of a single complete GPU may; otherwise the world takes the first completely free
    GPUs.
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
