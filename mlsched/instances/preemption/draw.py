"""A picture of a preemption plan: the use of each node per resource, the suspended jobs, and the new jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlsched.core.errors import with_article
from mlsched.instances.preemption.draw_run import draw_run
from mlsched.instances.preemption.horizon import Decisions, Horizon
from mlsched.instances.preemption.instance import Instance, Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Most nodes in one picture; nodes that the plan touches come first.
MOST_NODES = 24
#: Points: the size of a label, the least width of a bar that has room for two characters, and a sign's own width.
LABEL, BAR, SIGN = 7, 8.6, 4.2
#: The share of a node's place that its bars take.
BARS = 0.84
#: Least height of a part, as a share of the capacity, that has room for its job's name.
ROOM = 0.045
COLOURS = {"kept": "#8fa3b8", "suspended": "#d1495b", "draining": "#edae49", "TE job": "#00798c"}


def draw(instance: Instance | Horizon, plan: Plan | Decisions, axes: Axes) -> None:
    """Draw a plan of a single decision or of a horizon."""
    if isinstance(instance, Horizon) and isinstance(plan, Decisions):
        draw_run(instance, plan, axes)
    elif isinstance(instance, Instance) and isinstance(plan, Plan):
        draw_decision(instance, plan, axes)
    else:
        raise TypeError(f"{with_article(plan.kind)} is not an answer to {with_article(instance.kind)}")


def draw_decision(instance: Instance, plan: Plan, axes: Axes) -> None:
    """Draw two stacked bars per node and resource, in shares of the node's capacity: before the plan and after it.

    Parts are labelled with the numbers of their jobs; TE jobs are T0, T1, ...
    """
    victims = set(plan.victims.tolist())
    changed_nodes = {int(n) for n in plan.te_node if n >= 0} | {int(instance.job_node[j]) for j in victims}
    resources, count = len(instance.resources), len(instance.node_capacity)
    points = 1.1 * axes.get_window_extent().width / axes.figure.dpi * 72  # a little more when the layout is made
    fitting = int(points / (BAR * 2 * resources / BARS)) if resources else count
    most = min(MOST_NODES, fitting) if len(changed_nodes) <= fitting else MOST_NODES
    nodes = sorted(sorted(range(count), key=lambda n: (n not in changed_nodes, n))[:most])
    width = BARS / (2 * resources)
    size = LABEL if len(nodes) <= fitting else 0
    stack = _Stack(axes, 0.92 * width, size)
    for position, node in enumerate(nodes):
        jobs = sorted(np.flatnonzero(instance.job_node == node).tolist(), key=lambda j: j in victims)
        for r in range(resources):
            capacity = max(1, int(instance.node_capacity[node, r]))
            x = position + (2 * r - resources + 0.5) * width
            parts_now = [
                ("suspended" if j in victims else "kept", str(j), int(instance.job_demand[j, r])) for j in jobs
            ]
            draining = [("draining", "", int(instance.node_draining[node, r]))]
            coming = np.flatnonzero(plan.te_node == node).tolist()
            placed = [("TE job", f"T{t}", int(instance.te_demand[t, r])) for t in coming]
            stack.draw(x, parts_now + draining, capacity)
            stack.draw(x + width, [part for part in parts_now if part[0] == "kept"] + placed, capacity)
    waiting = np.flatnonzero(plan.te_node < 0)
    axes.set(
        xlabel="node; of each resource: before | after",
        ylabel="share of capacity",
        title=f"{_text_of_numbers('suspended', sorted(victims))}; {_text_of_numbers('TE jobs wait', waiting)}"
        + (f"; {len(nodes)} of {count} nodes" if len(nodes) < count else ""),
        ylim=(0, 1.15),
    )
    upright = max(map(len, instance.resources)) * SIGN > 2 * width * points / len(nodes)
    down = "\n" * (2 if upright else 1)
    axes.set_xticks(range(len(nodes)), [f"{down}{n}" if stack.size else str(n) for n in nodes])
    if stack.size:
        middles = [p + (2 * r - resources + 1) * width for p in range(len(nodes)) for r in range(resources)]
        axes.set_xticks(middles, list(instance.resources) * len(nodes), minor=True, rotation=90 if upright else 0)
        axes.tick_params(axis="x", which="both", length=0)
        axes.xaxis.remove_overlapping_locs = False
    axes.grid(visible=False, axis="x")
    axes.set_axisbelow(True)
    if stack.seen:
        handles = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        labels = [part for part in COLOURS if part in handles]
        axes.legend([handles[part] for part in labels], labels, loc="upper right", ncols=4, fontsize="small")


class _Stack:
    """Draws stacked bars; remembers which parts the legend has."""

    def __init__(self, axes: Axes, width: float, size: float) -> None:
        self.axes, self.width, self.size = axes, width, size
        self.seen: set[str] = set()

    def draw(self, x: float, parts: list[tuple[str, str, int]], capacity: int) -> None:
        """Draw the parts (kind, label, amount) as a stacked bar; the first at the bottom."""
        level = 0.0
        for part, name, amount in parts:
            if not amount:
                continue
            label = None if part in self.seen else part
            self.seen.add(part)
            share = amount / capacity
            self.axes.bar(
                x, share, self.width, bottom=level, label=label, color=COLOURS[part], edgecolor="white", linewidth=0.6
            )
            if self.size and share >= ROOM:
                self.axes.text(x, level + share / 2, name, ha="center", va="center", fontsize=self.size, color="white")
            level += share


def _text_of_numbers(what: str, numbers: Sequence[int] | Any) -> str:
    """Format "suspended: 2, 3", or the count if there are many."""
    many = [str(n) for n in numbers]
    return f"{what}: {', '.join(many) if 0 < len(many) <= 12 else len(many) or 'none'}"
