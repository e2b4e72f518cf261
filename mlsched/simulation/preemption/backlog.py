"""Stationarity of a run: growth of its backlog, and the share of the arriving work that is lost.

The backlog at a time is the demand of the waiting jobs, as a share of the cluster's capacity, averaged over the
resources. With the running jobs it is the FitGpp paper's cluster load, which its closed loop keeps at 2.0 under FIFO
(Section 4.2). A second measure is work: that share times the execution time of the same jobs.

Method: the second half of the arrival time is cut into `SPANS` equal spans, and a straight line is fitted to the
backlog's means over them. Its slope is the growth. Its 95 % interval is Student's t, widened by the correlation of
neighbouring residuals: with a correlation r, n spans are equivalent to n (1 - r) / (1 + r) independent ones. A run is
not stationary if the interval excludes 0. The lost throughput is the slope of the waiting work over the work that
arrives per unit of time.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.fields import FloatArray, IntArray

#: Number of equal spans of the second half of the arrivals, over which backlog means are fitted.
SPANS = 16
#: 97.5 % quantile of Student's t with SPANS - 2 degrees of freedom.
STUDENT = 2.144786687917804
DAY = 86400


@dataclasses.dataclass(frozen=True)
class Slope:
    """Slope of a straight line, in units per day, and the half-width of its 95 % interval."""

    mean: float
    half: float

    @property
    def excludes_zero(self) -> bool:
        """Check whether the interval is on one side of 0."""
        return abs(self.mean) > self.half


@dataclasses.dataclass(frozen=True)
class Segments:
    """Time segments from `start` to `end`, s; one row per segment, of the job `job`."""

    job: IntArray
    start: IntArray
    end: IntArray


def summary(submit: IntArray, finish: IntArray, runs: Segments, share: FloatArray, work: FloatArray) -> Data | None:
    """Return growth of the backlog and lost throughput of a run.

    Args:
        submit, finish: Times of each job, s.
        runs: Segments in which jobs used a node.
        share: Demand of each job over the cluster's capacity, averaged over the resources.
        work: Share times execution time, in days of the complete cluster.

    Returns:
        The figures by name; None if at most one job or zero work arrives in that half.
    """
    edges = spans(submit)
    if edges is None:
        return None
    arriving = float(work[submit > edges[0]].sum() / (edges[-1] - edges[0]) * DAY)
    if not arriving:
        return None
    present = Segments(np.arange(len(submit)), submit, finish)
    # Rounded, so that rounding errors of jobs without a wait are not reported.
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


def spans(submit: IntArray) -> FloatArray | None:
    """Return the ends of the spans, s; None without two jobs.

    There are SPANS + 1 times from the middle of the arrivals to the last.
    """
    if not len(submit):
        return None
    first, last = float(submit[0]), float(submit[-1])
    middle = (first + last) / 2
    return np.linspace(middle, last, SPANS + 1) if np.count_nonzero(submit > middle) > 1 and last > middle else None


def means_over(edges: FloatArray, segments: Segments, weight: FloatArray) -> FloatArray:
    """Return the mean over each span of the summed weight of the jobs that are in one of their segments."""
    weights, start, end = weight[segments.job], segments.start, segments.end
    # Integral of the sum from the beginning to each edge, segment by segment.
    whole = np.array([float((weights * np.clip(np.minimum(end, edge) - start, 0, None)).sum()) for edge in edges])
    return np.asarray(np.diff(whole) / np.diff(edges))


def slope(edges: FloatArray, means: FloatArray) -> Slope:
    """Fit a line to the means over the spans, by least squares."""
    time = (edges[:-1] + edges[1:]) / 2 / DAY
    time = time - time.mean()
    spread = float((time * time).sum())
    mean = float((time * means).sum()) / spread
    rest = means - means.mean() - mean * time
    squares = float((rest * rest).sum())
    neighbours = float((rest[1:] * rest[:-1]).sum()) / squares if squares else 0.0
    # A fitted line lowers the correlation of neighbouring residuals by about (1 + 4 r) / n.
    alike = min(0.9, max(0.0, (neighbours * SPANS + 1) / (SPANS - 4)))
    error = np.sqrt(squares / (SPANS - 2) / spread * (1 + alike) / (1 - alike))
    return Slope(mean, STUDENT * float(error))
