"""A state of the FitGpp paper's cluster in which a TE job asks: jobs come, are placed first fit, and leave."""

from __future__ import annotations

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched.instances.preemption.demand import BE_DEMAND, NODE, TE_DEMAND, draw_demand

#: Share of TE jobs among arrivals (Section 4.2), and how much sooner than a BE job one leaves (30 min against 6.5).
TE_SHARE, TE_LEAVES = 0.3, 4.6
#: So many jobs leave for each one that runs before a state counts, and at most until one is found.
SETTLED, MOST_DEPARTED = 2, 500
#: So many TE jobs try each state that counts; the first that fits nowhere asks. Few do, mostly in the fullest states.
TRIES = 16


class _Nodes:
    """What runs, and what the nodes have left."""

    def __init__(self, nodes: int) -> None:
        self.free = np.tile(np.array(NODE, dtype=np.int64), (nodes, 1))
        self.running: list[tuple[int, IntArray, bool]] = []  # (node, demand, TE)
        self.best_effort = 0

    def fits(self, demand: IntArray) -> bool:
        return bool((self.free >= demand).all(axis=1).any())

    def place(self, demand: IntArray, te: bool) -> None:
        """First fit. The demand fits."""
        node = int((self.free >= demand).all(axis=1).argmax())
        self.free[node] -= demand
        self.running.append((node, demand, te))
        self.best_effort += not te

    def leave(self, rng: np.random.Generator) -> None:
        """One job finishes: TE jobs sooner than BE jobs."""
        soon = np.array([TE_LEAVES if te else 1.0 for _, _, te in self.running])
        node, demand, te = self.running.pop(int(rng.choice(len(soon), p=soon / soon.sum())))
        self.free[node] += demand
        self.best_effort -= not te


def asking(
    rng: np.random.Generator, nodes: int, jobs: int, scale: float
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Nodes and demands of `jobs` BE jobs that run, what the nodes have left, and the demand of a TE job that asks.

    BE jobs are placed in order, and one that fits nowhere holds up those behind it; TE jobs are placed wherever they
    fit. TE demands are multiplied by `scale`.
    """
    cluster = _Nodes(nodes)
    head = draw_demand(rng, BE_DEMAND, 1)[0]
    for gone in range((SETTLED + MOST_DEPARTED) * max(1, jobs)):
        while cluster.fits(head):
            cluster.place(head, te=False)
            head = draw_demand(rng, BE_DEMAND, 1)[0]
            if rng.uniform() < TE_SHARE / (1 - TE_SHARE) and cluster.fits(te := te_demand(rng, 1, scale)[0]):
                cluster.place(te, te=True)
        if gone >= SETTLED * jobs and cluster.best_effort == jobs:
            for demand in te_demand(rng, TRIES, scale):
                if not cluster.fits(demand):
                    best_effort = [(node, need) for node, need, te in cluster.running if not te]
                    hosts = np.array([node for node, _ in best_effort], dtype=np.int64)
                    needs = np.array([need for _, need in best_effort], dtype=np.int64).reshape(jobs, len(NODE))
                    return hosts, needs, cluster.free, demand
        cluster.leave(rng)
    raise InvalidInput(
        f"jobs = {jobs}: no TE job asked while so many BE jobs ran; first fit keeps about {cluster.best_effort} on "
        f"{nodes} nodes: ask for as many, or use fill=packed"
    )


def te_demand(rng: np.random.Generator, count: int, scale: float) -> IntArray:
    """`count` TE demands times `scale`, at most a node."""
    return np.asarray(np.minimum(np.rint(draw_demand(rng, TE_DEMAND, count) * scale).astype(np.int64), NODE))
