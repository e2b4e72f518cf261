"""Kueue's preemption by fair shares (rules S1 to S8)."""

from __future__ import annotations

from collections.abc import Callable

from mlsched_admission.instances.systems.kueue import preemption
from mlsched_admission.instances.systems.kueue.snapshot import Queue, Snapshot, Workload
from mlsched_admission.instances.systems.kueue.tree import Amounts, FlavorResource, Node, Share

FINAL, INITIAL = "LessThanOrEqualToFinalShare", "LessThanInitialShare"


def fair_candidates(snapshot: Snapshot, workload: Workload, contested: frozenset[FlavorResource]) -> list[Workload]:
    """Return the candidates (S2), in the order K10."""
    queue, targets = snapshot.queues[workload.queue], []
    for other in snapshot.queues.values():
        own = other is queue
        if not own and (other.node.root is not queue.node.root or other.node.within_all(contested)):
            continue
        policy = queue.within if own else queue.reclaim
        targets += [
            one
            for one in other.running.values()
            if preemption.policy_allows(policy, workload, one) and preemption.uses_contested(one, contested)
        ]
    return sorted(targets, key=lambda one: preemption.candidate_key(workload, one))


def fair_victims(
    snapshot: Snapshot,
    workload: Workload,
    queue: Queue,
    amounts: Amounts,
    contested: frozenset[FlavorResource],
    placed: Callable[[], bool],
) -> list[Workload] | None:
    """Return the victims of the configured strategies; None if they do not suffice."""
    line = fair_candidates(snapshot, workload, contested)

    def fits() -> bool:  # the preemptor's usage counts for shares, not here (S3)
        queue.node.add_usage(amounts, -1)
        try:
            return snapshot.amounts_fit(queue, amounts) and placed()
        finally:
            queue.node.add_usage(amounts)

    evicted: list[Workload] = []
    queue.node.add_usage(amounts)
    try:
        strategies = snapshot.config.strategies
        staying: list[Workload] = []
        is_placed = _evict_by_first(snapshot, workload, queue, contested, line, strategies[0], evicted, staying, fits)
        if not is_placed and len(strategies) > 1:
            is_placed = _evict_by_second(snapshot, workload, queue, staying, evicted, fits)
        if not is_placed:
            return None
        preemption.put_back_unneeded(snapshot, evicted, fits)
        return list(evicted)
    finally:
        for one in reversed(evicted):
            snapshot.restore_workload(one)
        queue.node.add_usage(amounts, -1)


class Ordering:
    """The queue from which the next candidate is taken (S4)."""

    def __init__(self, snapshot: Snapshot, workload: Workload, line: list[Workload]) -> None:
        self.queue = snapshot.queues[workload.queue]
        self.workload = workload
        self.by_node = {queue.node: queue for queue in snapshot.queues.values()}
        self.path = set(self.queue.node.path_to_root())
        self.left: dict[str, list[Workload]] = {}
        for one in line:
            self.left.setdefault(one.queue, []).append(one)
        self.dropped: set[Node] = set()

    def next(self) -> Queue | None:
        """Return the queue that comes next; None if none has a candidate."""
        root = self.queue.node.root
        while root not in self.dropped:
            if root.is_queue:
                if self.left.get(self.queue.name):
                    return self.queue
                self.dropped.add(root)
            elif (queue_below := self._descend_from(root)) is not None:
                return queue_below
        return None

    def _descend_from(self, cohort: Node) -> Queue | None:
        """Descend to the highest share; drop what cannot come any more."""
        best: tuple[Share, Queue] | None = None
        for node in cohort.children:
            if not node.is_queue or node in self.dropped:
                continue
            queue = self.by_node[node]
            line = self.left.get(queue.name)
            if not line or (queue is not self.queue and not node.borrows_any()):
                self.dropped.add(node)
                continue
            share = node.dominant_share()
            if best is None or share > best[0] or (share == best[0] and self._comes_sooner(line[0], best[1])):
                best = share, queue
        below: tuple[Share, str, Node] | None = None
        for node in cohort.children:
            if node.is_queue or node in self.dropped:
                continue
            if node not in self.path and not node.borrows_any():
                self.dropped.add(node)
                continue
            one = node.dominant_share(), node.name, node
            if below is None or one[:2] >= below[:2]:
                below = one
        if best is None and below is None:
            self.dropped.add(cohort)
            return None
        if below is not None and (best is None or below[0] >= best[0]):
            return self._descend_from(below[2])
        assert best is not None
        return best[1]

    def _comes_sooner(self, one: Workload, than: Queue) -> bool:
        key = preemption.candidate_key
        return key(self.workload, one) < key(self.workload, self.left[than.name][0])


def sides_below_cohort(queue: Queue, other: Queue) -> tuple[Node, Node]:
    """Return the children of the lowest common cohort on the preemptor's and on the candidate's side (S6)."""
    mine, theirs = list(queue.node.path_to_root()), list(other.node.path_to_root())
    common = next(node for node in mine if node in theirs)
    return mine[mine.index(common) - 1], theirs[theirs.index(common) - 1]


def _evict_by_first(
    snapshot: Snapshot,
    workload: Workload,
    queue: Queue,
    contested: frozenset[FlavorResource],
    line: list[Workload],
    strategy: str,
    evicted: list[Workload],
    staying: list[Workload],
    fits: Callable[[], bool],
) -> bool:
    """Evict by the first strategy (S5, S6); True once the request fits."""
    ordering = Ordering(snapshot, workload, line)
    within = snapshot.config.feature_enabled("FairSharingPreemptWithinNominal", True) and queue.node.within_all(
        contested
    )
    while (other := ordering.next()) is not None:
        remaining = ordering.left[other.name]
        if other is queue or within:
            snapshot.remove_workload(remaining[0])
            evicted.append(remaining.pop(0))
            if fits():
                return True
            continue
        mine, theirs = sides_below_cohort(queue, other)
        share, before = mine.dominant_share(), theirs.dominant_share()
        while remaining:
            one = remaining.pop(0)
            snapshot.remove_workload(one)
            after = theirs.dominant_share()
            if share < before if strategy == INITIAL else share <= after:
                evicted.append(one)
                if fits():
                    return True
                break
            snapshot.restore_workload(one)
            staying.append(one)
    return False


def _evict_by_second(
    snapshot: Snapshot,
    workload: Workload,
    queue: Queue,
    staying: list[Workload],
    evicted: list[Workload],
    fits: Callable[[], bool],
) -> bool:
    """Evict by the second strategy: the first kept candidate of each queue (S7)."""
    ordering = Ordering(snapshot, workload, staying)
    while (other := ordering.next()) is not None:
        mine, theirs = sides_below_cohort(queue, other)
        if mine.dominant_share() < theirs.dominant_share():
            one = ordering.left[other.name][0]
            snapshot.remove_workload(one)
            evicted.append(one)
            if fits():
                return True
        ordering.dropped.add(other.node)
        ordering.left[other.name] = []
    return False
