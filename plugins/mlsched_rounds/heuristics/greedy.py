"""The round of Gavel's mechanism: go through each type's queue and take every job that fits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mlsched_rounds.heuristics.accounts import Accounts


def taken(
    accounts: Accounts,
    active: npt.NDArray[np.int64],
    gpus: Sequence[int],
    capacity: Sequence[int],
    order: Sequence[int],
    *,
    strict: bool,
) -> list[list[int]]:
    """Return the rows of `accounts` for each type in the coming round.

    A row is skipped if one of its jobs is already taken, cannot run on the type, or needs more GPUs than are free. With
    `strict` (FIFO) it is also skipped if its priority is 0. Otherwise rows of priority 0 fill the free GPUs.

    Args:
        accounts: Accounts of jobs, or of jobs and pairs that share their GPUs.
        active: Active jobs.
        gpus: GPUs of each job.
        capacity: GPUs of each type.
        order: Types in the order in which they are filled.
        strict: Skip rows of priority 0.
    """
    priority = accounts.priority(active)
    result: list[list[int]] = [[] for _ in capacity]
    removals: set[int] = set()
    for kind in order:
        free = capacity[kind]
        for row in accounts.queue(active, kind, priority).tolist():
            if free == 0:
                break
            one = int(active[row])
            unit = accounts.unit(one)
            if not removals.isdisjoint(unit) or accounts.rate[one, kind] <= 0 or (strict and priority[row, kind] <= 0):
                continue
            if gpus[unit[0]] <= free:
                free -= gpus[unit[0]]
                removals.update(unit)
                result[kind].append(one)
    return result
