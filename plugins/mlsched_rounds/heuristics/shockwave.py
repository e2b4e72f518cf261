"""Shockwave (Zheng et al., NSDI 2023): the first round of a plan for the coming ones, `solvers/rounds/shockwave.py`.

It knows no types: all GPUs are the same to it, a job holds what its smallest configuration does, and runs at its usual
rate, a step being an epoch. Jobs of the plan's first round then run in their fastest configurations that fit.

In the world of rounds plans are made as the authors' program makes them and stand for some rounds
(`simulation/rounds/planner.py`). Asked about one round alone, what is ours:
- Nothing is remembered between rounds, so that a plan is made for each.
- A job ought to end after all its steps at the share of a GPU that there is now for each job, min(1, G / n); the paper
  averages the contention since the job arrived.
- GPUs that the plan leaves free go to jobs in the order of their age.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.core.params import Range
from mlsched.core.registry import solver
from mlsched_rounds.instances import Instance, Plan
from mlsched_rounds.instances.room import Room
from mlsched_rounds.solvers.shockwave import Jobs, Window, shockwave


def _world(params: dict[str, Any]) -> dict[str, Any]:
    renamed = {"rounds": "window"}
    return {"plan": "shockwave", **{renamed.get(name, name): value for name, value in params.items()}}


@solver("shockwave", problem="rounds", world=_world, paper="Shockwave, Section 6")
def answer(
    instance: Instance,
    *,
    rng: np.random.Generator,
    rounds: Annotated[int, Range(1, 200)] = 20,
    makespan: Annotated[float, Range(0, 1e6)] = 1e-3,
    fairness: Annotated[float, Range(0, 100)] = 12.0,
    ratio: Annotated[float, Range(0.01, 1e6)] = 1.0,
) -> Plan:
    """Runs the jobs of the plan's first round. rounds: T; makespan: k; fairness: lambda; ratio: rho."""
    room = Room(instance)
    gpus = int(instance.capacity.sum())
    able = np.array([j for j in range(len(instance.rate)) if room.fitting(j).size], dtype=np.int64)
    if able.size:
        window = Window(rounds, instance.length / 1000, gpus, makespan, fairness, ratio)
        plan = shockwave(window, _jobs(instance, able, gpus))
        for k in np.flatnonzero(plan.runs[:, 0]).tolist():
            room.take_fastest(int(able[k]))
    room.fill_by_age()
    return room.plan()


def _jobs(instance: Instance, able: IntArray, gpus: int) -> Jobs:
    """The jobs as the program reads them."""
    seconds = 1000 / instance.usual[able]
    done, remaining = instance.done[able].astype(np.float64), instance.remaining[able].astype(np.float64)
    share = min(1.0, gpus / len(able))
    return Jobs(
        gpus=np.where(instance.rate[able] > 0, instance.config_gpus, gpus).min(axis=1),
        epochs=done + remaining,
        done=done,
        epoch=seconds,
        remaining=remaining * seconds,
        age=instance.age[able] / 1000,
        fair=(done + remaining) * seconds / share,
    )
