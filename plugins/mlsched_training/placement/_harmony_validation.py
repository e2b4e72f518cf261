"""Harmony's validation: runs in the placement world, with true interference, on workloads apart from all training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlsched.core.registry import registry
from mlsched.simulation import clock
from mlsched.simulation.placement import outcome
from mlsched.simulation.placement.options import Options
from mlsched.simulation.placement.synthetic import uniform
from mlsched.simulation.placement.workload import Workload
from mlsched.simulation.placement.world import PlacementWorld
from mlsched.simulation.wake import Wake

#: Seeds of the validation workloads; seeds below 100,000 are left to tests and measurements.
VALIDATION = 100_000


def validation_workloads(params: Any) -> list[Workload]:
    """Return the validation set, which is the same for every seed."""
    return [
        uniform(
            jobs=params.jobs,
            seed=VALIDATION + k,
            servers=params.servers,
            mean=params.rate,
            load=params.load,
            model=params.model,
        )
        for k in range(params.validation)
    ]


def completion(answer: Callable[[Any, np.random.Generator], Any], loads: Sequence[Workload], params: Any) -> float:
    """Return the mean of the workloads' average completion times, in intervals; a policy sees N' jobs at once."""
    rule = clock.Rule("validation", lambda instance, memory, rng: (answer(instance.shown("observed"), rng), memory))
    completions = []
    for seed, load in enumerate(loads):
        world = PlacementWorld(load, Options(window=params.new, most_jobs=params.running))
        clock.run(world, rule, scheduling_events=Wake.parse("interval:1200"), seed=seed)
        completions.append(outcome.summary(load, world.log)["average_completion"])
    return float(np.mean(completions))


def random_completion(loads: Sequence[Workload], params: Any) -> float:
    """Return the completion time of tasks on random servers with space."""
    rule = registry().solvers["placement", "uniform-random"]
    return completion(lambda instance, rng: rule.function(instance, rng=rng), loads, params)
