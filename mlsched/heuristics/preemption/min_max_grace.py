"""Min-max grace period: choose victims whose longest grace period is shortest (ours).

For each TE job in queue order: the first node with room needs no victim. Otherwise, on every node, the preemptible BE
jobs are taken by rising grace period until the TE job fits. Taken jobs that are not needed are spared, the largest
score of Eq. 3 first. The node with the shortest longest grace period is chosen. Ties go to the least total score of
the victims, then to the first node. If all nodes fail, the TE job waits.

For one TE job this is an optimum of `max_grace_period`, deferral included. Let n be a node and G(n) the grace period
of the job with which the TE job first fits there.

1. A set of victims on n with all grace periods below G(n) does not make room: it is part of the jobs taken before
that job, and these did not suffice. So every set that makes room on n has a longest grace period of at least G(n).
2. Sparing leaves a set that makes room, of jobs with at most G(n). With (1), its longest grace period is G(n).
3. Victims on other nodes do not make room for the TE job and can only lengthen the longest grace period. So the least
value of any plan that places the TE job is the least G(n), or 0 if a node has room without victims.
4. The TE job is deferred only if suspending all preemptible jobs of any node is not enough. All plans defer it then,
and suspending no job is best. Otherwise it is placed, and one deferral costs more than any victims.

The cost is a sort of J jobs by node and grace period: O(J log J) for a fixed number of resources. Several TE jobs are
served in turn, which need not be optimal.
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
    """Suspend the victims whose longest grace period is shortest; return their node, or -1 if all nodes fail."""
    grace, score = room.instance.job_grace, room.instance.score
    hosts = _shortest_prefixes(room, demand)
    if not hosts:
        return -1
    shortest = min(int(grace[prefix[-1]]) for prefix in hosts)
    tied = [_needed_victims(room, demand, prefix) for prefix in hosts if grace[prefix[-1]] == shortest]
    victims = min(tied, key=lambda chosen: int(score[chosen].sum()))
    for job in victims:
        room.suspend(job)
    return int(room.instance.job_node[victims[0]])


def _shortest_prefixes(room: Room, demand: IntArray) -> list[IntArray]:
    """Return the needed jobs by rising grace period for each node that can make room."""
    instance = room.instance
    able = np.flatnonzero(room.preemptible)
    jobs = able[np.lexsort((instance.job_grace[able], instance.job_node[able]))]
    node, released = instance.job_node[jobs], np.cumsum(instance.job_demand[jobs], axis=0)
    first = np.searchsorted(node, node)  # first job of each job's node
    earlier = released[first] - instance.job_demand[jobs[first]]
    enough = np.flatnonzero((released - earlier + room.free[node] >= demand).all(axis=1))
    _, shortest = np.unique(node[enough], return_index=True)
    return [jobs[first[last] : last + 1] for last in enough[shortest].tolist()]


def _needed_victims(room: Room, demand: IntArray, taken: IntArray) -> list[int]:
    """Return the victims needed among `taken`, all on one node; the others are spared, largest score first."""
    instance = room.instance
    spare = room.free[instance.job_node[taken[0]]] + instance.job_demand[taken].sum(axis=0) - demand
    needed_jobs = []
    for job in sorted(taken.tolist(), key=lambda j: (-int(instance.score[j]), j)):
        if (instance.job_demand[job] <= spare).all():
            spare = spare - instance.job_demand[job]
        else:
            needed_jobs.append(job)
    return needed_jobs
