"""Training of the device placement of Mirhoseini et al.: REINFORCE on minus the square root of the running time.

An iteration runs a few workloads under the policy. Every placed job is an episode of the paper. Its reward is
-sqrt(r): r is the time of an iteration divided by the time on one node, so that graphs of all lengths are comparable.
All choices of the job get this reward, less the paper's baseline: the moving average of earlier rewards.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Annotated, Any

import numpy as np

from mlsched.core.aliases import Array, Data
from mlsched.core.arguments import ValidatedFields
from mlsched.core.params import Count, Range, Share, check_range
from mlsched.instances.taskgraph.algorithms import ALGORITHMS
from mlsched.learned.net import Mlp
from mlsched.learned.taskgraph.mirhoseini_rl import FEATURES, choose, place_jobs
from mlsched.simulation.taskgraph.iterations import Jobs
from mlsched_training._recipe import Tensors, Validation
from mlsched_training.taskgraph._episodes import TRAINING, VALIDATION, Choices, episode, nothing, workload
from mlsched_training.taskgraph._scorer import Scorer


@dataclasses.dataclass(frozen=True)
class MirhoseiniParams(ValidatedFields):
    """Parameters of the training.

    Attributes:
        jobs, servers, hours, low, high: Workloads, as for mlf-rl.
        workloads: Workloads of an iteration.
        hidden: Neurons of the two hidden layers.
        learning_rate: Adam's.
        entropy: Weight of the entropy bonus.
        batch: Choices of a step.
        moving: Share of the old value in the moving average.
        validation: Workloads of a validation.
        every: Iterations between validations.
    """

    jobs: Count = 24
    servers: Count = 5
    hours: Annotated[float, Range(0, 1000, open_low=True)] = 1.0
    low: Annotated[float, Range(0, 1000, open_low=True)] = 0.7
    high: float = 2.0
    workloads: Count = 3
    hidden: Count = 24
    learning_rate: Annotated[float, Range(0, 10, open_low=True)] = 0.003
    entropy: Annotated[float, Range(0, 10)] = 0.002
    batch: Count = 512
    moving: Share = 0.9
    validation: Count = 4
    every: Count = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("high", self.high, self.low, 1000)


class MovingAverage:
    """Placement policy in training."""

    def __init__(self, params: MirhoseiniParams, seed: int, device: str) -> None:
        self.params, self.seed = params, seed
        self.scorer = Scorer(FEATURES, params.hidden, seed, device)
        self.average: float | None = None
        self.held_out = [self._workload(VALIDATION + k, params.high, first=False) for k in range(params.validation)]

    def _workload(self, seed: int, x: float, first: bool) -> Jobs:
        p = self.params
        return workload(seed, p.jobs, p.servers, p.hours, x, first)

    def improve(self, iteration: int) -> dict[str, float]:
        """Place the jobs of some workloads, and learn from their speeds."""
        p, rng = self.params, np.random.default_rng([self.seed, iteration])
        net, kept, gains, rewards = Mlp(self.weights()), nothing(), list[float](), list[float]()
        for seed, x in zip(
            rng.integers(TRAINING, 10**9, p.workloads).tolist(), rng.uniform(p.low, p.high, p.workloads), strict=True
        ):
            load = self._workload(seed, float(x), first=True)
            for choices, reward in played(load, net, int(rng.integers(2**31)), seed, greedy=False):
                kept.rows.extend(choices.rows)
                kept.row.extend(choices.row)
                before = reward if self.average is None else self.average
                gains += [reward - before] * len(choices.row)
                # Rounded as in a checkpoint, so that a resumed training gives the same bits.
                self.average = float(np.float32(p.moving * before + (1 - p.moving) * reward))
                rewards.append(reward)
        gain = np.array(gains)
        if not len(gain):
            return {"reward": float(np.mean(rewards)) if rewards else 0.0}
        gain /= max(float(gain.std()), 1e-9)
        order = rng.permutation(len(gain))
        losses = [
            self.scorer.learn(kept, gain, order[first : first + p.batch], p.learning_rate, p.entropy)
            for first in range(0, len(order), p.batch)
        ]
        return {"reward": float(np.mean(rewards)), "loss": float(np.mean(losses))}

    def validate(self, weights: Tensors) -> Validation:
        """Return minus the mean reward of the jobs of the validation workloads."""
        net = Mlp(weights)
        rewards = [reward for k, load in enumerate(self.held_out) for _, reward in played(load, net, 0, k, greedy=True)]
        return Validation(-float(np.mean(rewards)))

    def weights(self) -> dict[str, Array]:
        """Return the tensors of the network."""
        return self.scorer.weights()

    def state(self) -> dict[str, Array]:
        """Return the state of the network, of Adam and of the moving average."""
        average = np.array([] if self.average is None else [self.average], dtype=np.float32)
        return {**self.scorer.state(), "average": average}

    def restore(self, state: dict[str, Array]) -> None:
        """Restore a `state`."""
        self.scorer.restore(state)
        self.average = float(state["average"][0]) if len(state["average"]) else None


def played(load: Jobs, net: Mlp, seed: int, usage: int, *, greedy: bool) -> list[tuple[Choices, float]]:
    """Return the choices and the reward of every placed job in a run of the policy."""
    choices = list[tuple[Choices, float]]()

    def answer(snapshot: Any, rng: Any) -> Any:
        kept = [nothing()]

        def one(rows: Array) -> int:
            row = choose(net, rows, None if greedy else rng)
            kept[0].rows.append(rows)
            kept[0].row.append(row)
            return row

        def done(ratio: float | None) -> None:
            if ratio is not None:
                choices.append((kept[0], -math.sqrt(ratio)))
            kept[0] = nothing()

        return place_jobs(snapshot, one, done=done)

    episode(load, answer, seed, usage)
    return choices


def describe(params: MirhoseiniParams) -> Data:
    """Describe the data for the model card."""
    return {
        "source": "synthetic:mlfs-cluster",
        "models": list(ALGORITHMS),
        "jobs": params.jobs,
        "servers": params.servers,
        "loads": [params.low, params.high],
        "training_seeds_from": TRAINING,
        "validation_seeds": [VALIDATION, VALIDATION + params.validation - 1],
    }
