"""MLF-RL-plus' training: a published preemptive order first, then an evolution strategy.

It begins with the order by remaining time x size^`exponent`, with the pause cost. 0, the default, is shortest remaining
time, which is Optimus' order for known ends; 1 is least remaining work. Such an order is a weighted sum of two features
of the policy, so the policy imitates it exactly.

In every iteration, the weights are shifted to both sides along random directions. All shifted weights serve the same
workloads (common random numbers), and the weights move along each direction by its gain (Salimans et al.,
arXiv:1703.03864, 2017, with mirrored sampling). Steps are plain, since Adam's steps are equally long without a gain.
The result is the running mean of the weights. Everything is simulated by `_plus_world.py`.

A validation compares with the initial order, workload by workload. The criterion: the mean completion time is below the
initial order's, by an interval that excludes 0, and the last validations have settled.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from mlsched.core.aliases import Array, Data
from mlsched.core.arguments import ValidatedFields
from mlsched.core.params import Count, NotNegative, Range, check_range
from mlsched.core.t_interval import half_width
from mlsched.instances.taskgraph.algorithms import ALGORITHMS
from mlsched.learned.taskgraph.plus_order import FEATURES, HOUR, LEFT, NAMES, SIZE, Standing, features
from mlsched_training._recipe import Tensors, Validation
from mlsched_training.taskgraph._episodes import TRAINING, VALIDATION
from mlsched_training.taskgraph._plus_world import Clusters, clusters, mean_jct
from mlsched_training.taskgraph._rest import at_rest

#: Decay of the running mean of the weights.
MEAN = 0.9


@dataclasses.dataclass(frozen=True)
class MlfRlPlusParams(ValidatedFields):
    """Parameters of the training.

    Attributes:
        jobs: Jobs of a workload at load x = 1.
        servers: Servers of four GPUs.
        hours: Median running time.
        low, high: The two loads x.
        exponent: Exponent of the size in the initial order.
        pause: Cost of a pause in seconds.
        stretch: Factor on running times for the cost of splitting jobs and sharing nodes.
        wake: Seconds between two orders without an event.
        pool: Training workloads of each load.
        workloads: Workloads of the pool in an iteration.
        directions: Shifts to both sides.
        sigma: Standard deviation of the shifts.
        learning_rate: Step by the slope of the completion time, as a share of it.
        validation: Validation workloads of each load.
        every: Iterations between validations.
        flat, span: The training has settled when the means of the last `span` validations and of the `span` before
            differ by at most the share `flat`, and the best weights are better than the initial order by an interval
            that excludes 0.
    """

    jobs: Count = 40
    servers: Count = 5
    hours: Annotated[float, Range(0, 1000, open_low=True)] = 1.0
    low: Annotated[float, Range(0, 1000, open_low=True)] = 2.0
    high: float = 3.0
    exponent: Annotated[float, Range(0, 10)] = 0.0
    pause: NotNegative = 30.0
    stretch: Annotated[float, Range(1, 10)] = 1.06
    scheduling_events: Annotated[float, Range(1, 10**6)] = 1800.0
    pool: Count = 160
    workloads: Count = 16
    directions: Count = 12
    sigma: Annotated[float, Range(0, 10, open_low=True)] = 0.1
    learning_rate: Annotated[float, Range(0, 1000, open_low=True)] = 2.0
    validation: Annotated[int, Range(2, 10**4)] = 64
    every: Annotated[int, Range(1, 10**4)] = 5
    flat: Annotated[float, Range(0, 10)] = 0.001
    span: Annotated[int, Range(1, 10**4)] = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("high", self.high, self.low, 1000)

    @property
    def loads(self) -> tuple[float, float]:
        """Return the loads x, low and high."""
        return self.low, self.high


class Evolution:
    """MLF-RL-plus in training."""

    def __init__(self, params: MlfRlPlusParams, seed: int, device: str) -> None:
        self.params, self.seed = params, seed
        rng = np.random.default_rng([seed, 0])
        self.pool = [rng.integers(TRAINING, 10**9, params.pool).tolist() for _ in params.loads]
        self.now = begin(params.exponent)
        self.mean = self.now.copy()
        self.held_out = [self._clusters(range(VALIDATION, VALIDATION + params.validation), x) for x in params.loads]
        self.teacher = self._jct(self.held_out, self.now)

    def _clusters(self, seeds: Sequence[int], x: float) -> Clusters:
        p = self.params
        return clusters(seeds, max(1, round(p.jobs * x)), p.servers, p.hours, x)

    def _jct(self, batches: Sequence[Clusters], weights: Array) -> list[Array]:
        """Return, for each load, the mean completion times of its clusters. weights: of all, or one row per cluster."""
        p = self.params

        def order(at: Standing) -> Any:
            return np.einsum("f...j,...f->...j", features(at), weights)

        return [
            mean_jct(batch, order, price=p.pause / HOUR, stretch=p.stretch, every=p.scheduling_events / HOUR)
            for batch in batches
        ]

    def improve(self, iteration: int) -> dict[str, float]:
        """Shift the weights to both sides along random directions, and follow the gains."""
        p, rng = self.params, np.random.default_rng([self.seed, iteration])
        directions = rng.standard_normal((p.directions, FEATURES)).astype(np.float32)
        shifted = np.concatenate([self.now + p.sigma * directions, self.now - p.sigma * directions])
        gained, reached = np.zeros(p.directions), list[float]()
        for pool, x in zip(self.pool, p.loads, strict=True):
            chosen = rng.choice(len(pool), min(p.workloads, len(pool)), replace=False)
            batch = self._clusters([pool[k] for k in chosen.tolist()], x)
            found = self._jct([batch.repeated(len(shifted))], np.repeat(shifted, len(chosen), axis=0))[0]
            rows = found.reshape(2, p.directions, len(chosen))
            gained += ((rows[1] - rows[0]) / rows.mean(axis=(0, 1))).mean(axis=1)
            reached.append(float(found.mean()))
        slope = (gained @ directions / (2 * p.sigma * p.directions * len(p.loads))).astype(np.float32)
        self.now = self.now + np.float32(p.learning_rate) * slope
        self.mean = (self.mean + np.float32(1 - MEAN) * (self.now - self.mean)).astype(np.float32)
        return {"jct_hours": float(np.mean(reached)), "slope": float(np.linalg.norm(slope))}

    # -- interface of the trainer --------------------------------------------------------------------------------------

    def validate(self, weights: Tensors) -> Validation:
        """Return the mean completion time divided by that of the initial order."""
        found = self._jct(self.held_out, weights["0.weight"][0])
        gains = [100 * (1 - new / old) for new, old in zip(found, self.teacher, strict=True)]
        whole = np.mean(gains, axis=0)
        gain, half = float(whole.mean()), half_width(whole.tolist()) or 0.0
        figures = {"gain_percent": gain, "gain_ci95": half}
        for x, gains_there, jct in zip(("low", "high"), gains, found, strict=True):
            figures |= {f"gain_percent_{x}": float(gains_there.mean()), f"jct_hours_{x}": float(jct.mean())}
        return Validation(1 - gain / 100, meets=gain > half, figures=figures)

    def weights(self) -> dict[str, Array]:
        """Return one layer, the running mean of the weights."""
        return {"0.weight": self.mean[None].copy(), "0.bias": np.zeros(1, dtype=np.float32)}

    def state(self) -> dict[str, Array]:
        """Return the weights and their running mean."""
        return {"now": self.now, "mean": self.mean}

    def restore(self, state: dict[str, Array]) -> None:
        """Restore a `state`."""
        self.now, self.mean = state["now"].copy(), state["mean"].copy()


def begin(exponent: float) -> Array:
    """Return the weights of the order by the time left x size^exponent."""
    weights = np.zeros(FEATURES, dtype=np.float32)
    weights[[LEFT, SIZE]] = 1, exponent
    return weights


def trained(params: MlfRlPlusParams, curve: Sequence[Mapping[str, float]]) -> bool:
    """Return whether the validation score has settled."""
    seen = [entry["validation"] for entry in curve if "validation" in entry]
    return at_rest(seen, params.span, params.flat)


def describe(params: MlfRlPlusParams) -> Data:
    """Describe the data for the model card."""
    return {
        "source": "synthetic:mlfs-cluster",
        "models": list(ALGORITHMS),
        "world": "one pool of resources",
        "jobs": [round(params.jobs * x) for x in params.loads],
        "servers": params.servers,
        "loads": list(params.loads),
        "features": list(NAMES),
        "training_seeds_from": TRAINING,
        "validation_seeds": [VALIDATION, VALIDATION + params.validation - 1],
    }
