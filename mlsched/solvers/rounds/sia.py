"""Sia's choice of a configuration, GPU type and number, for every job (Jayaram Subramanya et al., SOSP 2023).

    min  sum_jc G_jc^p x_jc  +  lambda sum_j (1 - sum_c x_jc)
    s.t. at most one configuration for each job, and for each type no more GPUs than there are,

where G_jc is the job's goodput over the smallest of its row. Goodputs of configurations other than the current one are
first multiplied by (T_j - N_j S_j) / (T_j + S_j), what the restarts leave of the job's time: T_j its age, N_j its
restarts until now, S_j seconds each. With p < 0 (the paper's text says p = .5, its code -.5) costs fall with goodput.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.errors import InvalidInput, SolverError
from mlsched.core.fields import IntArray
from mlsched.solvers.rounds._linear import Floats, Program

#: The paper's p and lambda.
POWER, WAITING = -0.5, 1.1


@dataclasses.dataclass(frozen=True)
class Configurations:
    """What a job may run on: GPUs of one type. type, gpus: of each configuration; capacity: GPUs of each type."""

    type: IntArray
    gpus: IntArray
    capacity: IntArray


def usual(capacity: IntArray, per_node: IntArray) -> Configurations:
    """Sia's: on each type 1, 2, 4 ... GPUs of a node (of R GPUs), then 2 R, 3 R ... N R of several nodes."""
    kinds, counts = [], []
    for m, (total, node) in enumerate(zip(capacity.tolist(), per_node.tolist(), strict=True)):
        sizes = [2**i for i in range(node.bit_length()) if 2**i <= min(node, total)]
        sizes += [node] if node not in sizes and node <= total else []
        sizes += list(range(2 * node, total + 1, node))
        kinds += [m] * len(sizes)
        counts += sizes
    return Configurations(np.array(kinds, dtype=np.int64), np.array(counts, dtype=np.int64), capacity)


def kept(age: Floats, restarts: IntArray, seconds: Floats) -> Floats:
    """(T - N S) / (T + S) of each job, at least 0: what is left of its goodput where it restarts once more."""
    return np.clip((age - restarts * seconds) / np.maximum(age + seconds, 1e-300), 0.0, 1.0)


def costs(goodput: Floats, current: IntArray, keeps: Floats, *, power: float = POWER) -> Floats:
    """G^p for each job and configuration; inf where goodput is 0. current: its configuration now, -1 for none.

    keeps: see `kept`. A job that does not run now, and has not yet run, restarts for nothing if `keeps` is 1 for it.
    """
    if power == 0:
        raise InvalidInput("power = 0: all configurations would cost the same; must be below or above 0")
    there = goodput > 0
    least = np.where(there, goodput, np.inf).min(axis=1, initial=np.inf, keepdims=True)
    stays = np.arange(goodput.shape[1]) == current[:, None]
    scaled = np.where(there, goodput / least, 0.0) * np.where(stays, 1.0, keeps[:, None])
    with np.errstate(divide="ignore"):
        return np.where(scaled > 0, np.power(scaled, power), np.inf)


def assign(
    cost: Floats, configurations: Configurations, waiting: Floats, *, deadline: Deadline | None = None, gap: float = 0.0
) -> IntArray:
    """Each job's configuration, -1 for one that waits at its cost of waiting, such that the costs' sum is smallest.

    Only entries below the cost of waiting can be in an optimum. Raises OutOfTime at the deadline.
    """
    jobs, options = np.nonzero(cost < waiting[:, None])
    chosen = np.full(len(cost), -1, dtype=np.int64)
    if not jobs.size:
        return chosen
    program = Program()
    x = program.add_columns(cost[jobs, options] - waiting[jobs], 0.0, 1.0, whole=True)
    program.put(program.add_rows(-np.inf, 1.0, len(cost))[jobs], x, 1.0)
    rows = program.add_rows(-np.inf, configurations.capacity.astype(np.float64))
    program.put(rows[configurations.type[options]], x, configurations.gpus[options])
    solved = program.solve(deadline=deadline, gap=gap)
    if solved is None:
        raise SolverError("highs calls waiting infeasible")
    taken = np.flatnonzero(solved.x[x] > 0.5)
    chosen[jobs[taken]] = options[taken]
    return chosen


def sia(
    goodput: Floats,
    configurations: Configurations,
    current: IntArray,
    keeps: Floats,
    *,
    power: float = POWER,
    waiting: float = WAITING,
    deadline: Deadline | None = None,
) -> IntArray:
    """Sia's configuration of each job, -1 for one that waits.

    goodput: jobs x configurations, useful examples per second, 0 where a job cannot run; see `costs` for the others.
    With `power` above 0 as the paper prints it, the sum is maximised.
    """
    cost = costs(goodput, current, keeps, power=power)
    if power > 0:
        cost, waiting = np.where(np.isfinite(cost), -cost, np.inf), -waiting
    return assign(cost, configurations, np.full(len(goodput), waiting), deadline=deadline)
