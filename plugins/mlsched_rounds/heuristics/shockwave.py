"""Shockwave (Zheng et al., NSDI 2023): the first round of a plan for several rounds, `solvers/rounds/shockwave.py`.

It ignores types: all GPUs are equal to it. A job uses the GPUs of its smallest configuration and runs at its usual
rate; a step is an epoch. Jobs of the plan's first round then run in their fastest configurations that fit.

In the simulator of rounds, plans follow the authors' program and apply to several rounds
(`simulation/rounds/planner.py`). For a single round, these parts are ours:
- There is a new plan for each round, without memory between rounds.
- A job should end after all its steps at the present share of a GPU for each job, min(1, G / n). The paper averages the
  contention since the job arrived.
- GPUs that the plan leaves free go to jobs by age.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.fields import IntArray
from mlsched.core.params import Range
from mlsched.core.registry import solver
from mlsched_rounds.instances import Instance, Plan
from mlsched_rounds.instances.room import Room
from mlsched_rounds.solvers.shockwave import Jobs, Window, shockwave


def _simulator_options(params: Data) -> Data:
    renamed = {"rounds": "window"}
    return {"plan": "shockwave", **{renamed.get(name, name): value for name, value in params.items()}}


@solver("shockwave", problem="rounds", world=_simulator_options, paper="Shockwave, Section 6")
def answer(
    instance: Instance,
    *,
    rng: np.random.Generator,
    rounds: Annotated[int, Range(1, 200)] = 20,
    makespan: Annotated[float, Range(0, 1e6)] = 1e-3,
    fairness: Annotated[float, Range(0, 100)] = 12.0,
    ratio: Annotated[float, Range(0.01, 1e6)] = 1.0,
) -> Plan:
    """Run the jobs of the plan's first round.

    Args:
        instance: The round.
        rng: Source of random numbers.
        rounds: T, the rounds of a plan.
        makespan: k, the weight of the makespan.
        fairness: lambda, the power of the weights.
        ratio: rho; a job with a larger finish-time ratio is behind.
    """
    room = Room(instance)
    gpus = int(instance.capacity.sum())
    able = np.array([j for j in range(len(instance.rate)) if room.fitting(j).size], dtype=np.int64)
    if able.size:
        window = Window(rounds, instance.length / 1000, gpus, makespan, fairness, ratio)
        plan = shockwave(window, _jobs_of_window(instance, able, gpus))
        for k in np.flatnonzero(plan.runs[:, 0]).tolist():
            room.take_fastest(int(able[k]))
    room.fill_by_age()
    return room.plan()


def _jobs_of_window(instance: Instance, able: IntArray, gpus: int) -> Jobs:
    """Return the jobs in the form of the program."""
    seconds = 1000 / instance.usual[able]
    progress, remaining = instance.done[able].astype(np.float64), instance.remaining[able].astype(np.float64)
    share = min(1.0, gpus / len(able))
    return Jobs(
        gpus=np.where(instance.rate[able] > 0, instance.config_gpus, gpus).min(axis=1),
        epochs=progress + remaining,
        done=progress,
        epoch=seconds,
        remaining=remaining * seconds,
        age=instance.age[able] / 1000,
        fair=(progress + remaining) * seconds / share,
    )
