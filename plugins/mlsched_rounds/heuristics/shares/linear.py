"""Gavel's policies that are linear programs (`solvers/rounds`), in the form of its simulator.

If a program has many optima, Gavel's conic solver ends in the middle of them; `Options.optimum` chooses one.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from mlsched.core.fields import FloatArray
from mlsched_rounds.heuristics.shares.asked import Asked, Policy, Readings, Shares
from mlsched_rounds.solvers.finish_time import Progress, finish_time_fairness
from mlsched_rounds.solvers.max_min import max_min, water_filling
from mlsched_rounds.solvers.shares import Rates, isolated
from mlsched_rounds.solvers.total_duration import bisected_total_duration
from mlsched_rounds.solvers.total_throughput import max_sum


def _rates(query: Asked, rate: FloatArray | None = None) -> Rates:
    return Rates(query.rate if rate is None else rate, query.gpus, query.capacity)


def _equal_rates(query: Asked) -> Rates:
    """Return rates for policies that compare only time: one step per second everywhere."""
    return _rates(query, np.ones_like(query.rate))


def _max_min_shares(readings: Readings) -> Shares:
    return lambda query: max_min(_equal_rates(query), weight=query.weight, optimum=readings.optimum)


def _max_min_perf(readings: Readings) -> Shares:
    return lambda query: max_min(_rates(query), weight=query.weight, optimum=readings.optimum)


def _water_filling(readings: Readings) -> Shares:
    return lambda query: water_filling(_equal_rates(query), weight=query.weight)


def _water_filling_perf(readings: Readings) -> Shares:
    return lambda query: water_filling(_rates(query), weight=query.weight)


def _total_duration(readings: Readings) -> Shares:
    return lambda query: bisected_total_duration(_rates(query), query.remaining, optimum=readings.optimum)


def _max_sum_shares(readings: Readings) -> Shares:
    return lambda query: max_sum(_rates(query), optimum=readings.optimum)


@dataclasses.dataclass
class _FinishTime:
    """Finish-time fairness. It remembers the time that each job's past steps would have taken in isolation."""

    remembers: ClassVar[tuple[str, ...]] = ("alone", "before")

    readings: Readings
    alone: dict[int, float] = dataclasses.field(default_factory=dict)
    before: dict[int, list[float]] = dataclasses.field(default_factory=dict)  # remaining steps, isolated rate

    def __call__(self, query: Asked) -> FloatArray:
        rates, jobs = _rates(query), query.jobs.tolist()
        pace = rates.advanced(isolated(rates))
        for job, rest in zip(jobs, query.remaining.tolist(), strict=True):
            if job in self.before and self.before[job][1] > 0:
                self.alone[job] = self.alone.get(job, 0.0) + (self.before[job][0] - rest) / self.before[job][1]
        self.before = dict(zip(jobs, np.column_stack([query.remaining, pace]).tolist(), strict=True))
        alone = np.array([self.alone.get(job, 0.0) for job in jobs])
        progress = Progress(query.remaining, query.age, alone)
        return finish_time_fairness(rates, progress, optimum=self.readings.optimum)


LINEAR = (
    Policy("max_min", _max_min_shares, doc="max-min fairness of time"),
    Policy("max_min_perf", _max_min_perf, aware=True, doc="max-min fairness of progress"),
    Policy("water_filling", _water_filling, doc="max-min fairness of time, then the second worst, and so on"),
    Policy("water_filling_perf", _water_filling_perf, aware=True, doc="the same, of progress"),
    Policy("finish_time_fairness", _FinishTime, doc="Themis' finish-time fairness, without rates"),
    Policy("finish_time_fairness_perf", _FinishTime, aware=True, doc="Themis' finish-time fairness"),
    Policy("min_total_duration", _total_duration, doc="the last end as early as possible, without rates"),
    Policy("min_total_duration_perf", _total_duration, aware=True, doc="the last end as early as possible"),
    Policy("max_sum", _max_sum_shares, aware=True, doc="most steps per second in all"),
)
