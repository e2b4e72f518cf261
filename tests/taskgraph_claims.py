"""Tiny task graphs for dual certificates, in some of which the GPUs of a node are apart."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from certificate_examples import drawn

from mlsched.certificates.taskgraph import prices as stated
from mlsched.instances.taskgraph import Instance

OBJECTIVES = tuple(stated.CLAIMS)


def apart(instance: Instance, rng: np.random.Generator) -> Instance:
    """The same instance with GPUs of two halves each, of which tasks need one, both or those of two GPUs."""
    return dataclasses.replace(
        instance,
        gpu_unit=2,
        node_capacity=2 * instance.node_capacity,
        demand=np.where(instance.demand == 1, rng.choice([1, 2], instance.demand.shape), 2 * instance.demand),
    )


def examples(count: int) -> Iterator[Instance]:
    """Tiny instances, in every third of which the GPUs of a node are apart."""
    for k, instance in enumerate(drawn("taskgraph", count)):
        yield apart(instance, np.random.default_rng([7, k])) if k % 3 == 0 else instance


def sense(instance: Instance, objective: str) -> int:
    """1 where less is better, -1 where more is."""
    return 1 if instance.objective(objective).sense == "min" else -1
