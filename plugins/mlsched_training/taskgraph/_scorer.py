"""Network in training that scores the rows of choices, by the gradient of their log-probability."""

from __future__ import annotations

import numpy as np

from mlsched.core.aliases import Array
from mlsched.core.fields import FloatArray, IntArray
from mlsched_training._torch import adam_state, layer_state, restore_adam, restore_layers, seed_torch, torch_module
from mlsched_training.taskgraph._episodes import Choices


class Scorer:
    """Network of two hidden layers and one score per row; probabilities are the softmax over the rows of a choice."""

    def __init__(self, inputs: int, hidden: int, seed: int, device: str) -> None:
        t = torch_module()
        self.device = device
        seed_torch(seed, 0)
        sizes = (inputs, hidden, hidden, 1)
        self.layers = {str(k): t.nn.Linear(sizes[k], sizes[k + 1]) for k in range(3)}
        self.parameters = [p for layer in self.layers.values() for p in layer.to(device).parameters()]
        self.optimiser = t.optim.Adam(self.parameters)

    def learn(self, kept: Choices, weight: FloatArray, chosen: IntArray, rate: float, entropy: float = 0.0) -> float:
        """Run a step of Adam on -weight x log-probability of the choices minus the entropy bonus; return the loss.

        Args:
            kept: The choices.
            weight: Weight of each choice.
            chosen: Numbers of the choices of this step.
            rate: Learning rate.
            entropy: Weight of the entropy bonus.
        """
        t = torch_module()
        rows = [kept.rows[k] for k in chosen.tolist()]
        counts = np.array([len(r) for r in rows])
        x = t.from_numpy(np.concatenate(rows)).to(self.device)
        owner = t.from_numpy(np.repeat(np.arange(len(rows)), counts)).to(self.device)
        at = t.from_numpy(np.cumsum(counts) - counts + np.array([kept.row[k] for k in chosen.tolist()])).to(self.device)
        logits = self.layers["2"](t.relu(self.layers["1"](t.relu(self.layers["0"](x)))))[:, 0]
        top = t.full((len(rows),), -1e30, device=self.device).scatter_reduce(0, owner, logits.detach(), "amax")
        total = t.zeros(len(rows), device=self.device).index_add(0, owner, (logits - top[owner]).exp())
        chances = logits - top[owner] - total.log()[owner]
        gain = t.from_numpy(weight[chosen].astype(np.float32)).to(self.device)
        loss = -(gain * chances[at]).mean() + entropy * (chances.exp() * chances).sum() / len(rows)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.zero_grad()
        loss.backward()
        t.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimiser.step()
        return float(loss.detach())

    def forget(self) -> None:
        """Reset Adam, whose state belongs to the previous loss."""
        self.optimiser.state.clear()

    def weights(self) -> dict[str, Array]:
        """Return the tensors of the network."""
        return layer_state(self.layers)

    def state(self) -> dict[str, Array]:
        """Return the state of the network and of Adam."""
        return {**self.weights(), **adam_state(self.optimiser, self.parameters)}

    def restore(self, state: dict[str, Array]) -> None:
        """Restore a `state`."""
        restore_layers(self.layers, state)
        restore_adam(self.optimiser, self.parameters, state)
