"""Fair: equal, work-conserving shares, counted in running tasks as in the fair schedulers of Hadoop and Spark.

With `per = user` every user is a pool, as in Hadoop's default, and the earliest job of a pool is served; by default
every job is a pool. Hadoop and Spark also have pools with weights and minimum shares, fair shares between the jobs of
a pool, and a wait for a node with the data (delay scheduling). Hadoop also kills tasks of jobs above their share.
Here all pools have weight 1, and running tasks are not interrupted. A gang starts as a unit.

If a training job occupies its nodes to the end, this does not share time: early jobs run, the others wait. With
`queueing = iteration` jobs also share time, as processes do under a fair scheduler (weighted fair queueing). The job
with the least service since its arrival is served next, and a job runs for at least a `quantum`. Borg, to which the
evaluation of MLFS refers for TensorFlow's scheduler, also has priorities and quotas, which that evaluation does not
mention.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from mlsched.core.fields import FloatArray, IntArray
from mlsched.core.params import Positive, check_choice
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph._by_share import start_by_share
from mlsched.heuristics.taskgraph._order import Order
from mlsched.heuristics.taskgraph._turns import LOST, in_turns
from mlsched.heuristics.taskgraph.measures import PER, owners
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import QUEUEING, refuse_unless_pausing, world_of_queueing
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.states import RUNNING


def received(snapshot: Snapshot, owner: IntArray) -> FloatArray:
    """Return for each job the dominant share that its owner's present jobs have received, summed over these jobs.

    The share of a job is its mean since the arrival of the job.
    """
    total = np.maximum(snapshot.node_capacity.sum(axis=0), 1)
    stay = np.maximum(snapshot.now - snapshot.arrival, 1)
    share = (snapshot.service / total).max(axis=1, initial=0.0) / stay
    return np.asarray(np.bincount(owner, share, len(owner))[owner])


def order(
    *, per: str = "job", queueing: str = "held", quantum: float = 600.0, stop: str = "most", nodes: str = "auto"
) -> Order | None:
    """Return the order by running tasks; None if jobs take turns."""
    check_choice("per", per, PER)
    return Order(lambda job: (), pools=per, stop=stop, nodes=nodes) if queueing == "held" else None


@solver("fair", problem="taskgraph", called="online", order=order, world=world_of_queueing, paper="none")
def answer(
    snapshot: Snapshot,
    *,
    rng: np.random.Generator,
    per: str = "job",
    queueing: Annotated[str, QUEUEING] = "held",
    quantum: Positive = 600.0,
    stop: str = "most",
    nodes: str = "auto",
) -> Round:
    """Repeatedly start a ready task of the job with the fewest running tasks.

    per: "job" - its own tasks; "user" - the tasks of all jobs of its user. queueing: "held" - running tasks are not
    interrupted; "iteration" - jobs take turns. quantum: seconds of a turn; turns are longer if a pause would cost
    more than `_turns.LOST` of them. stop, nodes: as for fifo.
    """
    owner = owners(snapshot, per)
    if queueing == "iteration":
        refuse_unless_pausing(snapshot, "fair: queueing = iteration", "queueing=held")
        return in_turns(Placer(snapshot, stop, nodes), quantum, LOST, received(snapshot, owner))
    running = np.bincount(owner[snapshot.task_job[snapshot.state == RUNNING]], minlength=len(owner)).astype(np.float64)

    def count_start(task: int) -> None:
        running[owner[snapshot.task_job[task]]] += 1

    placer = Placer(snapshot, stop, nodes)
    start_by_share(placer, lambda jobs: running[owner[jobs]], count_start)
    return placer.round()
