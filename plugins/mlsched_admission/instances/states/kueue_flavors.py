"""Which flavors a waiting workload of Kueue asks for: those that Kueue's assigner would choose, or all that it could.

Kueue goes through the flavors of each resource group in their order, rates each by the worst of its resources, and
stops where `whenCanBorrow` and `whenCanPreempt` say so; else the best one is taken. Ratings, worst first: noFit, no
candidates, preempt, reclaim, fit. Whether preemption can help is simulated by Kueue; here, by removing every candidate.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.states.kueue_tree import Queue, Runs, Tree, candidates
from mlsched_admission.instances.states.objects import Objects, expression, tolerates
from mlsched_admission.instances.states.state import Amounts, plus

NO_FIT, NO_CANDIDATES, PREEMPT, RECLAIM, FIT = range(5)
#: Most combinations of flavors that are asked about one by one.
MOST_FREE = 64
#: Stands for the flavor of a resource that no flavor of the queue covers: it has no quota at all.
UNCOVERED = "-"


@dataclass
class PodSet:
    """Pods of a workload that are alike, as quotas see them: what they ask for together."""

    name: str
    asked: Amounts
    spec: Entry


def uses_free(queue: Queue, pod_sets: list[PodSet], flavors: dict[str, Entry]) -> list[Amounts]:
    """What the workload would use with each combination of flavors that its pods may run on, in the queue's order."""
    choices: list[list[Amounts]] = []
    for one in pod_sets:
        for group, names in _groups(queue, one):
            fitting = [name for name in names if _suits(one.spec, flavors.get(name), names, flavors)] or names[:1]
            choices.append([{f"{name}/{r}": one.asked[r] for r in group} for name in fitting])
    combined = itertools.islice(itertools.product(*choices), MOST_FREE + 1)
    return [plus(_uncovered(queue, pod_sets), *combination) for combination in combined]


def use_chosen(tree: Tree, job: Runs, pod_sets: list[PodSet], flavors: dict[str, Entry], units: list[Runs]) -> Amounts:
    """What the workload uses with the flavors that Kueue's assigner chooses, of `job.queue`."""
    queue, use = tree.queues[job.queue], _uncovered(tree.queues[job.queue], pod_sets)
    for one in pod_sets:
        for group, names in _groups(queue, one):
            best: tuple[tuple[int, ...], Amounts] | None = None
            for name in names:
                if not _suits(one.spec, flavors.get(name), names, flavors):
                    continue
                wanted = {f"{name}/{r}": one.asked[r] for r in group}
                mode, borrows = _rate(tree, job, plus(use, wanted), set(wanted), units)
                rank: tuple[int, ...] = (mode, int(not borrows))
                if queue.prefer_preemption:  # rather preempt than borrow
                    rank = (int(mode > NO_CANDIDATES), int(not borrows), mode)
                if best is None or rank > best[0]:
                    best = rank, wanted
                if not _try_next(queue, mode, borrows):
                    break
            # Where none suits, the first stands for what is lacking.
            use = plus(use, best[1] if best else {f"{names[0]}/{r}": one.asked[r] for r in group})
    return use


def _groups(queue: Queue, one: PodSet) -> Iterator[tuple[list[str], list[str]]]:
    """(resources that the pods ask for, flavors) of the queue's resource groups."""
    for covered, names in queue.groups:
        if (asked := [r for r in covered if one.asked.get(r)]) and names:
            yield asked, names


def uncovered(queue: Queue, pod_sets: list[PodSet]) -> list[str]:
    """Resources that are asked for and that no group of the queue covers."""
    covered = {r for group, names in queue.groups if names for r in group}
    return sorted({r for one in pod_sets for r, count in one.asked.items() if count and r not in covered})


def _uncovered(queue: Queue, pod_sets: list[PodSet]) -> Amounts:
    names = uncovered(queue, pod_sets)
    return {f"{UNCOVERED}/{r}": sum(one.asked.get(r, 0) for one in pod_sets) for r in names}


def _suits(spec: Entry, flavor: Entry | None, names: list[str], flavors: dict[str, Entry]) -> bool:
    """Whether the pods tolerate the flavor's taints, and ask for no label that it has otherwise."""
    if flavor is None:
        return True
    tolerated = [*spec.entries("tolerations"), *flavor.entries("spec", "tolerations")]
    for taint in flavor.entries("spec", "nodeTaints"):
        mark = (taint.needed("key"), taint.text("value"), taint.text("effect"))
        if mark[2] in ("NoSchedule", "NoExecute") and not any(tolerates(one, mark) for one in tolerated):
            return False
    labels = flavor.mapping("spec", "nodeLabels")
    # Labels that no flavor of the group speaks of do not tell flavors apart.
    spoken = {key for name in names if name in flavors for key in flavors[name].mapping("spec", "nodeLabels")}
    if any(key in spoken and labels.get(key) != value for key, value in spec.mapping("nodeSelector").items()):
        return False
    terms = [
        [one for one in term.entries("matchExpressions") if one.needed("key") in spoken]
        for term in spec.under("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution").entries(
            "nodeSelectorTerms"
        )
    ]
    return not terms or any(all(expression(one, labels) for one in term) for term in terms)


def _try_next(queue: Queue, mode: int, borrows: bool) -> bool:
    if mode == FIT:
        return borrows and not queue.stop_at_borrow
    if mode in (PREEMPT, RECLAIM) and queue.stop_at_preempt:
        return borrows and not queue.stop_at_borrow
    return True


def _rate(tree: Tree, job: Runs, use: Amounts, frs: set[str], units: list[Runs]) -> tuple[int, bool]:
    """The rating of one flavor, the worst of its resources, and whether the queue would borrow."""
    worst, borrows = FIT, False
    for fr in sorted(frs):
        more = use[fr]
        borrows = borrows or tree.quotas[job.queue].used.get(fr, 0) + more > tree.subtree(job.queue, fr)
        if not tree.lacks(job.queue, fr, more):
            continue
        if tree.lacks(job.queue, fr, more, empty=True):
            return NO_FIT, borrows
        worst = min(worst, _helps(tree, job, use, fr, units))
    return worst, borrows


def _helps(tree: Tree, job: Runs, use: Amounts, fr: str, units: list[Runs]) -> int:
    """Whether evicting every candidate would make room for one resource, and whether those of others would."""
    asking = Runs(job.name, job.queue, job.priority, job.queued, use)
    always, only = candidates(tree, asking, frozenset({fr}), units)
    for others, mode in ((True, RECLAIM), (False, PREEMPT)):
        gone: Amounts = {}
        for unit in units:
            if unit.name in always | only and (unit.queue != job.queue or not others):
                gone[unit.queue] = gone.get(unit.queue, 0) + unit.use.get(fr, 0)
        if gone and not tree.lacks(job.queue, fr, use[fr], gone):
            return mode
    return NO_CANDIDATES


def flavors_of(found: Objects) -> dict[str, Entry]:
    """The ResourceFlavors of a state by name."""
    return {flavor.needed("metadata", "name"): flavor for flavor in found.get("ResourceFlavor", [])}
