"""A Gantt chart of a timetable: nodes, jobs by colour, tasks by name, transfers between nodes as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlsched.core.errors import InvalidInput, with_article
from mlsched.core.fields import UNLIMITED
from mlsched.instances.taskgraph.draw_usage import draw_usage
from mlsched.instances.taskgraph.instance import Instance, Timetable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Distinct colours of jobs, or of the tasks of a single job, reused in turn.
COLOURS = ("#00798c", "#d1495b", "#edae49", "#66a182", "#2e4057", "#8d6a9f", "#c8553d", "#5fa8d3", "#a3b18a", "#7f5539")
#: The colours on which black is easier to read than white.
LIGHT = ("#edae49", "#66a182", "#5fa8d3", "#a3b18a")
#: So many transfers are drawn; more would be ink only. So many jobs are in the legend.
MOST_LINES, MOST_JOBS = 200, 20
#: Points: size of a bar's label, and width of one character; room for GPU names, and their largest number.
LABEL, SIGN = 7, 4.4
LANE, MOST_LANES = 30, 32
#: Milliseconds of the units of an axis of time, the longest first.
UNITS = (("hours", 3_600_000), ("minutes", 60_000), ("seconds", 1000), ("milliseconds", 1))


def draw(instance: Instance, plan: Timetable, axes: Axes) -> dict[str, tuple[str, float]]:
    """Draw one band per node, one row per concurrent run. Ticks on the upper edge: deadlines, in their job's colour.

    If a node has several GPUs and every run there takes one of them, or a named part of one, the rows are its GPUs and
    are labelled.

    Bars are labelled with their tasks, and with the iteration if there are several. Colours distinguish jobs, or the
    tasks of a single job. A single shared node has strips of resource use below.

    Returns:
        The unit of time of the axis, and the length of a tick in it.
    """
    if not isinstance(instance, Instance) or not isinstance(plan, Timetable):
        raise InvalidInput(
            f"pictures do not exist for {with_article(plan.kind)} that answers {with_article(instance.kind)}"
        )
    rows, heights = _rows_of_runs(instance, plan)
    place = _heights_of_runs(rows, heights, axes)
    runs = _runs_by_start(plan)
    due = [job for job in sorted({run[0] for run in runs}) if instance.deadline[job] < UNLIMITED]
    first = min([int(instance.arrival.min(initial=UNLIMITED)), *plan.start.tolist()])
    ends = (plan.start + instance.duration[plan.task]).tolist()
    last = max([first + 1, *ends, *(int(instance.deadline[job]) for job in due)])
    shown = _Time(instance.tick_ms, first, last)
    axes.set_xlim(shown.of(first), shown.of(last))
    axes.set_axisbelow(True)
    where = _draw_bars(instance, runs, place, axes, shown)
    has_transfers = _transfers(instance, where, place, axes, shown)
    top = sum(heights) - 0.5
    for job in due:
        colour = _colour_of_run(instance, job, 0)
        axes.plot(shown.of(int(instance.deadline[job])), top, marker="v", color=colour, clip_on=False)
    middles = [sum(heights[:n]) + (height - 1) / 2 for n, height in enumerate(heights)]
    axes.set_yticks(middles, _node_names(instance))
    _label_gpu_rows(instance, plan, heights, axes)
    notes = ["triangle: deadline"] * bool(due) + ["line: data between nodes"] * has_transfers
    label = shown.label + (f" ({'; '.join(notes)})" if notes else "")
    axes.set(xlabel=label, ylim=(-0.6, top))
    axes.set_title(_picture_title(instance, plan, shown), pad=9 if due else None)  # above the triangles
    axes.locator_params(axis="x", integer=shown.unit == 1)
    if len(instance.arrival) > 1 and len({run[0] for run in runs}) <= MOST_JOBS and runs:
        handle_of = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        jobs = {instance.job_name(job): handle_of[instance.job_name(job)] for job in sorted({run[0] for run in runs})}
        axes.legend(jobs.values(), jobs.keys(), loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")
    if len(heights) == 1 and runs and (len(instance.resources) > 1 or int(instance.node_capacity.max()) > 1):
        draw_usage(instance, plan, axes, shown.of)
    return {"ticks": (shown.label, 1 / shown.unit)}


class _Time:
    """Ticks on an axis: in a unit of time that suits the span, if the length of a tick is known."""

    def __init__(self, tick_ms: int, first: int, last: int) -> None:
        self.label, self.unit = "ticks", 1.0
        if tick_ms:
            span = (last - first) * tick_ms
            self.label, length = next(((n, u) for n, u in UNITS if span >= 3 * u), UNITS[-1])
            self.unit = length / tick_ms

    def of(self, ticks: int) -> float:
        return ticks / self.unit


def _colour_of_run(instance: Instance, job: int, task: int) -> str:
    return COLOURS[(job if len(instance.arrival) > 1 else task) % len(COLOURS)]


def _node_names(instance: Instance) -> list[str]:
    """Return "machine 3" if each node is one unit of one resource, else "node 3"."""
    alone = len(instance.resources) == 1 and bool((instance.node_capacity == 1).all())
    kind = instance.resources[0] if alone else "node"
    return [f"{kind} {n}" for n in range(len(instance.node_capacity))]


def _picture_title(instance: Instance, plan: Timetable, shown: _Time) -> str:
    """Return the objectives that can differ between plans, times as on the axis; dates and traffic if present."""
    if instance.violations(plan):
        return f"{len(plan.task)} runs so far"
    values = instance.evaluate(plan)
    names = ["makespan", *["total_jct"] * (len(instance.arrival) > 1)]
    names += ["traffic"] * bool(instance.edge_volume.any())
    names += ["deadlines_met"] * bool((instance.deadline < UNLIMITED).any())
    units = {goal.name: goal.unit for goal in instance.objectives}
    parts = []
    for name in names:
        time = units[name] == "ticks"
        parts.append(
            f"{name} {shown.of(values[name]):.4g} {shown.label}" if time else f"{name} {values[name]} {units[name]}"
        )
    return ", ".join(parts)


def _label_gpu_rows(instance: Instance, plan: Timetable, heights: list[int], axes: Axes) -> None:
    """Write the names of GPUs beside their rows."""
    at, names, base = list[float](), list[str](), 0
    for node, height in enumerate(heights):
        if (gpus := _first_rows_of_gpus(instance, plan, node)) is not None:
            ends = [
                next((g for g, first in reversed(list(enumerate(gpus))) if first <= row), 0) for row in range(height)
            ]
            at += [base + row for row in range(height)]
            names += [f"GPU {g}" for g in ends]
        base += height
    if at and len(at) <= MOST_LANES:
        axes.set_yticks(at, names, minor=True)
        axes.tick_params(axis="y", which="minor", length=0, pad=2)
        axes.tick_params(axis="y", which="major", length=0, pad=LANE)
        axes.yaxis.remove_overlapping_locs = False


def _first_rows_of_gpus(instance: Instance, plan: Timetable, node: int) -> list[int] | None:
    """Return the first row of each GPU of a node whose rows are GPUs; None if its rows are concurrent runs.

    Rows are GPUs if every run has the named part of one, or one of the node's GPUs.
    """
    here = plan.node == node
    if here.any() and (plan.gpu[here] >= 0).all():
        rows, _ = _rows_by_gpu(instance, plan, node)
        return rows
    if "gpu" not in instance.resources or not here.any():
        return None
    r = instance.resources.index("gpu")
    several = int(instance.node_capacity[node, r]) > 1
    if several and (instance.demand[plan.task[here], r] == 1).all():
        return list(range(int(instance.node_capacity[node, r])))
    return None


def _rows_by_gpu(instance: Instance, plan: Timetable, node: int) -> tuple[list[int], dict[tuple[int, int], int]]:
    """Return the first row of each GPU of a node, and (task, iteration) -> row; rows of one GPU are adjacent."""
    runs: dict[int, list[tuple[int, int, int]]] = {}
    for task, iteration, where, start, gpu in zip(
        *(c.tolist() for c in (plan.task, plan.iteration, plan.node, plan.start, plan.gpu)), strict=True
    ):
        if where == node:
            runs.setdefault(gpu, []).append((start, task, iteration))
    firsts, row_of, first = list[int](), dict[tuple[int, int], int](), 0
    for gpu in range(max(runs, default=-1) + 1):
        firsts.append(first)
        free = list[int]()
        for start, task, iteration in sorted(runs.get(gpu, ())):
            row = next((r for r, until in enumerate(free) if until <= start), len(free))
            free[row : row + 1] = [start + int(instance.duration[task])]
            row_of[task, iteration] = first + row
        first += max(1, len(free))
    return firsts, row_of


def _heights_of_runs(
    rows: dict[tuple[int, int, int], int], heights: list[int], axes: Axes
) -> dict[tuple[int, int], float]:
    """Return the height of each (task, iteration) in the picture, and draw the lines between nodes."""
    base, place = 0.0, {}
    for node, height in enumerate(heights):
        if node:
            axes.axhline(base - 0.5, color="#8fa3b8", linewidth=0.8)
        for run, row in rows.items():
            if run[2] == node:
                place[run[:2]] = base + row
        base += height
    return place


def _draw_bars(
    instance: Instance,
    runs: list[tuple[int, int, int, int, int]],
    place: dict[tuple[int, int], float],
    axes: Axes,
    shown: _Time,
) -> dict[tuple[int, int], tuple[int, int, int]]:
    """Draw every run; returns (task, iteration) -> (node, start, end)."""
    where: dict[tuple[int, int], tuple[int, int, int]] = {}
    labelled: set[int] = set()
    outside: list[tuple[float, float, str]] = []
    several = len({run[1] for run in runs}) > 1
    points = axes.get_window_extent().width / axes.figure.dpi * 72 / (axes.get_xlim()[1] - axes.get_xlim()[0])
    for job, iteration, task, node, start in runs:
        end = start + int(instance.duration[task])
        where[task, iteration] = node, start, end
        y, width = place[task, iteration], shown.of(end - start)
        axes.barh(
            y,
            width,
            left=shown.of(start),
            height=0.9,
            color=_colour_of_run(instance, job, task),
            edgecolor="white",
            linewidth=0.6,
            alpha=1.0 if iteration % 2 == 0 else 0.75,
            label=None if job in labelled else instance.job_name(job),
        )
        labelled.add(job)
        name, number = _short_task_name(instance.task_name(task)), f"#{iteration}"
        texts = [f"{name} {number}", number] if several else [name]
        text = next((t for t in texts if SIGN * len(t) <= points * width), "")
        if text:
            ink = "black" if _colour_of_run(instance, job, task) in LIGHT else "white"
            axes.text(shown.of(start) + width / 2, y, text, ha="center", va="center", fontsize=LABEL, color=ink)
        else:
            outside.append((y, shown.of(end), texts[-1]))
    _write_labels_beside(outside, place, where, axes, points, shown)
    return where


def _write_labels_beside(
    outside: list[tuple[float, float, str]],
    place: dict[tuple[int, int], float],
    where: dict[tuple[int, int], tuple[int, int, int]],
    axes: Axes,
    points: float,
    shown: _Time,
) -> None:
    """Write the labels of short bars to their right, if the row is free for long enough."""
    starts: dict[float, list[float]] = {}
    for run, (_, start, _) in where.items():
        starts.setdefault(place[run], []).append(shown.of(start))
    border = axes.get_xlim()[1]
    for y, end, text in outside:
        free = min([border, *(start for start in starts[y] if start >= end)]) - end
        if SIGN * len(text) + 3 <= points * free:
            axes.annotate(
                text,
                (end, y),
                (2, 0),
                textcoords="offset points",
                ha="left",
                va="center",
                fontsize=LABEL,
                color="#333333",
            )


def _short_task_name(name: str) -> str:
    """Return the name of a task; for a tuple, as in generated graphs, its parts: "0.1.0"."""
    return name[1:-1].replace(", ", ".") if name.startswith("(") and name.endswith(")") else name


def _runs_by_start(plan: Timetable) -> list[tuple[int, int, int, int, int]]:
    columns = (plan.job, plan.iteration, plan.task, plan.node, plan.start)
    return sorted(zip(*(c.tolist() for c in columns), strict=True), key=lambda r: (r[4], r))


def _rows_of_runs(instance: Instance, plan: Timetable) -> tuple[dict[tuple[int, int, int], int], list[int]]:
    """Return (task, iteration, node) -> lowest row of the node that is free from its start, and rows per node."""
    free: list[list[int]] = [[] for _ in instance.node_capacity]
    rows = {}
    for _, iteration, task, node, start in _runs_by_start(plan):
        row = next((r for r, until in enumerate(free[node]) if until <= start), len(free[node]))
        free[node][row : row + 1] = [start + int(instance.duration[task])]
        rows[task, iteration, node] = row
    heights = [max(1, len(ends)) for ends in free]
    for node in range(len(heights)):
        if (plan.gpu[plan.node == node] >= 0).all() and (plan.node == node).any():
            _, row_of = _rows_by_gpu(instance, plan, node)
            rows |= {(*run, node): row for run, row in row_of.items()}
            heights[node] = 1 + max(row_of.values())
    return rows, heights


def _transfers(
    instance: Instance,
    where: dict[tuple[int, int], tuple[int, int, int]],
    place: dict[tuple[int, int], float],
    axes: Axes,
    shown: _Time,
) -> bool:
    """Draw lines from runs to their data's runs on other nodes, and return True if there is one."""
    line_count = 0
    names = ("edge_from", "edge_to", "edge_lag", "edge_volume")
    for u, v, lag, volume in zip(*(getattr(instance, name).tolist() for name in names), strict=True):
        for (task, iteration), (node, start, _) in where.items() if volume else ():
            source = where.get((u, iteration - lag))
            if task != v or source is None or source[0] == node or line_count >= MOST_LINES:
                continue
            axes.plot(
                [shown.of(source[2]), shown.of(start)],
                [place[u, iteration - lag], place[v, iteration]],
                color="#333333",
                linewidth=0.6,
                alpha=0.6,
            )
            line_count += 1
    return line_count > 0
