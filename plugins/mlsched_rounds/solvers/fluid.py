"""A bound on every schedule of jobs on several GPU types, and the first shares of its linear program.

Time is cut into intervals [t_{k-1}, t_k]; y_jmk is the number of seconds that job j spends on type m in interval k, and
p_jm = N_j / tau_jm its duration on that type only. Every schedule, with pauses and moves at will, satisfies

    sum_j s_j y_jmk <= c_m (t_k - t_{k-1}),    sum_m y_jmk <= t_k - max(t_{k-1}, r_j),    sum_mk y_jmk / p_jm = 1.

Work of interval k is done after max(t_{k-1}, r_j), and a job's completion is at least half its shortest duration after
the mean time of its work, so that

    sum of (completion - r_j) >= min sum_j [ sum_mk (y_jmk / p_jm) (max(t_{k-1}, r_j) - r_j) + min_m p_jm / 2 ].

Time counts from the interval's start, so finer intervals prove more. The makespan is bounded by the same rows with a
free length of the last interval. If all jobs are released now with their remaining steps, the shares of the first
interval are the next action of the bound: a policy that solves it again at every chance (`fluid_shares`).

If jobs may share their GPUs (`Rates.paired`), a job has another column for each type and interval. While it shares, it
uses s_j / 2 GPUs and runs at the rate beside its best partner. A pair's time counts for both of its jobs, so that every
schedule with pairs satisfies these rows, too.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.errors import BackendError, InvalidInput
from mlsched.core.fields import FloatArray, IntArray
from mlsched_rounds.solvers._linear import Program, Solved
from mlsched_rounds.solvers.shares import Rates

#: Relative reduction of a bound, above the tolerance of HiGHS.
SAFE = 1e-7


def grid(start: float, end: float, count: int, first: float | None = None) -> FloatArray:
    """Return the borders of `count` intervals from start to end.

    The intervals are equal, or grow by a constant factor from `first` on.
    """
    if count < 1 or not end > start:
        raise InvalidInput(f"grid: {count} intervals from {start} to {end}: expected at least 1, of time > 0")
    if first is None or first * count >= end - start:
        return np.linspace(start, end, count + 1)
    low, high = 1.0, (end - start) / first + 1
    for _ in range(200):
        factor = (low + high) / 2
        with np.errstate(over="ignore"):  # an overflow is too long
            short = first * np.expm1(count * np.log(factor)) / (factor - 1) < end - start
        if short:
            low = factor
        else:
            high = factor
    return np.concatenate([start + first * np.expm1(np.arange(count) * np.log(high)) / (high - 1), [end]])


def total_jct_bound(
    rates: Rates, steps: FloatArray, release: FloatArray, borders: FloatArray, *, deadline: Deadline | None = None
) -> float:
    """Return a lower bound on the sum of completion times less releases, seconds, of the jobs that can run.

    After the last border there is one more interval, without an end.

    Args:
        rates: Rates, GPUs and capacities.
        steps: N_j.
        release: r_j, at or after the first border.
        borders: Borders of the intervals.
        deadline: Time limit.
    """
    jobs = _check_inputs(rates, steps)
    if not jobs.size:
        return 0.0
    solution, _ = _solve_program(rates, steps, release, borders, jobs, deadline)
    shortest = steps[jobs] / rates.fastest[jobs]
    return float((solution.value * (1 - SAFE) + 0.5) * shortest.sum())


def fluid_shares(
    rates: Rates, steps: FloatArray, borders: FloatArray, *, deadline: Deadline | None = None
) -> FloatArray:
    """Return the shares of each job's time on each type until the first border after now, from the bound's optimum.

    Args:
        rates: Rates, GPUs and capacities.
        steps: Remaining steps.
        borders: Borders from now on, the first one 0.
        deadline: Time limit.
    """
    jobs = _check_inputs(rates, steps)
    shares = np.zeros(rates.rate.shape)
    if jobs.size:
        solution, (job, kind, interval, column) = _solve_program(
            rates, steps, np.full(len(steps), borders[0]), borders, jobs, deadline
        )
        now = interval == 0
        shares[job[now], kind[now]] = solution.x[column[now]]
    return np.clip(shares, 0.0, 1.0)


def makespan_bound(rates: Rates, steps: FloatArray, release: FloatArray, *, deadline: Deadline | None = None) -> float:
    """Return a lower bound on the last completion after the first release, seconds, of the jobs that can run."""
    jobs = _check_inputs(rates, steps)
    if not jobs.size:
        return 0.0
    borders = np.unique(release[jobs])
    unit = float((steps[jobs] / rates.fastest[jobs]).max())
    ends = (np.append(borders, borders[-1] + unit) - borders[0]) / unit
    # The last interval's length is a column; those before it have fixed lengths.
    program = Program()
    last = int(program.add_columns([1.0])[0])
    length = np.diff(ends)
    length[-1] = 0.0
    _, rows_of_jobs, rows_of_types = _add_all_rows(
        program, rates, steps, (release - borders[0]) / unit, ends[:-1], length, jobs, unit
    )
    final = len(length) - 1
    program.put(rows_of_jobs[:, final], last, -1.0)
    program.put(rows_of_types[:, final], last, -rates.capacity.astype(np.float64))
    solution = program.solve(deadline=deadline)
    if solution is None:
        raise BackendError("highs calls an existing schedule infeasible")
    return float((ends[-2] + solution.value * (1 - SAFE)) * unit)


def _check_inputs(rates: Rates, steps: FloatArray) -> IntArray:
    if (steps < 0).any() or not np.isfinite(steps).all():
        raise InvalidInput("steps: every entry must be a finite number >= 0")
    fits = (rates.rate > 0) & (rates.gpus[:, None] <= rates.capacity)
    return np.flatnonzero((steps > 0) & fits.any(axis=1))


def _running_modes(rates: Rates) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return the modes of running: rates, shape (jobs, modes); the type of each mode; and the fraction of GPUs used.

    The modes are the types, and again the types for jobs that share their GPUs. A job that does not gain from sharing
    has a rate of 0 there: without sharing it does as many steps in half the time.
    """
    types = np.arange(len(rates.capacity))
    if rates.paired is None:
        return rates.rate, types, np.ones(len(types))
    paired = np.where(2 * rates.paired > rates.rate, rates.paired, 0.0)
    return np.hstack([rates.rate, paired]), np.tile(types, 2), np.repeat([1.0, 0.5], len(types))


