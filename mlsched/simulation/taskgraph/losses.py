"""Losses as schedulers see them: of the iterations that are finished, and at most 64 a job."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import IntArray
from mlsched.instances.taskgraph.columns import FULL_ACCURACY
from mlsched.instances.taskgraph.snapshot_checks import MOST_SAMPLES


def error_rates(accuracy: IntArray) -> IntArray:
    """Tables of losses for those of accuracies: the share of wrong answers, ppm of the untrained model's.

    Stands for a loss where none is given. A model that is never wrong has a loss of 0.
    """
    wrong = FULL_ACCURACY - accuracy
    return np.asarray(wrong * FULL_ACCURACY // np.maximum(wrong[:, :1], 1))


def learning(accuracy: IntArray) -> npt.NDArray[np.bool_]:
    """For each table of accuracies, whether they change at all: of a model that never learns, no loss is seen."""
    return np.asarray(accuracy.max(axis=1, initial=0) > accuracy.min(axis=1, initial=FULL_ACCURACY))


def samples(tables: IntArray, table: IntArray, finished: IntArray) -> dict[str, IntArray]:
    """Columns `sample_*` of a snapshot: the losses after 0 iterations and on, of jobs that have finished any.

    tables: losses after 0, 1, ... iterations; past the last column a loss stays what that holds. table: of each job,
    its row (-1: none is seen). Of more than 64, those after 0, 1, all but one and all iterations, and evenly between.
    """
    jobs = np.flatnonzero((finished > 0) & (table >= 0))
    if not jobs.size:
        return {f"sample_{name}": jobs for name in ("job", "iteration", "loss")}
    count = np.minimum(finished[jobs] + 1, MOST_SAMPLES)
    job = np.repeat(jobs, count)
    number = np.arange(len(job)) - np.repeat(np.cumsum(count) - count, count)  # of the sample among its job's
    last = finished[job]
    gaps = MOST_SAMPLES - 3  # between the second sample and the last but one
    thinned = np.where(number > gaps + 1, last, 1 + (number - 1) * (last - 2) // gaps)
    iteration = np.where((last < MOST_SAMPLES) | (number == 0), number, thinned)
    return {
        "sample_job": job,
        "sample_iteration": iteration,
        "sample_loss": tables[table[job], np.minimum(iteration, tables.shape[1] - 1)],
    }
