"""Shockwave's plan of the coming rounds (Zheng et al., NSDI 2023, Section 6), stated for HiGHS.

In T rounds of R seconds on G equal GPUs, job j runs in the rounds x_jr and does P_j epochs of d_j seconds:

    max  (1 / nT) sum_j pi_j L((e_j + P_j) / E_j)  -  k max_j (rem_j - d_j P_j)+
    s.t. sum_j w_j x_jr <= G,    d_j P_j <= R sum_r x_jr,    e_j + P_j <= E_j,

and, if feasible, (t_j + T) R + (rem_j - d_j P_j)+ / sigma <= rho F_j for every job: it would end in time, sigma =
min(1, G / n). In nearly every call that is infeasible; the weights pi_j then mark the jobs that are behind. L is a
piecewise-linear logarithm. It is concave and maximised, so it does not need binaries.

Only the number of rounds n_j = sum_r x_jr counts, so that the program has one integer for each job and the joint row
sum_j w_j n_j <= G T. A second program orders the rounds, the higher pi_j the earlier: it minimises the sum of pi_j
times the mean number of j's rounds (the authors' `rank_in_schedule_jobs`). Our faster alternative is a list (`order`).
It proceeds round by round: first jobs that must run in all remaining rounds, then by pi_j. If that strands a job, the
program follows. If an order is impossible (jobs of several GPUs may leave gaps), the first program is solved again with
all x_jr.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.errors import BackendError, InvalidInput
from mlsched.core.fields import FloatArray, IntArray
from mlsched.core.formulation import Limits
from mlsched_rounds.solvers._linear import Program, Solved

#: Knots of L, and the replacement of 0 in its logarithm.
KNOTS, NOTHING = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0]), 1e-6
LOGARITHM = np.log(np.maximum(KNOTS, NOTHING))
#: The power of weights of jobs that end within a round; and the largest weight (ours), that HiGHS can add to others.
LAST, HEAVIEST = 100, 1e6
#: Relative gap at which the program that orders the rounds stops (the authors' `solver_rel_gap`).
ORDER_GAP = 1e-3


@dataclasses.dataclass(frozen=True)
class Window:
    """A window of rounds.

    Attributes:
        rounds: T.
        seconds: R.
        gpus: G.
        makespan: k, the weight of the longest remainder.
        fairness: lambda, the power of the weights.
        ratio: rho, above which a job is behind.
        order: First method that orders the rounds.
    """

    rounds: int = 20
    seconds: float = 120.0
    gpus: int = 32
    makespan: float = 1e-3
    fairness: float = 12.0
    ratio: float = 1.0
    order: Literal["list", "program"] = "list"


@dataclasses.dataclass(frozen=True)
class Jobs:
    """The jobs of a window.

    Attributes:
        gpus: w_j.
        epochs: E_j.
        done: e_j, epochs.
        epoch: d_j, seconds.
        remaining: rem_j, seconds.
        age: t_j R, seconds since arrival.
        fair: F_j, seconds from arrival to the fair end. Age and fair may start at any common time: the authors' program
            counts from the start of the run.
    """

    gpus: IntArray
    epochs: FloatArray
    done: FloatArray
    epoch: FloatArray
    remaining: FloatArray
    age: FloatArray
    fair: FloatArray


@dataclasses.dataclass(frozen=True)
class Planned:
    """A plan of a window.

    Attributes:
        runs: 1 if a job runs, shape (jobs, rounds).
        fair: All jobs would end in time.
        value: Value of the program.
    """

    runs: IntArray
    fair: bool
    value: float


def logarithm(share: FloatArray) -> FloatArray:
    """Return L, linear between the knots."""
    result: FloatArray = np.interp(share, KNOTS, LOGARITHM)
    return result


def weights(window: Window, jobs: Jobs) -> FloatArray:
    """Return pi_j = rho_j^lambda of jobs that are behind, rho_j^100 if less than a round remains, 1 for the others.

    rho_j = (t_j R + rem_j / sigma) / F_j.
    """
    late = (jobs.age + jobs.remaining / _gpu_share_of_job(window, jobs)) / jobs.fair
    power = np.where(jobs.remaining < window.seconds, LAST, window.fairness)
    with np.errstate(over="ignore"):
        result: FloatArray = np.minimum(np.maximum(late, 1.0) ** power, HEAVIEST)
    return result


def value(window: Window, jobs: Jobs, counts: IntArray, pi: FloatArray) -> float:
    """Return the program's objective when job j runs in `counts[j]` rounds."""
    plan = np.minimum(window.seconds * counts / jobs.epoch, jobs.epochs - jobs.done)
    rest = np.maximum(jobs.remaining - jobs.epoch * plan, 0.0)
    welfare = pi @ logarithm((jobs.done + plan) / jobs.epochs) / (len(counts) * window.rounds)
    return float(welfare - window.makespan * rest.max(initial=0.0))


