"""Gavel's policies that are linear programs (`solvers/rounds`), as its world asks them.

Where a program has many optima, Gavel's conic solver ends in the middle of them; `Options.optimum` says which is taken.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np

from mlsched_rounds.heuristics.shares.asked import Asked, Policy, Readings, Shares
from mlsched_rounds.solvers.finish_time import Progress, finish_time_fairness
from mlsched_rounds.solvers.max_min import max_min, water_filling
from mlsched_rounds.solvers.shares import Floats, Rates, isolated
from mlsched_rounds.solvers.total_duration import bisected_total_duration
from mlsched_rounds.solvers.total_throughput import max_sum


def _rates(asked: Asked, rate: Floats | None = None) -> Rates:
    return Rates(asked.rate if rate is None else rate, asked.gpus, asked.capacity)


def _equal(asked: Asked) -> Rates:
    """Whoever compares time alone: a step per second everywhere."""
    return _rates(asked, np.ones_like(asked.rate))


def _max_min(readings: Readings) -> Shares:
    return lambda asked: max_min(_equal(asked), weight=asked.weight, optimum=readings.optimum)


def _max_min_perf(readings: Readings) -> Shares:
    return lambda asked: max_min(_rates(asked), weight=asked.weight, optimum=readings.optimum)


def _water_filling(readings: Readings) -> Shares:
    return lambda asked: water_filling(_equal(asked), weight=asked.weight)


def _water_filling_perf(readings: Readings) -> Shares:
    return lambda asked: water_filling(_rates(asked), weight=asked.weight)


def _total_duration(readings: Readings) -> Shares:
    return lambda asked: bisected_total_duration(_rates(asked), asked.remaining, optimum=readings.optimum)


def _max_sum(readings: Readings) -> Shares:
    return lambda asked: max_sum(_rates(asked), optimum=readings.optimum)


@dataclasses.dataclass
class _FinishTime:
    """Finish-time fairness. It remembers how long each job's steps until now would have taken alone with its part."""

    remembers: ClassVar[tuple[str, ...]] = ("alone", "before")

    readings: Readings
    alone: dict[int, float] = dataclasses.field(default_factory=dict)
    before: dict[int, list[float]] = dataclasses.field(default_factory=dict)  # remaining steps, rate alone

    def __call__(self, asked: Asked) -> Floats:
        rates, jobs = _rates(asked), asked.jobs.tolist()
        pace = rates.advanced(isolated(rates))
        for job, left in zip(jobs, asked.remaining.tolist(), strict=True):
            if job in self.before and self.before[job][1] > 0:
                self.alone[job] = self.alone.get(job, 0.0) + (self.before[job][0] - left) / self.before[job][1]
        self.before = dict(zip(jobs, np.column_stack([asked.remaining, pace]).tolist(), strict=True))
        alone = np.array([self.alone.get(job, 0.0) for job in jobs])
        progress = Progress(asked.remaining, asked.age, alone)
        return finish_time_fairness(rates, progress, optimum=self.readings.optimum)


LINEAR = (
    Policy("max_min", _max_min, doc="max-min fairness of time"),
    Policy("max_min_perf", _max_min_perf, aware=True, doc="max-min fairness of progress"),
    Policy("water_filling", _water_filling, doc="max-min fairness of time, then the second worst, and so on"),
    Policy("water_filling_perf", _water_filling_perf, aware=True, doc="the same, of progress"),
    Policy("finish_time_fairness", _FinishTime, doc="Themis' finish-time fairness, without rates"),
    Policy("finish_time_fairness_perf", _FinishTime, aware=True, doc="Themis' finish-time fairness"),
    Policy("min_total_duration", _total_duration, doc="the last end as early as possible, without rates"),
    Policy("min_total_duration_perf", _total_duration, aware=True, doc="the last end as early as possible"),
    Policy("max_sum", _max_sum, aware=True, doc="most steps per second in all"),
)
