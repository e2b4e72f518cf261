"""Mixed loads on which Chic-plus evolves and is validated: arrival rates, cluster sizes and numbers of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.fields import FloatArray
from mlsched.learned.workers.chic_plus import NAMES as FEATURES
from mlsched.simulation.workers import Workload
from mlsched.simulation.workers.synthetic import chic
from mlsched_training._recipe import Tensors, Validation
from mlsched_training.workers._plus_runs import Cluster, Network, Runs
from mlsched_training.workers._sequences import NAMES, TRAINING, VALIDATION

#: Validation sequences of a load, as a multiple of a generation's.
VALIDATED = 3


class Load(NamedTuple):
    """Kind of workload sequence.

    Attributes:
        sequences: Number of sequences per generation.
        jobs: Number of jobs per sequence.
        rate: Arrivals per hour, for a cluster of the paper's size.
        scale: Size of the cluster relative to the paper's.
        floor: Condition under which a re-schedule loses iterations.
        least: Least number of iterations of a job.
        most: Greatest number of iterations of a job.
    """

    sequences: int
    jobs: int
    rate: float
    scale: float = 1.0
    floor: str = "always"
    least: int = 100
    most: int = 200

    @property
    def name(self) -> str:
        """Return the load in a few characters."""
        short = "" if self.least == 100 else f", {self.least} to {self.most} iterations"
        floor = "" if self.floor == "always" else f", floor {self.floor}"
        return f"x{self.scale:g}, {self.rate:g}/h, {self.jobs} jobs{short}{floor}"

    def sequence(self, seed: int) -> Workload:
        """Return the sequence of a seed."""
        return chic(
            jobs=self.jobs, seed=seed, rate=self.rate * self.scale, scale=self.scale, least=self.least, most=self.most
        )


LOADS = (
    Load(4, 30, 0.9),
    Load(8, 30, 1.8),
    Load(14, 30, 2.7),
    Load(14, 30, 4.5),
    Load(14, 30, 5.4),
    Load(14, 8, 2.7),
    Load(20, 4, 90.0, 0.4, least=4, most=16),
    Load(2, 120, 2.7, 4.0),
    Load(2, 120, 4.5, 4.0),
    Load(2, 120, 4.5, 4.0, "changed"),
    Load(1, 120, 2.7, 16.0),
    Load(1, 120, 2.7, 16.0, "changed"),
    Load(1, 120, 4.5, 16.0),
    Load(1, 120, 4.5, 16.0, "changed"),
)


class Held:
    """Validation sequences of some loads, with the mean completion time of a plain weight on each.

    The plain weight of a job is 1 + the smooth number of longer jobs, the first feature. The value of rank-rate is
    similar.
    """

    def __init__(self, loads: Sequence[Load]) -> None:
        self.loads, self.runs = loads, list[list[Runs]]()
        for load in loads:
            works = [load.sequence(VALIDATION + k) for k in range(VALIDATED * load.sequences)]
            cluster = Cluster(works[0])
            self.runs.append([Runs(cluster, work, load.floor) for work in works])
        self.plain = self._logs(Network(plain_weight()))

    def _logs(self, network: Network) -> list[FloatArray]:
        return [np.log([run.completion_s(network) for run in runs]) for runs in self.runs]

    def validation(self, network: Network) -> Validation:
        """Score a network: completion time over the plain weight's, the geometric mean over the loads."""
        logs = [float((new - old).mean()) for new, old in zip(self._logs(network), self.plain, strict=True)]
        figures = {f"percent ({load.name})": 100 * np.expm1(log) for load, log in zip(self.loads, logs, strict=True)}
        return Validation(float(np.exp(np.mean(logs))), figures=figures)


def plain_weight() -> Tensors:
    """Return tensors that weigh a job by 1 + the smooth number of longer jobs."""
    tensors: Tensors = {f"network.{k}.{part}": np.zeros((1, 1)) for k in (1, 2) for part in ("weight", "bias")}
    tensors |= {"network.0.weight": np.zeros((1, len(FEATURES))), "network.0.bias": np.zeros(1)}
    return {**tensors, "linear.0.weight": np.eye(1, len(FEATURES))}


def chosen_loads(share: float, largest: float) -> list[Load]:
    """Return the loads on clusters up to `largest` times the paper's, with a share of their sequences, at least one."""
    return [load._replace(sequences=max(1, round(share * load.sequences))) for load in LOADS if load.scale <= largest]


def describe_data(params: Any) -> Data:
    """Describe the data for the model card."""
    loads = chosen_loads(params.share, params.largest)
    rates = [load.rate for load in loads if load.scale == 1]
    return {
        "source": "synthetic:chic",
        "models": list(NAMES),
        "rates": [min(rates), max(rates)],
        "features": list(FEATURES),
        "loads": [load.name for load in loads],
        "training_seeds_from": TRAINING,
        "validation_seeds_from": VALIDATION,
    }
