"""Fair: equal, work-conserving shares, counted in running tasks as the fair schedulers of Hadoop and Spark do.

With `per = user` every user is a pool, as in Hadoop's default, and of a pool the earliest job is served; by default
every job is one. Theirs have more: pools with weights and minimum shares, fair shares between the jobs of a pool, a
wait for a node that holds the data (delay scheduling), and in Hadoop's case the killing of tasks of jobs above their
share. Here all pools weigh 1, and what runs is not interrupted. A gang starts whole.

Where a job of training holds its nodes to the end, that shares nothing: who came first runs, the others wait. With
`queueing = iteration` jobs share time as well, as processes do under a fair scheduler (weighted fair queueing): what
has had least of the cluster since it came is served next, a job that runs for at least a `quantum`. Borg, to which the
evaluation of MLFS refers for TensorFlow's scheduler, also has priorities and quotas, of which that says nothing.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.params import Positive, check_choice
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph._by_share import start_by_share
from mlsched.heuristics.taskgraph._order import Order
from mlsched.heuristics.taskgraph._turns import LOST, in_turns
from mlsched.heuristics.taskgraph.measures import PER, Floats, owners
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.heuristics.taskgraph.preemption import QUEUEING, refuse_unless_pausing, world_of_queueing
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.states import RUNNING


def received(snapshot: Snapshot, owner: IntArray) -> Floats:
    """jobs: the mean dominant share of the cluster that its owner's present jobs have had since each came, together."""
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
    """Again and again start a ready task of the job with the fewest running tasks.

    per: "job" - its own tasks; "user" - those of all jobs of its user. queueing: "held" - what runs is not interrupted;
    "iteration" - jobs take turns. quantum: of a turn, seconds; turns are longer where
    a pause would cost more than `_turns.LOST` of them. stop, nodes: as for fifo.
    """
    owner = owners(snapshot, per)
    if queueing == "iteration":
        refuse_unless_pausing(snapshot, "fair: queueing = iteration", "queueing=held")
        return in_turns(Placer(snapshot, stop, nodes), quantum, LOST, received(snapshot, owner))
    running = np.bincount(owner[snapshot.task_job[snapshot.state == RUNNING]], minlength=len(owner)).astype(np.float64)

    def taken(task: int) -> None:
        running[owner[snapshot.task_job[task]]] += 1

    placer = Placer(snapshot, stop, nodes)
    start_by_share(placer, lambda jobs: running[owner[jobs]], taken)
    return placer.round()
