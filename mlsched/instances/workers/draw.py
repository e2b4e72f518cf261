"""A picture of a workers plan: workers and PSs of each job, and how long it will take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlsched.core.errors import with_article
from mlsched.instances.workers.draw_policy import draw_policy
from mlsched.instances.workers.draw_stages import draw_stages
from mlsched.instances.workers.horizon import Horizon, Stages
from mlsched.instances.workers.instance import Instance, Plan
from mlsched.instances.workers.stream import Policy, Stream

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Most jobs in one picture; jobs with the most workers come first.
MOST_JOBS = 60


def draw(
    instance: Instance | Horizon | Stream, plan: Plan | Stages | Policy, axes: Axes
) -> dict[str, tuple[str, float]]:
    """Draw a plan of a decision, a horizon or a stream; times are in minutes."""
    if isinstance(instance, Horizon) and isinstance(plan, Stages):
        draw_stages(instance, plan, axes)
    elif isinstance(instance, Stream) and isinstance(plan, Policy):
        draw_policy(instance, plan, axes)
    elif isinstance(instance, Instance) and isinstance(plan, Plan):
        draw_decision(instance, plan, axes)
    else:
        raise TypeError(f"{with_article(plan.kind)} is not an answer to {with_article(instance.kind)}")
    return {"ms": ("minutes", 1 / 60_000)}


def draw_decision(instance: Instance, plan: Plan, axes: Axes) -> None:
    """Draw bars by job in arrival order, workers up and PSs down, and dots of the minutes to finish."""
    order = np.sort(np.argsort(-plan.workers, kind="stable")[:MOST_JOBS])
    place = np.arange(len(order))
    axes.bar(place, plan.workers[order], color="#00798c", label="workers")
    axes.bar(place, -plan.ps[order], color="#8fa3b8", label="PSs")
    runs = plan.workers > 0
    at = instance.cost[np.arange(len(runs)), np.maximum(plan.workers - 1, 0), np.maximum(plan.ps - 1, 0)]
    minutes = np.where(runs, at, instance.waiting) / 60_000
    usage = plan.workers @ instance.worker_demand + plan.ps @ instance.ps_demand
    amounts = ", ".join(
        f"{u} of {c} {name}" for u, c, name in zip(usage, instance.capacity, instance.resources, strict=True)
    )
    axes.axhline(0, color="black", linewidth=0.6)
    top, bottom = int(plan.workers.max(initial=1)), int(plan.ps.max(initial=1))
    axes.set(
        xlabel="job, by arrival",
        ylabel="PSs (down) | workers (up)",
        ylim=(-1.1 * bottom, 1.2 * top + 0.4 * bottom),
        title=f"jobs that wait: {int((~runs).sum()) or 'none'}; in use: {amounts}",
    )
    axes.set_xticks(place, [str(j) for j in order], rotation=90 if len(order) > 20 else 0)
    axes.locator_params(axis="y", integer=True)
    axes.yaxis.set_major_formatter(lambda count, _: f"{abs(count):g}")
    axes.grid(visible=False, axis="x")
    axes.set_axisbelow(True)
    right = axes.twinx()
    right.plot(place[runs[order]], minutes[order][runs[order]], "o", color="#d1495b", label="minutes to finish")
    if not runs[order].all():
        right.plot(place[~runs[order]], minutes[order][~runs[order]], "x", color="#d1495b", label="waits (its charge)")
    right.set(ylabel="minutes", ylim=(0, None))
    handles, labels = (
        a + b for a, b in zip(axes.get_legend_handles_labels(), right.get_legend_handles_labels(), strict=True)
    )
    axes.legend(handles, labels, loc="upper left", bbox_to_anchor=(1.08, 1.0), fontsize="small")
