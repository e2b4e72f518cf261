"""Shares of time: what fraction of the coming rounds each job spends on each GPU type.

Gavel's policies (Narayanan et al., OSDI 2020, Section 4) are functions from rates to such shares X, jobs x types, with

    X >= 0,    sum_m X_jm <= 1 for each job,    sum_j s_j X_jm <= c_m for each type,

s_j being the GPUs that job j holds while it runs, and c_m the GPUs of type m. A job advances by sum_m X_jm tau_jm steps
per second. Each policy has a file beside this one; `isolated` and `proportional`, which others are measured by, are
formulas and stand here. Whoever knows no rates asks with equal ones.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched_rounds.solvers._linear import Floats, Optimum, Program


@dataclasses.dataclass(frozen=True)
class Rates:
    """What shares are asked for.

    rate: steps per second of each job on each type with its GPUs, jobs x types; 0 where it cannot run. gpus: s_j, of
    each job, at least 1. capacity: c_m, GPUs of each type. paired: steps per second of each job while it shares its
    GPUs with the best partner, jobs x types; None: no job shares them. Only bounds use it. Other shapes or negative
    numbers are an InvalidInput.
    """

    rate: Floats
    gpus: IntArray
    capacity: IntArray
    paired: Floats | None = None

    def __post_init__(self) -> None:
        if self.paired is not None and self.paired.shape != self.rate.shape:
            raise InvalidInput(f"paired: has shape {self.paired.shape}, expected as rate, {self.rate.shape}")
        if self.rate.shape != (len(self.gpus), len(self.capacity)):
            rule = f"expected {len(self.gpus)} jobs x {len(self.capacity)} types"
            raise InvalidInput(f"rate: has shape {self.rate.shape}: {rule}")
        if not np.isfinite(self.rate).all() or (self.rate < 0).any():
            raise InvalidInput("rate: every entry must be a finite number >= 0, steps per second")
        if (self.gpus < 1).any():
            raise InvalidInput("gpus: every job must hold at least 1 GPU")
        if (self.capacity < 0).any():
            raise InvalidInput("capacity: no type can have fewer than 0 GPUs")

    @property
    def able(self) -> IntArray:
        """The jobs that can run on some type."""
        return np.flatnonzero((self.rate > 0).any(axis=1))

    @property
    def fastest(self) -> Floats:
        """Each job's highest rate, alone or paired, steps per second."""
        fastest: Floats = self.rate.max(axis=1, initial=0.0)
        return fastest if self.paired is None else np.maximum(fastest, self.paired.max(axis=1, initial=0.0))

    def advanced(self, shares: Floats) -> Floats:
        """Steps per second of each job with these shares."""
        steps: Floats = (self.rate * shares).sum(axis=1)
        return steps


def isolated(rates: Rates) -> Floats:
    """Each job has an equal part of every type for itself: c_m / (n s_j), at most all of its time."""
    return _at_most_one(rates.capacity / (max(1, len(rates.gpus)) * rates.gpus[:, None]))


def proportional(rates: Rates) -> Floats:
    """Each job's time is divided in proportion to the types' GPUs: c_m / n, scaled so that a row's sum is 1."""
    total = max(1, int(rates.capacity.sum()))
    return np.tile(rates.capacity / total, (len(rates.gpus), 1))


def _at_most_one(shares: Floats) -> Floats:
    scaled: Floats = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1.0)
    return scaled


class SharesProgram(Program):
    """The rows above, over a column for each job and type; `advance` adds what a policy asks of jobs' rates."""

    def __init__(self, rates: Rates, cost: Floats | None = None) -> None:
        super().__init__()
        self.rates = rates
        jobs, types = rates.rate.shape
        # A job that cannot run on a type has no use for time there.
        high = np.where(rates.rate > 0, 1.0, 0.0).ravel()
        self.x = self.add_columns(np.zeros(jobs * types) if cost is None else cost, 0.0, high).reshape(jobs, types)
        self.put(self.add_rows(-np.inf, 1.0, jobs)[:, None], self.x, 1.0)
        self.put(self.add_rows(-np.inf, rates.capacity.astype(np.float64)), self.x, rates.gpus[:, None])

    def advance(self, jobs: IntArray, per_step: Floats, low: Floats | float = 0.0) -> IntArray:
        """Rows per_step_j sum_m X_jm tau_jm >= low_j for some jobs; their numbers."""
        rows = self.add_rows(np.broadcast_to(np.asarray(low, dtype=np.float64), jobs.shape), np.inf)
        self.put(rows[:, None], self.x[jobs], self.rates.rate[jobs] * per_step[:, None])
        return rows

    def shares(self, x: Floats) -> Floats:
        """X of a solution, its rounding error below 0 cut off."""
        found: Floats = np.clip(x[self.x], 0.0, 1.0)
        return found


__all__ = ["Floats", "Optimum", "Rates", "SharesProgram", "isolated", "proportional"]
