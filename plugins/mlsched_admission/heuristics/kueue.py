"""Kueue's classical preemption, from its source (`pkg/scheduler/preemption`, commit ff69552e79 of 2026-08-22).

Candidates: units that the job may evict and that use a flavor it lacks; other queues before its own, then lower
priority, then later quota, then the order of the list. One is taken after the other until the job fits; then each but
the last is put back, in reverse, if the job fits without it. A unit of another queue is taken only while that queue,
and each cohort below the common one, uses more than its quota of a flavor that the job lacks.

Attempts: if only the own queue has candidates, one, in which the job may borrow. If candidates of other queues require
a job without borrowing (`may` = 2), first without, then with borrowing by candidates of its own queue only; else first
with borrowing, then without.

Left out: fair sharing (config.fairSharing, AdmissionFairSharing), candidates whose eviction has begun (they count as
gone), several flavors per resource (the instance names one), and the node order of topology-aware scheduling: pods go
to the fullest nodes with room.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.registry import solver
from mlsched_admission.heuristics._room import Room
from mlsched_admission.instances import Instance, Plan

SOURCE = "Kueue, pkg/scheduler/preemption"


@solver("kueue", problem="admission", warm_start=True, paper=SOURCE)
def answer(instance: Instance, *, rng: np.random.Generator) -> Plan:
    """Take candidates in Kueue's order until the job fits, then put back unneeded ones."""
    room = Room(instance)
    for j in room.jobs_by_priority():
        if not room.starts_as_it_is(j):
            _start_by_preemption(room, j)
    return room.plan()


def _start_by_preemption(room: Room, j: int) -> None:
    instance, queue = room.instance, int(room.instance.job_queue[j])
    flavors = room.quotas.contested(j)
    candidates = room.candidates(j)
    if queue >= 0:
        candidates = [u for u in candidates if (instance.unit_use[u, flavors] > 0).any()]
    own = {u: int(instance.unit_queue[u]) == queue for u in candidates}
    candidates.sort(key=lambda u: (own[u], int(instance.unit_priority[u]), int(instance.unit_age[u]), u))
    others = [u for u in candidates if not own[u]]
    if not others:
        attempts = [True]
    elif all(instance.may[j, u] == 2 for u in others):
        attempts = [False, True]
    else:
        attempts = [True, False]
    for borrowing in attempts:
        able = [u for u in candidates if not borrowing or instance.may[j, u] == 1]
        if _attempt_preemption(room, j, able, flavors, borrowing):
            return


def _attempt_preemption(room: Room, j: int, order: list[int], flavors: IntArray, borrowing: bool) -> bool:
    """Evict units in order until job j fits, put back those that are not needed, and start the job.

    Args:
        room: State, changed in place.
        j: Job.
        order: Candidates. Units of queues that are not above their quota are passed over.
        flavors: Flavors whose quotas decide.
        borrowing: The job may borrow.

    Returns:
        Whether the job has started.
    """

    def fits(victims: list[int]) -> bool:
        leaving = room.complete_gangs(victims)
        return room.keeps_quotas(j, leaving, borrowing=borrowing) and room.places_of_job(j, leaving) is not None

    targets: list[int] = []
    leaving: set[int] = set()
    for u in order:
        if u in leaving or not _above_quota(room, j, u, leaving, flavors):
            continue
        targets.append(u)
        leaving = room.complete_gangs(targets)
        if fits(targets):
            break
    else:
        return False
    for u in reversed(targets[:-1]):
        if fits([v for v in targets if v != u]):
            targets.remove(u)
    leaving = room.complete_gangs(targets)
    places = room.places_of_job(j, leaving)
    return places is not None and room.start_job(j, places, leaving)


def _above_quota(room: Room, j: int, u: int, leaving: set[int], flavors: IntArray) -> bool:
    """Return whether the queues above unit `u`, below the first that is also above the job's, use more than their
    quota.
    """
    if not room.instance.above_nominal:
        return True
    usage = room.quotas.usage_of(room.quotas.changed_use(room.started, sorted(room.evicted | leaving)))
    own = set(room.quotas.path_to_root(int(room.instance.job_queue[j])))
    foreign = [q for q in room.quotas.path_to_root(int(room.instance.unit_queue[u])) if q not in own]
    return all((usage[q, flavors] > room.quotas.subtree[q, flavors]).any() for q in foreign)
