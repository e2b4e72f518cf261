"""Whether a run has a steady state: how fast its backlog grows, and how much of what arrives is never kept up with.

The backlog at a time is the demand of the jobs that wait, as a share of the cluster's capacity, averaged over the
resources. With the running jobs it is what the FitGpp paper calls the cluster load, which its closed loop keeps at 2.0
under FIFO (Section 4.2). Its second measure is work: that share times the execution time of the same jobs.

The rule. The second half of the time in which jobs arrive is cut into `SPANS` equal spans, and a straight line is
fitted to the backlog's means over them. Its slope is the growth. Its 95 % interval is Student's t, widened by the
correlation of neighbouring residuals: with a correlation r, n spans say no more than n (1 - r) / (1 + r) independent
ones. A run whose interval excludes 0 is not stationary. The lost throughput is the slope of the work that waits over
the work that arrives in a unit of time.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from mlsched.core.fields import IntArray

Floats = npt.NDArray[np.float64]

#: Equal spans of the second half of the arrivals whose means a line is fitted to.
SPANS = 16
#: 97.5 % quantile of Student's t with SPANS - 2 degrees of freedom.
STUDENT = 2.144786687917804
DAY = 86400


@dataclasses.dataclass(frozen=True)
class Slope:
    """The slope of a straight line, in units per day, and the half-width of its 95 % interval."""

    mean: float
    half: float

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval lies on one side of 0."""
        return abs(self.mean) > self.half


@dataclasses.dataclass(frozen=True)
class Segments:
    """Times in which a job counts, from `start` to `end`, s: one row a segment, whose job is `job`."""

    job: IntArray
    start: IntArray
    end: IntArray


def summary(submit: IntArray, finish: IntArray, runs: Segments, share: Floats, work: Floats) -> dict[str, Any] | None:
    """Growth of the backlog and lost throughput of a run; None when no work, or only one job, arrives in that half.

    submit, finish: of each job, s. runs: when jobs held a node. share: of each job, its demand over the cluster's
    capacity, averaged over the resources. work: share times execution time, in days of the whole cluster.
    """
    edges = spans(submit)
    if edges is None:
        return None
    arriving = float(work[submit > edges[0]].sum() / (edges[-1] - edges[0]) * DAY)
    if not arriving:
        return None
    present = Segments(np.arange(len(submit)), submit, finish)
    # Rounded, since a job that never waits must not leave the arithmetic's crumbs.
    growth, waiting = (
        slope(edges, np.round(means_over(edges, present, weight) - means_over(edges, runs, weight), 9))
        for weight in (share, work)
    )
    return {
        "growth_per_day": growth.mean,
        "growth_per_day_ci95": growth.half,
        "lost_throughput": waiting.mean / arriving,
        "lost_throughput_ci95": waiting.half / arriving,
        "stationary": not growth.excludes_zero,
    }


def spans(submit: IntArray) -> Floats | None:
    """The ends of the spans, s: SPANS + 1 times from the middle of the arrivals to the last; None without two jobs."""
    if not len(submit):
        return None
    first, last = float(submit[0]), float(submit[-1])
    middle = (first + last) / 2
    return np.linspace(middle, last, SPANS + 1) if np.count_nonzero(submit > middle) > 1 and last > middle else None


def means_over(edges: Floats, segments: Segments, weight: Floats) -> Floats:
    """Mean over each span of the summed weight of the jobs that are in one of their segments."""
    weights, start, end = weight[segments.job], segments.start, segments.end
    # The integral of the sum from the beginning to each edge, segment by segment.
    whole = np.array([float((weights * np.clip(np.minimum(end, edge) - start, 0, None)).sum()) for edge in edges])
    return np.asarray(np.diff(whole) / np.diff(edges))


def slope(edges: Floats, means: Floats) -> Slope:
    """The line through the means over the spans, by least squares."""
    time = (edges[:-1] + edges[1:]) / 2 / DAY
    time = time - time.mean()
    spread = float((time * time).sum())
    mean = float((time * means).sum()) / spread
    rest = means - means.mean() - mean * time
    squares = float((rest * rest).sum())
    neighbours = float((rest[1:] * rest[:-1]).sum()) / squares if squares else 0.0
    # A fitted line makes neighbouring residuals look less alike than they are, by about (1 + 4 r) / n.
    alike = min(0.9, max(0.0, (neighbours * SPANS + 1) / (SPANS - 4)))
    error = np.sqrt(squares / (SPANS - 2) / spread * (1 + alike) / (1 - alike))
    return Slope(mean, STUDENT * float(error))
