"""A Gantt chart of a timetable: nodes, jobs by colour, iterations by number, transfers between nodes as lines."""

from __future__ import annotations

from typing import Any

from mlsched.core.fields import UNLIMITED
from mlsched.instances.taskgraph.instance import Instance, Timetable

#: Distinct colours of jobs, reused in turn.
COLOURS = ("#00798c", "#d1495b", "#edae49", "#66a182", "#2e4057", "#8d6a9f", "#c8553d", "#5fa8d3", "#a3b18a", "#7f5539")
#: So many runs are labelled with their iteration, so many transfers drawn; more would be ink only.
MOST_LABELS, MOST_LINES = 150, 200


def draw(instance: Instance, plan: Timetable, axes: Any) -> None:
    """One band a node, a row for each run at a time. Ticks on the upper edge: deadlines, in their job's colour."""
    rows, heights = _rows(instance, plan)
    base, place = 0.0, {}
    for node, height in enumerate(heights):
        if node:
            axes.axhline(base - 0.5, color="#8fa3b8", linewidth=0.8)
        for run, row in rows.items():
            if run[2] == node:
                place[run[:2]] = base + row
        base += height
    where: dict[tuple[int, int], tuple[int, int, int]] = {}
    labelled: set[int] = set()
    for job, iteration, task, node, start in _runs(plan):
        end = start + int(instance.duration[task])
        where[task, iteration] = node, start, end
        y, colour = place[task, iteration], COLOURS[job % len(COLOURS)]
        label = None if job in labelled else f"job {job}"
        axes.barh(
            y,
            end - start,
            left=start,
            height=0.9,
            color=colour,
            edgecolor="white",
            linewidth=0.6,
            alpha=1.0 if iteration % 2 == 0 else 0.75,
            label=label,
        )
        labelled.add(job)
        if len(plan.task) <= MOST_LABELS and end > start:
            axes.text((start + end) / 2, y, str(iteration), ha="center", va="center", fontsize=6, color="white")
    _transfers(instance, where, place, axes)
    top = base - 0.5
    for job in sorted(labelled):
        if instance.deadline[job] < UNLIMITED:
            axes.plot(int(instance.deadline[job]), top, marker="v", color=COLOURS[job % len(COLOURS)], clip_on=False)
    middles = [sum(heights[:n]) + (height - 1) / 2 for n, height in enumerate(heights)]
    values = instance.evaluate(plan)
    axes.set_yticks(middles, [f"node {n}" for n in range(len(heights))])
    first = min([int(instance.arrival.min(initial=UNLIMITED)), *plan.start.tolist()])
    axes.set(
        xlabel="ticks (number: iteration; triangle: deadline; line: data between nodes)",
        ylim=(-0.6, top),
        xlim=(first - 0.5, None),
        title=", ".join(
            f"{name.replace('_', ' ')} {values[name]}" for name in ("total_jct", "makespan", "traffic", "deadlines_met")
        ),
    )
    if labelled:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")


def _runs(plan: Timetable) -> list[tuple[int, int, int, int, int]]:
    columns = (plan.job, plan.iteration, plan.task, plan.node, plan.start)
    return sorted(zip(*(c.tolist() for c in columns), strict=True), key=lambda r: (r[4], r))


def _rows(instance: Instance, plan: Timetable) -> tuple[dict[tuple[int, int, int], int], list[int]]:
    """(task, iteration, node) -> the lowest row of its node that is free from its start on; and rows a node."""
    free: list[list[int]] = [[] for _ in instance.node_capacity]
    rows = {}
    for _, iteration, task, node, start in _runs(plan):
        row = next((r for r, until in enumerate(free[node]) if until <= start), len(free[node]))
        free[node][row : row + 1] = [start + int(instance.duration[task])]
        rows[task, iteration, node] = row
    return rows, [max(1, len(ends)) for ends in free]


def _transfers(
    instance: Instance,
    where: dict[tuple[int, int], tuple[int, int, int]],
    place: dict[tuple[int, int], float],
    axes: Any,
) -> None:
    """A line from the end of a run to the start of one on another node that its data go to."""
    drawn = 0
    edges = zip(
        instance.edge_from.tolist(),
        instance.edge_to.tolist(),
        instance.edge_lag.tolist(),
        instance.edge_volume.tolist(),
        strict=True,
    )
    for u, v, lag, volume in edges:
        for (task, iteration), (node, start, _) in where.items():
            source = where.get((u, iteration - lag))
            if task != v or not volume or source is None or source[0] == node or drawn >= MOST_LINES:
                continue
            axes.plot(
                [source[2], start],
                [place[u, iteration - lag], place[v, iteration]],
                color="#333333",
                linewidth=0.6,
                alpha=0.6,
            )
            drawn += 1
