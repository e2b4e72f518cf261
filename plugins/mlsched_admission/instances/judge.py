"""The judge of the admission problem, written only from the statement.

1. A job starts or waits. A starting job places all pods of all its shapes; a waiting job places zero pods.
2. A pod of a shape runs on a node that the shape may use. `shape_spread` limits its pods on one node. With a required
   level, the pods in each domain of that level are complete slices, and nodes without a domain stay empty of them. All
   pods of a group of shapes run in one domain of the group's level.
3. A unit is evicted, or moved, or neither. Only movable units are moved, with all their pods, each to a node of its
   set. A moved unit with a level has all its pods in one domain of that level.
4. On every node with arriving pods, and for every resource that they request: demand of the arrivals <= free + draining
   + demand of the pods there whose units are evicted or moved. Free is negative on an over-committed node.
5. A unit is evicted only if a job starts that may evict it; by `may` = 2 only if that job ends without borrowing: with
   the plan, its queue uses at most its subtree quota of every flavor that the job uses.
6. A gang is lost completely: all its units are evicted, or at least `group_min` of its pods stay (or are moved). A unit
   without pods counts as one.
7. For every limit that a starting job uses: use of the starting jobs <= left + use of the evicted units.
8. and 9. Quotas, see `judge_quotas.py`.
10. Objectives: base + D * waiting rank, D = 1 + the largest possible base value. The waiting rank is the sum of
    `waiting_weight` over the waiting jobs: any job counts more than all jobs of lower priority together.

Plain loops over Python integers: independent of the models and heuristics that it judges.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mlsched.core.contract import Objective
from mlsched.core.errors import InvalidInput, with_article
from mlsched_admission.instances import judge_quotas

if TYPE_CHECKING:
    from mlsched_admission.instances.instance import Instance, Plan


def _victim_count(instance: Instance, evicted: Sequence[int], moved: Sequence[int]) -> int:
    """Count evicted units; a gang counts by its pods, so that losing one is not better than shrinking two."""
    return len(evicted)


def _lost_work(instance: Instance, evicted: Sequence[int], moved: Sequence[int]) -> int:
    return sum(int(instance.unit_lost[u]) for u in evicted)


def _top_priority(instance: Instance, evicted: Sequence[int], moved: Sequence[int]) -> int:
    """Return 1 for the lowest priority of a running unit, 2 for the next, ...; 0 without evictions."""
    priorities = instance.unit_priority.tolist()
    levels = {priority: level for level, priority in enumerate(sorted(set(priorities)), start=1)}
    return max((levels[priorities[u]] for u in evicted), default=0)


def _budget_violations(instance: Instance, evicted: Sequence[int], moved: Sequence[int]) -> int:
    disturbed = {*evicted, *moved}
    pods = [p for p, u in enumerate(instance.pod_unit.tolist()) if u in disturbed]
    over = 0
    for budget, remaining in zip(instance.pod_budget, instance.budget_left.tolist(), strict=True):
        over += max(0, sum(int(budget[p]) for p in pods) - remaining)
    return over


def _move_count(instance: Instance, evicted: Sequence[int], moved: Sequence[int]) -> int:
    return len(moved)


def _longest_grace(instance: Instance, evicted: Sequence[int], moved: Sequence[int]) -> int:
    return max((int(instance.unit_grace[u]) for u in evicted), default=0)


Base = Callable[["Instance", Sequence[int], Sequence[int]], int]
#: Each objective, and the base value of evicting some units and moving others.
BASES: dict[Objective, Base] = {
    Objective("victims", "min", "victims", "evicted units; a gang counts by its pods"): _victim_count,
    Objective("lost", "min", "GPU-s", "work that the evicted units lose"): _lost_work,
    Objective("top_priority", "min", "levels", "place of the highest evicted priority, 1 the lowest; 0: none"): (
        _top_priority
    ),
    Objective(
        "budget_violations", "min", "pods", "pods evicted or moved beyond what budgets allow"
    ): _budget_violations,
    Objective("moves", "min", "units", "units that are moved to other nodes"): _move_count,
    Objective("grace", "min", "s", "longest grace period of an evicted unit"): _longest_grace,
}


def largest_values(instance: Instance) -> dict[str, int]:
    """Return objective name -> the base value of evicting and moving all possible units, an upper limit."""
    may = instance.may.tolist()
    able = [u for u in range(len(instance.unit_group)) if any(row[u] for row in may)]
    movable = [u for u, can in enumerate(instance.unit_movable.tolist()) if can]
    return {objective.name: base(instance, able, movable) for objective, base in BASES.items()}


def evaluate(instance: Instance, plan: Plan) -> dict[str, int]:
    """Return objective name -> value. `plan` must be well-formed; `violations` checks its feasibility."""
    if wrong := malformed(instance, plan):
        raise InvalidInput(f"the plan cannot be evaluated: {wrong[0]}")
    rank, evicted, moved = waiting_rank(instance, plan), _indices_of_ones(plan.evict), _moved_units(instance, plan)
    largest = largest_values(instance)
    return {
        objective.name: base(instance, evicted, moved) + (1 + largest[objective.name]) * rank
        for objective, base in BASES.items()
    }


def waiting_rank(instance: Instance, plan: Plan) -> int:
    """Return the waiting rank (rule 10)."""
    weights = instance.waiting_weight.tolist()
    return sum(weight for weight, starts in zip(weights, plan.start.tolist(), strict=True) if not starts)


def base_values(instance: Instance, plan: Plan) -> dict[str, int]:
    """Return objective name -> base value: the plan's cost, without the waiting jobs."""
    evicted, moved = _indices_of_ones(plan.evict), _moved_units(instance, plan)
    return {objective.name: base(instance, evicted, moved) for objective, base in BASES.items()}


