"""Chic-plus' training: imitation first, then policy gradient with a baseline for every workload sequence.

1. Imitation: on random questions, a teacher (any solver) says how many workers and PSs each job gets. Every order of
   giving them is right, so the loss of a step is -log of the probability of all tasks that are still missing together.
2. Policy gradient (PPO's clipped loss): each iteration runs K episodes on each of S sequences. A decision at time t is
   credited with the time that all jobs spend in the system after t, against the mean of the other episodes of the same
   sequence at the same t (input-dependent baseline; Mao et al., "Variance Reduction for Reinforcement Learning in
   Input-Driven Environments", ICLR 2019): arrivals, which no decision changes, cancel.
"""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Literal

import numpy as np

from mlsched.core.arguments import ValidatedFields
from mlsched.core.params import Count, CountOrNone, Range, check_range
from mlsched.learned.net import sample
from mlsched.learned.workers.plus_net import CODE, DYNAMIC, STATIC, PlusNet
from mlsched.simulation.workers.phase import Phase
from mlsched_training._recipe import Validation
from mlsched_training._torch import adam_state, layer_state, restore_adam, restore_layers, seed_torch, torch
from mlsched_training.workers._imitation import examples
from mlsched_training.workers._plus_batch import Views, scores
from mlsched_training.workers._sequences import TRAINING, sequence, validation
from mlsched_training.workers.batch import Batch


@dataclasses.dataclass(frozen=True)
class PlusParams(ValidatedFields):
    """window: most jobs looked at while training. hidden: neurons of the hidden layers. teacher: solver to imitate
    ("": none); questions: how many; imitation_steps: of Adam, each on `imitation_batch` decisions;
    imitation_rate: its learning rate. sequences (S), episodes (K): of an iteration; jobs: in an episode; low, rate:
    arrivals per hour, drawn between them for every sequence (rate is also that of the validation set). learning_rate:
    Adam's; passes: over `decisions` decisions drawn from an iteration's, in batches of `batch`; clip: PPO's; entropy:
    weight of its bonus. validation: sequences; every: iterations between validations. floor: as in the world.
    """

    window: Count = 6
    hidden: Count = 32
    teacher: str = "lp-mpc"
    questions: Count = 1000
    imitation_steps: CountOrNone = 600
    imitation_batch: Count = 512
    imitation_rate: Annotated[float, Range(0, 10, open_low=True)] = 0.003
    sequences: Count = 6
    episodes: Annotated[int, Range(2, 10**4)] = 6
    jobs: Count = 30
    low: Annotated[float, Range(0, 10**6, open_low=True)] = 0.9
    rate: float = 2.7
    learning_rate: Annotated[float, Range(0, 10, open_low=True)] = 0.001
    passes: Count = 2
    decisions: Count = 12000
    batch: Count = 2000
    clip: Annotated[float, Range(0, 10, open_low=True)] = 0.2
    entropy: Annotated[float, Range(0, 10)] = 0.001
    validation: Count = 30
    every: Count = 5
    floor: Literal["always", "never"] = "always"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("rate", self.rate, self.low, 10**6)


