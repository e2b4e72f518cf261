"""Losses as seen by schedulers: of the finished iterations, and at most 64 per job."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import IntArray
from mlsched.instances.taskgraph.columns import FULL_ACCURACY
from mlsched.instances.taskgraph.snapshot_checks import MOST_SAMPLES


def error_rates(accuracy: IntArray) -> IntArray:
    """Convert accuracy tables to losses: the share of wrong answers, in ppm of the untrained model's.

    It replaces missing losses. A model that is never wrong has a loss of 0.
    """
    wrong = FULL_ACCURACY - accuracy
    return np.asarray(wrong * FULL_ACCURACY // np.maximum(wrong[:, :1], 1))


def learning(accuracy: IntArray) -> npt.NDArray[np.bool_]:
    """Return for each table of accuracies whether it changes; a model that never learns shows no loss."""
    return np.asarray(accuracy.max(axis=1, initial=0) > accuracy.min(axis=1, initial=FULL_ACCURACY))


def samples(tables: IntArray, table: IntArray, finished: IntArray) -> dict[str, IntArray]:
    """Return the `sample_*` columns of a snapshot, for jobs with finished iterations.

    The samples are the losses after 0 iterations and on. From more than 64, those after 0, 1, all but one and all
    iterations are kept, and evenly spaced ones between.

    Args:
        tables: Losses after 0, 1, ... iterations; past the last column a loss stays constant.
        table: Row of each job (-1: without losses).
        finished: Finished iterations of each job.
    """
    jobs = np.flatnonzero((finished > 0) & (table >= 0))
    if not jobs.size:
        return {f"sample_{name}": jobs for name in ("job", "iteration", "loss")}
    count = np.minimum(finished[jobs] + 1, MOST_SAMPLES)
    job = np.repeat(jobs, count)
    number = np.arange(len(job)) - np.repeat(np.cumsum(count) - count, count)  # number of the sample within its job
    last = finished[job]
    gaps = MOST_SAMPLES - 3  # between the second sample and the last but one
    thinned = np.where(number > gaps + 1, last, 1 + (number - 1) * (last - 2) // gaps)
    iteration = np.where((last < MOST_SAMPLES) | (number == 0), number, thinned)
    return {
        "sample_job": job,
        "sample_iteration": iteration,
        "sample_loss": tables[table[job], np.minimum(iteration, tables.shape[1] - 1)],
    }
