"""An experiment's measurements by policy, metric and place in the grid: one value per workload."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from mlsched_papers.claim import Estimate, estimate

#: One value per workload, in the order of the seeds; NaN without a measurement.
Values = npt.NDArray[np.float64]


class Measurement(Protocol):
    """Results of one run: metrics by name, None if undefined."""

    @property
    def values(self) -> Mapping[str, float | None]:
        """Return metric -> its value in this run."""


Policy = TypeVar("Policy")
Place = TypeVar("Place")
Metrics = TypeVar("Metrics", bound=Measurement)


class View(abc.ABC, Generic[Policy, Place, Metrics]):
    """The measurements under one interpretation of the paper.

    Attributes:
        name: Name of the interpretation in tables.
        here: Default place. A place is a point of the experiment's grid, such as an arrival rate.
    """

    def __init__(self, name: str, here: Place) -> None:
        self.name, self.here = name, here
        #: Cache: claims read the same values repeatedly.
        self._values: dict[tuple[Policy, str, Place], Values] = {}

    @abc.abstractmethod
    def runs(self, policy: Policy, at: Place) -> Sequence[Sequence[Metrics]]:
        """Return the runs of a policy at a place: one per workload, or several if the policy draws at random."""

    def values(self, policy: Policy, metric: str, at: Place | None = None) -> Values:
        """Return one value per workload, the mean over its runs; empty if the policy did not run."""
        place = self.here if at is None else at
        result = self._values.get((policy, metric, place))
        if result is None:
            workloads = self.runs(policy, place)
            several = [[_number(run.values.get(metric)) for run in each] for each in workloads]
            means = [each[0] if len(each) == 1 else np.mean(each) for each in several]
            result = self._values[policy, metric, place] = np.array(means, dtype=np.float64)
            result.flags.writeable = False
        return result

    def estimate(self, policy: Policy, metric: str, at: Place | None = None) -> Estimate | None:
        """Return mean and interval over workloads; None if some workload lacks a value."""
        return estimate(self.values(policy, metric, at))

    def cut(self, policy: Policy, other: Policy, metric: str, at: Place | None = None) -> Values:
        """Return the percentage by which the policy is below the other, workload by workload; empty without a pair."""
        new, old = self.values(policy, metric, at), self.values(other, metric, at)
        return np.zeros(0) if new.shape != old.shape else 100 * (1 - ratio(new, old))

    def less(self, policy: Policy, other: Policy, metric: str, at: Place | None = None) -> Values:
        """Return the difference by which the policy is below the other, workload by workload; empty without a pair."""
        new, old = self.values(policy, metric, at), self.values(other, metric, at)
        return np.zeros(0) if new.shape != old.shape else np.asarray(old - new, dtype=np.float64)


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def change(new: Values, old: Values) -> Values:
    """Return the percentage by which `new` is above `old`, workload by workload; NaN if `old` is 0."""
    return 100 * (ratio(new, old) - 1)


def ratio(new: Values, old: Values) -> Values:
    """Return `new` / `old`, workload by workload; NaN if `old` is 0."""
    divided: Any = np.divide(new, old, out=np.full_like(new, np.nan), where=old != 0)
    return np.asarray(divided, dtype=np.float64)


def ratio_of_means(new: Values, old: Values) -> Values:
    """Return the ratio of the mean of `new` to that of `old`, as one pseudo-value per workload (centred jackknife).

    Their mean is the ratio. A pseudo-value exceeds the ratio by n - 1 times the fall of the ratio without its workload.
    So Student's t over them is an interval for the ratio of the means. The mean of the workloads' own ratios is another
    quantity. The interval covers a planted ratio in 93 to 95 % of draws of ten log-normal workloads (standard deviation
    0.5 to 0.3). A single workload gives its own ratio; NaN if the mean of `old` is 0.
    """
    count = len(new)
    if count < 2:
        return ratio(new, old)
    whole = ratio(new.sum(keepdims=True), old.sum(keepdims=True))
    without = ratio(new.sum() - new, old.sum() - old)
    return np.asarray(whole + (count - 1) * (without.mean() - without), dtype=np.float64)
