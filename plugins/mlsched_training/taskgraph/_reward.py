"""Reward of MLF-RL (MLFS, Eq. 7): the five objectives of Eq. 1 over the jobs that ended.

Interpretations: Eq. 1 has the opposite sign for all five objectives; here, larger is better for each. Each objective is
computed per job and counts when the job ends, because it is unknown before. The sum over a period therefore covers the
jobs that ended in it, and the mean over all jobs is Eq. 7 of a run, between 0 and 1. The printed 1/JCT and 1/bandwidth
have different units and are infinite at 0, so each is replaced by 1/(1 + x/x0). For JCT, x0 is the undisturbed running
time on one node with all iterations. For bandwidth, x0 is the volume if every edge were between nodes. The weights are
divided by their sum.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from mlsched.core.arguments import ValidatedFields
from mlsched.core.params import NotNegative, check_range
from mlsched.instances.taskgraph.columns import FULL_ACCURACY
from mlsched.simulation.taskgraph.iterations import outcome
from mlsched.simulation.taskgraph.iterations.log import Segments
from mlsched.simulation.taskgraph.iterations.pace import Paces
from mlsched.simulation.taskgraph.iterations.workload import WHOLE, Jobs

Floats = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Reward(ValidatedFields):
    """Weights beta1 to beta5 of JCT, met deadlines, bandwidth, met accuracy requirements and accuracy (Section 4.1)."""

    beta1: NotNegative = 0.5
    beta2: NotNegative = 0.55
    beta3: NotNegative = 0.25
    beta4: NotNegative = 0.15
    beta5: NotNegative = 0.15

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("beta1 to beta5", sum(dataclasses.astuple(self)), 0, open_low=True)

    def objectives(self, workload: Jobs, log: Segments) -> Floats:
        """Return the objectives in [0, 1], shape (5, jobs); values of unfinished jobs are undefined."""
        outcomes = outcome.jobs(workload, log)
        alone, sent = references(workload)
        return np.stack(
            [
                1 / (1 + outcomes["jct"] / np.maximum(alone, 1)),
                outcomes["met"].astype(np.float64),
                1 / (1 + outcomes["traffic"] / np.maximum(sent, 1)),
                (outcomes["accuracy"] >= workload.required).astype(np.float64),
                outcomes["accuracy"] / FULL_ACCURACY,
            ]
        )

    def of_jobs(self, workload: Jobs, log: Segments) -> Floats:
        """Return the weighted sum of each finished job, shape (jobs,)."""
        weights = np.array(dataclasses.astuple(self))
        return np.asarray(weights / weights.sum() @ self.objectives(workload, log))


def references(workload: Jobs) -> tuple[Floats, Floats]:
    """Return each job's undisturbed ticks on one node, and its volume with every edge between nodes, shape (jobs,)."""
    paces, most = Paces(workload), workload.max_iterations
    alone = np.zeros(len(most))
    for job in range(len(most)):
        first, end = workload.span(job)
        pace = paces.of(job, [0] * (end - first))
        alone[job] = (pace.first + (int(most[job]) - 1) * pace.cycle) / WHOLE
    owner, lag = workload.task_template[workload.edge_from], workload.edge_lag
    sums: list[Any] = [
        np.bincount(owner[lag == k], workload.edge_volume[lag == k], len(workload.gang))[workload.template]
        for k in (0, 1)
    ]
    return alone, np.asarray(sums[0] * most + sums[1] * (most - 1))


def returns(ended: Floats, reward: Floats, at: Floats, step: float, steps: int, eta: float) -> Floats:
    """Return the discounted rewards of decisions (Section 3.4).

    The reward of a decision is the sum over i = 0..steps - 1 of eta^i times the rewards of the jobs that ended in the
    (i+1)-th `step` after it; t_m is `steps` steps.

    Args:
        ended: Time of the end of each finished job.
        reward: Reward of each finished job.
        at: Times of the decisions.
        step: Length of a step.
        steps: Number of steps.
        eta: Discount per step.
    """
    sums = np.zeros(len(at))
    order = np.argsort(ended, kind="stable")
    ended, reward = ended[order], reward[order]
    low = np.searchsorted(ended, at, side="right")
    high = np.searchsorted(ended, at + step * steps, side="right")
    for k, (first, end) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        i = np.ceil((ended[first:end] - at[k]) / step) - 1
        sums[k] = float((eta**i * reward[first:end]).sum())
    return sums
