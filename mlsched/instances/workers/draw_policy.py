"""A picture of a policy: the use of the cluster in each state, and the states with waiting jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlsched.instances.workers.stream import Policy, Stream

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_policy(stream: Stream, plan: Policy, axes: Axes) -> None:
    """Draw the states of the policy by total iterations left and jobs to come: the use of the scarcest resource.

    A dot is a state; states with waiting jobs have a ring.
    """
    model = np.maximum(plan.model, 0)
    use = (plan.workers[:, :, None] * stream.worker_demand[model] + plan.ps[:, :, None] * stream.ps_demand[model]).sum(
        axis=1
    )
    share = (use / np.maximum(stream.capacity, 1)).max(axis=1, initial=0.0)
    work = plan.remaining.sum(axis=1)
    waits = ((plan.remaining > 0) & (plan.workers == 0)).any(axis=1)
    for coming in sorted(set(plan.coming.tolist()), reverse=True):
        rows = plan.coming == coming
        axes.plot(work[rows], share[rows], "o", markersize=4, alpha=0.5, label=f"{coming} jobs to come")
    axes.plot(work[waits], share[waits], "o", markersize=8, fillstyle="none", color="black", label="somebody waits")
    value = stream.evaluate(plan)["expected_total_jct"] / 60_000
    axes.set(
        xlabel="iterations left, all jobs",
        ylabel="share of the scarcest resource",
        ylim=(0, 1.05),
        title=f"{len(plan.coming)} states, {value:.1f} minutes expected in sum",
    )
    axes.legend(loc="lower right", fontsize="small")
