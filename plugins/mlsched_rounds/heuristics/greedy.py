"""The round that Gavel's mechanism runs: each type's queue in turn, whoever fits is taken."""

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
    """Rows of `accounts` for each type in the coming round, types filled one after the other in `order`.

    A row is a job, or a pair that shares its GPUs; gpus: of each job. A row is skipped where one of its jobs has been
    taken already, cannot run on the type, or needs more GPUs than are free; with `strict` (FIFO) also where its
    priority is 0. Others without priority fill what is free.
    """
    priority = accounts.priority(active)
    found: list[list[int]] = [[] for _ in capacity]
    gone: set[int] = set()
    for kind in order:
        free = capacity[kind]
        for row in accounts.queue(active, kind, priority).tolist():
            if free == 0:
                break
            one = int(active[row])
            unit = accounts.unit(one)
            if not gone.isdisjoint(unit) or accounts.rate[one, kind] <= 0 or (strict and priority[row, kind] <= 0):
                continue
            if gpus[unit[0]] <= free:
                free -= gpus[unit[0]]
                gone.update(unit)
                found[kind].append(one)
    return found
