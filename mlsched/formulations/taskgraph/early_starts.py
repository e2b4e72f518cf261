"""Runs put where they can start first, one after the other: for plans that a model leaves open, or needs beforehand.

`extend` completes a plan whose late runs have a node but no time; `good_plan` makes one from nothing, whose value no
optimum exceeds. Capacity is looked up in a plain list of runs: this is for the small instances that a time-indexed MIP
can take.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances.taskgraph import Timetable

Run = tuple[int, int]
#: run (task, iteration) -> (node, start)
Placed = dict[Run, tuple[int, int]]


def extend(layout: Layout, placed: Placed, open_runs: Mapping[Run, Sequence[int]], not_before: int) -> Placed:
    """`placed` and the open runs, each on that of its nodes where it starts first, no earlier than `not_before`.

    open_runs: the nodes that each run may take, sources first. A task that may not move stays where it was put first.
    """
    found = dict(placed)
    home = {k: n for (k, _), (n, _) in placed.items()} if layout.sticky else {}
    for (k, i), nodes in open_runs.items():
        allowed = [home[k]] if k in home else nodes
        start, node = min((_earliest(layout, found, k, i, n, not_before), n) for n in allowed)
        found[k, i] = node, start
        if layout.sticky:
            home[k] = node
    return found


def good_plan(layout: Layout, objective: str) -> Timetable | None:
    """The better of two list schedules, in order of arrival and of length; None where the fixed runs admit no plan."""
    instance, jobs = layout.instance, range(layout.jobs)
    fixed = {(k, layout.finished[layout.job[k]]): at for k, at in layout.fixed.items()}
    best: tuple[int, Timetable] | None = None
    for order in (sorted(jobs, key=lambda j: layout.arrival[j]), sorted(jobs, key=layout.earliest_completion)):
        runs = [
            (k, i)
            for j in order
            for i in range(layout.finished[j], min(layout.mandatory[j], layout.maximum[j]))
            for k in layout.order[j]
            if (k, i) not in fixed
        ]
        placed = extend(layout, fixed, {(k, i): layout.nodes_of(k, i) for k, i in runs}, 0)
        plan = layout.timetable({run: n for run, (n, _) in placed.items()}, {run: t for run, (_, t) in placed.items()})
        if instance.violations(plan):
            continue
        value = instance.evaluate(plan)[objective]
        if best is None or value < best[0]:
            best = value, plan
    return None if best is None else best[1]


def _earliest(layout: Layout, placed: Placed, k: int, i: int, node: int, not_before: int) -> int:
    """When a run whose sources are placed or finished can start on a node at the earliest."""
    ready: int = max(not_before, layout.ready[layout.job[k]])
    for u, source, delay in layout.sources(k, i):
        if (u, source) in placed:
            place, start = placed[u, source]
            end = start + layout.duration[u]
        else:
            place, end = layout.home[u], layout.last_end[u]
        ready = max(ready, end + (delay if place != node else 0))
    if not layout.duration[k]:
        return ready
    here = [(t, t + layout.duration[u], u) for (u, _), (n, t) in placed.items() if n == node and layout.duration[u]]
    starts = sorted({ready, *(end for _, end, _ in here if end > ready)})
    return next(t for t in starts if _has_room(layout, here, k, node, t))


def _has_room(layout: Layout, here: Iterable[tuple[int, int, int]], k: int, node: int, time: int) -> bool:
    """Whether task k fits on a node from `time` on, beside the (start, end, task) there."""
    beside = [run for run in here if run[1] > time and run[0] < time + layout.duration[k]]
    for at in {time, *(start for start, _, _ in beside if start > time)}:
        under_way = [u for start, end, u in beside if start <= at < end]
        for r, need in enumerate(layout.demand[k]):
            # A resource that the task does not need cannot keep it out, even where runs under way overfill the node.
            if need and need + sum(layout.demand[u][r] for u in under_way) > layout.capacity[node][r]:
                return False
    return True
