"""OptStop: when to stop training a model, from the losses seen so far (MLFS, Section 3.5).

`by_curves`, the paper's: weighted probabilistic learning curves (`core.losses.belief`). `by_secretary`: the rule that
the authors' published code has instead.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import IntArray
from mlsched.core.losses.belief import MIN_LOSSES, Belief, believe
from mlsched.core.losses.window import Window
from mlsched.instances.taskgraph import Snapshot
from mlsched.instances.taskgraph.columns import FULL_ACCURACY

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
#: The part of the loss reduction that may be still to come when a job stops, and the probability that it is no more.
CLOSE, CONFIDENCE = 0.01, 0.95


def by_curves(snapshot: Snapshot, jobs: IntArray, give_up: bool) -> Flags:
    """Of these jobs, those that may stop; each has at least `MIN_LOSSES` losses.

    Those that with a probability of at least `CONFIDENCE` have by now all but a part `CLOSE` of the loss reduction that
    they will have had after their most iterations. `give_up`: also those that with that probability will then lack the
    required accuracy, accuracy being taken to rise in proportion as the loss falls, as it has so far.
    """
    window = _window(snapshot, jobs)
    most = snapshot.max_iterations[jobs].astype(np.float64)
    belief = believe(window, most)
    now, first = window.last_loss, window.losses[0]
    done = belief.chance_of_at_least((now - CLOSE * first) / (1 - CLOSE)) >= CONFIDENCE
    if give_up:
        done |= _hopeless(snapshot, jobs, belief, first, now) >= CONFIDENCE
    return np.asarray(done & (now < first))


def _hopeless(snapshot: Snapshot, jobs: IntArray, belief: Belief, first: Floats, now: Floats) -> Floats:
    """The probability that each of the jobs will not have its required accuracy."""
    untrained = snapshot.accuracy_after(np.zeros_like(snapshot.finished))[jobs]
    gained = np.maximum(snapshot.accuracy_seen[jobs] - untrained, 1)
    needed = (snapshot.required[jobs] - untrained) / gained
    return belief.chance_of_at_least(first - needed * (first - now))


def by_secretary(snapshot: Snapshot, jobs: IntArray) -> Flags:
    """Of these jobs, those that the secretary rule stops.

    From the first time that the loss rises, 1/e of the iterations left are only watched; after them the first one whose
    loss is no higher than all since that time is the last. Of the losses that are reported, that is.
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
    """jobs: how many losses each has reported."""
    return np.bincount(snapshot.sample_job, minlength=len(snapshot.arrival))


def may_ask(snapshot: Snapshot) -> Flags:
    """jobs: whether enough losses are there for `by_curves`."""
    return np.asarray(reported(snapshot) >= MIN_LOSSES)


def _window(snapshot: Snapshot, jobs: IntArray) -> Window:
    """The reported losses of these jobs, as shares of the untrained model's."""
    counts = reported(snapshot)
    lengths = counts[jobs]
    height = int(lengths.max(initial=1))
    row = np.maximum(np.arange(height)[:, None] - (height - lengths), 0) + (np.cumsum(counts) - counts)[jobs]
    return Window(snapshot.sample_iteration[row].astype(np.float64), snapshot.sample_loss[row] / FULL_ACCURACY, lengths)
