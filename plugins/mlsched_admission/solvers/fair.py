"""The verdict on a decision under Kueue's fair sharing: compared with all allowed victim sets (section 3.1).

Sets are enumerated by size, up to `MOST` of them. Beyond that the verdict is unknown unless a set dominates already, or
all sets that could dominate were examined.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from typing import Any

from mlsched.core.errors import SolverError
from mlsched.core.fields import ints
from mlsched_admission.instances import Instance, Plan, judge
from mlsched_admission.instances.systems.kueue import cycle, preemption
from mlsched_admission.instances.systems.kueue.allowed import Allowed
from mlsched_admission.instances.systems.kueue.snapshot import Snapshot, Workload
from mlsched_admission.solvers._names import names_in_words, not_evictable
from mlsched_admission.solvers._questions import Asked, after_evictions, lift_plan
from mlsched_admission.solvers._verdict import Kind, Point, Verdict

#: Most victim sets to examine.
MOST = 40_000
OBJECTIVES = ("victims", "lost")
ENUMERATED = "enumerated: all victim sets that fair sharing allows in some order"


def fair_verdict(snapshot: Snapshot, instance: Instance, evict: Collection[int], starts: bool | None) -> Verdict:
    """Judge victims of the only job of an instance whose state has fair sharing."""
    return _Question(snapshot, instance, tuple(sorted(evict)), bool(evict) if starts is None else starts).verdict()


class _Question:
    def __init__(self, snapshot: Snapshot, instance: Instance, evict: tuple[int, ...], starts: bool) -> None:
        self.snapshot, self.instance, self.evict, self.starts = snapshot, instance, evict, starts
        self.workload = snapshot.waiting[instance.job_names[0]]
        assignment = cycle.nomination_of(snapshot, self.workload).assignment
        self.impossible = assignment.impossible
        contested = assignment.contested or frozenset(assignment.usage)
        self.allowed = Allowed(snapshot, self.workload, assignment.usage, contested, assignment.units)
        self.unit = {name: u for u, name in enumerate(instance.unit_names)}
        self.values = self._values_of_set(evict)
        self.looked = 0

    def verdict(self) -> Verdict:
        """Return the first kind that applies; the front is that of the examined sets."""
        victims = [self.snapshot.running[self.instance.unit_names[u]] for u in self.evict]
        front, complete = self._undominated_points()
        if not self.starts:
            if front:
                names = self._names_of_units(front[0].plan.evict.nonzero()[0])
                sentence = f"{self.workload.name} can start by evicting {names}"
                return self._verdict_of_kind("dominated", f"dominated: {sentence}", front, complete, witness=front[0])
            if not complete:
                return self._verdict_of_kind(
                    "unknown", "more victim sets are possible than are looked at", front, complete
                )
            return self._verdict_of_kind(
                "on the front", "on the front: nothing can start", front, complete, starts=True
            )
        if faults := self._ineligible(victims):
            sentence = not_evictable(self.instance.unit_names, faults)
            rules = "by the rules of the queue"
            return self._verdict_of_kind("ineligible", sentence, front, complete, ineligible=faults, proof=rules)
        if why := self.allowed.why_forbidden(victims):
            fits = self.allowed.fits_without(victims)
            sentence = f"kept by the put-back step, or not allowed in any order: {why}"
            return self._verdict_of_kind(
                "unknown" if fits else "does not start", sentence if fits else why, front, complete
            )
        for point in front:
            if self._dominates(point):
                cost = ", ".join(f"{point.values[name]} instead of {self.values[name]} {name}" for name in OBJECTIVES)
                who = self._names_of_units(point.plan.evict.nonzero()[0])
                return self._verdict_of_kind(
                    "dominated", f"dominated: evicting {who} costs {cost}", front, complete, witness=point
                )
        if not complete and not self._all_examined():
            return self._verdict_of_kind("unknown", "more victim sets are possible than are looked at", front, complete)
        sentence = "on the front: no allowed set is better in victims and lost"
        return self._verdict_of_kind("on the front", sentence, front, complete, starts=True)

    def _verdict_of_kind(self, kind: Kind, sentence: str, front: list[Point], complete: bool, **fields: Any) -> Verdict:
        fields.setdefault("proof", ENUMERATED if complete else "")
        return Verdict(
            kind=kind,
            sentence=sentence,
            jobs=(0,) if self.starts else (),
            evict=self.evict,
            values=self.values,
            objectives=OBJECTIVES,
            front=tuple(front),
            complete=complete,
            asked=(0,),
            first=("top_priority",),
            **fields,
        )

    def _ineligible(self, victims: list[Workload]) -> tuple[tuple[int, str], ...]:
        """Return victims that every policy protects from the job, whatever the shares."""
        queue, snapshot = self.allowed.queue, self.snapshot
        faults = []
        for one in victims:
            own = one.queue == queue.name
            policy = queue.within if own else queue.reclaim
            other = snapshot.queues[one.queue].node.root is not queue.node.root
            if other or not preemption.policy_allows(policy, self.workload, one):
                key = "withinClusterQueue" if own else "reclaimWithinCohort"
                why = "it is of another cohort" if other else f"{key} is {policy}"
                faults.append((self.unit[one.name], why))
        return tuple(faults)

    def _names_of_units(self, units: Collection[int]) -> str:
        return names_in_words("unit", self.instance.unit_names, sorted(int(u) for u in units))

    def _values_of_set(self, evict: Collection[int]) -> dict[str, int]:
        return judge.base_values(self.instance, self._plan_of_set(evict))

    def _plan_of_set(self, evict: Collection[int]) -> Plan:
        leaving = set(evict)
        flags = ints(int(u in leaving) for u in range(len(self.instance.unit_group)))
        empty = self.instance.shape_nodes * 0
        return Plan(start=ints([1]), place=empty, evict=flags, move=ints(-1 for _ in self.instance.pod_node))

    def _dominates(self, point: Point) -> bool:
        """Return whether a set has a lower top priority, or the same and at least equal values, one of them better."""
        top, mine = point.values["top_priority"], self.values["top_priority"]
        if top != mine:
            return top < mine
        pairs = [(point.values[name], self.values[name]) for name in OBJECTIVES]
        return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)

    def _undominated_points(self) -> tuple[list[Point], bool]:
        """Return the undominated points of allowed sets, lowest priority first, and whether all sets were seen."""
        if self.impossible:
            return [], True
        points: dict[tuple[int, ...], tuple[int, ...]] = {}
        examined = 0
        for examined, subset in enumerate(self._subsets_by_size(self.allowed.candidates), 1):
            if examined > MOST:
                break
            self.looked = len(subset)  # all smaller sets have been examined
            units = tuple(sorted(self.unit[one.name] for one in subset if one.name in self.unit))
            if len(units) < len(subset):
                continue
            values = self._values_of_set(units)
            key = (values["top_priority"], *(values[name] for name in OBJECTIVES))
            beaten = any(k[0] < key[0] or (k[0] == key[0] and _is_no_worse(k[1:], key[1:])) for k in points)
            if beaten or self.allowed.why_forbidden(subset):
                continue
            points = {
                k: v
                for k, v in points.items()
                if not (key[0] < k[0] or (key[0] == k[0] and _is_no_worse(key[1:], k[1:])))
            }
            points[key] = units
        return [self._point_of_set(units) for _, units in sorted(points.items())], examined <= MOST

    def _all_examined(self) -> bool:
        """Return whether all sets that could dominate were examined: those of at most this size, and of lower
        priorities.
        """
        if self.looked <= len(self.evict):
            return False
        highest = max(self.snapshot.running[self.instance.unit_names[u]].priority for u in self.evict)
        lower = [one for one in self.allowed.candidates if one.priority < highest]
        return 2 ** len(lower) <= MOST and all(
            self.allowed.why_forbidden(subset) for subset in self._subsets_by_size(lower)
        )

    @staticmethod
    def _subsets_by_size(line: list[Workload]) -> Iterator[tuple[Workload, ...]]:
        for size in range(len(line) + 1):
            yield from itertools.combinations(line, size)

    def _point_of_set(self, units: Collection[int]) -> Point:
        """Return a set with places for the job's pods, if it needs some."""
        plan = self._plan_of_set(units)
        if len(self.instance.shape_job):
            best = Asked(None, 0).best_plan(after_evictions(self.instance, sorted(units)), "victims")
            if best.plan is None:
                raise SolverError("places are missing for a victim set that Kueue's placement accepts")
            plan = lift_plan(self.instance, [0], best.plan).replace(evict=plan.evict)
        return Point(self._values_of_set(units), plan)


def _is_no_worse(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(x <= y for x, y in zip(a, b, strict=True))
