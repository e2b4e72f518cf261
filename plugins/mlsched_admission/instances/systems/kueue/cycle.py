"""One scheduling cycle of Kueue with several waiting workloads (rules C1 to C5)."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from mlsched_admission.instances.systems.kueue import flavors
from mlsched_admission.instances.systems.kueue.flavors import Assignment, Pinned
from mlsched_admission.instances.systems.kueue.preemption import victims
from mlsched_admission.instances.systems.kueue.snapshot import Placement, Queue, Snapshot, Workload
from mlsched_admission.instances.systems.kueue.tree import Amounts, Node

#: Outcomes of an entry, in words.
STARTS, PREEMPTS, NO_FIT, NO_VICTIMS = "starts", "preempts", "no fit", "no candidates"
LATER, OVERLAP, DEFERRED, GATED = "no longer fits", "overlap", "deferred", "gated"
INADMISSIBLE, BEHIND = "inadmissible", "behind"
#: Workloads behind the heads that are tried at most.
MOST_WALKED = 100


@dataclass(eq=False)
class Entry:
    """A head with its assignment and its victims."""

    workload: Workload
    queue: Queue
    assignment: Assignment
    victims: list[Workload] = field(default_factory=list)


@dataclass
class Decided:
    """What a cycle decides: an outcome per workload, victims per preemptor, and the order of processing."""

    why: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    victims: dict[str, list[str]] = field(default_factory=dict)
    admitted: dict[str, Assignment] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    assignments: dict[str, Assignment] = field(default_factory=dict)


def nominated(snapshot: Snapshot, workload: Workload, pinned: Pinned | None = None) -> Entry:
    """Return the assignment and the victims of a workload on the snapshot (F1 to F7, P, S)."""
    queue = snapshot.queues[workload.queue]

    def attempt(counts: Mapping[str, int]) -> Entry:
        assignment = flavors.assign(snapshot, workload, victims, counts, pinned)
        entry = Entry(workload, queue, assignment)
        if assignment.mode == flavors.PREEMPT and not _gated(snapshot, workload):
            entry.victims = victims(snapshot, workload, assignment.usage, assignment.contested, assignment.units) or []
        return entry

    whole = attempt({one.name: one.count for one in workload.pod_sets})
    steps = sum(max(0, one.count - one.minimum) for one in workload.pod_sets)
    if whole.assignment.fits or whole.victims or not steps:
        return whole
    low, high, best = 1, steps, None  # partial admission: the fewest steps that do (F7)
    while low <= high:
        middle = (low + high) // 2
        entry = attempt(flavors.reduced(workload, middle))
        if entry.assignment.fits or entry.victims:
            best, high = entry, middle - 1
        else:
            low = middle + 1
    return best or whole


def entry_of(snapshot: Snapshot, workload: Workload) -> Entry:
    """Return `nominated` of a workload on the snapshot as it was read."""
    if workload.name not in snapshot.known:
        snapshot.known[workload.name] = nominated(snapshot, workload)
    nomination: Entry = snapshot.known[workload.name]
    return nomination


def _gated(snapshot: Snapshot, workload: Workload) -> bool:
    """Return whether preemption gates hold the workload back; they bind only with their feature gate."""
    return workload.gated and snapshot.config.gate("MultiKueueOrchestratedPreemption", False)


def heads(snapshot: Snapshot, earlier: Iterable[str] = ()) -> list[Workload]:
    """Return the head of each queue (C1), without workloads that were tried before in BestEffortFIFO queues."""
    by_queue: dict[str, Workload] = {}
    before = set(earlier)
    for one in snapshot.waiting.values():
        if one.inadmissible or not one.queue or one.name in before:
            continue
        best = by_queue.get(one.queue)
        if best is None or _line(one) < _line(best):
            by_queue[one.queue] = one
    return list(by_queue.values())


def _line(workload: Workload) -> tuple[int, int, str, str]:
    return (-workload.priority, workload.queued, workload.uid, workload.name)


def run(snapshot: Snapshot, workloads: Iterable[Workload] | None = None, *, is_unchanged: bool = True) -> Decided:
    """Decide one cycle about these workloads (default: the heads). known: the snapshot is as it was read."""
    decision = Decided()
    for one in snapshot.waiting.values():
        if one.inadmissible:
            decision.why[one.name], decision.reasons[one.name] = INADMISSIBLE, one.inadmissible
    entries = [
        dataclasses.replace(entry_of(snapshot, one)) if is_unchanged else nominated(snapshot, one)
        for one in (heads(snapshot) if workloads is None else workloads)
        if not one.inadmissible
    ]
    cycle = _Cycle(snapshot, decision)
    for entry in _ordered(snapshot, entries):
        decision.order.append(entry.workload.name)
        decision.assignments[entry.workload.name] = entry.assignment
        cycle.process(entry)
    cycle.undo()
    for one in snapshot.waiting.values():
        decision.why.setdefault(one.name, BEHIND)
    return decision


def walk(snapshot: Snapshot, decision: Decided) -> dict[str, str]:
    """Return the outcomes of those behind the heads once all queues have been walked after a first cycle (C1).

    A head that does not get in is set aside in a BestEffortFIFO queue. In a StrictFIFO queue, and while it waits for
    its victims, it stays the head. What is admitted counts; victims are still there. At most `MOST_WALKED` are tried.
    """
    later: dict[str, str] = {}
    earlier, blocked_queues = (
        set(decision.order),
        {one.name for one in snapshot.queues.values() if _stops(snapshot, one, decision)},
    )
    with contextlib.ExitStack() as undone:
        latest = decision
        while len(earlier) - len(decision.order) < MOST_WALKED:
            for name, assignment in latest.admitted.items():
                undone.enter_context(_admitted(snapshot, snapshot.waiting[name], assignment))
            for name in (name for names in latest.victims.values() for name in names):
                undone.enter_context(_marked(snapshot.running[name]))
            line = [one for one in heads(snapshot, earlier) if one.queue not in blocked_queues]
            if not line:
                break
            latest = run(snapshot, line, is_unchanged=False)
            earlier |= set(latest.order)
            later |= {name: latest.why[name] for name in latest.order}
            blocked_queues |= {snapshot.waiting[name].queue for name in latest.order if _stays(snapshot, latest, name)}
    return later


def _stops(snapshot: Snapshot, queue: Queue, decision: Decided) -> bool:
    return any(
        _stays(snapshot, decision, name) for name in decision.order if snapshot.waiting[name].queue == queue.name
    )


def _stays(snapshot: Snapshot, decision: Decided, name: str) -> bool:
    """Return whether a workload stays the head of its queue after a cycle."""
    strict = snapshot.queues[snapshot.waiting[name].queue].strict
    return decision.why[name] == PREEMPTS or (strict and decision.why[name] != STARTS)


@contextlib.contextmanager
def _admitted(snapshot: Snapshot, workload: Workload, assignment: Assignment) -> Iterator[None]:
    node, placed = snapshot.queues[workload.queue].node, placements(assignment)
    node.add(assignment.usage)
    snapshot.forest.count(placed)
    try:
        yield
    finally:
        node.add(assignment.usage, -1)
        snapshot.forest.count(placed, -1)


@contextlib.contextmanager
def _marked(victim: Workload) -> Iterator[None]:
    before, victim.evicted = victim.evicted, True
    try:
        yield
    finally:
        victim.evicted = before


class _Cycle:
    """The snapshot as entries are processed; usage that is added stays for later entries."""

    def __init__(self, snapshot: Snapshot, decision: Decided) -> None:
        self.snapshot, self.made = snapshot, decision
        self.earlier: dict[str, Workload] = {}
        self.added: list[tuple[Node, Amounts, list[Placement]]] = []

    def process(self, entry: Entry) -> None:
        """Process one entry (C4)."""
        name, config = entry.workload.name, self.snapshot.config
        fits, quota = self._fits(entry, entry.victims)
        overlap = any(one.name in self.earlier for one in entry.victims)
        deferred = False
        if overlap and config.gate("RecomputeAssignmentUponPreemptionTargetsOverlap", True):
            with self.snapshot.without(self.earlier.values()):
                again = nominated(self.snapshot, entry.workload, _pinned(entry.assignment))
            if not again.assignment.impossible:
                entry.assignment, entry.victims = again.assignment, again.victims
                deferred = again.assignment.fits
                fits, quota = self._fits(entry, entry.victims)
                overlap = any(one.name in self.earlier for one in entry.victims)
        elif not fits and quota and config.gate("TASRecomputeAssignmentWithinSchedulingCycle", True):
            again = nominated(self.snapshot, entry.workload, _pinned(entry.assignment))
            entry.assignment, entry.victims = again.assignment, again.victims
            fits, quota = self._fits(entry, entry.victims)
            overlap = any(one.name in self.earlier for one in entry.victims)
        self.made.assignments[name] = entry.assignment
        self.made.why[name] = self._outcome(entry, fits, overlap, deferred)
        if entry.assignment.why:
            self.made.reasons[name] = entry.assignment.why

    def _outcome(self, entry: Entry, fits: bool, overlap: bool, deferred: bool) -> str:
        assignment, name = entry.assignment, entry.workload.name
        if assignment.impossible:
            return NO_FIT
        if deferred:
            self._add(entry, reserve=False)
            return DEFERRED
        if not assignment.fits and not entry.victims:
            if entry.queue.reclaim != "Any":
                self._add(entry, reserve=True)
            return GATED if _gated(self.snapshot, entry.workload) else NO_VICTIMS
        if overlap:
            return OVERLAP
        if not fits:
            return LATER
        if not assignment.fits and assignment.units:
            with self.snapshot.without([*self.earlier.values(), *entry.victims]):
                placed = self.snapshot.forest.place(assignment.units)
            flavors.domains(assignment, placed or {})
        self._add(entry, reserve=False)
        if entry.victims:
            self.earlier |= {one.name: one for one in entry.victims}
            self.made.victims[name] = sorted(one.name for one in entry.victims)
            return PREEMPTS
        self.made.admitted[name] = assignment
        return STARTS

    def _fits(self, entry: Entry, own: list[Workload]) -> tuple[bool, bool]:
        """Return whether the entry fits with earlier victims and its own gone, and whether its quota does."""
        with self.snapshot.without([*self.earlier.values(), *own]):
            quota = self.snapshot.fits(entry.queue, entry.assignment.usage)
            if not quota or not entry.assignment.units:
                return quota, quota
            if entry.assignment.fits and not own:
                return self._free(entry), True
            return self.snapshot.forest.placeable(entry.assignment.units), True

    def _free(self, entry: Entry) -> bool:
        """Return whether the domains that were found are still free."""
        forest, assignment = self.snapshot.forest, entry.assignment
        for flavor, values, each, pods in placements(assignment):
            forest.count([(flavor, values, each, pods)])
        try:
            return not any(
                amount < 0
                for flavor, values, _, _ in placements(assignment)
                for amount in forest.free(flavor, values).values()
            )
        finally:
            forest.count(placements(assignment), -1)

    def _add(self, entry: Entry, *, reserve: bool) -> None:
        """Count the usage of an entry; `reserve` limits it to what is left of its own quota (C4d)."""
        node, amounts = entry.queue.node, dict(entry.assignment.usage)
        placed = placements(entry.assignment)  # of one that only reserves: on nodes without workloads
        if reserve:
            for fr, amount in amounts.items():
                limit = node.borrowing.get(fr)
                if entry.assignment.height > 0 and limit is None:
                    continue
                most = node.nominal.get(fr, 0) + (limit or 0 if entry.assignment.height > 0 else 0)
                amounts[fr] = max(0, min(amount, most - node.used(fr)))
        node.add(amounts)
        self.snapshot.forest.count(placed)
        self.added.append((node, amounts, placed))

    def undo(self) -> None:
        """Leave the snapshot as it was."""
        for node, amounts, placed in reversed(self.added):
            node.add(amounts, -1)
            self.snapshot.forest.count(placed, -1)


def placements(assignment: Assignment) -> list[Placement]:
    """Return the pods of an assignment by domain."""
    return [
        (unit.flavor, values, unit.each[one.name], pods)
        for unit in assignment.units
        for one in unit.members
        for values, pods in assignment.pod_sets[one.name].domains or []
    ]


def _pinned(assignment: Assignment) -> Pinned:
    return {name: dict(one.flavors) for name, one in assignment.pod_sets.items()}


def _ordered(snapshot: Snapshot, entries: list[Entry]) -> Iterator[Entry]:
    """Yield the entries in the order of processing (C3)."""
    if not snapshot.config.fair:
        priority = snapshot.config.gate("PrioritySortingWithinCohort", True)
        yield from sorted(
            entries,
            key=lambda e: (
                e.assignment.height,
                -e.workload.priority if priority else 0,
                e.workload.queued,
                e.workload.name,
            ),
        )
        return
    remaining = sorted(entries, key=lambda e: e.workload.name)
    while remaining:
        alone = next((e for e in remaining if e.queue.node.parent is None), None)
        entry = alone or _winner(snapshot, remaining[0].queue.node.root, remaining)
        remaining.remove(entry)
        yield entry


@contextlib.contextmanager
def _counted(entry: Entry) -> Iterator[None]:
    entry.queue.node.add(entry.assignment.usage)
    try:
        yield
    finally:
        entry.queue.node.add(entry.assignment.usage, -1)


def _winner(snapshot: Snapshot, cohort: Node, remaining: list[Entry]) -> Entry:
    """Return the winner of the tournament under a cohort (C3)."""
    among: list[tuple[Node, Entry]] = []
    for child in cohort.children:
        if child.is_queue:
            among += [(child, one) for one in remaining if one.queue.node is child]
        elif any(one.queue.node in set(child.below()) for one in remaining):
            among.append((child, _winner(snapshot, child, remaining)))
    first = snapshot.config.gate("FairSharingPrioritizeNonBorrowing", True)

    def key(one: tuple[Node, Entry]) -> tuple[object, ...]:
        child, entry = one
        with _counted(entry):
            borrows = first and not all(child.within(fr) for fr in entry.assignment.usage)
            share = child.share()
        return (borrows, share, -entry.workload.priority, entry.workload.queued, entry.workload.name)

    return min(among, key=key)[1]
