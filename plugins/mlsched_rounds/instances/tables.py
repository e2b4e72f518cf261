"""Instances from real numbers: rates in steps per second, times in seconds.

Units and roundings: rates in thousandths of steps per second, rounded down (a rate below .001 cannot run); times in ms,
rounded; costs in ppm, rounded. The reference rates of a job:

- `usual`: sum over the types of (GPUs of the type / all GPUs) * its best rate there, Gavel's proportional share;
- `fair`: its rate in isolation with an equal part of every type (Gavel's "isolated"), which is min(1, .) of c_m / (n s)
  of its time on each. It runs on each type in the configuration of the best rate per GPU, of s GPUs.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mlsched.core.fields import FloatArray, IntArray
from mlsched_rounds.instances.goodput import POWER, WAITING, Configurations, costs, kept
from mlsched_rounds.instances.instance import PPM, Instance

#: Cost of an impossible configuration; plans never pay it.
NEVER = 10**8


@dataclasses.dataclass(frozen=True)
class State:
    """State of the jobs when the round begins: steps, seconds, and configurations (-1: none)."""

    remaining: Any
    done: Any
    age: Any
    current: IntArray
    restarts: IntArray
    restart_seconds: FloatArray
    weight: IntArray | None = None


def from_rates(
    rate: FloatArray,
    configurations: Configurations,
    state: State,
    *,
    length: float = 360.0,
    pause: float = 0.0,
    power: float = POWER,
    waiting: float = WAITING,
    type_names: tuple[str, ...] = (),
) -> Instance:
    """Return the instance of these rates. Goodputs are the rates.

    Args:
        rate: Steps per second, shape (jobs, configurations); 0 if a job cannot run.
        configurations: GPU type and GPU count of each configuration.
        state: State of the jobs.
        length: Seconds of the round.
        pause: Seconds of the round that a change of configuration costs.
        power, waiting: Sia's p and lambda.
        type_names: Names of the GPU types.
    """
    whole = np.floor(1000 * rate + 1e-9).astype(np.int64)
    usual, fair = (np.maximum(np.rint(1000 * r), 1).astype(np.int64) for r in reference_rates(rate, configurations))
    keeps = kept(np.asarray(state.age, dtype=np.float64), state.restarts, state.restart_seconds)
    # Ours: only running jobs are restarted. Sia's factor would be 0 for a new job, which would never start.
    keeps = np.where(state.current >= 0, keeps, 1.0)
    cost = costs(np.where(whole > 0, rate, 0.0), state.current, keeps, power=power)
    cost = np.where(np.isfinite(cost) & (PPM * cost < NEVER), np.rint(PPM * np.minimum(cost, 1e2)), NEVER)
    progress = np.asarray(state.done, dtype=np.int64)
    jobs = len(rate)
    return Instance(
        capacity=configurations.capacity,
        config_type=configurations.type,
        config_gpus=configurations.gpus,
        rate=whole,
        remaining=np.asarray(state.remaining, dtype=np.int64),
        done=progress,
        age=np.rint(1000 * np.asarray(state.age, dtype=np.float64)).astype(np.int64),
        current=state.current,
        usual=usual,
        fair=fair,
        isolated=np.rint(10**6 * progress / fair).astype(np.int64),
        goodput_cost=cost.astype(np.int64),
        waiting_cost=np.full(jobs, round(PPM * waiting)),
        weight=np.ones(jobs, dtype=np.int64) if state.weight is None else state.weight,
        length=round(1000 * length),
        pause=round(1000 * pause),
        type_names=type_names,
    )


def reference_rates(rate: FloatArray, configurations: Configurations) -> tuple[FloatArray, FloatArray]:
    """Return `usual` and `fair` of each job, steps per second; see the module's docstring."""
    jobs, types = len(rate), len(configurations.capacity)
    usual, fair, share = np.zeros(jobs), np.zeros(jobs), np.zeros(jobs)
    total = max(1, int(configurations.capacity.sum()))
    every = np.arange(jobs)
    for m in range(types):
        of_type = np.flatnonzero(configurations.type == m)
        if not of_type.size:
            continue
        capacity, gpus = int(configurations.capacity[m]), configurations.gpus[of_type]
        usual += capacity / total * rate[:, of_type].max(axis=1, initial=0.0)
        best = np.argmax(rate[:, of_type] / gpus, axis=1)
        part = capacity / (max(1, jobs) * gpus[best])
        fair += part * rate[:, of_type][every, best]
        share += np.where(rate[:, of_type][every, best] > 0, part, 0.0)
    return usual, fair / np.maximum(share, 1.0)


def without_rates(instance: Instance) -> Instance:
    """Return the instance as seen without rates: equal rates per GPU in every possible configuration."""
    able = instance.rate > 0
    rate = np.where(able, 1000 * instance.config_gpus, 0).astype(np.float64) / 1000
    configurations = Configurations(instance.config_type, instance.config_gpus, instance.capacity)
    usual, fair = (np.maximum(np.rint(1000 * r), 1).astype(np.int64) for r in reference_rates(rate, configurations))
    return instance.replace(rate=np.rint(1000 * rate).astype(np.int64), usual=usual, fair=fair)
