"""From jobs and speed models to an instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched.instances.workers.instance import DELAY, Instance, pair_terms, waiting_terms
from mlsched.instances.workers.models import TrainingModel

#: Interpretations of the charge of a waiting job: a function of the cost table and the delay, by name.
WAITING = {"slowest": waiting_terms, "pair": pair_terms}


@validate_arguments
def from_models(
    models: Sequence[TrainingModel],
    resources: Sequence[str],
    capacity: npt.ArrayLike,
    *,
    model: npt.ArrayLike,
    remaining: npt.ArrayLike,
    most_workers: int = 16,
    most_ps: int = 20,
    waiting: Annotated[str, WAITING] = "slowest",
    delay: int = DELAY,
    **observed: Any,
) -> Instance:
    """Build the instance of jobs of known models, in arrival order.

    Args:
        capacity: Available amount of each resource.
        models: Speed models and demands.
        model: Index into `models` of each job.
        remaining: Iterations left of each job.
        most_workers, most_ps: Size of the tables.
        waiting: Charge of a waiting job (`WAITING`).
        delay: Milliseconds until the next decision.
        observed: `current_workers`, `current_ps`, `waited` and `backlog` of the instance, 0 by default.
    """
    kinds, iterations = np.asarray(model, dtype=np.int64), np.asarray(remaining, dtype=np.int64)
    jobs = len(kinds)
    if len(iterations) != jobs:
        raise InvalidInput(f"remaining: has {len(iterations)} entries, expected {jobs}, one for each entry of model")
    if ((kinds < 0) | (kinds >= len(models))).any():
        raise InvalidInput(f"model: {kinds.tolist()!r:.60}, expected indices of the {len(models)} models")
    types = [models[k] for k in kinds.tolist()]
    tables = [m.speed.times(most_workers, most_ps).cost(b) for m, b in zip(types, iterations.tolist(), strict=True)]
    cost = np.array(tables, dtype=np.int64).reshape(jobs, most_workers, most_ps)
    none = np.zeros(jobs, dtype=np.int64)

    def demand(role: str) -> IntArray:
        return np.array([getattr(m, role) for m in types], dtype=np.int64).reshape(jobs, len(resources))

    return Instance(
        resources=tuple(resources),
        models=tuple(m.name for m in models),
        capacity=np.asarray(capacity, dtype=np.int64),
        worker_demand=demand("worker"),
        ps_demand=demand("ps"),
        cost=cost,
        waiting=WAITING[waiting](cost, delay),
        remaining=iterations,
        model=kinds,
        **{"current_workers": none, "current_ps": none, "waited": none, "backlog": 0, **observed},
    )
