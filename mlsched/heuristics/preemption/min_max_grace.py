"""Min-max grace period: the victims whose longest grace period is shortest, without a solver (ours, in no paper).

For each TE job in queue order: the first node with room needs no victim. Else, on every node, the preemptible BE jobs
are taken by rising grace period until the TE job fits; those of them that need not go after all are spared, the largest
score of Eq. 3 first; and the node whose victims' longest grace period is shortest is chosen. Ties go to the least total
score of the victims, then to the first node. Where no node can make room, the TE job waits.

For one TE job this is an optimum of `max_grace_period`, deferral included. Let n be a node and G(n) the grace period of
the job with which the TE job first fits there.

1. No set of victims on n whose grace periods are all below G(n) makes room: it is part of what had been taken before
   that job, and that did not suffice. So every set that makes room on n has a longest grace period of at least G(n).
2. Sparing leaves a set that makes room, made of jobs with at most G(n); with (1), its longest grace period is G(n).
3. Victims on other nodes than the TE job's own make no room there and can only lengthen the longest grace period. So
   the least value of any plan that places the TE job is the least G(n), or 0 where a node has room without victims.
4. The TE job is deferred only where suspending all preemptible jobs of a node is not enough, on any node; no plan
   places it then, and suspending nothing is best. Otherwise it is placed, and one deferral costs more than any victims.

Sorting J jobs by node and grace period is all the work: O(J log J) for a fixed number of resources. Of several TE jobs
each is served so in turn, which need not be optimal.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.registry import solver
from mlsched.heuristics.preemption._room import Room
from mlsched.heuristics.preemption.fitgpp import own_limit
from mlsched.instances.preemption import Instance, Plan


@solver(
    "min-max-grace",
    problem="preemption",
    objectives=("max_grace_period",),
    warm_start=True,
    world=own_limit,
    paper="none",
)
def answer(instance: Instance, *, rng: np.random.Generator, P: int = 0) -> Plan:
    """On each node victims by rising grace period until it fits; the best node. Exact for one TE job."""
    room = Room(instance, P)
    for demand in instance.te_demand:
        node = room.first_fit(demand)
        if node < 0:
            node = _make_room(room, demand)
        room.place(demand, node)
    return room.plan()


def _make_room(room: Room, demand: IntArray) -> int:
    """Suspend the victims whose longest grace period is shortest; returns their node, -1 when no node can make room."""
    grace, score = room.instance.job_grace, room.instance.score
    hosts = _shortest_prefixes(room, demand)
    if not hosts:
        return -1
    shortest = min(int(grace[taken[-1]]) for taken in hosts)
    tied = [_needed(room, demand, taken) for taken in hosts if grace[taken[-1]] == shortest]
    victims = min(tied, key=lambda chosen: int(score[chosen].sum()))
    for job in victims:
        room.suspend(job)
    return int(room.instance.job_node[victims[0]])


def _shortest_prefixes(room: Room, demand: IntArray) -> list[IntArray]:
    """For each node that can make room: its jobs by rising grace period, as far as the TE job needs them."""
    instance = room.instance
    able = np.flatnonzero(room.preemptible)
    jobs = able[np.lexsort((instance.job_grace[able], instance.job_node[able]))]
    node, released = instance.job_node[jobs], np.cumsum(instance.job_demand[jobs], axis=0)
    first = np.searchsorted(node, node)  # where the jobs of each one's node begin
    earlier = released[first] - instance.job_demand[jobs[first]]
    enough = np.flatnonzero((released - earlier + room.free[node] >= demand).all(axis=1))
    _, shortest = np.unique(node[enough], return_index=True)
    return [jobs[first[last] : last + 1] for last in enough[shortest].tolist()]


def _needed(room: Room, demand: IntArray, taken: IntArray) -> list[int]:
    """The jobs `taken` on one node without those that the TE job can do without, the largest score spared first."""
    instance = room.instance
    spare = room.free[instance.job_node[taken[0]]] + instance.job_demand[taken].sum(axis=0) - demand
    kept = []
    for job in sorted(taken.tolist(), key=lambda j: (-int(instance.score[j]), j)):
        if (instance.job_demand[job] <= spare).all():
            spare = spare - instance.job_demand[job]
        else:
            kept.append(job)
    return kept
