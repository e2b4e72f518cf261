"""Known relations between the optima of a rounds instance and of a changed copy."""

from __future__ import annotations

import numpy as np

from mlsched.core.contract import MetamorphicRelation
from mlsched.core.fields import IntArray
from mlsched_rounds.instances.instance import Instance

#: Every objective.
ALL = tuple(o.name for o in Instance.objectives)
JOBS = (
    "rate", "remaining", "done", "age", "current", "usual", "fair", "isolated", "goodput_cost", "waiting_cost", "weight"
)  # fmt: skip


def _some_jobs(instance: Instance, choice: IntArray) -> Instance:
    return instance.replace(**{name: getattr(instance, name)[choice] for name in JOBS})


def _jobs_relabelled(instance: Instance, rng: np.random.Generator) -> Instance:
    return _some_jobs(instance, rng.permutation(len(instance.remaining)))


def _configs_relabelled(instance: Instance, rng: np.random.Generator) -> Instance:
    order = rng.permutation(len(instance.config_type))
    place = np.append(np.argsort(order), -1)
    return instance.replace(
        config_type=instance.config_type[order],
        config_gpus=instance.config_gpus[order],
        rate=instance.rate[:, order],
        goodput_cost=instance.goodput_cost[:, order],
        current=place[instance.current],
    )


def _another_gpu(instance: Instance, rng: np.random.Generator) -> Instance | None:
    if not len(instance.capacity):
        return None
    more = np.zeros_like(instance.capacity)
    more[rng.integers(len(more))] = 1
    return instance.replace(capacity=instance.capacity + more)


def _without_one(instance: Instance, rng: np.random.Generator) -> Instance | None:
    count = len(instance.remaining)
    return _some_jobs(instance, np.delete(np.arange(count), rng.integers(count))) if count > 1 else None


def _scaled_costs(instance: Instance, rng: np.random.Generator) -> Instance:
    return instance.replace(goodput_cost=3 * instance.goodput_cost, waiting_cost=3 * instance.waiting_cost)


RELATIONS = {
    "jobs relabelled": MetamorphicRelation(
        "jobs only change their numbers", _jobs_relabelled, dict.fromkeys(ALL, "equal")
    ),
    "configurations relabelled": MetamorphicRelation(
        "configurations only change their numbers", _configs_relabelled, dict.fromkeys(ALL, "equal")
    ),
    "another GPU": MetamorphicRelation("a GPU is added", _another_gpu, dict.fromkeys(ALL, "no worse")),
    "a job less": MetamorphicRelation(
        "a job is taken away", _without_one, {"goodput_cost": "no worse", "total_steps": "no better",
        "worst_ratio": "no worse", "last_end": "no worse"},
    ),
    "larger costs": MetamorphicRelation("all costs are three times as large", _scaled_costs, {"goodput_cost": 3}),
}  # fmt: skip