def violations(instance: Instance, plan: Any) -> list[str]:
    """Return the errors of `plan` as sentences; empty if it is feasible."""
    if not isinstance(plan, instance.plan_type):
        return [f"the answer is {with_article(type(plan).__name__)}, expected {with_article(instance.plan_type.kind)}"]
    answer: Any = plan
    if wrong := malformed(instance, answer):
        return wrong
    started, evicted = _indices_of_ones(answer.start), _indices_of_ones(answer.evict)
    return [
        *_misplaced(instance, answer),
        *_wrongly_moved(instance, answer),
        *_overfull_nodes(instance, answer),
        *(sentence for _, sentence in ineligible(instance, started, evicted)),
        *over_limit(instance, started, evicted),
        *judge_quotas.over_quota(instance, started, evicted),
    ]


def malformed(instance: Instance, plan: Any) -> list[str]:
    """Return the errors of a malformed `plan` as sentences: wrong lengths, unknown nodes."""
    faults = []
    for name, size, what in (
        ("start", len(instance.job_priority), "job"),
        ("evict", len(instance.unit_group), "unit"),
        ("move", len(instance.pod_node), "pod"),
    ):
        if (length := len(getattr(plan, name))) != size:
            faults.append(f"{name} has {length} entries, expected {size}, one for each {what}")
    shapes, node_count = instance.shape_nodes.shape
    if plan.place.shape != (shapes, node_count) and (plan.place.size or shapes * node_count):
        faults.append(
            f"place is {'x'.join(map(str, plan.place.shape))}, expected {shapes}x{node_count}, shapes x nodes"
        )
    nodes = len(instance.node_free)
    faults += [
        f"pod {p} is moved to node {n}: there are {nodes}" for p, n in enumerate(plan.move.tolist()) if n >= nodes
    ]
    return faults


def _indices_of_ones(flags: Any) -> list[int]:
    return [i for i, flag in enumerate(flags.tolist()) if flag]


def _moved_units(instance: Instance, plan: Plan) -> list[int]:
    return sorted(set(instance.pod_unit[plan.move >= 0].tolist()))


