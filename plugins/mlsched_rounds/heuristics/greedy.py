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
    """Jobs for each type in the coming round, types filled one after the other in `order`.

    A job is skipped where it has been taken already, cannot run on the type, or needs more GPUs than are free; with
    `strict` (FIFO) also where its priority is 0. Others without priority fill what is free.
    """
    priority = accounts.priority(active)
    found: list[list[int]] = [[] for _ in capacity]
    gone: set[int] = set()
    for kind in order:
        free = capacity[kind]
        for row in accounts.queue(active, kind, priority).tolist():
            if free == 0:
                break
            job = int(active[row])
            if job in gone or accounts.rate[job, kind] <= 0 or (strict and priority[row, kind] <= 0):
                continue
            if gpus[job] <= free:
                free -= gpus[job]
                gone.add(job)
                found[kind].append(job)
    return found
