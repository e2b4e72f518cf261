"""Chic-plus' training: a network of job weights imitates the values of LP-MPC, then a few numbers evolve.

1. Imitation, in the first iteration: on random questions, LP-MPC's linear program gives each job a value, the dual of
   its work. The network learns the logarithms of value over time alone, up to a constant for each question, which no
   decision depends on.
2. Evolution, in each later iteration: CMA-ES changes the weights of the linear layer and the scale of the rest, twelve
   numbers. Candidates are compared by the logarithms of completion times on the same new sequences of mixed loads.
   Compiled code runs them (`_plus_runs.py`). LP-MPC ignores future arrivals; evolution does not.
"""

from __future__ import annotations

import dataclasses
from typing import Annotated

import numpy as np

from mlsched.core.aliases import Array
from mlsched.core.arguments import ValidatedFields
from mlsched.core.params import Count, Range
from mlsched.learned.workers.chic_plus import NAMES
from mlsched_training._evolution import Cma
from mlsched_training._recipe import Tensors, Validation
from mlsched_training._torch import Tensor, seed_torch, torch_module
from mlsched_training.workers._imitation import random_examples
from mlsched_training.workers._plus_loads import Held, chosen_loads
from mlsched_training.workers._plus_runs import Cluster, Network, Runs
from mlsched_training.workers._sequences import TRAINING

#: The learning rate of the imitation falls after this share of its steps, by this factor.
LATE, LATE_RATE = 0.72, 1 / 6
#: Candidates of a generation beyond the usual number, since sequences differ.
EXTRA = 6


@dataclasses.dataclass(frozen=True)
class PlusParams(ValidatedFields):
    """Parameters of Chic-plus' training.

    Attributes:
        hidden: Neurons of each of the two hidden layers.
        questions: Questions of the imitation.
        steps: Steps of Adam, each on `batch` questions.
        learning_rate: Adam's.
        sigma: Standard deviation of the first generation, in standard deviations of the features.
        share: Share of each load's sequences in a generation and a validation.
        largest: Cluster of the loads, divided by the paper's.
        every: Iterations between validations.
    """

    hidden: Count = 24
    questions: Count = 5000
    steps: Count = 2500
    batch: Count = 64
    learning_rate: Annotated[float, Range(0, 10, open_low=True)] = 0.003
    sigma: Annotated[float, Range(0, 10, open_low=True)] = 0.15
    share: Annotated[float, Range(0, 100, open_low=True)] = 1.0
    largest: Annotated[float, Range(1, 100)] = 16.0
    every: Count = 10