Columns = tuple[IntArray, IntArray, IntArray, IntArray]


def _solve_program(
    rates: Rates, steps: FloatArray, release: FloatArray, borders: FloatArray, jobs: IntArray, deadline: Deadline | None
) -> tuple[Solved, Columns]:
    """Return the optimum, and job, mode (`_running_modes`) and interval of each column y, as shares of the intervals.

    The unit is the mean of the jobs' shortest durations, summed. The halves of the shortest durations are left out.
    """
    if (release[jobs] < borders[0]).any():
        raise InvalidInput("release: expected all at or after the first border")
    program = Program()
    total = float((steps[jobs] / rates.fastest[jobs]).sum())
    # The last interval is long enough for all jobs, one after another, after the last release.
    lengths = np.append(np.diff(borders), 2 * total + max(0.0, float(release[jobs].max()) - borders[-1]))
    columns, _, _ = _add_all_rows(program, rates, steps, release, borders, lengths, jobs, 1.0, scale=lengths)
    job, mode, interval, column = columns
    begin = np.maximum(borders[interval], release[job]) - release[job]
    part = _running_modes(rates)[0][job, mode] * lengths[interval] / steps[job]
    costs = np.zeros(program.columns)
    costs[column] = part * begin / total
    program.cost = [costs]
    solution = program.solve(deadline=deadline)
    if solution is None:
        raise BackendError("highs calls an existing schedule infeasible")
    return solution, columns


def _add_all_rows(
    program: Program,
    rates: Rates,
    steps: FloatArray,
    release: FloatArray,
    begins: FloatArray,
    lengths: FloatArray,
    jobs: IntArray,
    unit: float,
    scale: FloatArray | None = None,
) -> tuple[Columns, IntArray, IntArray]:
    """Add the rows of the module's docstring; return the columns, and the rows of jobs and types.

    Each column has a job, mode (`_running_modes`) and interval. Rows are given by interval (-1: it ends before
    the job's release). Times are in `unit` seconds.
    """
    count, types = len(lengths), len(rates.capacity)
    ends = begins + lengths
    last = count - 1
    there = (release[jobs, None] < ends) | (np.arange(count) == last)
    rate, types_of, usage = _running_modes(rates)
    fits = (rate[jobs] > 0) & (rates.gpus[jobs, None] <= rates.capacity[types_of])
    local, mode, interval = np.nonzero(fits[:, :, None] & there[:, None, :])
    size = np.ones(count) if scale is None else scale
    column = program.add_columns(np.zeros(len(local)))
    room = np.maximum(ends - np.maximum(begins, release[jobs, None]), 0.0) / size
    rows_of_jobs = np.full((len(jobs), count), -1)
    rows_of_jobs[there] = program.add_rows(-np.inf, room[there])
    program.put(rows_of_jobs[local, interval], column, 1.0)
    high = (rates.capacity[:, None] * lengths / size).ravel()
    rows_of_types = program.add_rows(-np.inf, high).reshape(types, count)
    job = jobs[local]
    program.put(rows_of_types[types_of[mode], interval], column, rates.gpus[job] * usage[mode])
    # All of a job's steps, as multiples of those in its longest time: entries near 1.
    progress = program.add_rows(np.ones(len(jobs)), np.ones(len(jobs)))
    program.put(progress[local], column, rate[job, mode] * size[interval] * unit / steps[job])
    return (job, mode, interval, column), rows_of_jobs, rows_of_types
