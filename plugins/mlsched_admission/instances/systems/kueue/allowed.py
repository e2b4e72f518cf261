"""Fair sharing as an exact question: the victim sets that some order of evictions allows (section 3.1).

A set V is allowed for a preemptor in ClusterQueue a if own victims satisfy withinClusterQueue and others
reclaimWithinCohort, their queue exceeding nominal in a contested pair (1); with V gone the request fits (2); each other
queue that loses, and each cohort above it up to B, is above its subtree quota with at least one of its own victims put
back (3); and for each such B with its A, after V, one of (w), (f) and (i) is true (4).
"""

from __future__ import annotations

from collections.abc import Collection

from mlsched_admission.instances.systems.kueue import fair
from mlsched_admission.instances.systems.kueue.requests import Unit
from mlsched_admission.instances.systems.kueue.snapshot import Queue, Snapshot, Workload
from mlsched_admission.instances.systems.kueue.tree import Amounts, FlavorResource, Node


class Allowed:
    """The allowed sets of one preemptor with its flavors."""

    def __init__(
        self,
        snapshot: Snapshot,
        workload: Workload,
        amounts: Amounts,
        contested: frozenset[FlavorResource],
        units: list[Unit],
    ) -> None:
        self.snapshot, self.workload, self.amounts, self.contested = snapshot, workload, amounts, contested
        self.queue, self.units = snapshot.queues[workload.queue], units
        self.candidates = fair.fair_candidates(snapshot, workload, contested)

    def why_forbidden(self, victims: Collection[Workload]) -> str:
        """Return why a set is not allowed; empty if it is."""
        able = set(self.candidates)
        for one in victims:
            if one not in able:
                return f"{one.name} is no candidate: its queue's policy, priority or share protects it"
        with self.snapshot.without_workloads(victims):
            if not self.snapshot.amounts_fit(self.queue, self.amounts):
                return "the request does not fit its quota with them gone"
            if self.units and not self.snapshot.forest.has_placement(self.units):
                return "the request finds no placement with them gone"
            self.queue.node.add_usage(self.amounts)
            try:
                return self._violated_condition(victims)
            finally:
                self.queue.node.add_usage(self.amounts, -1)

    def fits_without(self, victims: Collection[Workload]) -> bool:
        """Return whether the request fits with a set gone."""
        with self.snapshot.without_workloads(victims):
            placed = not self.units or self.snapshot.forest.has_placement(self.units)
            return self.snapshot.amounts_fit(self.queue, self.amounts) and placed

    def _violated_condition(self, victims: Collection[Workload]) -> str:
        """Return which of (3) and (4) fails; the victims are gone and the preemptor's usage counts."""
        by_queue: dict[Queue, list[Workload]] = {}
        for one in victims:
            if one.queue != self.queue.name:
                by_queue.setdefault(self.snapshot.queues[one.queue], []).append(one)
        by_side: dict[Node, tuple[Node, list[Workload]]] = {}
        for queue, leaving in by_queue.items():
            mine, theirs = fair.sides_below_cohort(self.queue, queue)
            by_side.setdefault(theirs, (mine, []))[1].extend(leaving)
        for theirs, (mine, leaving) in by_side.items():
            if name := self._not_borrowing(theirs, leaving):
                return f"{name} does not borrow even with its last victim put back"
            if not self._shares_allow(mine, theirs, leaving):
                return f"the share of {theirs.name} is not above that of {mine.name}"
        return ""

    def _not_borrowing(self, top: Node, leaving: list[Workload]) -> str:
        """Return a node up to `top` that loses and is within quota whichever of its victims is put back (3)."""
        nodes: dict[Node, list[Workload]] = {}
        for one in leaving:
            for node in self.snapshot.queues[one.queue].node.path_to_root():
                nodes.setdefault(node, []).append(one)
                if node is top:
                    break
        for node, own in nodes.items():
            if not any(self._with_back(one, node.borrows_any) for one in own):
                return node.name
        return ""

    def _with_back(self, one: Workload, test: object) -> bool:
        node = self.snapshot.queues[one.queue].node
        node.add_usage(one.usage)
        try:
            return bool(test())  # type: ignore[operator]
        finally:
            node.add_usage(one.usage, -1)

    def _shares_allow(self, mine: Node, theirs: Node, leaving: list[Workload]) -> bool:
        """Return whether (w), (f) or (i) is true for the sides `mine` and `theirs` after the victims have left (4)."""
        config = self.snapshot.config
        if config.feature_enabled("FairSharingPreemptWithinNominal", True) and self.queue.node.within_all(
            self.contested
        ):
            return True
        share = mine.dominant_share()
        if config.strategies[0] == fair.FINAL and share <= theirs.dominant_share():
            return True
        return fair.INITIAL in config.strategies and any(
            self._with_back(one, lambda: share < theirs.dominant_share()) for one in leaving
        )
