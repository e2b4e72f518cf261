"""Chic's training: the modified cross-entropy method (Gong et al., 2019, Section 4.3, Algorithm 1).

Each iteration samples N episodes with the current policy and one with uniform actions. It keeps the episodes whose
cumulative reward reaches a quantile, and increases the probability of their actions (Eq. 9). Interpretations and
corrections:

- Eqs. 3 and 9 sum pi; the likelihood in their text is the sum of log pi.
- Line 9's R_(floor((1 - rho) N)) with "the 0.3-quantile" (Section 5) keeps about 70 % of the episodes; in the
  other reading, it keeps the best 30 %. The default of `keep` is 30 %, which is usual for a cross-entropy method.
- Algorithm 1 and Section 5 both have a parameter alpha. Adam's learning rate is 0.01. The paper does not state the
  smoothing of line 11, which is `smoothing`, 0.7 by default (Rubinstein and Kroese).
- Line 10 solves Eq. 9, without a number of Adam's steps in the paper. Here it is one pass over the decisions of the
  kept episodes, in `steps` batches.
- Line 4 draws a sequence of arrivals for every episode (`sequences="episode"`, the default). Punishments for empty
  slots then weigh a hundred times as much as completion. So episodes with busy sequences have better rewards, and the
  selection depends more on arrivals than on actions. With our `sequences="iteration"`, all episodes of an iteration
  share one sequence, so that the selection depends on actions.
- "A sequence is chosen randomly from the examples": the paper does not state their number, which is `examples`; 0
  draws a new sequence every time.
- Section 4.4 drops r_t2 for Chic-Pair, but pairs make r_t3 unnecessary. Here r_t2 is kept.

Two protocols define the end of a training and the resulting policy:

- "paper" (Section 5): the policy with the shortest average completion time on the validation sequences, evaluated every
  two iterations. The paper does not state the number of iterations K, which is `length`. The untrained network cannot
  be selected.
- "settled", ours: the training continues until its reward settles (`_rewards.settled`), and only a policy with few
  punished actions can be selected. With `sequences=episode` or `keep=0.7`, trainings of a few CPU minutes did not reach
  that (research/notes/chic-training.md).
"""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Literal

import numpy as np

from mlsched.core.aliases import Array
from mlsched.core.arguments import ValidatedFields
from mlsched.core.params import Count, CountOrNone, Range, Share
from mlsched.learned.net import Mlp, sample
from mlsched.learned.workers.chic_policy import PAPER, VOIDS, allowed_actions
from mlsched.simulation.workers.phase import Phase
from mlsched_training._recipe import Tensors, Validation, layers_of
from mlsched_training._torch import (
    Layers,
    adam_state,
    layer_state,
    restore_adam,
    restore_layers,
    seed_torch,
    torch_module,
)
from mlsched_training.workers._rewards import Account
from mlsched_training.workers._sequences import NAMES, TRAINING, sequence_of_seed, validation
from mlsched_training.workers.batch import Batch, Rewards