def _misplaced(instance: Instance, plan: Plan) -> Iterator[str]:
    """Yield the errors of rules 1 and 2."""
    for k, job in enumerate(instance.shape_job.tolist()):
        placed = _placed_pods(plan, k)
        count, starts = int(instance.shape_count[k]), int(plan.start[job])
        if (total := sum(placed.values())) != count * starts:
            fate = "starts" if starts else "waits"
            yield f"shape {k}: {total} pods are placed, expected {count * starts} (job {job} {fate})"
        yield from (f"shape {k} may not run on node {n}" for n in placed if not int(instance.shape_nodes[k, n]))
        spread = int(instance.shape_spread[k])
        yield from (
            f"shape {k}: {c} pods on node {n}, expected at most {spread}"
            for n, c in placed.items()
            if spread and c > spread
        )
        if (level := int(instance.shape_level[k])) >= 0:
            yield from _domain_violations(instance, k, level, int(instance.shape_slice[k]) or count, placed)
    for group, level in enumerate(instance.shape_group_level.tolist()):
        shapes = [k for k, g in enumerate(instance.shape_group.tolist()) if g == group]
        nodes = {n for k in shapes for n in _placed_pods(plan, k)}
        yield from _not_one_domain(instance, f"group {group} of shapes", level, nodes)


def _not_one_domain(instance: Instance, who: str, level: int, nodes: set[int]) -> Iterator[str]:
    """Yield a sentence unless all these nodes are in one domain of the level."""
    domains = {int(instance.node_domain[level, n]) for n in nodes}
    if -1 in domains:
        yield f"{who} has pods on a node that is in no domain of level {level}"
    elif len(domains) > 1:
        yield f"{who} has pods in {len(domains)} domains of level {level}, expected one"


def _placed_pods(plan: Plan, k: int) -> dict[int, int]:
    """Return the number of starting pods of a shape on each node with some."""
    nodes = plan.place[k].nonzero()[0].tolist() if plan.place.size else []
    return {n: int(plan.place[k, n]) for n in nodes}


def _domain_violations(instance: Instance, k: int, level: int, size: int, placed: dict[int, int]) -> Iterator[str]:
    """Yield pods of shape k outside all domains of a level, and domains with incomplete slices of `size` pods."""
    inside: dict[int, int] = defaultdict(int)
    for n, count in placed.items():
        domain = int(instance.node_domain[level, n])
        if domain < 0:
            yield f"shape {k} runs on node {n}, which is in no domain of level {level}"
        inside[domain] += count
    for domain, count in sorted(inside.items()):
        if count % size:
            yield f"shape {k}: {count} pods in domain {domain} of level {level}, expected whole slices of {size}"


def _wrongly_moved(instance: Instance, plan: Plan) -> Iterator[str]:
    """Yield the errors of rule 3."""
    moved_units = _moved_units(instance, plan)
    if not moved_units:
        return
    for u in moved_units:
        if not int(instance.unit_movable[u]):
            yield f"unit {u} is moved: it may not be"
        if int(plan.evict[u]):
            yield f"unit {u} is both evicted and moved"
        if (level := int(instance.unit_level[u])) >= 0:
            to = {n for v, n in zip(instance.pod_unit.tolist(), plan.move.tolist(), strict=True) if v == u and n >= 0}
            yield from _not_one_domain(instance, f"the moved unit {u}", level, to)
    for p, (u, n) in enumerate(zip(instance.pod_unit.tolist(), plan.move.tolist(), strict=True)):
        if u in moved_units and n < 0:
            yield f"pod {p} of the moved unit {u} goes nowhere"
        node_set = int(instance.pod_set[p])
        if n >= 0 and node_set >= 0 and not int(instance.node_sets[node_set, n]):
            yield f"pod {p} may not run on node {n}"


