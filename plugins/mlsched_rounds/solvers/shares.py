"""Time shares: the fraction of the coming rounds that each job spends on each GPU type.

Gavel's policies (Narayanan et al., OSDI 2020, Section 4) are functions from rates to such shares X, shape (jobs,
types), with

    X >= 0,    sum_m X_jm <= 1 for each job,    sum_j s_j X_jm <= c_m for each type,

s_j being the GPUs of job j while it runs, and c_m the GPUs of type m. A job advances by sum_m X_jm tau_jm steps per
second. Each policy has a file beside this one. The reference policies `isolated` and `proportional` are formulas and
are defined here. Policies without rates pass equal ones.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import FloatArray, IntArray
from mlsched_rounds.solvers._linear import Optimum, Program


@dataclasses.dataclass(frozen=True)
class Rates:
    """Input of a share policy. Other shapes or negative numbers raise InvalidInput.

    Attributes:
        rate: Steps per second of each job on each type with its GPUs, shape (jobs, types); 0 if it cannot run.
        gpus: s_j of each job, at least 1.
        capacity: c_m, GPUs of each type.
        paired: Steps per second of each job while it shares its GPUs with the best partner, shape (jobs, types); None:
            jobs do not share. Only bounds use it.
    """

    rate: FloatArray
    gpus: IntArray
    capacity: IntArray
    paired: FloatArray | None = None

    def __post_init__(self) -> None:
        if self.paired is not None and self.paired.shape != self.rate.shape:
            raise InvalidInput(f"paired: has shape {self.paired.shape}, expected as rate, {self.rate.shape}")
        if self.rate.shape != (len(self.gpus), len(self.capacity)):
            rule = f"expected {len(self.gpus)} jobs x {len(self.capacity)} types"
            raise InvalidInput(f"rate: has shape {self.rate.shape}: {rule}")
        if not np.isfinite(self.rate).all() or (self.rate < 0).any():
            raise InvalidInput("rate: every entry must be a finite number >= 0, steps per second")
        if (self.gpus < 1).any():
            raise InvalidInput("gpus: expected at least 1 per job")
        if (self.capacity < 0).any():
            raise InvalidInput("capacity: expected at least 0 per type")

    @property
    def able(self) -> IntArray:
        """Return the jobs that can run on some type."""
        return np.flatnonzero((self.rate > 0).any(axis=1))

    @property
    def fastest(self) -> FloatArray:
        """Return each job's highest rate, single or paired, steps per second."""
        fastest: FloatArray = self.rate.max(axis=1, initial=0.0)
        return fastest if self.paired is None else np.maximum(fastest, self.paired.max(axis=1, initial=0.0))

    def advanced(self, shares: FloatArray) -> FloatArray:
        """Return the steps per second of each job with these shares."""
        steps: FloatArray = (self.rate * shares).sum(axis=1)
        return steps


def isolated(rates: Rates) -> FloatArray:
    """Return an equal part of every type for each job: c_m / (n s_j), at most all of its time."""
    return _at_most_one(rates.capacity / (max(1, len(rates.gpus)) * rates.gpus[:, None]))


def proportional(rates: Rates) -> FloatArray:
    """Return each job's time in proportion to the types' GPUs: c_m / n, scaled so that a row's sum is 1."""
    total = max(1, int(rates.capacity.sum()))
    return np.tile(rates.capacity / total, (len(rates.gpus), 1))


def _at_most_one(shares: FloatArray) -> FloatArray:
    scale: FloatArray = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1.0)
    return scale


class SharesProgram(Program):
    """The rows above, over a column for each job and type; `advance` adds a policy's requirements on jobs' rates."""

    def __init__(self, rates: Rates, cost: FloatArray | None = None) -> None:
        super().__init__()
        self.rates = rates
        jobs, types = rates.rate.shape
        # Time on a type is useless to a job that cannot run there.
        high = np.where(rates.rate > 0, 1.0, 0.0).ravel()
        self.x = self.add_columns(np.zeros(jobs * types) if cost is None else cost, 0.0, high).reshape(jobs, types)
        self.put(self.add_rows(-np.inf, 1.0, jobs)[:, None], self.x, 1.0)
        self.put(self.add_rows(-np.inf, rates.capacity.astype(np.float64)), self.x, rates.gpus[:, None])

    def advance(self, jobs: IntArray, per_step: FloatArray, low: FloatArray | float = 0.0) -> IntArray:
        """Add rows per_step_j sum_m X_jm tau_jm >= low_j for some jobs, and return their numbers."""
        rows = self.add_rows(np.broadcast_to(np.asarray(low, dtype=np.float64), jobs.shape), np.inf)
        self.put(rows[:, None], self.x[jobs], self.rates.rate[jobs] * per_step[:, None])
        return rows

    def shares(self, x: FloatArray) -> FloatArray:
        """Return X of a solution, with rounding errors below 0 removed."""
        result: FloatArray = np.clip(x[self.x], 0.0, 1.0)
        return result


__all__ = ["Optimum", "Rates", "SharesProgram", "isolated", "proportional"]
