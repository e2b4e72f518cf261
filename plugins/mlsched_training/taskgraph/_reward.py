"""Reward of MLF-RL (MLFS, Eq. 7): the five objectives of Eq. 1 over the jobs that ended.

Interpretations: Eq. 1 has the opposite sign for all five objectives; here, larger is better for each. Each objective is
computed per job and counts when the job ends, because it is unknown before. The sum over a period therefore covers the
jobs that ended in it, and the mean over all jobs is Eq. 7 of a run, between 0 and 1. The printed 1/JCT and 1/bandwidth
have different units and are infinite at 0, so each is replaced by 1/(1 + x/x0). For JCT, x0 is the undisturbed running
time on one node with all iterations. For bandwidth, x0 is the volume if every edge were between nodes. The weights are
divided by their sum.

The printed JCT term saturates: once a job has waited long, a further hour costs almost nothing. `jct_term="linear"`
(ours) replaces it by its tangent at JCT = x0, with the mean x0 of the workload: 3/4 - JCT/(4 x0). Its sum falls equally
with every hour of every job, so a decision is charged while jobs are in the system and not when they end.
"""

from __future__ import annotations

import dataclasses
from typing import Annotated

import numpy as np

from mlsched.core.aliases import Array
from mlsched.core.arguments import ValidatedFields
from mlsched.core.fields import FloatArray
from mlsched.core.params import NotNegative, check_range
from mlsched.instances.taskgraph.columns import FULL_ACCURACY
from mlsched.simulation.taskgraph.iterations import outcome
from mlsched.simulation.taskgraph.iterations.log import Segments
from mlsched.simulation.taskgraph.iterations.pace import Paces
from mlsched.simulation.taskgraph.iterations.workload import WHOLE, Jobs

JCT_TERMS = ("printed", "linear")


@dataclasses.dataclass(frozen=True)
class Reward(ValidatedFields):
    """Eq. 7: weights beta1 to beta5 of JCT, met deadlines, bandwidth, met accuracy requirements and accuracy.

    The defaults are those of Section 4.1. jct_term: "printed" or "linear".
    """

    beta1: NotNegative = 0.5
    beta2: NotNegative = 0.55
    beta3: NotNegative = 0.25
    beta4: NotNegative = 0.15
    beta5: NotNegative = 0.15
    jct_term: Annotated[str, JCT_TERMS] = "printed"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("beta1 to beta5", float(self._betas().sum()), 0, open_low=True)

    def _betas(self) -> FloatArray:
        return np.array([self.beta1, self.beta2, self.beta3, self.beta4, self.beta5], dtype=np.float64)

    def objectives(self, workload: Jobs, log: Segments) -> FloatArray:
        """Return the objectives, shape (5, jobs); values of unfinished jobs are undefined.

        All are in [0, 1], except that the linear JCT term has no lower end.
        """
        outcomes = outcome.jobs(workload, log)
        alone, sent = references(workload)
        if self.jct_term == "printed":
            completion = 1 / (1 + outcomes["jct"] / np.maximum(alone, 1))
        else:
            completion = 0.75 - outcomes["jct"] / (4 * _mean_undisturbed(workload))
        return np.stack(
            [
                completion,
                outcomes["met"].astype(np.float64),
                1 / (1 + outcomes["traffic"] / np.maximum(sent, 1)),
                (outcomes["accuracy"] >= workload.required).astype(np.float64),
                outcomes["accuracy"] / FULL_ACCURACY,
            ]
        )

    def of_jobs(self, workload: Jobs, log: Segments) -> FloatArray:
        """Return the weighted sum of each finished job, shape (jobs,)."""
        return np.asarray(self._betas() / self._betas().sum() @ self.objectives(workload, log))

    def at_ends(self, workload: Jobs, log: Segments) -> FloatArray:
        """Return the part of `of_jobs` that a job earns when it ends, shape (jobs,)."""
        betas, objectives = self._betas(), self.objectives(workload, log)
        first = 0 if self.jct_term == "printed" else 1
        return np.asarray(betas[first:] / betas.sum() @ objectives[first:])

    def charge(self, workload: Jobs) -> float:
        """Return the part of `of_jobs` that a job loses per tick in the system; 0 for the printed term."""
        if self.jct_term == "printed":
            return 0.0
        return float(self.beta1 / self._betas().sum() / (4 * _mean_undisturbed(workload)))


def _mean_undisturbed(workload: Jobs) -> float:
    """Return the mean undisturbed ticks of a job."""
    return max(float(references(workload)[0].mean()), 1.0)


def references(workload: Jobs) -> tuple[FloatArray, FloatArray]:
    """Return each job's undisturbed ticks on one node, and its volume with every edge between nodes, shape (jobs,)."""
    paces, most = Paces(workload), workload.max_iterations
    alone = np.zeros(len(most))
    for job in range(len(most)):
        first, end = workload.span(job)
        pace = paces.of(job, [0] * (end - first))
        alone[job] = (pace.first + (int(most[job]) - 1) * pace.cycle) / WHOLE
    owner, lag = workload.task_template[workload.edge_from], workload.edge_lag
    sums: list[Array] = [
        np.bincount(owner[lag == k], workload.edge_volume[lag == k], len(workload.gang))[workload.template]
        for k in (0, 1)
    ]
    return alone, np.asarray(sums[0] * most + sums[1] * (most - 1))


def returns(ended: FloatArray, reward: FloatArray, at: FloatArray, step: float, steps: int, eta: float) -> FloatArray:
    """Return the discounted rewards of decisions (Section 3.4).

    The reward of a decision is the sum over i = 0..steps - 1 of eta^i times r_i. r_i is the reward of the jobs that
    ended in the (i+1)-th `step` after the decision; t_m is `steps` steps.

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


def charges(arrival: FloatArray, ended: FloatArray, at: FloatArray, step: float, steps: int, eta: float) -> FloatArray:
    """Return by how much the discounted job-ticks after each decision exceed those of a constant number of jobs.

    The result is the sum over i = 0..steps - 1 of eta^i times the integral over the (i+1)-th `step` after the decision
    of the number of jobs in the system minus their number at the decision, which the decision does not change.

    Args:
        arrival: Arrival time of each job.
        ended: Time of the end of each job.
        at: Times of the decisions.
        step: Length of a step.
        steps: Number of steps.
        eta: Discount per step.
    """
    begins, ends = np.sort(arrival), np.sort(ended)

    def present(times: FloatArray) -> FloatArray:
        departures = np.searchsorted(ends, times, side="right")
        return np.asarray(np.searchsorted(begins, times, side="right") - departures, dtype=np.float64)

    knots = np.unique(np.concatenate([begins, ends]))
    total = np.concatenate([[0.0], np.cumsum(present(knots)[:-1] * np.diff(knots))])
    edges = at[:, None] + step * np.arange(steps + 1)
    job_ticks = np.diff(np.interp(edges, knots, total), axis=1) - step * present(at)[:, None]
    return np.asarray(job_ticks @ eta ** np.arange(steps))
