"""Resource use of a single node over time: strips below a Gantt chart, as in project scheduling."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from mlsched.instances.taskgraph.instance import Instance, Timetable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: So many resources have a strip, each of this height as a share of the chart's.
MOST, STRIP = 6, 0.16


def draw_usage(instance: Instance, plan: Timetable, axes: Axes, shown: Callable[[int], float]) -> None:
    """Draw one strip per resource: the use as an area, the capacity as a line; `shown` puts ticks on the axis.

    The strips share the chart's place in its figure; axes without such a place get none.
    """
    place = axes.get_subplotspec()
    if place is None:
        return
    names = instance.resources[:MOST]
    parts = place.subgridspec(1 + len(names), 1, height_ratios=[1.0] + [STRIP] * len(names))
    axes.set_subplotspec(parts[0])
    starts, ends = plan.start, plan.start + instance.duration[plan.task]
    times = np.unique(np.concatenate([starts, ends]))
    edges = [shown(int(t)) for t in times]
    for r, name in enumerate(names):
        demand = instance.demand[plan.task, r]
        usage = [int(demand[(starts <= t) & (t < ends)].sum()) for t in times[:-1]]
        strip = axes.figure.add_subplot(parts[r + 1], sharex=axes)
        capacity = int(instance.node_capacity[0, r])
        strip.stairs(usage, edges, fill=True, color="#8fa3b8")
        strip.axhline(capacity, color="#d1495b", linewidth=1)
        strip.set(ylim=(0, max(1, 1.25 * capacity)), yticks=[0, capacity])
        strip.set_ylabel(name, rotation=0, ha="right", va="center")
        strip.tick_params(labelbottom=False, labelsize="small")
        strip.spines[["top", "right"]].set_visible(False)
