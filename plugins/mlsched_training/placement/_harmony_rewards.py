"""Training of Harmony's reward model (Bao, Peng and Wu, INFOCOM 2019, Sections V and VI-A).

Supervised learning on a history of random placements with measured speeds. The network has three hidden layers with
batch normalisation; Adam at .005 and minibatches of 32 minimise the mean relative error of the predicted speeds.
Interpretations:

- "13177 samples" are placements, each with the speeds of all its jobs: a sample's label is a vector.
- One tenth of the placements is held out. They are held out completely, because jobs of one placement depend on each
  other.
- "196 or 128 neurons in each hidden layer": 196-196-128, as the policy has.
- Speeds are relative to the isolated job (`harmony_speeds`); the network's output is their logarithm.
- form="flat" is the paper's network. In its minibatches, slots and servers are permuted at random (`shuffle`), since
  the slot of a job is arbitrary.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Annotated, Any

import numpy as np

from mlsched.core.aliases import Array, Data
from mlsched.core.arguments import ValidatedFields
from mlsched.core.fields import IntArray
from mlsched.core.params import Range, Share, check_range
from mlsched.instances.placement.models import KINDS, MODELS
from mlsched.learned.net import Mlp
from mlsched.simulation.placement.board import NOBODY
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
from mlsched_training.placement.harmony_speeds import FORMS, Speeds, flat_inputs, job_inputs
from mlsched_training.placement.history import measured_slowdowns, random_placement

#: Seeds of histories: no test draws placements by them.
HISTORY = 2_000_000
TYPES = tuple(model.name for model in MODELS)
#: Constant that batch normalisation adds to a variance.
EPS = 1e-5


@dataclasses.dataclass(frozen=True)
class RewardParams(ValidatedFields):
    """samples: placements of the history. held_out: share of them that is tested on. form: see `harmony_speeds`.
    shuffle: of the flat form. hidden, learning_rate, minibatch: the paper's.

    model: interference of the history's cluster. servers: M. slots: N of the flat form. error: the criterion, a
    relative error on the held-out placements. An iteration is one pass over the history.
    """

    samples: Annotated[int, Range(20, 10**6)] = 13177
    held_out: Annotated[float, Range(0, 0.9, open_low=True)] = 0.1
    form: Annotated[str, FORMS] = "jobs"
    shuffle: bool = True
    hidden: str = "196-196-128"
    learning_rate: Annotated[float, Range(0, 10, open_low=True)] = 0.005
    minibatch: Annotated[int, Range(2, 10**5)] = 32
    model: Annotated[str, KINDS] = "pairwise"
    servers: Annotated[int, Range(1, 1000)] = 6
    slots: int = 18
    error: Share = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("slots", self.slots, 4 * self.servers // 2, 10**4)
        layers_of(self.hidden)


@dataclasses.dataclass(frozen=True)
class History:
    """Placements: kind (placements x N; NOBODY: empty), on (placements x M x N x 2), relative speed (as kind)."""

    kind: Array
    on: Array
    speed: Array

    def joined(self, other: History) -> History:
        """Return both, one after the other."""
        pairs = zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True)
        return History(*(np.concatenate(pair) for pair in pairs))


@functools.lru_cache(maxsize=4)
def random_history(samples: int, seed: int, model: str, servers: int, slots: int) -> History:
    """Return random placements, each job in a random slot."""
    rng = np.random.default_rng([HISTORY, seed])
    kind = np.full((samples, slots), NOBODY, dtype=np.int64)
    on = np.zeros((samples, servers, slots, 2), dtype=np.float32)
    speed = np.ones((samples, slots), dtype=np.float32)
    for k in range(samples):
        instance = random_placement(rng, model, servers)
        at = rng.permutation(slots)[: len(instance.run_type)]
        kind[k, at] = instance.run_type
        on[k][:, at] = np.moveaxis(np.stack([instance.run_workers, instance.run_ps], axis=-1), 0, 1)
        speed[k, at] = 1 / measured_slowdowns(instance)
    return History(kind, on, speed)


class RewardNet:
    """The network in torch, with its optimiser. trained: continues from it, without batch
    normalisation, which is in its layers by now."""

    def __init__(self, params: RewardParams, device: str, trained: Mlp | None = None) -> None:
        t = torch_module()
        self.params, self.device = params, device
        p, types = params, len(TYPES)
        wide = p.slots * (types + 2 + 2 * p.servers), p.slots
        each = types + 2 + p.servers * 2 * (1 + types), 1
        inputs, outputs = wide if p.form == "flat" else each
        sizes = [inputs, *layers_of(p.hidden), outputs]
        self.linear = [t.nn.Linear(a, b).to(device) for a, b in zip(sizes, sizes[1:], strict=False)]
        self.norms = [] if trained else [t.nn.BatchNorm1d(n, eps=EPS).to(device) for n in sizes[1:-1]]
        if trained:
            pairs = enumerate(trained.layers)
            restore_layers(
                self._linear_layers(), {f"{k}.{n}": v for k, (w, b) in pairs for n, v in (("weight", w.T), ("bias", b))}
            )
        parts: list[Any] = []
        for k, layer in enumerate(self.linear[:-1]):
            parts += [layer, *self.norms[k : k + 1], t.nn.ReLU()]
        self.net = t.nn.Sequential(*parts, self.linear[-1])
        self.parameters = list(self.net.parameters())
        self.optimiser = t.optim.Adam(self.parameters, lr=p.learning_rate)

    def learn(self, rng: np.random.Generator, past: History, batches: list[IntArray]) -> float:
        """Run a step of Adam for each batch of placements (their numbers), and return the mean loss."""
        total = 0.0
        self.net.train()
        for batch in batches:
            kind, on, speed = past.kind[batch], past.on[batch], past.speed[batch]
            if self.params.form == "flat" and self.params.shuffle:
                slots, servers = rng.permutation(kind.shape[1]), rng.permutation(on.shape[1])
                kind, on, speed = kind[:, slots], on[:, servers][:, :, slots], speed[:, slots]
            total += self._adam_step(kind, on, speed)
        self.net.eval()
        return total / max(1, len(batches))

    def _adam_step(self, kind: Array, on: Array, speed: Tensor) -> float:
        t, there = torch_module(), kind != NOBODY
        types = len(TYPES)
        inputs = flat_inputs(kind, on, types) if self.params.form == "flat" else job_inputs(kind, on, types)[there]
        out = self.net(t.from_numpy(inputs).to(self.device))
        out = out[t.from_numpy(there).to(self.device)] if self.params.form == "flat" else out[:, 0]
        label = t.from_numpy(speed[there]).to(self.device)
        loss = ((out.exp() - label).abs() / label).mean()
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        return float(loss.detach())

    def folded(self) -> dict[str, Array]:
        """Return the tensors of an equal `Mlp`, which includes the batch normalisation as a linear map."""
        folded = {}
        for k, layer in enumerate(self.linear):
            weight = layer.weight.detach().cpu().numpy().astype(np.float64)
            bias = layer.bias.detach().cpu().numpy().astype(np.float64)
            if k < len(self.norms):
                norm = {n: v.detach().cpu().numpy().astype(np.float64) for n, v in self.norms[k].state_dict().items()}
                scale = norm["weight"] / np.sqrt(norm["running_var"] + EPS)
                weight, bias = weight * scale[:, None], (bias - norm["running_mean"]) * scale + norm["bias"]
            folded[f"{k}.weight"], folded[f"{k}.bias"] = weight.astype(np.float32), bias.astype(np.float32)
        return folded

    def state(self) -> dict[str, Array]:
        """Return the complete state."""
        norms = {
            f"norm.{k}.{name}": value.detach().cpu().numpy().astype(np.float32).reshape(-1)
            for k, norm in enumerate(self.norms)
            for name, value in norm.state_dict().items()
            if name.startswith("running")
        }
        layers = layer_state({**self._linear_layers(), **{f"scale.{k}": n for k, n in enumerate(self.norms)}})
        return {**layers, **norms, **adam_state(self.optimiser, self.parameters)}

    def restore(self, state: dict[str, Array]) -> None:
        """Restore a `state`."""
        restore_layers({**self._linear_layers(), **{f"scale.{k}": n for k, n in enumerate(self.norms)}}, state)
        for k, norm in enumerate(self.norms):
            for name in ("running_mean", "running_var"):
                getattr(norm, name).copy_(torch_module().from_numpy(state[f"norm.{k}.{name}"].copy()))
        restore_adam(self.optimiser, self.parameters, state)

    def _linear_layers(self) -> Layers:
        return {str(k): layer for k, layer in enumerate(self.linear)}


class RewardLearner:
    """A reward model in training."""

    def __init__(self, params: RewardParams, seed: int, device: str) -> None:
        self.params, self.seed = params, seed
        seed_torch(seed, 0)
        self.net = RewardNet(params, device)
        self.net.net.eval()
        self.past = random_history(params.samples, seed, params.model, params.servers, params.slots)
        count = max(1, round(params.held_out * params.samples))
        self.tested, self.trained_on = np.arange(count), np.arange(count, params.samples)

    def improve(self, iteration: int) -> dict[str, float]:
        """Run one pass over the history."""
        rng = np.random.default_rng([self.seed, iteration])
        order = rng.permutation(self.trained_on)
        parts = max(1, len(order) // self.params.minibatch)
        return {"loss": self.net.learn(rng, self.past, np.array_split(order, parts))}

    def validate(self, weights: Tensors) -> Validation:
        """Return the mean relative error over the jobs of the validation placements."""
        error = relative_errors(weights, self.params.form, self.past, self.tested)
        score = float(error.mean())
        return Validation(score, score <= self.params.error)

    def weights(self) -> dict[str, Array]:
        """Return the tensors of the predictor."""
        return self.net.folded()

    def state(self) -> dict[str, Array]:
        """Return the state of the network and of Adam."""
        return self.net.state()

    def restore(self, state: dict[str, Array]) -> None:
        """Restore a `state`."""
        self.net.restore(state)


def relative_errors(tensors: dict[str, Array], form: str, past: History, rows: Array) -> Any:
    """Return |predicted - measured| / measured speed of every job of the selected placements."""
    kind, on, speed = past.kind[rows], past.on[rows], past.speed[rows]
    there = kind != NOBODY
    predicted = Speeds(tensors, form, len(TYPES))(kind, on)[there]
    return np.abs(predicted - speed[there]) / speed[there]


def describe_data(params: RewardParams) -> Data:
    """Describe the data for the model card."""
    return {
        "source": f"{params.samples} random placements on {params.servers} servers, {params.model} interference",
        "models": list(TYPES),
        "not_tried_on": "other models, other interference, other numbers of servers",
    }
