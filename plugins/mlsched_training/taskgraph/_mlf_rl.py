"""MLF-RL's training (MLFS, Section 3.4): imitation of MLF-H, then REINFORCE on the reward of Eq. 7.

Iteration 1 imitates: MLF-H runs, and the network learns its choices (`begin="mlf-h"`; Section 3.4: "MLFS initially runs
MLF-H for a certain time period and uses the data to train MLF-RL"). Without imitation (`begin="random"`), the
network starts from random scheduling (Section 4.1). With `queueing="iteration"`, running jobs compete again in every
round, and the teacher is MLF-H under that interpretation. Every other iteration runs K episodes on each of S workloads.
All choices of a decision at time t get the reward from t to t + t_m, discounted by eta every step.

Interpretations and simplifications. The paper refers to a textbook for its training: here it is REINFORCE with Adam.
The baseline is the mean of the other episodes of the same workload at the same t ("paired"; arrivals, which no choice
changes, cancel), or of the whole iteration ("average"). Differences are standardised over an iteration. A step is
`step` seconds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from mlsched.core.aliases import Array, Data
from mlsched.core.arguments import ValidatedFields
from mlsched.core.errors import InvalidInput
from mlsched.core.params import Count, CountOrNone, NotNegative, Range, Share, check_range
from mlsched.heuristics.taskgraph.measures import stops_after
from mlsched.heuristics.taskgraph.preemption import QUEUEING
from mlsched.instances.taskgraph.algorithms import ALGORITHMS
from mlsched.learned.net import Mlp, sample
from mlsched.learned.taskgraph.mlf_rl import choose
from mlsched.simulation.taskgraph.allocation import FEATURES_OF, Allocation, chosen
from mlsched.simulation.taskgraph.iterations import Jobs, Segments
from mlsched_training._recipe import Tensors, Validation
from mlsched_training.taskgraph._episodes import (
    TRAINING,
    VALIDATION,
    Choices,
    episode,
    nothing,
    of_mlf_h,
    sampled,
    workload,
)
from mlsched_training.taskgraph._rest import at_rest
from mlsched_training.taskgraph._reward import JCT_TERMS, Reward, charges, returns
from mlsched_training.taskgraph._scorer import Scorer

BASELINES, BEGINNINGS = ("paired", "average"), ("mlf-h", "random")


@dataclasses.dataclass(frozen=True)
class MlfRlParams(ValidatedFields):
    """Parameters of the training.

    Attributes:
        jobs: Jobs of an episode.
        servers: Servers of four GPUs.
        hours: Median running time.
        low, high: Loads x of the evaluation. Each workload draws a load between them; validations spread them evenly.
        queueing: "held" or "iteration".
        pause: Cost of a pause in seconds.
        begin: "mlf-h" or "random".
        runs: Runs of MLF-H to imitate.
        imitation_steps: Steps of Adam, each on `imitation_batch` choices.
        imitation_rate: Learning rate of the imitation.
        hidden: Neurons of the two hidden layers.
        workloads, episodes: S and K of an iteration.
        learning_rate: Adam's.
        batch: Choices of a step.
        entropy: Weight of the entropy bonus.
        baseline: "paired" or "average".
        beta1, beta2, beta3, beta4, beta5: Weights of Eq. 7.
        jct_term: "printed" or "linear".
        eta: Discount per step.
        step: Length of a step in seconds.
        steps: Steps of t_m.
        validation: Workloads of a validation.
        every: Iterations between validations.
        flat, span: The training has settled when the mean rewards of the last `span` validations and of the `span`
            before differ by at most the share `flat`, and the best weights are at least as good as MLF-H.
    """

    jobs: Count = 12
    servers: Count = 2
    hours: Annotated[float, Range(0, 1000, open_low=True)] = 1.0
    low: Annotated[float, Range(0, 1000, open_low=True)] = 1.0
    high: float = 3.0
    queueing: Annotated[str, QUEUEING] = "held"
    pause: NotNegative = 0.0
    begin: Annotated[str, BEGINNINGS] = "mlf-h"
    runs: Count = 40
    imitation_steps: CountOrNone = 600
    imitation_batch: Count = 256
    imitation_rate: Annotated[float, Range(0, 10, open_low=True)] = 0.003
    hidden: Count = 48
    workloads: Count = 8
    episodes: Annotated[int, Range(2, 10**4)] = 6
    learning_rate: Annotated[float, Range(0, 10, open_low=True)] = 0.001
    batch: Count = 800
    entropy: Annotated[float, Range(0, 10)] = 0.0
    baseline: Annotated[str, BASELINES] = "paired"
    beta1: float = 0.5
    beta2: float = 0.55
    beta3: float = 0.25
    beta4: float = 0.15
    beta5: float = 0.15
    jct_term: Annotated[str, JCT_TERMS] = "printed"
    eta: Share = 0.95
    step: Count = 600
    steps: Count = 36
    validation: Annotated[int, Range(1, 10**4)] = 12
    every: Annotated[int, Range(1, 10**4)] = 3
    flat: Annotated[float, Range(0, 10)] = 0.01
    span: Annotated[int, Range(1, 10**4)] = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("high", self.high, self.low, 1000)
        self.reward()

    def reward(self) -> Reward:
        """Return Eq. 7 with these weights and this JCT term."""
        return Reward(self.beta1, self.beta2, self.beta3, self.beta4, self.beta5, self.jct_term)


class Reinforce:
    """MLF-RL in training."""

    def __init__(self, params: MlfRlParams, seed: int, device: str) -> None:
        self.params, self.seed = params, seed
        self.scorer = Scorer(FEATURES_OF[params.queueing], params.hidden, seed, device)
        self.reward = params.reward()
        loads = np.linspace(params.low, params.high, params.validation).tolist()
        self.held_out = [self._workload(VALIDATION + k, x, first=False) for k, x in enumerate(loads)]
        #: By which validation judges; a search of the weights keeps it the same for all.
        self.judge = self.reward
        self._heuristic: float | None = None

    def _workload(self, seed: int, x: float, first: bool) -> Jobs:
        p = self.params
        return workload(seed, p.jobs, p.servers, p.hours, x, first, p.pause)

    def improve(self, iteration: int) -> dict[str, float]:
        """Imitate MLF-H (iteration 1), or run episodes and learn from them."""
        if iteration == 1 and self.params.begin == "mlf-h":
            return {"imitation_loss": self._imitate()}
        rng = np.random.default_rng([self.seed, iteration])
        return self._reinforce(rng)

    # -- imitation ----------------------------------------------------------------------------------------------------

    def _imitate(self) -> float:
        """Learn the choices of MLF-H in its runs, and return the last loss."""
        p, rng = self.params, np.random.default_rng([self.seed, 1])
        kept = nothing()
        for seed, x in self._draw(rng, p.runs):
            choices, _ = of_mlf_h(self._workload(seed, x, first=True), seed, seed, p.queueing)
            kept.rows.extend(choices.rows)
            kept.row.extend(choices.row)
        if not kept.row:
            raise InvalidInput("runs: MLF-H never had a choice; give more runs, jobs or servers")
        weight, loss = np.ones(len(kept.row)), 0.0
        for _ in range(p.imitation_steps):
            chosen = rng.integers(0, len(weight), p.imitation_batch)
            loss = self.scorer.learn(kept, weight, chosen, p.imitation_rate)
        self.scorer.forget()
        return loss

    def _draw(self, rng: np.random.Generator, count: int) -> list[tuple[int, float]]:
        """Draw seeds and loads of training workloads."""
        seeds = rng.integers(TRAINING, 10**9, count).tolist()
        return list(zip(seeds, rng.uniform(self.params.low, self.params.high, count).tolist(), strict=True))

    # -- REINFORCE ----------------------------------------------------------------------------------------------------

    def _reinforce(self, rng: np.random.Generator) -> dict[str, float]:
        p, net = self.params, Mlp(self.weights())
        kept, gains, rewards = nothing(), list[Any](), list[float]()

        def drawn(rows: Array, own: np.random.Generator) -> int:
            return int(sample(net(rows)[:, 0], own))

        for seed, x in self._draw(rng, p.workloads):
            load = self._workload(seed, x, first=True)
            draws = rng.integers(0, 2**31, p.episodes).tolist()
            runs = [sampled(load, drawn, draw, seed, p.queueing) for draw in draws]
            for choices, _ in runs:
                kept.rows.extend(choices.rows)
                kept.row.extend(choices.row)
            logs = [log for _, log in runs]
            gains += self._advantages([choices for choices, _ in runs], load, logs)
            rewards += [float(self.reward.of_jobs(load, log).mean()) for log in logs]
        gain = np.concatenate(gains)
        if not len(gain):
            return {"reward": float(np.mean(rewards)), "choices": 0.0}
        if p.baseline == "average":
            gain -= gain.mean()
        gain /= max(float(gain.std()), 1e-9)
        order, losses = rng.permutation(len(gain)), []
        for first in range(0, len(order), p.batch):
            losses.append(self.scorer.learn(kept, gain, order[first : first + p.batch], p.learning_rate, p.entropy))
        return {"reward": float(np.mean(rewards)), "choices": float(len(gain)), "loss": float(np.mean(losses))}

    def _advantages(self, runs: Sequence[Choices], load: Jobs, logs: Sequence[Segments]) -> list[Array]:
        """Return the discounted reward of each episode's choices, minus the mean of the other episodes if paired."""
        p, advantages = self.params, []
        window: Any = (float(p.step), p.steps, p.eta)
        arrival, charge = load.arrival.astype(np.float64), self.reward.charge(load)
        ends = [(_ends(load, log), self.reward.at_ends(load, log)) for log in logs]
        for mine, choices in enumerate(runs):
            at = np.array(choices.time, dtype=np.float64)
            every = [returns(*end, at, *window) for end in ends]
            if charge:
                every = [
                    one - charge * charges(arrival, ended, at, *window)
                    for one, (ended, _) in zip(every, ends, strict=True)
                ]
            others = (sum(every) - every[mine]) / (len(ends) - 1)
            advantages.append(every[mine] - (others if p.baseline == "paired" else 0.0))
        return advantages

    # -- interface of the trainer --------------------------------------------------------------------------------------

    def validate(self, weights: Tensors) -> Validation:
        """Return minus the mean reward of the validation workloads, which must be at least as good as MLF-H's."""
        net, queueing = Mlp(weights), self.params.queueing

        def answer(snapshot: Any, rng: Any) -> Any:
            due = Allocation(snapshot, stops_after(snapshot, "most"), queueing=queueing)
            return chosen(due, lambda due: choose(net, due, None))

        logs = [episode(load, answer, 0, k) for k, load in enumerate(self.held_out)]
        if self._heuristic is None:
            self._heuristic = self._mean([of_mlf_h(load, 0, k, queueing)[1] for k, load in enumerate(self.held_out)])
        reward = self._mean(logs)
        waits = [_ends(load, log) - load.arrival for load, log in zip(self.held_out, logs, strict=True)]
        figures = {"reward": reward, "mlf_h": self._heuristic, "jct_hours": float(np.mean(waits)) / 3600}
        return Validation(-reward, meets=reward >= self._heuristic, figures=figures)

    def _mean(self, logs: Sequence[Segments]) -> float:
        pairs = zip(self.held_out, logs, strict=True)
        return float(np.mean([self.judge.of_jobs(load, log).mean() for load, log in pairs]))

    def weights(self) -> dict[str, Array]:
        """Return the tensors of the network."""
        return self.scorer.weights()

    def state(self) -> dict[str, Array]:
        """Return the state of the network and of Adam."""
        return self.scorer.state()

    def restore(self, state: dict[str, Array]) -> None:
        """Restore a `state`."""
        self.scorer.restore(state)


def _ends(load: Jobs, log: Segments) -> Array:
    """Return the end of each job, shape (jobs,)."""
    columns = log.columns()
    ended = load.arrival.copy()
    np.maximum.at(ended, columns["job"], columns["end"])
    return ended.astype(np.float64)


def trained(params: MlfRlParams, curve: Sequence[Mapping[str, float]]) -> bool:
    """Return whether the validation reward has settled."""
    seen = [entry["validation_reward"] for entry in curve if "validation_reward" in entry]
    return at_rest(seen, params.span, params.flat)


def describe(params: MlfRlParams) -> Data:
    """Describe the data for the model card."""
    return {
        "source": "synthetic:mlfs-cluster",
        "models": list(ALGORITHMS),
        "jobs": params.jobs,
        "servers": params.servers,
        "loads": [params.low, params.high],
        "part": "first half",
        "training_seeds_from": TRAINING,
        "validation_seeds": [VALIDATION, VALIDATION + params.validation - 1],
        "validation_part": "second half",
    }
