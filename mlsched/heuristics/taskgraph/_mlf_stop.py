"""OptStop: when to stop training a model, from the losses so far (MLFS, Section 3.5).

`by_curves` is the paper's method: weighted probabilistic learning curves (`core.losses.belief`). `by_secretary` is
the rule of the authors' published code.
"""

from __future__ import annotations

import math

import numpy as np

from mlsched.core.fields import BoolArray, FloatArray, IntArray
from mlsched.core.losses.belief import MIN_LOSSES, Belief, believe
from mlsched.core.losses.window import Window
from mlsched.instances.taskgraph import Snapshot
from mlsched.instances.taskgraph.columns import FULL_ACCURACY

#: Largest part of the loss reduction that may be lost by stopping, and the required probability of it.
CLOSE, CONFIDENCE = 0.01, 0.95


def by_curves(snapshot: Snapshot, jobs: IntArray, give_up: bool) -> BoolArray:
    """Return the jobs among these that may stop; each has at least `MIN_LOSSES` losses.

    A job may stop if, with a probability of at least `CONFIDENCE`, it has by now all but a part `CLOSE` of its loss
    reduction after its most iterations. `give_up`: jobs may also stop that will miss their required accuracy with
    that probability. Accuracy is assumed to rise in proportion to the fall of the loss, as it has so far.
    """
    window = _reported_losses(snapshot, jobs)
    most = snapshot.max_iterations[jobs].astype(np.float64)
    belief = believe(window, most)
    now, first = window.last_loss, window.losses[0]
    stops = belief.chance_of_at_least((now - CLOSE * first) / (1 - CLOSE)) >= CONFIDENCE
    if give_up:
        stops |= _chance_of_missing(snapshot, jobs, belief, first, now) >= CONFIDENCE
    return np.asarray(stops & (now < first))


def _chance_of_missing(
    snapshot: Snapshot, jobs: IntArray, belief: Belief, first: FloatArray, now: FloatArray
) -> FloatArray:
    """Return the probability of each job that it will miss its required accuracy."""
    untrained = snapshot.accuracy_after(np.zeros_like(snapshot.finished))[jobs]
    gained = np.maximum(snapshot.accuracy_seen[jobs] - untrained, 1)
    # The required accuracy needs this multiple of the accuracy gained so far, hence of the fall of the loss.
    needed = (snapshot.required[jobs] - untrained) / gained
    return belief.chance_of_at_least(first - needed * (first - now))


def by_secretary(snapshot: Snapshot, jobs: IntArray) -> BoolArray:
    """Return the jobs among these that the secretary rule stops.

    From the first rise of the loss on, 1/e of the remaining iterations are only watched. The first later iteration
    with a loss not above all losses since that time is the last. Only reported losses count.
    """
    stops = np.zeros(len(jobs), dtype=np.bool_)
    ends = np.searchsorted(snapshot.sample_job, np.arange(len(snapshot.arrival) + 1))
    for place, job in enumerate(jobs.tolist()):
        rows = slice(int(ends[job]), int(ends[job + 1]))
        at, loss = snapshot.sample_iteration[rows], snapshot.sample_loss[rows]
        rises = np.flatnonzero(np.diff(loss) > 0)
        if not rises.size:
            continue
        begin = int(rises[0]) + 1
        watched = at[begin] + math.ceil((int(snapshot.max_iterations[job]) - int(at[begin])) / math.e)
        lowest = np.minimum.accumulate(loss[begin:])
        stops[place] = bool(((loss[begin:] <= lowest) & (at[begin:] > watched)).any())
    return stops


def reported(snapshot: Snapshot) -> IntArray:
    """Return the number of losses that each job has reported."""
    return np.bincount(snapshot.sample_job, minlength=len(snapshot.arrival))


def may_ask(snapshot: Snapshot) -> BoolArray:
    """Return for each job if it has enough losses for `by_curves`."""
    return np.asarray(reported(snapshot) >= MIN_LOSSES)


def _reported_losses(snapshot: Snapshot, jobs: IntArray) -> Window:
    """Return the reported losses of these jobs, as shares of the untrained model's."""
    counts = reported(snapshot)
    lengths = counts[jobs]
    height = int(lengths.max(initial=1))
    # One column per job, its last loss at the bottom; shorter histories repeat their first loss at the top.
    row = np.maximum(np.arange(height)[:, None] - (height - lengths), 0) + (np.cumsum(counts) - counts)[jobs]
    return Window(snapshot.sample_iteration[row].astype(np.float64), snapshot.sample_loss[row] / FULL_ACCURACY, lengths)
