"""A picture of a schedule over a horizon: each job's use of the scarcest resource over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlsched.instances.workers.horizon import Horizon, Stages

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Nanoseconds in a minute.
MINUTE = 60 * 10**9


def draw_stages(horizon: Horizon, plan: Stages, axes: Axes) -> None:
    """Draw stacked steps of the mean use of one resource by job and stage. Triangles: arrivals and finishes."""
    borders = np.concatenate([[0], plan.ends]) / MINUTE
    lengths = np.diff(np.concatenate([[0], plan.ends]))
    demand = plan.workers[:, None] * horizon.worker_demand[plan.job] + plan.ps[:, None] * horizon.ps_demand[plan.job]
    total = (plan.time[:, None] * demand).sum(axis=0)
    scarce = int(np.argmax(total / np.maximum(horizon.capacity, 1))) if len(horizon.resources) else 0
    use = np.zeros((len(horizon.arrival), len(plan.ends)))
    if len(horizon.resources):
        share = plan.time * demand[:, scarce] / np.maximum(lengths[plan.stage], 1)
        np.add.at(use, (plan.job, plan.stage), share)
    base = np.zeros(len(plan.ends))
    for j, row in enumerate(use):
        axes.stairs(base + row, borders, baseline=base, fill=True, label=f"job {j}")
        base = base + row
    arrived = horizon.arrival * 10**6 / MINUTE
    finish = plan.ends[plan.finish] / MINUTE
    axes.plot(arrived, np.zeros(len(arrived)), "^", color="black", markersize=5, clip_on=False, label="arrival")
    axes.plot(finish, np.zeros(len(finish)), "v", color="#d1495b", markersize=5, clip_on=False, label="finish")
    name = horizon.resources[scarce] if len(horizon.resources) else "use"
    minutes = horizon.evaluate(plan)["total_jct"] / 60_000
    axes.set(xlabel="minutes", ylabel=name, ylim=(0, None), title=f"{len(arrived)} jobs, {minutes:.4g} minutes in sum")
    if len(horizon.resources):
        axes.axhline(int(horizon.capacity[scarce]), color="black", linewidth=0.6)
    if len(arrived) <= 12:
        axes.legend(loc="upper right", fontsize="small", ncols=2)