class JobWeights:
    """Chic-plus in training."""

    def __init__(self, params: PlusParams, seed: int, device: str) -> None:
        self.params, self.seed, self.device = params, seed, device
        rng = np.random.default_rng([seed, 0])
        sizes = (len(NAMES), params.hidden, params.hidden, 1)
        tensors: Tensors = {"linear.0.weight": np.zeros((1, len(NAMES))), "linear.0.bias": np.zeros(1)}
        for k, (inputs, outputs) in enumerate(zip(sizes, sizes[1:], strict=False)):
            tensors[f"network.{k}.weight"] = rng.normal(0, inputs**-0.5, (outputs, inputs))
            tensors[f"network.{k}.bias"] = np.zeros(outputs)
        self.tensors = {name: value.astype(np.float32) for name, value in tensors.items()}  # before evolution
        self.scale = np.ones(len(NAMES))  # of the features
        self.search = Cma(np.zeros(len(NAMES) + 1), params.sigma, EXTRA)
        self.loads = chosen_loads(params.share, params.largest)
        self.clusters = [Cluster(load.sequence(TRAINING)) for load in self.loads]
        self.held = Held(self.loads)

    def improve(self, iteration: int) -> dict[str, float]:
        """Imitate in the first iteration, and evolve in each later one."""
        return self._imitate_examples() if iteration == 1 else self._breed_generation(iteration)

    def _imitate_examples(self) -> dict[str, float]:
        """Fit the network and the linear layer to examples; return the loss of the last steps."""
        t, p = torch_module(), self.params
        rng = np.random.default_rng([self.seed, 1])
        rows = random_examples(p.questions, rng)
        all_features = np.concatenate([features for features, _ in rows])
        mean, self.scale = all_features.mean(axis=0), all_features.std(axis=0) + 1e-6
        seed_torch(self.seed, 1)
        layers = [t.nn.Linear(*size) for size in ((len(NAMES), p.hidden), (p.hidden, p.hidden), (p.hidden, 1))]
        linear, losses = t.nn.Linear(len(NAMES), 1).to(self.device), list[float]()
        network = t.nn.Sequential(layers[0], t.nn.ReLU(), layers[1], t.nn.ReLU(), layers[2]).to(self.device)
        optimiser = t.optim.Adam([*network.parameters(), *linear.parameters()], lr=p.learning_rate)
        for step in range(p.steps):
            if step == int(LATE * p.steps):
                optimiser.param_groups[0]["lr"] = p.learning_rate * LATE_RATE
            sample = [rows[k] for k in rng.integers(0, len(rows), p.batch)]
            inputs = np.concatenate([(features - mean) / self.scale for features, _ in sample]).astype(np.float32)
            targets = np.concatenate([log for _, log in sample]).astype(np.float32)
            question = t.from_numpy(np.repeat(np.arange(p.batch), [len(log) for _, log in sample])).to(self.device)
            x = t.from_numpy(inputs).to(self.device)
            error = (network(x) + linear(x))[:, 0] - t.from_numpy(targets).to(self.device)
            # The mean error of a question is its constant; the loss is the variance around it.
            sums = t.zeros(p.batch, device=self.device).index_add(0, question, error)
            loss = ((error - (sums / t.bincount(question, minlength=p.batch))[question]) ** 2).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(float(loss.detach()))
        for name, layer in (("network.0", layers[0]), ("linear.0", linear)):
            weight, bias = (each.detach().cpu().numpy() for each in (layer.weight, layer.bias))
            self._set_layer(name, weight / self.scale, bias - weight / self.scale @ mean)
        for k in (1, 2):
            self._set_layer(
                f"network.{k}", layers[k].weight.detach().cpu().numpy(), layers[k].bias.detach().cpu().numpy()
            )
        return {"imitation_loss": float(np.mean(losses[-max(1, p.steps // 10) :]))}

    def _set_layer(self, name: str, weight: Tensor, bias: Array) -> None:
        self.tensors |= {f"{name}.weight": weight.astype(np.float32), f"{name}.bias": bias.astype(np.float32)}

    def _breed_generation(self, iteration: int) -> dict[str, float]:
        """Breed one generation."""
        rng = np.random.default_rng([self.seed, iteration])
        groups = []
        for load, cluster in zip(self.loads, self.clusters, strict=True):
            seeds = rng.integers(TRAINING, 10**9, load.sequences).tolist()
            groups.append([Runs(cluster, load.sequence(seed), load.floor) for seed in seeds])
        candidates = self.search.ask(rng)
        networks = [Network(self._changed_tensors(numbers)) for numbers in candidates]
        logs = [[np.mean([np.log(run.completion_s(one)) for run in runs]) for runs in groups] for one in networks]
        values = np.mean(logs, axis=1)
        self.search.tell(candidates, values)
        return {"spread": float(values.std()), "sigma": self.search.sigma}

    def _changed_tensors(self, numbers: Array) -> Tensors:
        """Return the tensors with a change of the linear layer and of the scale of the rest."""
        tensors, factor = dict(self.tensors), np.float32(1 + numbers[-1])
        tensors["network.2.weight"] = tensors["network.2.weight"] * factor
        change = (numbers[:-1] / self.scale).astype(np.float32)
        tensors["linear.0.weight"] = tensors["linear.0.weight"] * factor + change
        return tensors

    # -- for the trainer ----------------------------------------------------------------------------------------------

    def validate(self, weights: Tensors) -> Validation:
        """Score the policy on the validation sequences."""
        return self.held.validation(Network(weights))

    def weights(self) -> Tensors:
        """Return the tensors of the network and of the linear layer."""
        return self._changed_tensors(self.search.mean)

    def state(self) -> Tensors:
        """Return everything that changes; float64 becomes the int64 of the same bits, as files lack it."""
        changing = {"scale": self.scale, **self.search.state()}
        return self.tensors | {f"search.{name}": value.view(np.int64) for name, value in changing.items()}

    def restore(self, state: Tensors) -> None:
        """Return to a `state`."""
        self.tensors = {name: state[name].copy() for name in self.tensors}
        changing = {name: state[f"search.{name}"].view(np.float64) for name in ("scale", *self.search.state())}
        self.scale = changing.pop("scale").copy()
        self.search.restore(changing)
