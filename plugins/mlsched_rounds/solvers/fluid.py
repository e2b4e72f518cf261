"""A bound on every schedule of jobs on several GPU types, and what its linear program would do first.

Time is cut into intervals [t_{k-1}, t_k]; y_jmk is how many seconds job j spends on type m in interval k, and
p_jm = N_j / tau_jm its duration there alone. Every schedule, with pauses and moves at will, satisfies

    sum_j s_j y_jmk <= c_m (t_k - t_{k-1}),    sum_m y_jmk <= t_k - max(t_{k-1}, r_j),    sum_mk y_jmk / p_jm = 1.

What is done in interval k is done after max(t_{k-1}, r_j), and a job's completion is at least half its shortest
duration after the mean time of its work, so that

    sum of (completion - r_j) >= min sum_j [ sum_mk (y_jmk / p_jm) (max(t_{k-1}, r_j) - r_j) + min_m p_jm / 2 ].

Per interval, time counts from the interval's start, so finer intervals prove more. The makespan is bounded by the same
rows with the last interval's length free. With all jobs released now and their remaining steps, the shares of the first
interval are what the bound would do next: a policy that asks again at every chance (`fluid_shares`).

If jobs may share their GPUs (`Rates.paired`), a job has another column for each type and interval: while it shares, it
holds s_j / 2 GPUs and runs at the rate beside its best partner. A pair's time counts for both of its jobs, so that
every schedule with pairs satisfies these rows, too.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.errors import BackendError, InvalidInput
from mlsched.core.fields import IntArray
from mlsched_rounds.solvers._linear import Floats, Program, Solved
from mlsched_rounds.solvers.shares import Rates

#: By how much of its value a bound is lowered, above what HiGHS may be off.
SAFE = 1e-7


def grid(start: float, end: float, count: int, first: float | None = None) -> Floats:
    """Borders of `count` intervals from start to end, equal ones, or growing by a constant factor from `first` on."""
    if count < 1 or not end > start:
        raise InvalidInput(f"grid: {count} intervals from {start} to {end}: expected at least 1, of time > 0")
    if first is None or first * count >= end - start:
        return np.linspace(start, end, count + 1)
    low, high = 1.0, (end - start) / first + 1
    for _ in range(200):
        factor = (low + high) / 2
        with np.errstate(over="ignore"):  # what overflows is too long
            short = first * np.expm1(count * np.log(factor)) / (factor - 1) < end - start
        if short:
            low = factor
        else:
            high = factor
    return np.concatenate([start + first * np.expm1(np.arange(count) * np.log(high)) / (high - 1), [end]])


def total_jct_bound(
    rates: Rates, steps: Floats, release: Floats, borders: Floats, *, deadline: Deadline | None = None
) -> float:
    """No schedule's sum of completion times less releases is smaller, seconds; of the jobs that can run.

    steps: N_j; release: r_j, none before the first border. After the last border there is one more interval, without an
    end.
    """
    jobs = _asked(rates, steps)
    if not jobs.size:
        return 0.0
    solved, _ = _solved(rates, steps, release, borders, jobs, deadline)
    shortest = steps[jobs] / rates.fastest[jobs]
    return float((solved.value * (1 - SAFE) + 0.5) * shortest.sum())


def fluid_shares(rates: Rates, steps: Floats, borders: Floats, *, deadline: Deadline | None = None) -> Floats:
    """Shares of each job's time on each type until the first border after now, as the bound's optimum has them.

    steps: what remains; borders: from now on, the first one 0.
    """
    jobs = _asked(rates, steps)
    shares = np.zeros(rates.rate.shape)
    if jobs.size:
        solved, (job, kind, interval, column) = _solved(
            rates, steps, np.full(len(steps), borders[0]), borders, jobs, deadline
        )
        now = interval == 0
        shares[job[now], kind[now]] = solved.x[column[now]]
    return np.clip(shares, 0.0, 1.0)


def makespan_bound(rates: Rates, steps: Floats, release: Floats, *, deadline: Deadline | None = None) -> float:
    """No schedule's last completion is sooner after the first release, seconds; of the jobs that can run."""
    jobs = _asked(rates, steps)
    if not jobs.size:
        return 0.0
    borders = np.unique(release[jobs])
    unit = float((steps[jobs] / rates.fastest[jobs]).max())
    ends = (np.append(borders, borders[-1] + unit) - borders[0]) / unit
    # The last interval's length is a column; those before it are as long as they are.
    program = Program()
    last = int(program.add_columns([1.0])[0])
    length = np.diff(ends)
    length[-1] = 0.0
    _, rows_of_jobs, rows_of_types = _rows(
        program, rates, steps, (release - borders[0]) / unit, ends[:-1], length, jobs, unit
    )
    final = len(length) - 1
    program.put(rows_of_jobs[:, final], last, -1.0)
    program.put(rows_of_types[:, final], last, -rates.capacity.astype(np.float64))
    solved = program.solve(deadline=deadline)
    if solved is None:
        raise BackendError("highs calls an existing schedule infeasible")
    return float((ends[-2] + solved.value * (1 - SAFE)) * unit)


