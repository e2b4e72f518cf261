"""Quality over many epochs by enumeration: every allocation in every epoch, each run simulated by the judge."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.errors import TooLarge
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.registry import exact_algorithm
from mlsched.instances.quality import Epochs, Horizon
from mlsched.instances.quality.horizon_judge import OBJECTIVES, Run

#: Limit on epochs with a decision: about 10 s of CPU time.
MOST_EPOCHS = 50_000
NAMES = tuple(objective.name for objective in OBJECTIVES)


@exact_algorithm("every-epoch", problem="quality", objectives=NAMES, called="offline")
def answer(instance: Horizon, *, objective: str, limits: Limits, hint: Epochs | None = None) -> Outcome:
    """Try every allocation in every epoch; for two or three jobs, few cores and few epochs."""
    deadline, decisions = Deadline(limits.seconds), 0
    best: tuple[int, list[list[int]]] | None = None
    stack: list[tuple[Run, list[list[int]]]] = [(Run(instance), [])]
    while stack:
        deadline.check()
        run, rows = stack.pop()
        if run.ended():
            value = run.values()[objective]
            if best is None or value < best[0]:
                best = value, rows
            continue
        decisions += 1
        if decisions > MOST_EPOCHS:
            raise TooLarge(f"every-epoch: there are more than {MOST_EPOCHS} epochs to decide; use epoch-dp")
        for allocation in _allocations(run):
            further = copy.deepcopy(run, {id(instance): instance})
            further.give(allocation)
            stack.append((further, [*rows, allocation]))
    assert best is not None  # every running job has a core, so every run ends
    cores = np.array(best[1], dtype=np.int64).reshape(len(best[1]), len(instance.submit))
    return Outcome("optimal", Epochs(cores=cores), best[0], work={"epochs": decisions})


def _allocations(run: Run) -> Iterator[list[int]]:
    """Yield every feasible allocation."""
    running = set(run.running())
    choices = [range(run.horizon.cores + 1) if j in running else (0,) for j in range(len(run.done))]
    yield from (list(allocation) for allocation in itertools.product(*choices) if not run.faults(list(allocation)))