def shockwave(
    window: Window, jobs: Jobs, *, deadline: Deadline | None = None, gap: float = 1e-6, seed: int = 0
) -> Planned:
    """Return the jobs of each round of the window.

    Args:
        window: Window of rounds.
        jobs: Jobs.
        deadline: Time limit.
        gap: Relative gap at which HiGHS stops.
        seed: Seed of HiGHS.
    """
    search = _Search(deadline, gap, Limits(seed=seed))
    count = len(jobs.gpus)
    if not count:
        return Planned(np.zeros((0, window.rounds), dtype=np.int64), True, 0.0)
    if (jobs.gpus > window.gpus).any():
        raise InvalidInput(f"gpus: a job needs more than the {window.gpus} there are")
    pi, fair = np.ones(count), True
    needed = _seconds_needed(window, jobs)
    runs = None if needed is None else _make_plan(window, jobs, pi, needed, search)
    if runs is None:
        pi, fair = weights(window, jobs), False
        runs = _make_plan(window, jobs, pi, np.zeros(count), search)
    if runs is None:
        raise BackendError("highs calls a window infeasible although all jobs may wait")
    return Planned(runs, fair, value(window, jobs, runs.sum(axis=1), pi))


def _gpu_share_of_job(window: Window, jobs: Jobs) -> float:
    return min(1.0, window.gpus / len(jobs.gpus))


def _seconds_needed(window: Window, jobs: Jobs) -> FloatArray | None:
    """Return the seconds that each job must run within the window to end in time; None if some job cannot."""
    spare = window.ratio * jobs.fair - jobs.age - window.rounds * window.seconds
    needed = np.maximum(jobs.remaining - np.maximum(spare, 0.0) * _gpu_share_of_job(window, jobs), 0.0)
    # The last seconds of a round count as work if a job ends within it.
    able = np.minimum(window.rounds * window.seconds, jobs.epoch * (jobs.epochs - jobs.done))
    return None if (spare < 0).any() or (needed > able).any() else needed


@dataclasses.dataclass(frozen=True)
class _Search:
    """Search options of HiGHS."""

    deadline: Deadline | None
    gap: float
    limits: Limits

    def maximum(self, program: Program) -> Solved | None:
        return program.solve(maximise=True, deadline=self.deadline, gap=self.gap, limits=self.limits)


def _make_plan(window: Window, jobs: Jobs, pi: FloatArray, needed: FloatArray, search: _Search) -> IntArray | None:
    program, counts = _welfare_program(window, jobs, pi, needed)
    program.put(program.add_rows(-np.inf, [float(window.gpus * window.rounds)]), counts, jobs.gpus)
    solution = search.maximum(program)
    if solution is None:
        return None
    runs = _order_by_program(window, jobs, pi, np.rint(solution.x[counts]).astype(np.int64), search)
    return _apart(window, jobs, pi, needed, search) if runs is None else runs