def _asked(rates: Rates, steps: Floats) -> IntArray:
    if (steps < 0).any() or not np.isfinite(steps).all():
        raise InvalidInput("steps: every entry must be a finite number >= 0")
    fits = (rates.rate > 0) & (rates.gpus[:, None] <= rates.capacity)
    return np.flatnonzero((steps > 0) & fits.any(axis=1))


def _modes(rates: Rates) -> tuple[Floats, IntArray, Floats]:
    """How a job can run: its rates, jobs x modes; the type of each mode, and the part of its GPUs that a job holds.

    The modes are the types, and again the types for jobs that share their GPUs. A job that gains nothing from sharing
    has no rate there: alone for half the time it does as many steps.
    """
    types = np.arange(len(rates.capacity))
    if rates.paired is None:
        return rates.rate, types, np.ones(len(types))
    paired = np.where(2 * rates.paired > rates.rate, rates.paired, 0.0)
    return np.hstack([rates.rate, paired]), np.tile(types, 2), np.repeat([1.0, 0.5], len(types))


Columns = tuple[IntArray, IntArray, IntArray, IntArray]


def _solved(
    rates: Rates, steps: Floats, release: Floats, borders: Floats, jobs: IntArray, deadline: Deadline | None
) -> tuple[Solved, Columns]:
    """The optimum in units of the mean of the jobs' shortest durations, summed, and the columns y as shares of the
    intervals: of which job, mode (`_modes`) and interval each is. The halves of the shortest durations are left out."""
    if (release[jobs] < borders[0]).any():
        raise InvalidInput("release: no job may be released before the first border")
    program = Program()
    total = float((steps[jobs] / rates.fastest[jobs]).sum())
    lengths = np.append(np.diff(borders), 2 * total + max(0.0, float(release[jobs].max()) - borders[-1]))
    columns, _, _ = _rows(program, rates, steps, release, borders, lengths, jobs, 1.0, scale=lengths)
    job, mode, interval, column = columns
    begin = np.maximum(borders[interval], release[job]) - release[job]
    part = _modes(rates)[0][job, mode] * lengths[interval] / steps[job]
    costs = np.zeros(program.columns)
    costs[column] = part * begin / total
    program.cost = [costs]
    solved = program.solve(deadline=deadline)
    if solved is None:
        raise BackendError("highs calls an existing schedule infeasible")
    return solved, columns


def _rows(
    program: Program,
    rates: Rates,
    steps: Floats,
    release: Floats,
    begins: Floats,
    lengths: Floats,
    jobs: IntArray,
    unit: float,
    scale: Floats | None = None,
) -> tuple[Columns, IntArray, IntArray]:
    """The rows of the module's docstring; of which job, mode (`_modes`) and interval each column is; and the rows of
    the jobs and of the types, by interval (-1 for an interval that ends before the job's release). Times in `unit`
    seconds."""
    count, types = len(lengths), len(rates.capacity)
    ends = begins + lengths
    last = count - 1
    there = (release[jobs, None] < ends) | (np.arange(count) == last)
    rate, types_of, held = _modes(rates)
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
    program.put(rows_of_types[types_of[mode], interval], column, rates.gpus[job] * held[mode])
    # All of a job's steps, as multiples of what it does in its longest time: entries near 1.
    done = program.add_rows(np.ones(len(jobs)), np.ones(len(jobs)))
    program.put(done[local], column, rate[job, mode] * size[interval] * unit / steps[job])
    return (job, mode, interval, column), rows_of_jobs, rows_of_types
