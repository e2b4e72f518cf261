"""A picture of a run: the jobs on each node over time, suspensions, and the waiting times of TE jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlsched.instances.preemption.horizon import Decisions, Horizon
from mlsched.instances.preemption.horizon_judge import finished

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {"BE job": "#8fa3b8", "grace period": "#edae49", "TE job": "#00798c"}
#: Share of its row that a bar takes, and the room between two nodes in rows.
THICK, APART = 0.8, 0.6
MINUTE = 60


def draw_run(horizon: Horizon, plan: Decisions, axes: Axes) -> None:
    """Draw one row per job on a node at a time, with job names in the bars. Triangles: TE jobs' submissions."""
    run = finished(horizon, plan)
    base, seen, marks = 0.0, set[str](), list[tuple[float, str]]()
    for node in range(len(horizon.node_capacity)):
        until: list[int] = []  # of each row of this node, when it is free again
        for job, _, start, end, signal in sorted((s for s in run.stays if s[1] == node), key=lambda stay: stay[2]):
            row = next((k for k, free in enumerate(until) if free <= start), len(until))
            until[row : row + 1] = [end]
            parts = [("TE job" if horizon.te[job] else "BE job", start, end if signal < 0 else signal)]
            parts += [("grace period", signal, end)] if signal >= 0 else []
            for part, left, right in parts:
                label = None if part in seen else part
                seen.add(part)
                axes.barh(
                    base + row,
                    (right - left) / MINUTE,
                    height=THICK,
                    left=left / MINUTE,
                    label=label,
                    color=COLOURS[part],
                    edgecolor="white",
                    linewidth=0.6,
                )
            place = ((start + end) / 2 / MINUTE, base + row)
            axes.text(*place, str(job), ha="center", va="center", fontsize=7, color="white", clip_on=True)
        marks.append((base + max(0, len(until) - 1) / 2, f"node {node}"))
        base += max(1, len(until)) + APART
    arrived = [int(s) / MINUTE for s, te in zip(horizon.submit, horizon.te, strict=True) if te]
    axes.plot(arrived, [-0.8] * len(arrived), "^", color="black", markersize=5, label="a TE job comes")
    axes.set_yticks([place for place, _ in marks], [name for _, name in marks])
    axes.grid(visible=False, axis="y")
    intervals, victims = run.values()["total_rescheduling"] / MINUTE, sum(run.count)
    axes.set(xlabel="minutes", title=f"{victims} victims, re-scheduled after {intervals:g} minutes in sum")
    axes.legend(loc="upper right", fontsize="small")
