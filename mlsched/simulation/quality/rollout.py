"""Rollout of a rule over a horizon: the clock runs it on the horizon's jobs, and its allocations are the plan."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.fields import ints
from mlsched.instances.quality import Epochs, Horizon
from mlsched.instances.quality.instance import PPM
from mlsched.simulation.clock import Rule
from mlsched.simulation.clock import run as run_clock
from mlsched.simulation.quality.log import Log
from mlsched.simulation.quality.options import Options
from mlsched.simulation.quality.workload import NANO, Workload
from mlsched.simulation.quality.world import QualityWorld
from mlsched.simulation.wake import Wake

#: Parts of a workload's loss unit per part of a horizon's.
NANO_PER_PPM = NANO // PPM


def rollout(instance: Horizon, rule: Rule, seed: int) -> Epochs:
    """Return the cores that `rule` allocates over the horizon, with the information that the horizon gives to rules."""
    return epochs_of(instance, logged(instance, rule, seed))


def logged(instance: Horizon, rule: Rule, seed: int) -> Log:
    """Return the log of a rule's run over a horizon."""
    if not len(instance.submit):
        return Log()
    world = QualityWorld(workload_of(instance), options_of(instance))
    run_clock(world, rule, scheduling_events=wake_of(instance), seed=seed)
    return world.log


def epochs_of(horizon: Horizon, log: Log) -> Epochs:
    """Return the plan of a finished run."""
    columns = log.columns()
    epoch = columns["start"] // horizon.epoch
    cores = np.zeros((int(epoch.max(initial=-1)) + 1, len(horizon.submit)), dtype=np.int64)
    cores[epoch, columns["job"]] = columns["cores"]
    return Epochs(cores=cores)


def wake_of(horizon: Horizon) -> Wake:
    """Return the cadence of a horizon."""
    return Wake.parse(f"interval:{horizon.epoch}")


def options_of(horizon: Horizon) -> Options:
    """Return the world's interpretations of a horizon."""
    information: Any = horizon.information
    normalise: Any = horizon.normalise
    return Options(epoch=horizon.epoch, least=horizon.least, information=information, normalise=normalise)


def workload_of(horizon: Horizon) -> Workload:
    """Convert the horizon's jobs to a workload."""
    return Workload(
        cores=horizon.cores,
        submit=horizon.submit,
        work=horizon.work,
        iterations=horizon.iterations,
        loss=horizon.loss * NANO_PER_PPM,
        family=horizon.family,
        weight=horizon.weight,
        most=horizon.most,
        other_submit=ints([]),
        other_seconds=ints([]),
        other_cores=ints([]),
        source="a horizon",
    )
