"""Chic's training: the modified cross-entropy method (Gong et al., 2019, Section 4.3, Algorithm 1).

Each iteration samples N episodes with the current policy and one with uniform actions, keeps those whose cumulative
reward reaches a quantile, and makes the actions taken in them likelier (Eq. 9). Interpretations and corrections:

- Eqs. 3 and 9 sum pi; the likelihood that their text maximises is the sum of log pi.
- Line 9's R_(floor((1 - rho) N)) with "the 0.3-quantile" (Section 5) keeps about 70 % of the episodes; read the other
  way, the best 30 %: `keep`. The default is 30 %, as one would expect of a cross-entropy method.
- Algorithm 1 and Section 5 both call their parameter alpha: Adam's learning rate is 0.01, the smoothing of line 11 is
  a number of its own that the paper does not print: `smoothing`, 0.7 by default (Rubinstein and Kroese).
- Line 10 solves Eq. 9; the paper does not say with how many steps of Adam: one pass over the decisions of the kept
  episodes, in `steps` batches.
- Line 4 draws a sequence of arrivals for every episode: `sequences="episode"`, the default. Whoever has a busy sequence
  then has the better reward, because the punishments for empty slots weigh a hundred times as much as completion, and
  selection follows the arrivals more than the actions. `sequences="iteration"`, ours, gives all episodes of an
  iteration one sequence, so that what is selected is the actions.
- "A sequence is chosen randomly from the examples": how many examples is not printed. `examples` says; 0 draws a new
  one every time.
- Section 4.4 says that Chic-Pair drops r_t2; it is r_t3 that a pair makes needless. r_t2 stays.

Two protocols say when a training has ended and which of its policies it comes to:

- "paper" (Section 5): the policy with the shortest average completion time on the validation sequences, which are gone
  through every two iterations. The number of iterations K is not printed: `length`. The untrained network is no choice.
- "settled", ours: the training goes on until its reward settles (`_rewards.settled`), and only a policy with few
  punished actions may be chosen. With `sequences=episode`, or with `keep=0.7`, no training has come to that in the few
  CPU minutes that were spent on it (research/notes/chic-training.md).
"""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Literal

import numpy as np

from mlsched.core.arguments import ValidatedFields
from mlsched.core.params import Count, CountOrNone, Range, Share
from mlsched.learned.net import Mlp, sample
from mlsched.learned.workers.chic_policy import PAPER, VOIDS, allowed_actions
from mlsched.simulation.workers.phase import Phase
from mlsched_training._recipe import Validation, layers_of
from mlsched_training._torch import adam_state, layer_state, restore_adam, restore_layers, seed_torch, torch
from mlsched_training.workers._rewards import Account
from mlsched_training.workers._sequences import NAMES, TRAINING, sequence, validation
from mlsched_training.workers.batch import Batch, Rewards


