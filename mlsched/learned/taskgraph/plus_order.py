"""Features of jobs for MLF-RL-plus; its order is a weighted sum of them.

The last axis of all arrays is the job, so one call handles a batch of clusters. Training begins with a weighted sum of
the first two features: the log of the remaining time, plus on request a share of the log of the size.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import BoolArray, IntArray
from mlsched.heuristics.taskgraph.measures import per_job, remaining_time, shares
from mlsched.instances.taskgraph import Snapshot
from mlsched.instances.taskgraph.states import RUNNING

Floats = npt.NDArray[np.floating]

HOUR = 3600.0
#: Features of the job itself.
OWN = (
    "left, log",
    "size, log",
    "left, log, squared",
    "size, log, squared",
    "left and size, logs",
    "runs",
    "runs, by what is left",
    "would go on",
    "ran, log",
    "ran, share",
    "waits, log",
    "in the system, log",
    "slack to the deadline",
    "overdue",
    "urgency",
    "an iteration is done",
)
#: Features that compare a job with the other present jobs.
BESIDE = ("shorter jobs, of the cluster", "shorter jobs beyond the cluster", "left, by the crowd", "size, by the crowd")
NAMES = (*OWN, *BESIDE)
FEATURES = len(NAMES)
LEFT, SIZE = 0, 1


@dataclasses.dataclass(frozen=True)
class Standing:
    """The state of jobs; times in hours, shape (..., jobs).

    Attributes:
        left: Estimated time until the job ends if it never waits.
        price: Cost of a pause.
        share: Dominant share of the cluster.
        runs: True if the job runs now.
        begun: True if it has ever run.
        ran: Time that it has run.
        waited: Time since it last ran.
        stayed: Time since it arrived.
        due: Time until its deadline.
        urgency: Urgency as a fraction of 10.
        known: True if it has finished an iteration; its estimate is exact from then on.
        there: False for a place without a job.
    """

    left: Floats
    price: Floats
    share: Floats
    runs: BoolArray
    begun: BoolArray
    ran: Floats
    waited: Floats
    stayed: Floats
    due: Floats
    urgency: Floats
    known: BoolArray
    there: BoolArray


def standing_of(snapshot: Snapshot, stop_after: IntArray) -> Standing:
    """Return the state of the jobs of a snapshot."""
    hour = HOUR * 1000 / snapshot.tick_ms if snapshot.tick_ms else HOUR
    left = remaining_time(snapshot, stop_after)
    return Standing(
        left=left / hour,
        price=snapshot.pause_cost / hour,
        share=per_job(snapshot, shares(snapshot)),
        runs=per_job(snapshot, snapshot.state == RUNNING) > 0,
        begun=snapshot.first_start >= 0,
        ran=snapshot.executed / hour,
        waited=(snapshot.now - snapshot.idle_since) / hour,
        stayed=(snapshot.now - snapshot.arrival) / hour,
        due=(snapshot.deadline - snapshot.now) / hour,
        urgency=snapshot.urgency / 10.0,
        known=snapshot.finished > 0,
        there=np.ones(len(left), dtype=np.bool_),
    )


def features(at: Standing) -> Floats:
    """Compute the features, shape (FEATURES, ..., jobs).

    As in `srpt` with `preempt`, a running job's remaining time is reduced by the cost of a pause, and a paused job's
    time is increased by it (`heuristics/taskgraph/srpt.py`).
    """
    one = at.left.dtype.type
    log_left = np.log(
        np.maximum(at.left + at.price * np.where(at.runs, one(-1), at.begun.astype(at.left.dtype)), one(1e-3))
    )
    size = np.log(np.maximum(at.share, one(1e-4))) + one(2.5)  # about 0 for a job on a twelfth of the cluster
    runs, slack = at.runs.astype(log_left.dtype), at.due - at.left
    ahead = _share_of_shorter_jobs(log_left, np.where(at.there, at.share, one(0)))
    crowd = np.log1p(np.where(at.there, at.share, one(0)).sum(axis=-1, keepdims=True))
    return np.stack(
        [
            log_left,
            size,
            log_left**2 / one(4),
            size**2,
            log_left * size / one(2),
            runs,
            runs * log_left,
            (at.begun & ~at.runs).astype(log_left.dtype),
            np.log1p(at.ran),
            at.ran / np.maximum(at.ran + at.left, one(1e-3)),
            np.log1p(at.waited),
            np.log1p(at.stayed),
            slack / (np.abs(slack) + at.left + one(1)),
            (at.due < 0).astype(log_left.dtype),
            at.urgency,
            at.known.astype(log_left.dtype),
            np.minimum(ahead, one(1)),
            np.log1p(np.maximum(ahead - one(1), one(0))),
            log_left * crowd / one(2),
            size * crowd,
        ]
    )


def _share_of_shorter_jobs(left: Floats, share: Floats) -> Floats:
    """Sum for each job the cluster shares of the jobs with less remaining time."""
    order = np.argsort(left, axis=-1, kind="stable")
    sorted_shares = np.take_along_axis(share, order, axis=-1)
    before = np.empty_like(share)
    np.put_along_axis(before, order, np.cumsum(sorted_shares, axis=-1) - sorted_shares, axis=-1)
    return before
