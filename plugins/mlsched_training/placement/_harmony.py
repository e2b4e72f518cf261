"""Harmony's training: an actor-critic on predicted rewards (Bao, Peng and Wu, INFOCOM 2019, Sections IV-B and VI-A).

An iteration is a scheduling interval of each of `workers` clusters side by side, then one step of Adam for both
networks on 32 samples per worker from the replay buffer. Its gradient is the sum of the gradients of 20 synchronous
workers. The clusters are rows of one batch. `processes` divides them among several processes (`_harmony_together.py`),
each with its part of the clusters, of the minibatch and of the buffer. Interpretations:

- A sample is (s, a, r, s'); every sample of an interval has the interval's Eq. 1 as r, even if its s' is in it.
- The advantage is Q - V(s). Q is empirical: the discounted r of each remaining action of the interval, then V of the
  next interval's first state. With difference="action", Q is r + gamma V(s') from one action to the next ("temporal
  difference"); that is uninformative until V has learned the value of partial placements. Both are multiplied by 1 -
  gamma, so that V is of the size of r. The advantages of a minibatch are standardised (mean 0, deviation 1). Otherwise
  all actions would become likelier as long as V is too low, and the weight of the entropy bonus would mean something
  else for every size of the rewards.
- "Without value network": r minus the exponential moving average of the rewards. "Without exploration": neither entropy
  nor epsilon-greedy. "Without experience replay": the samples of this iteration's intervals are used, once.
- Epsilon and the entropy's weight fall linearly from .5 to 0 over `anneal` iterations (the paper: "during training").
- `shuffle`: waiting jobs, running jobs and servers of a minibatch are permuted at random. A permutation does not change
  a cluster. The paper does not mention it, so its network must learn it. Without it: `shuffle=false`.
- The reward model predicts the speeds (`mlsched train harmony-reward`). `live` of the clusters are measured instead, as
  an operator's own cluster would be. Every `retrain` iterations, the reward model also learns from these measurements
  ("online collected samples").

Every validation restarts the clusters and empties the buffer, so that a resumed training gives the same bits.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from mlsched.core.aliases import Array, Data
from mlsched.core.arguments import ValidatedFields
from mlsched.core.params import Count, Range, Share, check_range
from mlsched.instances.placement.models import KINDS, MODELS, RESOURCES
from mlsched.learned.net import sample
from mlsched.learned.placement.harmony_policy import Net, Policy
from mlsched.learned.weights import KIND, VERSION, Weights, of
from mlsched.simulation.placement.board import Shape
from mlsched_training._recipe import Tensors, Validation, layers_of
from mlsched_training._torch import (
    Layers,
    Tensor,
    adam_state,
    layer_state,
    restore_adam,
    restore_layers,
    seed_torch,
    torch_module,
)
from mlsched_training.placement._harmony_clusters import Clusters
from mlsched_training.placement._harmony_live import Measured
from mlsched_training.placement._harmony_replay import Replay, Samples, arrays_of_samples, shuffled_samples
from mlsched_training.placement._harmony_validation import completion, random_completion, validation_workloads
from mlsched_training.placement.harmony_speeds import reward_model_of

if TYPE_CHECKING:
    from mlsched_training.placement._harmony_together import Group


@dataclasses.dataclass(frozen=True)
class HarmonyParams(ValidatedFields):
    """Hyper-parameters, with the paper's values (Section VI-A) if it prints them.

    Attributes:
        servers, new, running: M, N', R (N is both together).
        hidden: Layers behind the layers of jobs (`job_units`) and servers (`server_units`).
        workers, minibatch, replay, gamma, epsilon, entropy: The paper's.
        learning_rate: Adam's. With the paper's .0001, little is learnt in CPU minutes.
        anneal: Iterations in which epsilon and the entropy's weight fall to 0.
        value: The baseline, "network" or "average".
        difference, explore, replayed, shuffle, live, retrain: See the module's docstring.
        rate, load, model: Jobs per interval, offered load, interference.
        reward: File of the reward model ("": mlsched's own file).
        validation: Workloads of `jobs` jobs.
        every: Iterations between validations.
        flat, span: The criterion, see `has_settled`.
        processes: Processes that share the clusters. Another number draws other samples.
    """

    servers: Annotated[int, Range(1, 10**5)] = 6
    new: Annotated[int, Range(1, 10**5)] = 6
    running: Annotated[int, Range(1, 10**5)] = 12
    hidden: str = "196-196-128"
    job_units: Annotated[int, Range(1, 4096)] = 16
    server_units: Annotated[int, Range(1, 4096)] = 32
    workers: Annotated[int, Range(1, 10**5)] = 20
    minibatch: Annotated[int, Range(1, 10**5)] = 32
    replay: int = 8192
    learning_rate: Annotated[float, Range(0, 10, open_low=True)] = 0.0005
    gamma: Share = 0.9
    epsilon: Share = 0.5
    entropy: Annotated[float, Range(0, 100)] = 0.5
    anneal: Count = 1500
    value: Literal["network", "average"] = "network"
    difference: Literal["interval", "action"] = "interval"
    explore: bool = True
    replayed: bool = True
    shuffle: bool = True
    live: int = 2
    retrain: Annotated[int, Range(1, 10**5)] = 100
    rate: Annotated[float, Range(0.5, 10**4)] = 3.0
    load: Annotated[float, Range(0, 10, open_low=True)] = 0.3
    model: Annotated[str, KINDS] = "pairwise"
    reward: str = ""
    validation: Annotated[int, Range(1, 10**5)] = 4
    jobs: Annotated[int, Range(1, 10**5)] = 80
    every: Annotated[int, Range(1, 10**5)] = 250
    flat: Share = 0.05
    span: int = 750
    processes: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("replay", self.replay, self.minibatch, 10**6)
        check_range("span", self.span, self.every, 10**6)
        check_range("processes", self.processes, 1, self.workers)
        check_range("live", self.live, 0, -(-self.workers // self.processes))
        self.layers  # noqa: B018 - says what is wrong with it

    @property
    def layers(self) -> list[int]:
        """Return the numbers of neurons of the layers after the layers of jobs and servers."""
        return layers_of(self.hidden)

    @property
    def shape(self) -> Shape:
        """Return the sizes of a state."""
        return Shape(len(MODELS), self.servers, len(RESOURCES), self.new, self.running)


class ActorCritic:
    """A Harmony in training.

    group: View of this process on all processes that train together. Only the first has live clusters and validates.
    """

    def __init__(self, params: HarmonyParams, seed: int, device: str, group: Group | None = None) -> None:
        t = torch_module()
        self.group, leads = group, group is None
        self.params, self.seed, self.device = params, seed, device
        seed_torch(seed, 0)
        self.actor = _layers_of_network(params, params.shape.actions, device)
        self.critic = _layers_of_network(params, 1, device)
        # In a cluster that keeps up, the work of an interval equals its arrivals: the mean of V.
        t.nn.init.constant_(self.critic[str(len(params.layers))].bias, params.rate)
        self.learned = [
            (layers, [p for layer in layers.values() for p in layer.parameters()])
            for layers in (self.actor, self.critic)
        ]
        self.optimisers = [t.optim.Adam(of_one, lr=params.learning_rate) for _, of_one in self.learned]
        self.average = 0.0
        self.model = reward_model_of(of("harmony-reward", "placement", params.reward))
        self.live = Measured(params, seed, device, self.model) if params.live and leads else None
        self.held_out = validation_workloads(params) if leads else []
        self.random = random_completion(self.held_out, params) if leads else 0.0

    # -- one iteration ------------------------------------------------------------------------------------------------

    def improve(self, iteration: int) -> dict[str, float]:
        """Run an interval of every cluster, and a step of Adam."""
        p, rank = self.params, self.group.rank if self.group else 0
        rng = np.random.default_rng([self.seed, iteration, *([rank] if rank else [])])
        if (iteration - 1) % p.every == 0:
            self._restart_clusters(rng)
        weight = max(0.0, 1 - (iteration - 1) / p.anneal) if p.explore else 0.0
        reward = self._sample_intervals(rng, p.epsilon * weight)
        samples = self.replay.draw(rng, p.minibatch * self.clusters.board.rows, p.replayed)
        figures = self._learn_from_samples(
            shuffled_samples(rng, samples, p.shape) if p.shuffle else samples, p.entropy * weight
        )
        if p.live and iteration % p.retrain == 0:
            if self.live is not None:
                self.model = self.live.retrain(rng)
            self._share_reward_model()
        relative = self.clusters.relative
        figures_of_step = {"reward": reward, "relative_speed": float(np.mean(relative)) if relative else 0.0, **figures}
        return figures_of_step if self.group is None else self.group.mean(figures_of_step)

    def _share_reward_model(self) -> None:
        """Copy the reward model of the first process to all processes."""
        if self.group is not None:
            self.model = self.group.told(self.model if self.group.rank == 0 else None)

    def _restart_clusters(self, rng: np.random.Generator) -> None:
        """Restart the clusters with an empty buffer."""
        p = self.params
        if self.live is not None:
            self.live.begin()
        rows = self.group.workers if self.group else p.workers
        self.clusters = Clusters(p.shape, rows, p.rate, p.load)
        self.clusters.speeds = self._relative_speeds
        self.clusters.begin(rng)
        size = max(p.minibatch, p.replay * rows // p.workers)
        self.replay = Replay(size, rows, p.shape, p.gamma, p.difference == "interval")
        every = np.arange(rows)
        self.now, self.valid = self.clusters.board.features(every), self.clusters.board.valid(every)

    def _relative_speeds(self, rows: Array) -> Any:
        """Return relative speeds of the jobs on some clusters, predicted, or measured on live clusters."""
        board = self.clusters.board
        speeds = self.model(board.kind[rows], board.on[rows])
        if self.live is not None:
            for at in np.flatnonzero(rows < self.params.live):
                speeds[at] = self.live.measure(board.kind[rows[at]], board.on[rows[at]])
        return speeds

    def _sample_intervals(self, rng: np.random.Generator, epsilon: float) -> float:
        """Take actions until as many intervals have passed as there are clusters; the mean reward of an interval."""
        board = self.clusters.board
        every = np.arange(board.rows)
        net = Net(layer_state(self.actor), self.params.shape)
        self.replay.forget_last()
        self.clusters.relative.clear()
        rewards: list[float] = []
        while len(rewards) < board.rows:
            valid = self.valid
            actions = sample(np.where(valid, net(self.now), np.float32(-np.inf)), rng)
            explore = np.flatnonzero(rng.random(len(every)) < epsilon)
            actions[explore] = self._explored_actions(explore, actions[explore], valid, rng)
            board.act(every, actions)
            self.valid = board.valid(every)
            over, got = np.flatnonzero(~self.valid.any(axis=1)), np.zeros(0)
            if over.size:
                got = self.clusters.finish(over, rng)
                self.valid[over] = board.valid(over)
            then = board.features(every)
            self.replay.note(self.now, actions, valid, then)
            self.replay.close(over, got)
            self.now = then
            rewards += got.tolist()
        return float(np.mean(rewards))

    def _explored_actions(self, rows: Array, actions: Array, valid: Array, rng: np.random.Generator) -> Any:
        """Return `actions` with each task on its fullest or least loaded valid server, selected at random per row."""
        shape, board = self.params.shape, self.clusters.board
        task = actions // shape.servers
        able = valid[rows].reshape(len(rows), 2 * shape.new, shape.servers)[np.arange(len(rows)), task]
        load = 1 - (board.free[rows] / board.capacity[rows]).mean(axis=-1)
        load = np.where(rng.random(len(rows)) < 0.5, 1, -1)[:, None] * load
        return task * shape.servers + np.where(able, load, -np.inf).argmax(axis=1)

    def _learn_from_samples(self, samples: Samples, entropy: float) -> dict[str, float]:
        """Run a step of Adam for the critic, then for the actor (Eq. 2 with the advantage and the entropy)."""
        t, p = torch_module(), self.params
        now, then, valid, action, reward, discount = (
            t.from_numpy(a).to(self.device) for a in arrays_of_samples(samples)
        )
        if p.value == "network":
            with t.no_grad():
                target = (1 - discount) * reward + discount * self._forward_pass(self.critic, then)[:, 0]
            value = self._forward_pass(self.critic, now)[:, 0]
            advantage = (target - value).detach()
            self._adam_step(1, ((target - value) ** 2).mean())
        else:
            mean = {"reward": float(reward.mean())}
            got = (self.group.mean(mean) if self.group else mean)["reward"]
            self.average = 0.99 * self.average + 0.01 * got if self.average else got
            advantage = reward - self.average
        spread = float(advantage.std()) + 1e-6
        advantage = (advantage - advantage.mean()) / spread
        logits = self._forward_pass(self.actor, now).masked_fill(~valid, -1e9)
        log = t.log_softmax(logits, dim=1)
        log_of_actions = log.gather(1, action[:, None])[:, 0]
        disorder = -(log.exp() * log).sum(dim=1).mean()
        self._adam_step(0, -(log_of_actions * advantage).mean() - entropy * disorder)
        return {"advantage": spread, "entropy": float(disorder.detach())}

    def _adam_step(self, which: int, loss: Tensor) -> None:
        self.optimisers[which].zero_grad()
        loss.backward()
        if self.group is not None:
            self.group.add([parameter.grad for parameter in self.learned[which][1]])
        self.optimisers[which].step()

    def _forward_pass(self, layers: Layers, x: Tensor) -> Tensor:
        """Compute the layers as `Net`, with gradients."""
        t, s = torch_module(), self.params.shape
        boundary = s.slots * s.of_job
        jobs = t.relu(layers["job.0"](x[:, :boundary].reshape(len(x), s.slots, s.of_job)))
        servers = t.relu(layers["server.0"](x[:, boundary:].reshape(len(x), s.servers, s.of_server)))
        x = t.cat([jobs.flatten(1), servers.flatten(1)], dim=1)
        last = len(layers) - 3
        for k in range(last):
            x = t.relu(layers[str(k)](x))
        return layers[str(last)](x)

    # -- interface of the trainer --------------------------------------------------------------------------------------

    def validate(self, weights: Tensors) -> Validation:
        """Return the mean average completion time over the validation workloads, in intervals, at real speeds.

        A policy meets the criterion when it is better than random placement there.
        """
        card = {"recipe": dataclasses.asdict(self.params), "data": describe_data(self.params)}
        policy = Policy(Weights(weights, {**card, "kind": KIND, "version": VERSION}, "the policy in training"))
        score = completion(lambda instance, rng: policy.plan(instance, rng, True), self.held_out, self.params)
        return Validation(score, score < self.random, {"random": self.random})

    def weights(self) -> dict[str, Array]:
        """Return the tensors of the policy network."""
        return layer_state(self.actor)

    def state(self) -> dict[str, Array]:
        """Return both networks, Adam, the moving average, and the reward model if it is retrained."""
        state = {"average": np.array([self.average], dtype=np.float32)}
        for name, (layers, parameters), adam in zip(("actor", "critic"), self.learned, self.optimisers, strict=True):
            tensors = {**layer_state(layers), **adam_state(adam, parameters)}
            state |= {f"{name}/{key}": value for key, value in tensors.items()}
        return state | ({} if self.live is None else {f"live/{k}": v for k, v in self.live.state().items()})

    def restore(self, state: dict[str, Array]) -> None:
        """Restore a `state`."""
        self.average = float(state["average"][0])
        for name, (layers, parameters), adam in zip(("actor", "critic"), self.learned, self.optimisers, strict=True):
            mine = _with_prefix(f"{name}/", state)
            restore_layers(layers, mine)
            restore_adam(adam, parameters, mine)
        if self.live is not None:
            self.model = self.live.restore(_with_prefix("live/", state))


def _with_prefix(prefix: str, state: Mapping[str, Array]) -> dict[str, Array]:
    return {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}


def _layers_of_network(params: HarmonyParams, outputs: int, device: str) -> Layers:
    """Return the layers of a policy or value network by the names of `Net`."""
    linear, s = torch_module().nn.Linear, params.shape
    merged = s.slots * params.job_units + s.servers * params.server_units
    sizes = [merged, *params.layers, outputs]
    layers = {"job.0": linear(s.of_job, params.job_units), "server.0": linear(s.of_server, params.server_units)}
    layers |= {str(k): linear(a, b) for k, (a, b) in enumerate(zip(sizes, sizes[1:], strict=False))}
    return {name: layer.to(device) for name, layer in layers.items()}


def describe_data(params: HarmonyParams) -> Data:
    """Describe the data for the model card."""
    return {
        "source": f"{params.workers} simulated clusters of {params.servers} servers, "
        f"{params.rate:g} jobs per interval, "
        f"load {params.load:g}, {params.model} interference",
        "models": [model.name for model in MODELS],
        "resources": list(RESOURCES),
        "reward_model": params.reward or "the one that comes with mlsched",
        "not_tried_on": "other numbers of servers, other models, other loads, other interference",
    }


def has_settled(params: HarmonyParams, curve: Sequence[Mapping[str, float]]) -> bool:
    """Return whether exploration is over and completion differs little between two spans of iterations.

    The means of the validations in the last `span` iterations and in the `span` before differ by at most a share
    `flat`. `ActorCritic.validate` checks that the best policy is better than random placement.
    """
    span = params.span
    if len(curve) < max(2 * span, params.anneal if params.explore else 0):
        return False
    scores = [
        [e["validation"] for e in part if "validation" in e] for part in (curve[-2 * span : -span], curve[-span:])
    ]
    before, last = (float(np.mean(part)) for part in scores)
    return bool(abs(last - before) <= params.flat * last)