def _welfare_program(window: Window, jobs: Jobs, pi: FloatArray, needed: FloatArray) -> tuple[Program, IntArray]:
    """Return the program over the number of rounds of each job, without a GPU limit, and the columns of the numbers."""
    n, program = len(jobs.gpus), Program()
    useful = np.ceil(jobs.epoch * (jobs.epochs - jobs.done) / window.seconds - 1e-9)
    counts = program.add_columns(np.zeros(n), 0.0, np.clip(useful, 0, window.rounds), whole=True)
    # Seconds of running, as a share of a round: d_j P_j / R.
    run = jobs.epoch / window.seconds
    plan = program.add_columns(np.zeros(n), needed / window.seconds, run * (jobs.epochs - jobs.done))
    utility = program.add_columns(pi / (n * window.rounds), -np.inf)
    longest = program.add_columns([-window.makespan * window.seconds])
    rows = program.add_rows(-np.inf, 0.0, n)
    program.put(rows, plan, 1.0)
    program.put(rows, counts, -1.0)
    for rest, right, low, high in zip(KNOTS[:-1], KNOTS[1:], LOGARITHM[:-1], LOGARITHM[1:], strict=True):
        slope = (high - low) / (right - rest)
        rows = program.add_rows(-np.inf, low + slope * (jobs.done / jobs.epochs - rest))
        program.put(rows, utility, 1.0)
        program.put(rows, plan, -slope / (run * jobs.epochs))
    rows = program.add_rows(jobs.remaining / window.seconds, np.inf)
    program.put(rows, plan, 1.0)
    program.put(rows, longest, 1.0)
    return program, counts


def _order_by_program(window: Window, jobs: Jobs, pi: FloatArray, counts: IntArray, search: _Search) -> IntArray | None:
    """Return the rounds of each job's `counts` runs, high pi early; None if they do not fit."""
    runs = _order_by_list(window, jobs, pi, counts) if window.order == "list" else None
    if runs is not None:
        return runs
    program = Program()
    each = pi / np.maximum(counts, 1)
    late = np.outer(each / each.max(), np.arange(window.rounds))
    x = program.add_columns(late, 0.0, 1.0, whole=True).reshape(-1, window.rounds)
    program.put(program.add_rows(counts.astype(float), counts.astype(float))[:, None], x, 1.0)
    program.put(program.add_rows(-np.inf, float(window.gpus), window.rounds), x, jobs.gpus[:, None])
    solution = program.solve(deadline=search.deadline, gap=ORDER_GAP, limits=search.limits)
    return None if solution is None else np.rint(solution.x[x]).astype(np.int64)


def _order_by_list(window: Window, jobs: Jobs, pi: FloatArray, counts: IntArray) -> IntArray | None:
    """Fill the rounds in order; return None if that strands a job.

    First come jobs that must run in all remaining rounds, then jobs by pi.
    """
    rest, runs = counts.copy(), np.zeros((len(counts), window.rounds), dtype=np.int64)
    for r in range(window.rounds):
        must = rest == window.rounds - r
        free = window.gpus
        for j in np.lexsort((-jobs.gpus, -pi, ~must)).tolist():
            if rest[j] and jobs.gpus[j] <= free:
                runs[j, r], free = 1, free - int(jobs.gpus[j])
                rest[j] -= 1
            elif must[j] and rest[j]:
                return None
    return runs if not rest.any() else None


def _apart(window: Window, jobs: Jobs, pi: FloatArray, needed: FloatArray, search: _Search) -> IntArray | None:
    """Solve the program with a column for each job and round."""
    program, counts = _welfare_program(window, jobs, pi, needed)
    n = len(jobs.gpus)
    x = program.add_columns(np.zeros(n * window.rounds), 0.0, 1.0, whole=True).reshape(n, window.rounds)
    rows = program.add_rows(0.0, 0.0, n)
    program.put(rows, counts, -1.0)
    program.put(rows[:, None], x, 1.0)
    program.put(program.add_rows(-np.inf, float(window.gpus), window.rounds), x, jobs.gpus[:, None])
    solution = search.maximum(program)
    return None if solution is None else np.rint(solution.x[x]).astype(np.int64)
