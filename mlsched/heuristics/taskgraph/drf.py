"""Dominant resource fairness (Ghodsi et al., NSDI 2011, Algorithm 1): the lowest dominant share is served next.

With `per = user` the shares are those of users, as in the paper, and of a user the earliest job is served; by default
every job counts as a user. What is simpler, or other:

- Tasks of one job, and jobs of one user, may ask for different amounts; the paper's users have one demand vector each.
- Where a task of the poorest fits nowhere, its next task and then the next job are tried; Algorithm 1 stops. The paper
  divides one pool; here a task must fit one node, so that stopping would leave nodes idle.
- A gang is served whole.
- All weigh the same (the paper's weighted form is Section 4.3). As in the paper, what runs is not interrupted.
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
    """Again and again start a ready task of the job whose largest share of any resource of the cluster is least.

    per: "job" - its own share; "user" - that of all jobs of its user. stop, nodes: as for fifo.
    """
    owner = owners(snapshot, per)
    total = np.maximum(snapshot.node_capacity.sum(axis=0), 1)
    held = np.zeros((len(owner), len(snapshot.resources)))
    running = np.flatnonzero(snapshot.state == RUNNING)
    np.add.at(held, owner[snapshot.task_job[running]], snapshot.demand[running])
    placer = Placer(snapshot, stop, nodes)

    def taken(task: int) -> None:
        held[owner[snapshot.task_job[task]]] += placer.held[task]

    start_by_share(placer, lambda jobs: (held[owner[jobs]] / total).max(axis=1, initial=0.0), taken)
    return placer.round()
