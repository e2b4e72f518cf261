"""Gavel (Narayanan et al., OSDI 2020): time shares by one of its policies, and the round that follows from them.

In the simulator of rounds, Gavel's mechanism records the time of each job and calls the policy again when jobs arrive
or end (`mlsched simulate gavel:policy=max_min_perf ...`; option `shares`). It chooses types. A job with several
possible GPU counts gets the smallest. For a single round, the answer is the mechanism's first round after a reset,
before any job has had time: type after type, the jobs of the largest shares first.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidInput
from mlsched.core.registry import solver
from mlsched_rounds.heuristics.shares import Asked, Readings
from mlsched_rounds.heuristics.shares import policy as named
from mlsched_rounds.instances import Instance, Plan
from mlsched_rounds.instances.room import Room


def _simulator_options(params: Data) -> Data:
    named(params["policy"])
    return {"shares": params["policy"]}


@solver("gavel", problem="rounds", world=_simulator_options, paper="Gavel, Sections 4 and 5")
def answer(instance: Instance, *, rng: np.random.Generator, policy: str = "max_min_perf") -> Plan:
    """Run the first round after Gavel's policy was called: type after type, the largest shares first.

    Args:
        instance: The round.
        rng: Source of random numbers.
        policy: fifo, fifo_perf, isolated, allox, max_min, max_min_perf, water_filling, water_filling_perf,
            finish_time_fairness, finish_time_fairness_perf, min_total_duration, min_total_duration_perf or max_sum;
            also srpt, las and fluid_mpc, which are not in the paper. gandiva lets pairs share GPUs and runs only in the
            simulator of rounds.
    """
    choice = named(policy)
    if choice.packs:
        raise InvalidInput(
            f"policy = {policy}: packs pairs of jobs, but a round lacks rates of pairs; use --simulator gavel"
        )
    query, config = _policy_input(instance, aware=choice.aware)
    order = np.arange(len(instance.capacity))
    if not choice.aware:
        rng.shuffle(order)
    shares = choice.start(Readings(int(rng.integers(2**31)), first=instance.length / 1000))(query)
    room = Room(instance)
    for kind in order.tolist():
        for job in np.argsort(-shares[:, kind], kind="stable").tolist():
            at = int(config[job, kind])
            if at >= 0 and room.fits(job, at) and (shares[job, kind] > 0 or not choice.strict):
                room.take(job, at)
    return room.plan()


def _policy_input(instance: Instance, *, aware: bool) -> tuple[Asked, np.ndarray]:
    """Return the policy's input, and the configuration of each job on each type (-1: none)."""
    jobs, types = len(instance.remaining), len(instance.capacity)
    runs = instance.rate > 0
    most = int(instance.config_gpus.max(initial=1))
    gpus = np.where(runs, instance.config_gpus, most).min(axis=1, initial=most)
    # Gavel's jobs have one GPU count each; for adaptive jobs the policy sees the smallest.
    runs &= instance.config_gpus == gpus[:, None]
    config = np.full((jobs, types), -1)
    rate = np.zeros((jobs, types))
    for job, at in np.argwhere(runs).tolist():
        kind = int(instance.config_type[at])
        config[job, kind], rate[job, kind] = at, instance.rate[job, at] / 1000
    able = rate > 0
    if not aware:
        rate = np.repeat(rate[:, :1], types, axis=1)
    query = Asked(
        jobs=np.lexsort((np.arange(jobs), -instance.age)).argsort(),
        rate=rate,
        gpus=gpus,
        weight=instance.weight.astype(float),
        remaining=instance.remaining.astype(float),
        age=instance.age / 1000,
        # A round gives the steps but not their types: GPU-seconds are those at the usual rate.
        served=instance.done * 1000 / np.maximum(instance.usual, 1) * gpus,
        capacity=instance.capacity,
        types=tuple(f"{kind:06d}" for kind in range(types)),
        runs=able,
    )
    return query, config
