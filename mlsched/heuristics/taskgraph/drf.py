"""Dominant resource fairness (Ghodsi et al., NSDI 2011, Algorithm 1): the lowest dominant share is served next.

With `per = user` the shares are of users, as in the paper, and the earliest job of a user is served; by default every
job counts as a user. Differences:

- Tasks of one job, and jobs of one user, may have different demands; the paper's users have one demand vector each.
- If a task of the poorest job does not fit, its next task and then the next job are tried; Algorithm 1 stops. The
  paper divides one pool. Here a task must fit one node, so stopping would leave nodes idle.
- A gang is served as a unit.
- All weights are equal (the paper's weighted form is Section 4.3). As in the paper, running tasks are not
  interrupted.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.params import check_choice
from mlsched.core.registry import solver
from mlsched.heuristics.taskgraph._by_share import start_by_share
from mlsched.heuristics.taskgraph._order import Order
from mlsched.heuristics.taskgraph.measures import PER, owners
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.instances.taskgraph import Round, Snapshot
from mlsched.instances.taskgraph.states import RUNNING


def order(*, per: str = "job", stop: str = "most", nodes: str = "auto") -> Order:
    """Return the order by dominant share."""
    check_choice("per", per, PER)
    return Order(lambda job: (), pools=per, share="dominant", stop=stop, nodes=nodes)


@solver("drf", problem="taskgraph", called="online", order=order, paper="Ghodsi et al., NSDI 2011, Algorithm 1")
def answer(
    snapshot: Snapshot, *, rng: np.random.Generator, per: str = "job", stop: str = "most", nodes: str = "auto"
) -> Round:
    """Repeatedly start a ready task of the job whose largest share of any resource of the cluster is least.

    per: "job" - its own share; "user" - the share of all jobs of its user. stop, nodes: as for fifo.
    """
    owner = owners(snapshot, per)
    total = np.maximum(snapshot.node_capacity.sum(axis=0), 1)
    use = np.zeros((len(owner), len(snapshot.resources)))
    running = np.flatnonzero(snapshot.state == RUNNING)
    np.add.at(use, owner[snapshot.task_job[running]], snapshot.demand[running])
    placer = Placer(snapshot, stop, nodes)

    def add_use(task: int) -> None:
        use[owner[snapshot.task_job[task]]] += placer.held[task]

    start_by_share(placer, lambda jobs: (use[owner[jobs]] / total).max(axis=1, initial=0.0), add_use)
    return placer.round()