@dataclasses.dataclass(frozen=True)
class ChicParams(ValidatedFields):
    """Hyper-parameters of the training.

    Defaults are the paper's (Sections 5 and 6.1); the module's docstring explains ours for missing or ambiguous values.

    Attributes:
        window: Number of slots, I.
        hidden: Neurons of the hidden layers.
        dropout: Dropout in the first hidden layer during training.
        episodes: Number of sampled episodes, N.
        uniform: Number of additional episodes with uniform actions.
        jobs: Number of jobs per episode, W.
        rate: Arrivals per hour.
        keep: Share of the episodes that are kept.
        smoothing: Share of the new parameters in line 11.
        learning_rate: Learning rate of Adam.
        steps: Steps of Adam per iteration, which together are one pass.
        p1: Punishment of actions for empty slots.
        p2: Punishment of slots with only workers or only PSs.
        unit_s: Seconds that count as 1 in r_t1.
        validation: Number of validation sequences.
        every: Iterations between validations.
        examples: Number of training sequences; 0 draws new sequences every time.
        sequences: "episode": each episode has its own sequence; "iteration": all episodes of an iteration share one.
        protocol: "paper" or "settled", see the module's docstring.
        length: Number of iterations of protocol "paper".
        punished: Criterion of protocol "settled", as in `_rewards.settled`.
        flat: As `punished`.
        span: As `punished`.
        limit: Largest number of steps of a decision phase.
        floor: Cost of a re-schedule.
        void: Meaning of the void action. "ends": always allowed, ends the phase. "forced": only allowed if no other
            action is possible (the states S' of Eq. 6), since Section 4.2's decision phase ends by Conditions 1 and 2
            only. "waits": always allowed, without effect or punishment.
        masked: Exclude actions without effect (not in the paper).
    """

    window: Count = 3
    hidden: str = "64-32-4"
    dropout: Annotated[float, Range(0, 0.95)] = 0.5
    episodes: Count = 35
    uniform: CountOrNone = 1
    jobs: Count = 30
    rate: Annotated[float, Range(0, 10**6)] = 1.8
    keep: Annotated[float, Range(0, 1, open_low=True)] = 0.3
    smoothing: Annotated[float, Range(0, 1, open_low=True)] = 0.7
    learning_rate: Annotated[float, Range(0, 10, open_low=True)] = 0.01
    steps: Count = 30
    p1: Annotated[float, Range(0, 10**6)] = 5.0
    p2: Annotated[float, Range(0, 10**6)] = 1.0
    unit_s: Count = 1200
    validation: Count = 30
    every: Count = 2
    examples: CountOrNone = 0
    sequences: Literal["episode", "iteration"] = "episode"
    protocol: Literal["paper", "settled"] = "paper"
    length: Count = 100
    punished: Share = 0.01
    flat: Share = 0.02
    span: Count = 50
    limit: Count = 100
    floor: Literal["always", "never"] = "always"
    void: Annotated[str, VOIDS] = "forced"
    masked: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.layers  # noqa: B018 - says what is wrong with it

    @property
    def layers(self) -> list[int]:
        """Return the numbers of neurons of the hidden layers."""
        return layers_of(self.hidden)


