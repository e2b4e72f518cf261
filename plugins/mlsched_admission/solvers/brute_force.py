"""Admission by enumeration: every set of starting jobs, of victims and of moved units, and every placement.

Units that are equal for all rules and objectives are enumerated by their number. A branch ends if it costs at least as
much as the best plan so far, or if some shape could not be placed even after all undecided units left.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.errors import TooLarge
from mlsched.core.fields import IntArray, ints
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.registry import exact_algorithm
from mlsched_admission.instances import Instance, Plan, judge, judge_quotas

#: Most branches of a run: about 5 s.
MOST_BRANCHES = 400_000
#: Most jobs, whose subsets are enumerated.
MOST_JOBS = 12
Rooms = list[list[int]]


@exact_algorithm("brute-force", problem="admission", objectives=tuple(o.name for o in Instance.objectives))
def answer(instance: Instance, *, objective: str, limits: Limits, hint: Plan | None = None) -> Outcome:
    """Examine every plan; instances of some 400,000 branches (about 5 s)."""
    search = _Search(instance, objective, Deadline(limits.seconds))
    plan = search.best_plan()
    return Outcome("optimal", plan, instance.evaluate(plan)[objective], work={"branches": search.branches})


class _Search:
    def __init__(self, instance: Instance, objective: str, deadline: Deadline) -> None:
        self.instance, self.objective, self.deadline = instance, objective, deadline
        self.branches = 0
        self.demand = instance.shape_demand.tolist()
        self.pods: dict[int, list[int]] = defaultdict(list)
        for p, u in enumerate(instance.pod_unit.tolist()):
            self.pods[u].append(p)

    def best_plan(self) -> Plan:
        """Return the plan of the least waiting rank, then of the least base value."""
        instance, jobs = self.instance, len(self.instance.job_priority)
        if jobs > MOST_JOBS:
            raise TooLarge(f"brute-force: {jobs} waiting jobs are more than {MOST_JOBS}: use cp-sat or highs")
        weights = instance.waiting_weight.tolist()
        rank: dict[int, list[tuple[int, ...]]] = defaultdict(list)
        for flags in itertools.product((1, 0), repeat=jobs):
            rank[sum(w for w, s in zip(weights, flags, strict=True) if not s)].append(flags)
        for _, sets in sorted(rank.items()):
            best: tuple[int, Plan] | None = None
            for flags in sets:
                best = self._best_with_starts(flags, best)
            if best is not None:
                return best[1]
        raise AssertionError("the plan without starts and victims is always feasible")

    def _best_with_starts(self, flags: tuple[int, ...], best: tuple[int, Plan] | None) -> tuple[int, Plan] | None:
        """Return the best plan in which exactly these jobs start, or `best`."""
        instance = self.instance
        starters = [j for j, flag in enumerate(flags) if flag]
        able = np.asarray((instance.may[starters] > 0).any(axis=0)).tolist()
        kinds = [(us, able[us[0]], bool(instance.unit_movable[us[0]])) for us in self._classes_of_units()]
        kinds = [kind for kind in kinds if kind[1] or kind[2]]
        if not starters:
            kinds = []  # a move without a start does not change costs
        shapes = [k for k, j in enumerate(instance.shape_job.tolist()) if flags[j]]
        stack: list[tuple[int, list[int], list[int]]] = [(0, [], [])]
        while stack:
            depth, evicted, movers = stack.pop()
            self._count_branch()
            if best is not None and self._least_cost(evicted, movers) >= best[0]:
                continue
            undecided = [u for us, _, _ in kinds[depth:] for u in us]
            if not self._could_fit(shapes, [*evicted, *movers, *undecided]):
                continue
            if depth < len(kinds):
                us, evictable, movable = kinds[depth]
                for leaving_count in range(len(us) * evictable + 1):
                    for away in range((len(us) - leaving_count) * movable + 1):
                        stack.append(
                            (
                                depth + 1,
                                [*evicted, *us[:leaving_count]],
                                [*movers, *us[leaving_count : leaving_count + away]],
                            )
                        )
                continue
            value = judge.BASES[instance.objective(self.objective)](instance, evicted, movers)
            if (best is None or value < best[0]) and self._obeys_rules(starters, evicted):
                plan = self._placed_plan(flags, shapes, evicted, movers)
                best = best if plan is None else (value, plan)
        return best

    def _count_branch(self) -> None:
        self.branches += 1
        if self.branches % 256 == 0:
            self.deadline.check()
        if self.branches > MOST_BRANCHES:
            raise TooLarge(f"brute-force: there are more than {MOST_BRANCHES} branches: use cp-sat or highs")

    def _classes_of_units(self) -> list[list[int]]:
        """Return classes of equal units: same pods on the same nodes, same columns, equal gangs."""
        instance = self.instance
        sizes = Counter(instance.unit_group.tolist())
        classes: dict[object, list[int]] = defaultdict(list)
        for u, group in enumerate(instance.unit_group.tolist()):
            pods = sorted(
                (
                    int(instance.pod_node[p]),
                    tuple(instance.pod_demand[p].tolist()),
                    int(instance.pod_set[p]),
                    tuple(instance.pod_budget[:, p].tolist()),
                )
                for p in self.pods[u]
            )
            gang = ("alone", int(instance.group_min[group])) if sizes[group] == 1 else ("in", group)
            numbers = [
                getattr(instance, f"unit_{name}")[u].tolist()
                for name in ("priority", "lost", "grace", "movable", "level", "queue", "use")
            ]
            columns = (instance.may[:, u].tolist(), instance.limit_unit[:, u].tolist())
            classes[repr((pods, gang, numbers, columns))].append(u)
        return list(classes.values())

    def _least_cost(self, evicted: list[int], movers: list[int]) -> int:
        """Return the least cost of a plan that evicts and moves these."""
        return judge.BASES[self.instance.objective(self.objective)](self.instance, evicted, movers)

    def _rooms_after(self, leaving: list[int]) -> Rooms:
        room: Rooms = (self.instance.node_free + self.instance.node_draining).tolist()
        for u in leaving:
            for p in self.pods[u]:
                here = room[int(self.instance.pod_node[p])]
                for r, amount in enumerate(self.instance.pod_demand[p].tolist()):
                    here[r] += amount
        return room

    def _could_fit(self, shapes: list[int], leaving: list[int]) -> bool:
        """Return whether each shape by itself would fit, apart from domains and all other rules."""
        room = self._rooms_after(leaving) if shapes else []
        for k in shapes:
            needed = int(self.instance.shape_count[k])
            for n, there in enumerate(room):
                if needed > 0 and self.instance.shape_nodes[k, n]:
                    fits = min((a // d for a, d in zip(there, self.demand[k], strict=True) if d), default=needed)
                    needed -= max(0, fits)
            if needed > 0:
                return False
        return True

    def _obeys_rules(self, starters: list[int], evicted: list[int]) -> bool:
        """Check rules 5 to 9."""
        if judge.ineligible(self.instance, starters, evicted) or judge_quotas.over_quota(
            self.instance, starters, evicted
        ):
            return False
        return not list(judge.over_limit(self.instance, starters, evicted))

    def _placed_plan(
        self, flags: tuple[int, ...], shapes: list[int], evicted: list[int], movers: list[int]
    ) -> Plan | None:
        """Return the plan with nodes for the arrivals; None if they do not fit."""
        instance, room = self.instance, self._rooms_after([*evicted, *movers])
        move = [-1] * len(instance.pod_node)
        place = np.zeros(instance.shape_nodes.shape, dtype=np.int64)
        for _ in self._enumerate_moves([p for u in movers for p in self.pods[u]], room, move):
            if not all(self._obeys_level(u, move) for u in movers):
                continue
            for _ in self._enumerate_places(shapes, room, place):
                if not self._groups_together(place):
                    continue
                evict = np.isin(np.arange(len(instance.unit_group)), evicted).astype(np.int64)
                return Plan(start=ints(flags), place=place, evict=evict, move=ints(move))
        return None

    def _enumerate_moves(self, pods: list[int], room: Rooms, move: list[int], before: int = -1) -> Iterator[None]:
        """Enumerate the moves of these pods, equal ones in order; `room` and `move` follow each one."""
        if not pods:
            yield
            return
        p, others = pods[0], pods[1:]
        first = max(0, move[before]) if before >= 0 and self._kind_of_pod(before) == self._kind_of_pod(p) else 0
        node_set, demand = int(self.instance.pod_set[p]), self.instance.pod_demand[p].tolist()
        for n, there in enumerate(room[first:], first):
            self._count_branch()
            if (node_set < 0 or self.instance.node_sets[node_set, n]) and all(
                d <= a or not d for d, a in zip(demand, there, strict=True)
            ):
                room[n], move[p] = [a - d for a, d in zip(there, demand, strict=True)], n
                yield from self._enumerate_moves(others, room, move, p)
                room[n], move[p] = there, -1

    def _obeys_level(self, u: int, move: list[int]) -> bool:
        """Return whether a moved unit obeys its level (rule 3)."""
        return self._in_one_domain(int(self.instance.unit_level[u]), {move[p] for p in self.pods[u]})

    def _groups_together(self, place: IntArray) -> bool:
        """Return whether each group of shapes is in one domain (rule 2)."""
        for group, level in enumerate(self.instance.shape_group_level.tolist()):
            nodes = np.flatnonzero(place[self.instance.shape_group == group].sum(axis=0)).tolist()
            if not self._in_one_domain(level, set(nodes)):
                return False
        return True

    def _in_one_domain(self, level: int, nodes: set[int]) -> bool:
        domains = {int(self.instance.node_domain[level, n]) for n in nodes} if level >= 0 else set()
        return len(domains) <= 1 and -1 not in domains

    def _kind_of_pod(self, p: int) -> tuple[list[int], int]:
        return self.instance.pod_demand[p].tolist(), int(self.instance.pod_set[p])

    def _enumerate_places(self, shapes: list[int], room: Rooms, place: IntArray) -> Iterator[None]:
        """Enumerate the placements of these shapes."""
        if not shapes:
            yield
            return
        for _ in self._place_shape_from(shapes[0], int(self.instance.shape_count[shapes[0]]), 0, room, place):
            if self._has_whole_slices(shapes[0], place):
                yield from self._enumerate_places(shapes[1:], room, place)

    def _place_shape_from(self, k: int, needed: int, n: int, room: Rooms, place: IntArray) -> Iterator[None]:
        """Enumerate the placements of `needed` pods of a shape on node n and later nodes."""
        if needed == 0:
            yield
            return
        if n == len(room):
            return
        there, demand = room[n], self.demand[k]
        after = sum(self._fitting_pods(k, m, room) for m in range(n + 1, len(room)))
        for count in range(min(self._fitting_pods(k, n, room), needed), max(0, needed - after) - 1, -1):
            self._count_branch()
            room[n], place[k, n] = [a - count * d for a, d in zip(there, demand, strict=True)], count
            yield from self._place_shape_from(k, needed - count, n + 1, room, place)
        room[n], place[k, n] = there, 0

    def _fitting_pods(self, k: int, n: int, room: Rooms) -> int:
        """Return the number of pods of a shape that fit on a node."""
        count = int(self.instance.shape_count[k])
        fit = min((a // d for a, d in zip(room[n], self.demand[k], strict=True) if d), default=count)
        return max(0, min(fit, int(self.instance.shape_spread[k]) or count)) * int(self.instance.shape_nodes[k, n])

    def _has_whole_slices(self, k: int, place: IntArray) -> bool:
        """Check rule 2: complete slices in each domain."""
        level = int(self.instance.shape_level[k])
        if level < 0:
            return True
        size = int(self.instance.shape_slice[k]) or int(self.instance.shape_count[k])
        inside: dict[int, int] = defaultdict(int)
        for n in np.flatnonzero(place[k]).tolist():
            inside[int(self.instance.node_domain[level, n])] += int(place[k, n])
        return all(domain >= 0 and count % size == 0 for domain, count in inside.items())
