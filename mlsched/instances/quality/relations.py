"""Metamorphic relations: the optimum of a changed quality instance relative to the original's."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.contract import MetamorphicRelation
from mlsched.instances.quality.instance import Instance

JOBS = ("gain", "loss", "weight", "most", "waiting")


def _restricted_to(instance: Instance, chosen: Any) -> Instance:
    return instance.replace(**{name: getattr(instance, name)[chosen] for name in JOBS})


def _relabelled(instance: Instance, rng: np.random.Generator) -> Instance:
    return _restricted_to(instance, rng.permutation(len(instance.most)))


def _another_core(instance: Instance, rng: np.random.Generator) -> Instance:
    return instance.replace(cores=instance.cores + 1)


def _without_last_job(instance: Instance, rng: np.random.Generator) -> Instance | None:
    return _restricted_to(instance, slice(-1)) if len(instance.most) > 1 else None


def _fewer_unforced(instance: Instance, rng: np.random.Generator) -> Instance | None:
    # A job at its minimum leaves cores that may help the others more.
    return _without_last_job(instance, rng) if instance.least == 0 else None


def _tripled_weights(instance: Instance, rng: np.random.Generator) -> Instance:
    return instance.replace(weight=3 * instance.weight)


RELATIONS = {
    "relabelled": MetamorphicRelation(
        "jobs only change their numbers", _relabelled, {"total_loss_reduction": "equal", "worst_loss": "equal"}
    ),
    "another core": MetamorphicRelation(
        "a core is added", _another_core, {"total_loss_reduction": "no worse", "worst_loss": "no worse"}
    ),
    "fewer jobs": MetamorphicRelation("the last job is taken away", _without_last_job, {"worst_loss": "no worse"}),
    "fewer jobs, none forced": MetamorphicRelation(
        "the last job is taken away, and none had to get cores", _fewer_unforced, {"total_loss_reduction": "no better"}
    ),
    "larger weights": MetamorphicRelation(
        "all weights are three times as large", _tripled_weights, {"total_loss_reduction": 3, "worst_loss": 3}
    ),
}
