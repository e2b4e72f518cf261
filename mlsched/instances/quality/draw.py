"""A picture of a quality plan: the cores of each job, and the loss that is predicted for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlsched.core.errors import with_article
from mlsched.instances.quality.draw_epochs import draw_epochs
from mlsched.instances.quality.horizon import Epochs, Horizon
from mlsched.instances.quality.instance import PPM, Instance, Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Most jobs in one picture; jobs with the most cores come first.
MOST_JOBS = 60


def draw(instance: Instance | Horizon, plan: Plan | Epochs, axes: Axes) -> None:
    """Draw a plan of a single decision or of a horizon."""
    if isinstance(instance, Horizon) and isinstance(plan, Epochs):
        draw_epochs(instance, plan, axes)
    elif isinstance(instance, Instance) and isinstance(plan, Plan):
        draw_decision(instance, plan, axes)
    else:
        raise TypeError(f"{with_article(plan.kind)} is not an answer to {with_article(instance.kind)}")


def draw_decision(instance: Instance, plan: Plan, axes: Axes) -> None:
    """Draw bars of cores per job, by decreasing predicted loss, and dots of that loss (1 at a job's start)."""
    running = instance.running
    loss = instance.loss[running, plan.cores[running]] / PPM
    top_jobs = running[np.argsort(-plan.cores[running], kind="stable")[:MOST_JOBS]]
    order = top_jobs[np.argsort(-instance.loss[top_jobs, plan.cores[top_jobs]], kind="stable")]
    place = np.arange(len(order))
    axes.bar(place, plan.cores[order], color="#00798c", label="cores")
    axes.plot(place, instance.most[order], "_", color="#2e4057", markersize=14, label="most it may get")
    axes.set(
        xlabel="job, by predicted loss",
        ylabel="cores",
        ylim=(0, 1.3 * max(1, int(plan.cores.max(initial=0)))),
        title=f"{int(plan.cores.sum())} of {instance.available} cores, "
        f"mean predicted loss {loss.mean() if loss.size else 0.0:.2f}",
    )
    axes.set_xticks(place, [str(j) for j in order], rotation=90 if len(order) > 20 else 0)
    axes.locator_params(axis="y", integer=True)
    axes.grid(visible=False, axis="x")
    axes.set_axisbelow(True)
    right = axes.twinx()
    right.plot(place, instance.loss[order, plan.cores[order]] / PPM, "o", color="#d1495b", label="predicted loss")
    right.set(ylabel="predicted loss, 1 at the start", ylim=(0, None))
    handles, labels = (
        a + b for a, b in zip(axes.get_legend_handles_labels(), right.get_legend_handles_labels(), strict=True)
    )
    axes.legend(handles, labels, loc="upper left", bbox_to_anchor=(1.14, 1.0), fontsize="small")
