"""One scheduling cycle of Kueue with several waiting workloads (rules C1 to C5)."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from mlsched_admission.instances.systems.kueue import flavors
from mlsched_admission.instances.systems.kueue.flavors import Assignment, Pinned
from mlsched_admission.instances.systems.kueue.preemption import choose_victims
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


def nominate(snapshot: Snapshot, workload: Workload, pinned: Pinned | None = None) -> Entry:
    """Return the assignment and the victims of a workload on the snapshot (F1 to F7, P, S)."""
    queue = snapshot.queues[workload.queue]

    def attempt_counts(counts: Mapping[str, int]) -> Entry:
        assignment = flavors.assign_flavors(snapshot, workload, choose_victims, counts, pinned)
        entry = Entry(workload, queue, assignment)
        if assignment.mode == flavors.PREEMPT and not _is_gated(snapshot, workload):
            entry.victims = (
                choose_victims(snapshot, workload, assignment.usage, assignment.contested, assignment.units) or []
            )
        return entry

    whole = attempt_counts({one.name: one.count for one in workload.pod_sets})
    steps = sum(max(0, one.count - one.minimum) for one in workload.pod_sets)
    if whole.assignment.fits or whole.victims or not steps:
        return whole
    low, high, best = 1, steps, None  # partial admission: the fewest steps that do (F7)
    while low <= high:
        middle = (low + high) // 2
        entry = attempt_counts(flavors.reduced_counts(workload, middle))
        if entry.assignment.fits or entry.victims:
            best, high = entry, middle - 1
        else:
            low = middle + 1
    return best or whole


def nomination_of(snapshot: Snapshot, workload: Workload) -> Entry:
    """Return the nomination of a workload, kept in `snapshot.known`: valid only if the snapshot is as read."""
    if workload.name not in snapshot.known:
        snapshot.known[workload.name] = nominate(snapshot, workload)
    nomination: Entry = snapshot.known[workload.name]
    return nomination


def _is_gated(snapshot: Snapshot, workload: Workload) -> bool:
    """Return whether preemption gates block the workload; they bind only with their feature gate."""
    return workload.gated and snapshot.config.feature_enabled("MultiKueueOrchestratedPreemption", False)


def heads_of_queues(snapshot: Snapshot, earlier: Iterable[str] = ()) -> list[Workload]:
    """Return the head of each queue (C1), without workloads that were tried before in BestEffortFIFO queues."""
    by_queue: dict[str, Workload] = {}
    before = set(earlier)
    for one in snapshot.waiting.values():
        if one.inadmissible or not one.queue or one.name in before:
            continue
        best = by_queue.get(one.queue)
        if best is None or _line_key(one) < _line_key(best):
            by_queue[one.queue] = one
    return list(by_queue.values())


def _line_key(workload: Workload) -> tuple[int, int, str, str]:
    return (-workload.priority, workload.queued, workload.uid, workload.name)


def run(snapshot: Snapshot, workloads: Iterable[Workload] | None = None, *, is_unchanged: bool = True) -> Decided:
    """Decide one cycle about these workloads (default: the heads). known: the snapshot is as it was read."""
    decision = Decided()
    for one in snapshot.waiting.values():
        if one.inadmissible:
            decision.why[one.name], decision.reasons[one.name] = INADMISSIBLE, one.inadmissible
    entries = [
        dataclasses.replace(nomination_of(snapshot, one)) if is_unchanged else nominate(snapshot, one)
        for one in (heads_of_queues(snapshot) if workloads is None else workloads)
        if not one.inadmissible
    ]
    cycle = _Cycle(snapshot, decision)
    for entry in _entries_in_order(snapshot, entries):
        decision.order.append(entry.workload.name)
        decision.assignments[entry.workload.name] = entry.assignment
        cycle.process(entry)
    cycle.undo()
    for one in snapshot.waiting.values():
        decision.why.setdefault(one.name, BEHIND)
    return decision


def outcomes_behind_heads(snapshot: Snapshot, decision: Decided) -> dict[str, str]:
    """Return the outcomes of workloads behind the heads once all queues have been walked after a first cycle (C1).

    A head that does not get in is set aside in a BestEffortFIFO queue. In a StrictFIFO queue, and while it waits for
    its victims, it stays the head. What is admitted counts; victims are still there. At most `MOST_WALKED` are tried.
    """
    later: dict[str, str] = {}
    earlier, blocked_queues = (
        set(decision.order),
        {one.name for one in snapshot.queues.values() if _stops_queue(snapshot, one, decision)},
    )
    with contextlib.ExitStack() as undone:
        latest = decision
        while len(earlier) - len(decision.order) < MOST_WALKED:
            for name, assignment in latest.admitted.items():
                undone.enter_context(_with_admitted(snapshot, snapshot.waiting[name], assignment))
            for name in (name for names in latest.victims.values() for name in names):
                undone.enter_context(_with_marked_victim(snapshot.running[name]))
            line = [one for one in heads_of_queues(snapshot, earlier) if one.queue not in blocked_queues]
            if not line:
                break
            latest = run(snapshot, line, is_unchanged=False)
            earlier |= set(latest.order)
            later |= {name: latest.why[name] for name in latest.order}
            blocked_queues |= {
                snapshot.waiting[name].queue for name in latest.order if _stays_head(snapshot, latest, name)
            }
    return later


def _stops_queue(snapshot: Snapshot, queue: Queue, decision: Decided) -> bool:
    return any(
        _stays_head(snapshot, decision, name) for name in decision.order if snapshot.waiting[name].queue == queue.name
    )


def _stays_head(snapshot: Snapshot, decision: Decided, name: str) -> bool:
    """Return whether a workload stays the head of its queue after a cycle."""
    strict = snapshot.queues[snapshot.waiting[name].queue].strict
    return decision.why[name] == PREEMPTS or (strict and decision.why[name] != STARTS)


@contextlib.contextmanager
def _with_admitted(snapshot: Snapshot, workload: Workload, assignment: Assignment) -> Iterator[None]:
    node, placed = snapshot.queues[workload.queue].node, placements(assignment)
    node.add_usage(assignment.usage)
    snapshot.forest.count_placements(placed)
    try:
        yield
    finally:
        node.add_usage(assignment.usage, -1)
        snapshot.forest.count_placements(placed, -1)


@contextlib.contextmanager
def _with_marked_victim(victim: Workload) -> Iterator[None]:
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
        fits, quota = self._fits_and_quota_fits(entry, entry.victims)
        overlap = any(one.name in self.earlier for one in entry.victims)
        deferred = False
        if overlap and config.feature_enabled("RecomputeAssignmentUponPreemptionTargetsOverlap", True):
            with self.snapshot.without_workloads(self.earlier.values()):
                again = nominate(self.snapshot, entry.workload, _pinned_domains(entry.assignment))
            if not again.assignment.impossible:
                entry.assignment, entry.victims = again.assignment, again.victims
                deferred = again.assignment.fits
                fits, quota = self._fits_and_quota_fits(entry, entry.victims)
                overlap = any(one.name in self.earlier for one in entry.victims)
        elif not fits and quota and config.feature_enabled("TASRecomputeAssignmentWithinSchedulingCycle", True):
            again = nominate(self.snapshot, entry.workload, _pinned_domains(entry.assignment))
            entry.assignment, entry.victims = again.assignment, again.victims
            fits, quota = self._fits_and_quota_fits(entry, entry.victims)
            overlap = any(one.name in self.earlier for one in entry.victims)
        self.made.assignments[name] = entry.assignment
        self.made.why[name] = self._record_outcome(entry, fits, overlap, deferred)
        if entry.assignment.why:
            self.made.reasons[name] = entry.assignment.why

    def _record_outcome(self, entry: Entry, fits: bool, overlap: bool, deferred: bool) -> str:
        assignment, name = entry.assignment, entry.workload.name
        if assignment.impossible:
            return NO_FIT
        if deferred:
            self._add_usage(entry, reserve=False)
            return DEFERRED
        if not assignment.fits and not entry.victims:
            if entry.queue.reclaim != "Any":
                self._add_usage(entry, reserve=True)
            return GATED if _is_gated(self.snapshot, entry.workload) else NO_VICTIMS
        if overlap:
            return OVERLAP
        if not fits:
            return LATER
        if not assignment.fits and assignment.units:
            with self.snapshot.without_workloads([*self.earlier.values(), *entry.victims]):
                placed = self.snapshot.forest.find_placement(assignment.units)
            flavors.write_placement(assignment, placed or {})
        self._add_usage(entry, reserve=False)
        if entry.victims:
            self.earlier |= {one.name: one for one in entry.victims}
            self.made.victims[name] = sorted(one.name for one in entry.victims)
            return PREEMPTS
        self.made.admitted[name] = assignment
        return STARTS

    def _fits_and_quota_fits(self, entry: Entry, own: list[Workload]) -> tuple[bool, bool]:
        """Return whether the entry fits with earlier victims and its own gone, and whether its quota does."""
        with self.snapshot.without_workloads([*self.earlier.values(), *own]):
            quota = self.snapshot.amounts_fit(entry.queue, entry.assignment.usage)
            if not quota or not entry.assignment.units:
                return quota, quota
            if entry.assignment.fits and not own:
                return self._domains_are_free(entry), True
            return self.snapshot.forest.has_placement(entry.assignment.units), True

    def _domains_are_free(self, entry: Entry) -> bool:
        """Return whether the domains that were found are still free."""
        forest, assignment = self.snapshot.forest, entry.assignment
        for flavor, values, each, pods in placements(assignment):
            forest.count_placements([(flavor, values, each, pods)])
        try:
            return not any(
                amount < 0
                for flavor, values, _, _ in placements(assignment)
                for amount in forest.free_amounts(flavor, values).values()
            )
        finally:
            forest.count_placements(placements(assignment), -1)

    def _add_usage(self, entry: Entry, *, reserve: bool) -> None:
        """Count the usage of an entry; `reserve` limits it to what is left of its own quota (C4d)."""
        node, amounts = entry.queue.node, dict(entry.assignment.usage)
        placed = placements(entry.assignment)  # of one that only reserves: on nodes without workloads
        if reserve:
            for fr, amount in amounts.items():
                limit = node.borrowing.get(fr)
                if entry.assignment.height > 0 and limit is None:
                    continue
                most = node.nominal.get(fr, 0) + (limit or 0 if entry.assignment.height > 0 else 0)
                amounts[fr] = max(0, min(amount, most - node.usage_of(fr)))
        node.add_usage(amounts)
        self.snapshot.forest.count_placements(placed)
        self.added.append((node, amounts, placed))

    def undo(self) -> None:
        """Leave the snapshot as it was."""
        for node, amounts, placed in reversed(self.added):
            node.add_usage(amounts, -1)
            self.snapshot.forest.count_placements(placed, -1)


def placements(assignment: Assignment) -> list[Placement]:
    """Return the pods of an assignment by domain."""
    return [
        (unit.flavor, values, unit.each[one.name], pods)
        for unit in assignment.units
        for one in unit.members
        for values, pods in assignment.pod_sets[one.name].domains or []
    ]


def _pinned_domains(assignment: Assignment) -> Pinned:
    return {name: dict(one.flavors) for name, one in assignment.pod_sets.items()}


def _entries_in_order(snapshot: Snapshot, entries: list[Entry]) -> Iterator[Entry]:
    """Yield the entries in the order of processing (C3)."""
    if not snapshot.config.fair:
        priority = snapshot.config.feature_enabled("PrioritySortingWithinCohort", True)
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
        entry = alone or _tournament_winner(snapshot, remaining[0].queue.node.root, remaining)
        remaining.remove(entry)
        yield entry


@contextlib.contextmanager
def _with_counted_usage(entry: Entry) -> Iterator[None]:
    entry.queue.node.add_usage(entry.assignment.usage)
    try:
        yield
    finally:
        entry.queue.node.add_usage(entry.assignment.usage, -1)


def _tournament_winner(snapshot: Snapshot, cohort: Node, remaining: list[Entry]) -> Entry:
    """Return the winner of the tournament under a cohort (C3)."""
    among: list[tuple[Node, Entry]] = []
    for child in cohort.children:
        if child.is_queue:
            among += [(child, one) for one in remaining if one.queue.node is child]
        elif any(one.queue.node in set(child.all_below()) for one in remaining):
            among.append((child, _tournament_winner(snapshot, child, remaining)))
    first = snapshot.config.feature_enabled("FairSharingPrioritizeNonBorrowing", True)

    def tournament_key(one: tuple[Node, Entry]) -> tuple[object, ...]:
        child, entry = one
        with _with_counted_usage(entry):
            borrows = first and not all(child.stays_within(fr) for fr in entry.assignment.usage)
            share = child.dominant_share()
        return (borrows, share, -entry.workload.priority, entry.workload.queued, entry.workload.name)

    return min(among, key=tournament_key)[1]
