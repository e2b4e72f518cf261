"""Gavel (Narayanan et al., OSDI 2020): shares of time by one of its policies, and the round that they bring about.

In the world of rounds its mechanism keeps account of what each job has had of its share, and asks the policy anew when
jobs come and go (`mlsched simulate gavel:policy=max_min_perf ...`; the world's option `shares`). It chooses types: a
job that runs on several numbers of GPUs has the smallest of them. Asked about one round alone, it answers with the
round that the mechanism runs just after it has asked the policy, when no job has had anything yet: type after type, the
jobs of the largest shares first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.registry import solver
from mlsched_rounds.heuristics.shares import Asked, Readings
from mlsched_rounds.heuristics.shares import policy as named
from mlsched_rounds.instances import Instance, Plan
from mlsched_rounds.instances.room import Room


def _world(params: dict[str, Any]) -> dict[str, Any]:
    named(params["policy"])
    return {"shares": params["policy"]}


@solver("gavel", problem="rounds", world=_world, paper="Gavel, Sections 4 and 5")
def answer(instance: Instance, *, rng: np.random.Generator, policy: str = "max_min_perf") -> Plan:
    """The round after Gavel's policy of that name was asked: type after type, the largest shares first.

    policy: fifo, fifo_perf, isolated, allox, max_min, max_min_perf, water_filling, water_filling_perf,
    finish_time_fairness, finish_time_fairness_perf, min_total_duration, min_total_duration_perf or max_sum; and srpt,
    las and fluid_mpc, which are not of the paper. gandiva, under which pairs share their GPUs, runs in the simulator of
    rounds only.
    """
    chosen = named(policy)
    if chosen.packs:
        raise InvalidInput(
            f"policy = {policy}: packs pairs of jobs, and a round has no rates of pairs; use --simulator gavel"
        )
    asked, config = _asked(instance, aware=chosen.aware)
    order = np.arange(len(instance.capacity))
    if not chosen.aware:
        rng.shuffle(order)
    shares = chosen.start(Readings(int(rng.integers(2**31)), first=instance.length / 1000))(asked)
    room = Room(instance)
    for kind in order.tolist():
        for job in np.argsort(-shares[:, kind], kind="stable").tolist():
            at = int(config[job, kind])
            if at >= 0 and room.fits(job, at) and (shares[job, kind] > 0 or not chosen.strict):
                room.take(job, at)
    return room.plan()


def _asked(instance: Instance, *, aware: bool) -> tuple[Asked, np.ndarray]:
    """What the policy is asked, and the configuration of each job on each type (-1: none)."""
    jobs, types = len(instance.remaining), len(instance.capacity)
    runs = instance.rate > 0
    most = int(instance.config_gpus.max(initial=1))
    gpus = np.where(runs, instance.config_gpus, most).min(axis=1, initial=most)
    # Its jobs have one number of GPUs each; of those that may choose, the policy sees the smallest.
    runs &= instance.config_gpus == gpus[:, None]
    config = np.full((jobs, types), -1)
    rate = np.zeros((jobs, types))
    for job, at in np.argwhere(runs).tolist():
        kind = int(instance.config_type[at])
        config[job, kind], rate[job, kind] = at, instance.rate[job, at] / 1000
    able = rate > 0
    if not aware:
        rate = np.repeat(rate[:, :1], types, axis=1)
    asked = Asked(
        jobs=np.lexsort((np.arange(jobs), -instance.age)).argsort(),
        rate=rate,
        gpus=gpus,
        weight=instance.weight.astype(float),
        remaining=instance.remaining.astype(float),
        age=instance.age / 1000,
        # A round says which steps were done, and not on what: their GPU-seconds are those at the usual rate.
        served=instance.done * 1000 / np.maximum(instance.usual, 1) * gpus,
        capacity=instance.capacity,
        types=tuple(f"{kind:06d}" for kind in range(types)),
        runs=able,
    )
    return asked, config
