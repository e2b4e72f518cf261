"""Changes of priorities, policies and quotas after which a scheduler's own program would evict units for a job.

Each is a single change, tried on the program's own model of the state. `solvers/needs.py` finds the changes without
evictions.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.states.state import State
from mlsched_admission.instances.systems.decide import decided_session
from mlsched_admission.instances.systems.kai.model import GPU, PENDING, Queue, Session
from mlsched_admission.instances.systems.kube import Cluster
from mlsched_admission.instances.systems.kueue import cycle, flavors
from mlsched_admission.instances.systems.kueue.snapshot import Snapshot, Workload

#: Most priorities to try, and most units of a state for repeated KAI sessions.
MOST_PRIORITIES, MOST_UNITS = 8, 2000
_POLICIES = ("Never", "LowerPriority", "LowerOrNewerEqualPriority", "Any")
_RESOURCES = ("millicores of cpu", "bytes of memory", "thousandths of nvidia.com/gpu")


@dataclass(frozen=True)
class Permit:
    """A change, in words, and the scheduler's victims for the job."""

    sentence: str
    evicts: tuple[str, ...]


def permits_for(state: State, job: str) -> list[Permit]:
    """Return the changes that let the state's own scheduler evict units so that a waiting job starts."""
    model = state.model() if callable(state.model) else state.model
    if isinstance(model, Snapshot) and job in model.waiting:
        return list(_kueue_permits(model, model.waiting[job]))
    if isinstance(model, Cluster) and job in model.waiting:
        return list(_kube_permits(model, job))
    if isinstance(model, Session) and job in model.jobs and len(state.units) <= MOST_UNITS:
        return list(_kai_permits(state.model, job))
    return []


@contextlib.contextmanager
def _with_value(holder: Any, field: str, value: object) -> Iterator[None]:
    before = getattr(holder, field)
    setattr(holder, field, value)
    try:
        yield
    finally:
        setattr(holder, field, before)


def _next_priorities(now: int, others: Iterator[int]) -> list[int]:
    """Return the priorities just above those of others, the lowest first."""
    return sorted({priority + 1 for priority in others if priority >= now})[:MOST_PRIORITIES]


# --- Kueue -----------------------------------------------------------------------------------------------------------


def _kueue_permits(snapshot: Snapshot, workload: Workload) -> Iterator[Permit]:
    queue = snapshot.queues[workload.queue]

    def victims_now() -> tuple[str, ...]:
        return tuple(sorted(one.name for one in cycle.nominate(snapshot, workload).victims))

    for priority in _next_priorities(workload.priority, (one.priority for one in snapshot.running.values())):
        with _with_value(workload, "priority", priority):
            if evictions := victims_now():
                yield Permit(f"priority {priority}", evictions)
                break
    for field, key, rule_count in (("within", "withinClusterQueue", 3), ("reclaim", "reclaimWithinCohort", 4)):
        for policy in _POLICIES[_POLICIES.index(getattr(queue, field)) + 1 : rule_count]:
            with _with_value(queue, field, policy):
                if evictions := victims_now():
                    yield Permit(f"{key}: {policy} for queue {queue.name}", evictions)
                    break
    if not queue.borrow and queue.reclaim != "Never":
        with _with_value(queue, "borrow", True):
            if evictions := victims_now():
                yield Permit(f"borrowWithinCohort: LowerPriority for queue {queue.name}", evictions)
    for flavor, resource in sorted(queue.node.nominal):
        requests = [flavors.requests_of_pods(queue, one, one.count).get(resource, 0) for one in workload.pod_sets]
        more = sum(requests) - queue.node.nominal[flavor, resource]
        if more > 0 and queue.node.parent is not None:
            with queue.node.with_raised_quota((flavor, resource), more):
                if evictions := victims_now():
                    yield Permit(f"{more} more nominal quota of {flavor}/{resource} for queue {queue.name}", evictions)


# --- Kubernetes ------------------------------------------------------------------------------------------------------


def _kube_permits(cluster: Cluster, job: str) -> Iterator[Permit]:
    entry = cluster.waiting[job]
    now = entry.whole("spec", "priority")

    def victims_now(**changed: object) -> tuple[str, ...]:
        spec = {**entry.under("spec").value, **changed}
        cluster.waiting[job] = Entry({**entry.value, "spec": spec}, entry.where)
        try:
            return tuple(pod.name for pod in cluster.decide_pod(job).victims)
        finally:
            cluster.waiting[job] = entry

    if entry.text("spec", "preemptionPolicy") == "Never" and (
        evictions := victims_now(preemptionPolicy="PreemptLowerPriority")
    ):
        yield Permit("preemptionPolicy: PreemptLowerPriority", evictions)
    there = (pod.priority for pods in cluster.on.values() for pod in pods)
    for priority in _next_priorities(now, there):
        if evictions := victims_now(priority=priority):
            yield Permit(f"priority {priority}", evictions)
            break


# --- KAI -------------------------------------------------------------------------------------------------------------


def _kai_permits(new_session: Callable[[], Session], job: str) -> Iterator[Permit]:
    now = new_session().jobs[job]
    others = (one.priority for one in new_session().jobs.values() if one.queue == now.queue and one.preemptible)
    for priority in _next_priorities(now.priority, others):
        if now.preemptible and priority >= 100:  # it would be another kind of group
            break
        session = new_session()
        session.jobs[job].priority = priority
        if evictions := _session_victims(session, job):
            yield Permit(f"priority {priority}", evictions)
            break
    session = new_session()
    request = session.requested_amounts(session.jobs[job].chunk_to_place())
    changes = [line for queue in session.path_to_root(now.queue) for line in _raise_quota(queue, request)]
    if changes and (evictions := _session_victims(session, job)):
        yield Permit("; ".join(changes), evictions)


def _raise_quota(queue: Queue, request: tuple[int, int, int]) -> Iterator[str]:
    """Raise the quota of a queue to its use with the request."""
    quota = list(queue.deserved)
    for r, amount in enumerate(request):
        more = queue.allocated[r] + amount - quota[r]
        if amount and quota[r] >= 0 and more > 0:
            quota[r] += more
            yield f"quota of queue {queue.name} raised by {_amount_in_words(r, more)}"
    queue.deserved = (quota[0], quota[1], quota[2])


def _amount_in_words(r: int, amount: int) -> str:
    if r == 2 and amount % GPU == 0:
        return f"{amount // GPU} nvidia.com/gpu"
    return f"{amount // (GPU // 1000) if r == 2 else amount} {_RESOURCES[r]}"


def _session_victims(session: Session, job: str) -> tuple[str, ...]:
    waits = [pod for pod in session.jobs[job].pods if pod.status == PENDING]
    decision = decided_session(session, [job])
    has_started = any(pod.status != PENDING for pod in waits)
    return decision.evict if has_started else ()
