"""A state of the FitGpp paper's cluster in which a TE job needs a decision, drawn by first fit."""

from __future__ import annotations

import numpy as np

from mlsched.core.brief import count_of
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched.instances.preemption.demand import BE_DEMAND, NODE, TE_DEMAND, draw_demand

#: Share of TE jobs among arrivals (Section 4.2), and how much sooner than a BE job one leaves (30 min against 6.5).
TE_SHARE, TE_LEAVES = 0.3, 4.6
#: Departures per running job before a state counts, and the most until a state is found.
SETTLED, MOST_DEPARTED = 2, 500
#: TE jobs that try each such state; the first that fits nowhere is the answer. Few are, mostly in the fullest states.
TRIES = 16


class _Nodes:
    """The running jobs and the free resources of the nodes."""

    def __init__(self, nodes: int) -> None:
        self.free = np.tile(np.array(NODE, dtype=np.int64), (nodes, 1))
        self.running: list[tuple[int, IntArray, bool]] = []  # (node, demand, TE)
        self.best_effort = 0

    def fits(self, demand: IntArray) -> bool:
        return bool((self.free >= demand).all(axis=1).any())

    def place(self, demand: IntArray, te: bool) -> None:
        """Place a demand that fits, first fit."""
        node = int((self.free >= demand).all(axis=1).argmax())
        self.free[node] -= demand
        self.running.append((node, demand, te))
        self.best_effort += not te

    def leave(self, rng: np.random.Generator) -> None:
        """Finish one job: TE jobs sooner than BE jobs."""
        soon = np.array([TE_LEAVES if te else 1.0 for _, _, te in self.running])
        node, demand, te = self.running.pop(int(rng.choice(len(soon), p=soon / soon.sum())))
        self.free[node] += demand
        self.best_effort -= not te


def asking(
    rng: np.random.Generator, nodes: int, jobs: int, scale: float
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Draw a state with `jobs` running BE jobs and a TE job that fits nowhere.

    BE jobs are placed in order, and a BE job that fits nowhere blocks its successors; TE jobs are placed wherever they
    fit. TE demands are multiplied by `scale`.

    Returns:
        Nodes and demands of the BE jobs, the free resources of the nodes, and the demand of the TE job.
    """
    cluster = _Nodes(nodes)
    head = draw_demand(rng, BE_DEMAND, 1)[0]
    for departures in range((SETTLED + MOST_DEPARTED) * max(1, jobs)):
        while cluster.fits(head):
            cluster.place(head, te=False)
            head = draw_demand(rng, BE_DEMAND, 1)[0]
            if rng.uniform() < TE_SHARE / (1 - TE_SHARE) and cluster.fits(te := te_demand(rng, 1, scale)[0]):
                cluster.place(te, te=True)
        if departures >= SETTLED * jobs and cluster.best_effort == jobs:
            for demand in te_demand(rng, TRIES, scale):
                if not cluster.fits(demand):
                    best_effort = [(node, need) for node, need, te in cluster.running if not te]
                    hosts = np.array([node for node, _ in best_effort], dtype=np.int64)
                    needs = np.array([need for _, need in best_effort], dtype=np.int64).reshape(jobs, len(NODE))
                    return hosts, needs, cluster.free, demand
        cluster.leave(rng)
    raise InvalidInput(
        f"jobs = {jobs}: first fit keeps about {count_of(cluster.best_effort, 'BE job')} on {count_of(nodes, 'node')} "
        "while a TE job waits; draw as many, or use fill=packed"
    )


def te_demand(rng: np.random.Generator, count: int, scale: float) -> IntArray:
    """`count` TE demands times `scale`, at most a node."""
    return np.asarray(np.minimum(np.rint(draw_demand(rng, TE_DEMAND, count) * scale).astype(np.int64), NODE))
