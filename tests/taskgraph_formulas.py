"""Tiny task graphs for the formulas of certificates: two resources, both kinds of movement."""

from __future__ import annotations

import itertools

import numpy as np
from certificate_examples import taskgraph

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.instances.taskgraph import Instance


def drawn(number: int) -> Instance:
    """A tiny instance that has a plan, with a second resource and both kinds of movement in turn."""
    for again in itertools.count():
        rng = np.random.default_rng([11, number, again])
        try:
            instance = taskgraph(rng)
        except InvalidInput:
            continue
        cpu = rng.integers(0, 3, (len(instance.task_job), 1))
        instance = instance.replace(
            resources=["cpu", "gpu"],
            node_capacity=np.hstack([[[2], [3]], instance.node_capacity]),
            demand=np.hstack([cpu, instance.demand]),
            movement=("none", "between_iterations")[number % 2],
            min_iterations=instance.max_iterations,
            accuracy_at="final",
        )
        if api.solve(instance, "brute-force").plan is not None:
            return instance
    raise AssertionError("unreachable")