@dataclasses.dataclass(frozen=True)
class ChicParams(ValidatedFields):
    """Every hyper-parameter of the paper, with its value there (Sections 5 and 6.1) or, where the paper prints none or
    can be read in several ways, ours (see the module's docstring).

    window: I. hidden: neurons of the hidden layers. dropout: in the first of them, while learning. episodes: N.
    uniform: episodes of uniform actions added to them. jobs: W, jobs per episode. rate: arrivals per hour. keep: share
    of the episodes that are kept. smoothing: share of the new parameters in line 11. learning_rate: Adam's. steps: of
    Adam per iteration, together one pass. p1, p2: punishments; unit_s: seconds that count as 1 in r_t1. validation:
    sequences; every: iterations between validations. examples: training sequences to draw from (0: new ones every
    time). sequences: whether every "episode" draws one of its own, or every "iteration" one for all of its episodes.
    protocol: see the module's docstring; length: iterations of a training by the paper's; punished, flat, span: the
    criterion of the other, see `_rewards.settled`. limit: most steps of a decision phase. floor: what a re-schedule
    costs. void: what the void action is for - "ends": the network may take it at any time, and it ends the phase;
    "forced": it is taken only where nothing else can be done (the states S' of Eq. 6), as Section 4.2's decision phase
    ends by Conditions 1 and 2 alone; "waits": it may be taken at any time, changes nothing and is not punished. masked:
    never take actions that change nothing (not the paper's).
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
        """Neurons of the hidden layers."""
        return layers_of(self.hidden)


class CrossEntropy:
    """A Chic or Chic-Pair in training."""

    def __init__(self, params: ChicParams, seed: int, device: str, *, pair: bool) -> None:
        t = torch()
        self.params, self.seed, self.device = params, seed, device
        self.phase = Phase(params.window, pair, params.limit, void_ends=params.void != "waits")
        self.rewards = Rewards(params.p1, params.p2, params.unit_s * 1000)
        #: Whether it has learned anything: an untrained network is no policy to choose.
        self._begun = False
        seed_torch(seed, 0)
        sizes = [self.phase.feature_size(len(NAMES)), *params.layers, self.phase.actions]
        self.linear = [t.nn.Linear(a, b) for a, b in zip(sizes, sizes[1:], strict=False)]
        parts = [self.linear[0], t.nn.ReLU(), t.nn.Dropout(params.dropout)]
        for layer in self.linear[1:-1]:
            parts += [layer, t.nn.ReLU()]
        self.net = t.nn.Sequential(*parts, self.linear[-1]).to(device)
        self.parameters = list(self.net.parameters())
        self.optimiser = t.optim.Adam(self.parameters, lr=params.learning_rate)
        self.held_out = Batch(
            validation(params.validation, params.jobs, params.rate),
            self.phase,
            floor=params.floor,
            rewards=self.rewards,
        )

    # -- one iteration ------------------------------------------------------------------------------------------------

    def improve(self, iteration: int) -> dict[str, float]:
        """Algorithm 1, lines 3 to 11."""
        self._begun = True
        rng = np.random.default_rng([self.seed, iteration])
        batch = Batch(self._sequences(rng), self.phase, floor=self.params.floor, rewards=self.rewards)
        features, actions, masks, episode, account = self._sample(batch, rng)
        reward = account.reward
        ranked = np.sort(reward)
        level = ranked[len(ranked) - max(1, round(self.params.keep * len(ranked)))]
        kept = (reward >= level)[episode]
        loss = self._learn(iteration, features[kept], actions[kept], masks[kept])
        return {
            "bound": float(level),
            **account.figures(self.params.episodes),
            "completion_s": float(batch.completion_s()[: self.params.episodes].mean()),
            "loss": loss,
        }

    def _sequences(self, rng: np.random.Generator) -> list[Any]:
        """A sequence for every episode."""
        p, count = self.params, self.params.episodes + self.params.uniform
        seeds = rng.integers(0, p.examples or 10**9, count)
        if p.sequences == "iteration":
            seeds[:] = seeds[0]
        return [sequence(TRAINING + int(k), p.jobs, p.rate) for k in seeds]

    def _sample(self, batch: Batch, rng: np.random.Generator) -> tuple[Any, ...]:
        """Features, actions, masks and episodes of every decision, and the account of the episodes' rewards.

        The last `uniform` episodes take all actions alike (line 7).
        """
        net, account = Mlp(self.weights()), Account(batch)
        kept: list[tuple[Any, ...]] = []
        while not batch.done.all():
            action = self._act(net, batch, rng, self.params.uniform)
            alive = np.flatnonzero(~batch.done)
            kept.append((batch.features[alive], action[alive], batch.mask[alive], alive))
            account.step(action)
        return (*(np.concatenate(column) for column in zip(*kept, strict=True)), account)

    def _act(self, net: Mlp, batch: Batch, rng: np.random.Generator, uniform: int = 0) -> Any:
        """An action per episode, drawn from the network's distribution; uniformly in the last `uniform` episodes."""
        logits = net(batch.features)
        logits[len(logits) - uniform :] = 0
        allowed = allowed_actions(batch.mask, self.params.masked, self.params.void)
        return sample(np.where(allowed, logits, np.float32(-np.inf)), rng)

    def _learn(self, iteration: int, features: Any, actions: Any, masks: Any) -> float:
        """Lines 10 and 11: some steps of Adam towards Eq. 9, then the smoothing. The mean loss of the last step."""
        t = torch()
        before = [p.detach().clone() for p in self.parameters]
        x, a = (t.from_numpy(np.ascontiguousarray(v)).to(self.device) for v in (features, actions))
        allowed = allowed_actions(masks, self.params.masked, self.params.void)
        m = t.from_numpy(allowed).to(self.device)
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

    # -- what the trainer needs ---------------------------------------------------------------------------------------

    def validate(self) -> Validation:
        """Mean over the validation sequences of the average completion time, s; dropout is off.

        By the paper's protocol every policy that has learned may be chosen; by ours, one with few punished actions.
        """
        rng = np.random.default_rng([self.seed, 2**31])
        net, batch = Mlp(self.weights()), self.held_out
        batch.reset()
        account = Account(batch)
        while not batch.done.all():
            account.step(self._act(net, batch, rng))
        figures = account.figures(len(batch.done))
        few = self.params.protocol == PAPER or figures["punished_share"] <= self.params.punished
        meets = self._begun and few
        return Validation(float(batch.completion_s().mean()), meets, figures)

    def _layers(self) -> dict[str, Any]:
        return {str(k): layer for k, layer in enumerate(self.linear)}

    def weights(self) -> dict[str, Any]:
        """The network's tensors."""
        return layer_state(self._layers())

    def state(self) -> dict[str, Any]:
        """The network and Adam."""
        return {**self.weights(), **adam_state(self.optimiser, self.parameters)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to a `state`."""
        self._begun = True
        restore_layers(self._layers(), state)
        restore_adam(self.optimiser, self.parameters, state)
