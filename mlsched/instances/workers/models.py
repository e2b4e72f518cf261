"""The models and the cluster of the Chic paper (Section 6.1), with Optimus parameters that the paper does not print.

Demands are printed. Speeds are not: the parameters below are ours, chosen so that jobs of 100 to 200 iterations match
the paper's figures (average completion times of 1,700 to 2,700 s). g is Optimus' synchronous model.
"""

from __future__ import annotations

import dataclasses

from mlsched.instances.workers.speed import SpeedModel, Synchronous

RESOURCES = ("gpu", "cpu", "memory_gb")
#: 10 GPUs, 120 CPU cores, 600 GB.
CLUSTER = (10, 120, 600)
#: Iterations of a job: uniform between these.
ITERATIONS = (100, 200)


@dataclasses.dataclass(frozen=True)
class TrainingModel:
    """A kind of job. worker, ps: demand of one of each, by the names in RESOURCES. speed: time of an iteration."""

    name: str
    worker: tuple[int, ...]
    ps: tuple[int, ...]
    speed: SpeedModel


MODELS: tuple[TrainingModel, ...] = (
    TrainingModel("ResNet-50", (1, 2, 8), (0, 3, 9), Synchronous(40, 1.5, 2, 0.15, 0.10)),
    TrainingModel("VGG-16", (1, 2, 10), (0, 4, 10), Synchronous(45, 2, 6, 0.30, 0.20)),
    TrainingModel("ResNext-110", (1, 2, 10), (0, 3, 10), Synchronous(25, 1, 1, 0.10, 0.10)),
)
