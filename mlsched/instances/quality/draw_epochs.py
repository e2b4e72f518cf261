"""A picture of a run over epochs: the cores of each job, and the summed loss, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlsched.instances.quality.horizon import Epochs, Horizon
from mlsched.instances.quality.horizon_judge import Run
from mlsched.instances.quality.instance import PPM

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Jobs whose names fit into the legend.
MOST_NAMED = 12


def draw_epochs(horizon: Horizon, plan: Epochs, axes: Axes) -> None:
    """Draw stacked steps of cores by job and epoch, and a line of the weighted loss of the present jobs."""
    run, summed = Run(horizon), list[float]()
    for cores in plan.cores.tolist():
        summed.append(sum(int(horizon.weight[j]) * run.loss(j) for j in run.there()) / PPM)
        run.give(cores)
    borders = np.arange(len(plan.cores) + 1) * horizon.epoch
    base = np.zeros(len(plan.cores))
    for j in range(len(horizon.submit)):
        row = plan.cores[:, j].astype(float)
        axes.stairs(base + row, borders, baseline=base, fill=True, label=f"job {j}")
        base = base + row
    right = axes.twinx()
    right.plot(borders[:-1], summed, color="black", linewidth=1.2, marker=".", label="summed loss")
    right.set(ylabel="summed loss", ylim=(0, None))
    right.grid(visible=False)
    axes.set(xlabel="seconds", ylabel="cores", title=f"{len(plan.cores)} epochs, losses of {sum(summed):.2f} in sum")
    if len(horizon.submit) <= MOST_NAMED:
        axes.legend(loc="upper right", fontsize="small", ncols=2)
