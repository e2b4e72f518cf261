"""Kueue's classical preemption (rules P1 to P7), and the orders that both kinds of preemption share (K9, K10)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mlsched_admission.instances.systems.kueue import fair
from mlsched_admission.instances.systems.kueue.requests import Unit
from mlsched_admission.instances.systems.kueue.snapshot import Queue, Snapshot, Workload
from mlsched_admission.instances.systems.kueue.tree import Amounts, FlavorResource, Node

HIERARCHY, NO_BORROW, BORROW, SAME = range(4)


@dataclass
class Candidate:
    """A workload that may be evicted, and its class (P3)."""

    workload: Workload
    kind: int
    path: list[Node]
    """Its queue and the cohorts between that and the common one; empty for the own queue."""


def policy_allows(policy: str, workload: Workload, candidate: Workload) -> bool:
    """Return whether a policy lets `workload` evict `candidate` (K9)."""
    if policy == "LowerPriority":
        return candidate.priority < workload.priority
    if policy == "LowerOrNewerEqualPriority":
        newer = candidate.priority == workload.priority and candidate.queued > workload.queued
        return candidate.priority < workload.priority or newer
    return policy == "Any"


def candidate_key(workload: Workload, candidate: Workload) -> tuple[bool, bool, int, int, str, str]:
    """Return the sort key of candidates (K10)."""
    own = candidate.queue == workload.queue
    return (not candidate.evicted, own, candidate.priority, -candidate.reserved, candidate.uid, candidate.name)


def uses_contested(candidate: Workload, contested: frozenset[FlavorResource]) -> bool:
    """Return whether a candidate uses a contested pair."""
    return any(candidate.usage.get(fr, 0) > 0 for fr in contested)


def choose_victims(
    snapshot: Snapshot, workload: Workload, amounts: Amounts, contested: frozenset[FlavorResource], units: list[Unit]
) -> list[Workload] | None:
    """Return the victims that Kueue chooses, by the configured kind of preemption; None if none suffice."""
    queue = snapshot.queues[workload.queue]

    def is_placed() -> bool:
        return not units or snapshot.forest.has_placement(units)

    if snapshot.config.fair:
        return fair.fair_victims(snapshot, workload, queue, amounts, contested, is_placed)
    return _classical_victims(snapshot, workload, queue, amounts, contested, is_placed)


def _classical_victims(
    snapshot: Snapshot,
    workload: Workload,
    queue: Queue,
    amounts: Amounts,
    contested: frozenset[FlavorResource],
    is_placed: Callable[[], bool],
) -> list[Workload] | None:
    line = classical_candidates(snapshot, workload, amounts, contested)
    for borrowing in attempts_in_order(queue, line, contested):
        solution = _attempt_preemption(snapshot, queue, amounts, contested, line, borrowing, is_placed)
        if solution:
            return solution
    return None


def classical_candidates(
    snapshot: Snapshot, workload: Workload, amounts: Amounts, contested: frozenset[FlavorResource]
) -> list[Candidate]:
    """Return the candidates in the order in which they are tried (P1 to P4)."""
    queue = snapshot.queues[workload.queue]
    targets = []
    if queue.within != "Never":
        for one in queue.running.values():
            if uses_contested(one, contested) and policy_allows(queue.within, workload, one):
                targets.append(Candidate(one, SAME, []))
    if queue.reclaim != "Never":
        for one, path, advantage in _candidates_elsewhere(snapshot, queue, amounts, contested):
            if uses_contested(one, contested) and policy_allows(queue.reclaim, workload, one):
                targets.append(Candidate(one, _kind_of_candidate(queue, workload, one, advantage), path))
    classes = {HIERARCHY: 0, NO_BORROW: 1, BORROW: 1, SAME: 2}
    targets.sort(key=lambda c: (not c.workload.evicted, classes[c.kind], candidate_key(workload, c.workload)))
    return targets


def _kind_of_candidate(queue: Queue, workload: Workload, one: Workload, advantage: bool) -> int:
    """Return the class of a candidate of another queue (P3)."""
    if advantage:
        return HIERARCHY
    above = queue.threshold is not None and one.priority > queue.threshold
    return NO_BORROW if not queue.borrow or one.priority >= workload.priority or above else BORROW


def _candidates_elsewhere(
    snapshot: Snapshot, queue: Queue, amounts: Amounts, contested: frozenset[FlavorResource]
) -> list[tuple[Workload, list[Node], bool]]:
    """Return workloads of other queues, the nodes below the common cohort, and whether P2 gives the advantage."""
    by_node = {other.node: other for other in snapshot.queues.values()}
    targets = []
    rest, advantage, side = dict(amounts), False, queue.node
    while side.parent is not None:
        advantage = advantage or all(side.stays_within(fr, amount) for fr, amount in rest.items())
        rest = {fr: max(0, amount - side.local_available(fr)) for fr, amount in rest.items()}
        pending = [(child, [child]) for child in side.parent.children if child is not side]
        while pending:
            node, path = pending.pop()
            if node.within_all(contested):
                continue
            pending += [(child, [child, *path]) for child in node.children]
            if node.is_queue:
                targets += [(one, path, advantage) for one in by_node[node].running.values()]
        side = side.parent
    return targets


def attempts_in_order(queue: Queue, line: list[Candidate], contested: frozenset[FlavorResource]) -> list[bool]:
    """Return for each attempt, in order, if the preemptor may borrow in it (P5).

    Args:
        queue: Queue of the preemptor.
        line: Candidates.
        contested: Pairs of flavor and resource that need preemption.
    """
    under = all(queue.node.usage_of(fr) < queue.node.nominal.get(fr, 0) for fr in contested)
    if all(one.kind == SAME for one in line) or (not queue.borrow and not under):
        return [True]
    if not queue.borrow and not any(one.kind == HIERARCHY for one in line):
        return [False, True]
    return [True, False]


def _attempt_preemption(
    snapshot: Snapshot,
    queue: Queue,
    amounts: Amounts,
    contested: frozenset[FlavorResource],
    line: list[Candidate],
    borrowing: bool,
    is_placed: Callable[[], bool],
) -> list[Workload] | None:
    """Remove candidates until the request fits, then put back those that are not needed (P6, P7).

    Args:
        snapshot: State, restored at the end.
        queue: Queue of the preemptor.
        amounts: Requested amounts.
        contested: Pairs of flavor and resource that need preemption.
        line: Candidates, in the order in which they are removed.
        borrowing: The preemptor may borrow, and candidates of the kind NO_BORROW stay.
        is_placed: Return if the pods find places in the present state.

    Returns:
        The victims; None if the request does not fit without any candidate.
    """

    def fits() -> bool:
        if not snapshot.amounts_fit(queue, amounts):
            return False
        if not borrowing and not all(queue.node.stays_within(fr, amount) for fr, amount in amounts.items()):
            return False
        return is_placed()

    evicted: list[Workload] = []
    try:
        for one in line:
            if borrowing and one.kind == NO_BORROW:
                continue
            if any(node.within_all(contested) for node in one.path):
                continue
            snapshot.remove_workload(one.workload)
            evicted.append(one.workload)
            if fits():
                put_back_unneeded(snapshot, evicted, fits)
                return list(evicted)
        return None
    finally:
        for workload in reversed(evicted):
            snapshot.restore_workload(workload)


def put_back_unneeded(snapshot: Snapshot, evicted: list[Workload], fits: Callable[[], bool]) -> None:
    """Put back removed workloads, the last but one first, each if the request still fits (P7, S8)."""
    for one in reversed(evicted[:-1]):
        snapshot.restore_workload(one)
        if fits():
            evicted.remove(one)
        else:
            snapshot.remove_workload(one)