def _overfull_nodes(instance: Instance, plan: Plan) -> Iterator[str]:
    """Yield the errors of rule 4."""
    moved_units, hosts = set(_moved_units(instance, plan)), set(plan.move.tolist()) - {-1}
    leaving = moved_units | set(_indices_of_ones(plan.evict))
    coming: dict[int, list[tuple[int, list[int]]]] = defaultdict(list)
    for k in range(len(plan.place)):
        for n, count in _placed_pods(plan, k).items():
            coming[n].append((count, instance.shape_demand[k].tolist()))
    for p, n in enumerate(plan.move.tolist()):
        if n in hosts:
            coming[n].append((1, instance.pod_demand[p].tolist()))
    released: dict[int, list[int]] = defaultdict(lambda: [0] * len(instance.resources))
    for p, (n, u) in enumerate(zip(instance.pod_node.tolist(), instance.pod_unit.tolist(), strict=True)):
        if u in leaving and n in coming:
            released[n] = [a + int(b) for a, b in zip(released[n], instance.pod_demand[p].tolist(), strict=True)]
    for n in sorted(coming):
        for r, resource in enumerate(instance.resources):
            needed = sum(count * demand[r] for count, demand in coming[n])
            there = int(instance.node_free[n, r]) + int(instance.node_draining[n, r]) + released[n][r]
            if needed and needed > there:
                yield f"node {n}: what comes needs {needed} {resource}, free and released are {there}"


#: Reason of a fault against rule 5.
NO_JOB_MAY = "no job that starts may evict it"


def ineligible(instance: Instance, starting: Sequence[int], evicted: Sequence[int]) -> list[tuple[int, str]]:
    """Return units whose eviction breaks a rule if these jobs start, each with the sentence (rules 5, 6 and 9)."""
    faults: list[tuple[int, str]] = []
    unborrowed: dict[int, bool] = {}
    for u in evicted:
        by = [(j, int(instance.may[j, u])) for j in starting]
        for j, may in by:
            if may == 2 and j not in unborrowed:
                unborrowed[j] = not judge_quotas.queue_borrows(instance, j, starting, evicted)
        if not any(may == 1 or (may == 2 and unborrowed[j]) for j, may in by):
            only = any(may == 2 for _, may in by)
            lacking = "only a job that ends without borrowing may do so" if only else NO_JOB_MAY
            faults.append((u, f"unit {u} is evicted: {lacking}"))
    faults += _broken_gangs(instance, evicted)
    if instance.above_nominal and evicted and not faults:
        faults += judge_quotas.not_reclaimable(instance, evicted)
    return faults


def _broken_gangs(instance: Instance, evicted: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Yield a unit and an error for each gang that loses units and keeps fewer pods than its minimum (rule 6)."""
    if not evicted:
        return
    leaving, groups = set(evicted), instance.unit_group.tolist()
    gangs = {groups[u] for u in leaving}
    members: dict[int, list[int]] = defaultdict(list)
    for u, group in enumerate(groups):
        if group in gangs:
            members[group].append(u)
    pods: dict[int, int] = defaultdict(int)
    for u in instance.pod_unit.tolist():
        pods[u] += 1
    for group, units in sorted(members.items()):
        out = [u for u in units if u in leaving]
        staying = sum(max(1, pods[u]) for u in units if u not in leaving)
        if out and len(out) < len(units) and staying < int(instance.group_min[group]):
            least = int(instance.group_min[group])
            yield out[0], f"gang {group}: {staying} pods stay, expected at least {least}, or the gang is evicted whole"


def over_limit(instance: Instance, starting: Sequence[int], evicted: Sequence[int]) -> Iterator[str]:
    """Yield the limits that the starting jobs exceed although the evicted units give back their amounts (rule 7)."""
    for h, remaining in enumerate(instance.limit_left.tolist()):
        use = sum(int(instance.limit_job[h, j]) for j in starting)
        there = remaining + sum(int(instance.limit_unit[h, u]) for u in evicted)
        if use > there and use > 0:
            yield f"limit {h}: the jobs that start use {use}, left and given back are {there}"