class CrossEntropy:
    """Chic or Chic-Pair in training."""

    def __init__(self, params: ChicParams, seed: int, device: str, *, pair: bool) -> None:
        t = torch_module()
        self.params, self.seed, self.device = params, seed, device
        self.phase = Phase(params.window, pair, params.limit, void_ends=params.void != "waits")
        self.rewards = Rewards(params.p1, params.p2, params.unit_s * 1000)
        seed_torch(seed, 0)
        sizes = [self.phase.feature_size(len(NAMES)), *params.layers, self.phase.actions]
        self.linear = [t.nn.Linear(a, b) for a, b in zip(sizes, sizes[1:], strict=False)]
        parts = [self.linear[0], t.nn.ReLU(), t.nn.Dropout(params.dropout)]
        for layer in self.linear[1:-1]:
            parts += [layer, t.nn.ReLU()]
        self.net = t.nn.Sequential(*parts, self.linear[-1]).to(device)
        self.parameters = list(self.net.parameters())
        self.optimiser = t.optim.Adam(self.parameters, lr=params.learning_rate)
        self._untrained = {name: value.copy() for name, value in self.weights().items()}
        self.held_out = Batch(
            validation(params.validation, params.jobs, params.rate),
            self.phase,
            floor=params.floor,
            rewards=self.rewards,
        )

    # -- one iteration ------------------------------------------------------------------------------------------------

    def improve(self, iteration: int) -> dict[str, float]:
        """Run lines 3 to 11 of Algorithm 1."""
        rng = np.random.default_rng([self.seed, iteration])
        batch = Batch(self._draw_sequences(rng), self.phase, floor=self.params.floor, rewards=self.rewards)
        features, actions, masks, episode, account = self._sample_decisions(batch, rng)
        reward = account.reward
        sorted_rewards = np.sort(reward)
        level = sorted_rewards[len(sorted_rewards) - max(1, round(self.params.keep * len(sorted_rewards)))]
        is_elite = (reward >= level)[episode]
        loss = self._learn_from_elite(iteration, features[is_elite], actions[is_elite], masks[is_elite])
        return {
            "bound": float(level),
            **account.figures(self.params.episodes),
            "completion_s": float(batch.completion_s()[: self.params.episodes].mean()),
            "loss": loss,
        }

    def _draw_sequences(self, rng: np.random.Generator) -> list[Any]:
        """Return one sequence per episode."""
        p, count = self.params, self.params.episodes + self.params.uniform
        seeds = rng.integers(0, p.examples or 10**9, count)
        if p.sequences == "iteration":
            seeds[:] = seeds[0]
        return [sequence_of_seed(TRAINING + int(k), p.jobs, p.rate) for k in seeds]

    def _sample_decisions(self, batch: Batch, rng: np.random.Generator) -> tuple[Any, ...]:
        """Return features, actions, masks and episodes of all decisions, and the account of the rewards.

        The last `uniform` episodes take uniformly random actions (line 7).
        """
        net, account = Mlp(self.weights()), Account(batch)
        decisions: list[tuple[Any, ...]] = []
        while not batch.done.all():
            action = self._draw_actions(net, batch, rng, self.params.uniform)
            alive = np.flatnonzero(~batch.done)
            decisions.append((batch.features[alive], action[alive], batch.mask[alive], alive))
            account.step(action)
        return (*(np.concatenate(column) for column in zip(*decisions, strict=True)), account)

    def _draw_actions(self, net: Mlp, batch: Batch, rng: np.random.Generator, uniform: int = 0) -> Any:
        """Draw one action per episode from the network's distribution.

        Args:
            net: The network.
            batch: The episodes.
            rng: Random generator.
            uniform: Number of last episodes that draw uniformly.
        """
        logits = net(batch.features)
        logits[len(logits) - uniform :] = 0
        permitted = allowed_actions(batch.mask, self.params.masked, self.params.void)
        return sample(np.where(permitted, logits, np.float32(-np.inf)), rng)

    def _learn_from_elite(self, iteration: int, features: Array, actions: Array, masks: Array) -> float:
        """Run lines 10 and 11: steps of Adam on Eq. 9, then the smoothing; return the mean loss of the last step.

        Args:
            iteration: Number of the iteration.
            features: Features, shape (decisions, features).
            actions: Actions, shape (decisions,).
            masks: Masks, shape (decisions, actions).
        """
        t = torch_module()
        before = [p.detach().clone() for p in self.parameters]
        x, a = (t.from_numpy(np.ascontiguousarray(v)).to(self.device) for v in (features, actions))
        permitted = allowed_actions(masks, self.params.masked, self.params.void)
        m = t.from_numpy(permitted).to(self.device)
        seed_torch(self.seed, iteration)
        self.net.train()
        loss = t.zeros(())
        for at in t.randperm(len(a)).to(self.device).tensor_split(self.params.steps):
            if not len(at):
                continue
            logits = self.net(x[at]).masked_fill(~m[at], -1e9)
            loss = t.nn.functional.cross_entropy(logits, a[at])
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()
        with t.no_grad():
            for p, old in zip(self.parameters, before, strict=True):
                p.mul_(self.params.smoothing).add_(old, alpha=1 - self.params.smoothing)
        return float(loss.detach())

    # -- interface of the trainer --------------------------------------------------------------------------------------

    def validate(self, weights: Tensors) -> Validation:
        """Return the average completion time over the validation sequences, in seconds, without dropout.

        Protocol "paper" allows every trained policy; "settled" allows policies with few punished actions. Neither
        allows the untrained network.
        """
        rng = np.random.default_rng([self.seed, 2**31])
        net, batch = Mlp(weights), self.held_out
        batch.reset()
        account = Account(batch)
        while not batch.done.all():
            account.step(self._draw_actions(net, batch, rng))
        figures = account.figures(len(batch.done))
        few = self.params.protocol == PAPER or figures["punished_share"] <= self.params.punished
        has_learned = any(not np.array_equal(value, self._untrained[name]) for name, value in weights.items())
        return Validation(float(batch.completion_s().mean()), has_learned and few, figures)

    def _linear_layers(self) -> Layers:
        return {str(k): layer for k, layer in enumerate(self.linear)}

    def weights(self) -> dict[str, Array]:
        """Return the tensors of the network."""
        return layer_state(self._linear_layers())

    def state(self) -> dict[str, Array]:
        """Return the state of the network and of Adam."""
        return {**self.weights(), **adam_state(self.optimiser, self.parameters)}

    def restore(self, state: dict[str, Array]) -> None:
        """Restore a `state`."""
        restore_layers(self._linear_layers(), state)
        restore_adam(self.optimiser, self.parameters, state)