class PolicyGradient:
    """A Chic-plus in training."""

    def __init__(self, params: PlusParams, seed: int, device: str) -> None:
        t = torch()
        self.params, self.seed, self.device = params, seed, device
        seed_torch(seed, 0)
        h = params.hidden
        self.layers = {
            "encoder.0": t.nn.Linear(STATIC, h),
            "encoder.1": t.nn.Linear(h, CODE),
            "head.0": t.nn.Linear(2 * CODE + DYNAMIC, h),
            "head.1": t.nn.Linear(h, h),
            "head.2": t.nn.Linear(h, 2),
        }
        self.parameters = [p for layer in self.layers.values() for p in layer.to(device).parameters()]
        self.optimiser = t.optim.Adam(self.parameters, lr=params.learning_rate)
        self.phase = Phase(params.window, limit=10**4)
        held_out = validation(params.validation, params.jobs, params.rate)
        self.held_out = Batch(held_out, self.phase, floor=params.floor)
        self.views = Views(self.held_out, held_out[0])

    # -- the network in torch -----------------------------------------------------------------------------------------

    def logits(self, begin: Any, changing: Any, there: Any, possible: Any) -> Any:
        """As `_plus_batch.scores`, with gradients: D x (2 I + 1). Only slots that hold a job are computed."""
        t = torch()
        relu, rows, count = t.relu, there.nonzero()[:, 0], there.sum(dim=1)
        code = relu(self.layers["encoder.1"](relu(self.layers["encoder.0"](begin[there]))))
        mean = t.zeros((len(there), CODE), device=self.device).index_add(0, rows, code)
        mean = mean / count.clamp(min=1)[:, None]
        x = t.cat([code, mean[rows], changing[there]], dim=1)
        x = self.layers["head.2"](relu(self.layers["head.1"](relu(self.layers["head.0"](x)))))
        dense = t.zeros((*there.shape, 2), device=self.device)
        dense[there] = x
        flat = t.cat([dense.reshape(len(there), -1), t.zeros((len(there), 1), device=self.device)], dim=1)
        return flat.masked_fill(~possible, -1e9)

    def _step(self, loss: Any) -> None:
        t = torch()
        self.optimiser.zero_grad()
        loss.backward()
        t.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimiser.step()

    # -- imitation ----------------------------------------------------------------------------------------------------

    def _imitate(self) -> float:
        """The warm start, before the first iteration; its last loss."""
        t, p = torch(), self.params
        rng = np.random.default_rng([self.seed, 0])
        *inputs, targets = (t.from_numpy(a).to(self.device) for a in examples(p.teacher, p.questions, p.window, rng))
        for group in self.optimiser.param_groups:
            group["lr"] = p.imitation_rate
        loss = t.zeros(())
        for _ in range(p.imitation_steps):
            at = t.from_numpy(rng.integers(0, len(targets), p.imitation_batch)).to(self.device)
            chances = t.log_softmax(self.logits(*(x[at] for x in inputs)), dim=1)
            loss = -t.logsumexp(chances.masked_fill(~targets[at], -1e9), dim=1).mean()
            self._step(loss)
        for group in self.optimiser.param_groups:
            group["lr"] = p.learning_rate
        return float(loss.detach())

    # -- policy gradient ----------------------------------------------------------------------------------------------

    def improve(self, iteration: int) -> dict[str, float]:
        """One iteration; the first begins with the imitation."""
        p, measured = self.params, {}
        if iteration == 1 and p.teacher:
            measured["imitation_loss"] = self._imitate()
        rng = np.random.default_rng([self.seed, iteration])
        seeds, rates = rng.integers(0, 10**9, p.sequences).tolist(), rng.uniform(p.low, p.rate, p.sequences).tolist()
        works = [sequence(TRAINING + k, p.jobs, round(rate, 2)) for k, rate in zip(seeds, rates, strict=True)]
        batch = Batch([w for w in works for _ in range(p.episodes)], self.phase, floor=p.floor)
        columns, time, episode, trail = self._sample(batch, works[0], rng)
        advantage = advantages(time, episode, trail, p.episodes)
        measured["completion_s"] = float(batch.completion_s().mean())
        measured["loss"] = self._learn(columns, advantage, rng)
        return measured

    def _sample(self, batch: Batch, first: Any, rng: np.random.Generator) -> tuple[Any, ...]:
        """Columns of every decision with a choice (inputs, action, log-probability), its time and episode, and the
        training phases: (episode, start, system time).
        """
        net, views = PlusNet(self.weights()), Views(batch, first)
        kept: list[tuple[Any, ...]] = []
        trail: list[tuple[Any, ...]] = []
        while not batch.done.all():
            begin, changing, there, possible = views.look()
            logits = scores(net, begin, changing, there, possible)
            action = sample(logits, rng)
            rows = np.flatnonzero(~batch.done & (possible.sum(axis=1) > 1))
            chance = log_chance(logits[rows], action[rows])
            kept.append(
                (begin[rows], changing[rows], there[rows], possible[rows], action[rows], chance, batch.now[rows], rows)
            )
            before = batch.now.copy()
            step = batch.step(action)
            ended = np.flatnonzero(step.trained)
            trail.append((ended, before[ended], step.system_ms[ended]))
        columns = [np.concatenate(column) for column in zip(*kept, strict=True)]
        phases = [np.concatenate(column) for column in zip(*trail, strict=True)]
        return columns[:6], columns[6], columns[7], tuple(phases)

    def _learn(self, columns: Any, advantage: Any, rng: np.random.Generator) -> float:
        """PPO's passes over decisions drawn from the iteration's; the mean loss."""
        t, p = torch(), self.params
        chosen = rng.permutation(len(advantage))[: p.decisions]
        *inputs, action, chance = (t.from_numpy(np.ascontiguousarray(c[chosen])).to(self.device) for c in columns)
        weight = t.from_numpy(advantage[chosen].astype(np.float32)).to(self.device)
        losses = []
        for _ in range(p.passes):
            order = rng.permutation(len(chosen))
            for first in range(0, len(order), p.batch):
                at = t.from_numpy(order[first : first + p.batch]).to(self.device)
                chances = t.log_softmax(self.logits(*(x[at] for x in inputs)), dim=1)
                ratio = (chances.gather(1, action[at][:, None])[:, 0] - chance[at]).exp()
                clipped = ratio.clamp(1 - p.clip, 1 + p.clip)
                gain = t.minimum(ratio * weight[at], clipped * weight[at])
                spread = -(chances.exp() * chances.clamp(min=-50)).sum(dim=1)
                loss = -(gain + p.entropy * spread).mean()
                self._step(loss)
                losses.append(float(loss.detach()))
        return float(np.mean(losses))

    # -- what the trainer needs ---------------------------------------------------------------------------------------

    def validate(self) -> Validation:
        """Mean over the validation sequences of the average completion time, s, of the likeliest actions."""
        net, batch = PlusNet(self.weights()), self.held_out
        batch.reset()
        while not batch.done.all():
            batch.step(scores(net, *self.views.look()).argmax(axis=1))
        return Validation(float(batch.completion_s().mean()))

    def weights(self) -> dict[str, Any]:
        """The network's tensors."""
        return layer_state(self.layers)

    def state(self) -> dict[str, Any]:
        """The network and Adam."""
        return {**self.weights(), **adam_state(self.optimiser, self.parameters)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to a `state`."""
        restore_layers(self.layers, state)
        restore_adam(self.optimiser, self.parameters, state)


def log_chance(logits: Any, action: Any) -> Any:
    """log of the softmax probability of an action in every row; float32."""
    top = logits.max(axis=1, keepdims=True)
    total = np.log(np.exp(logits - top).sum(axis=1)) + top[:, 0]
    return (np.take_along_axis(logits, action[:, None], axis=1)[:, 0] - total).astype(np.float32)


def advantages(time: Any, episode: Any, trail: tuple[Any, Any, Any], group: int) -> Any:
    """How much less time the jobs spend in the system after a decision than in the other episodes of its sequence,
    standardised over all decisions.

    time, episode: of every decision; trail: episode, start and system time of every training phase. Episodes of a
    sequence are `group` in a row. Within a phase, system time is taken to pass evenly until the next one begins.
    """
    where, start, cost = trail
    advantage = np.zeros(len(time))
    curves = {}
    for e in np.unique(where):
        mine = where == e
        order = np.argsort(start[mine], kind="stable")
        begins, costs = start[mine][order].astype(float), cost[mine][order].astype(float)
        done = np.concatenate([[0.0], costs.cumsum()])
        curves[e] = (np.append(begins, begins[-1] + max(1.0, costs[-1])), done)
    for e in np.unique(episode):
        at = time[episode == e].astype(float)
        first = e - e % group
        rest = {k: curves[k][1][-1] - np.interp(at, *curves[k]) for k in range(first, first + group)}
        others = sum(v for k, v in rest.items() if k != e) / (group - 1)
        advantage[episode == e] = others - rest[e]
    return (advantage - advantage.mean()) / max(float(advantage.std()), 1e-9)
