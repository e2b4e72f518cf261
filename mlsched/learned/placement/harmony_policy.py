"""Harmony's policy: a network over the paper's state places one task after the other (Section IV).

The network (Fig. 7) has one fully connected layer for all jobs and one for all servers. Fully connected layers
(196-196-128) follow, then a softmax over the 2 M N' actions, masked by validity.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from mlsched.core.errors import InvalidFile, TooLarge
from mlsched.core.fields import IntArray
from mlsched.instances.placement import Instance, Plan
from mlsched.learned.net import Floats, Mlp, Reals, sample
from mlsched.learned.weights import Weights, of
from mlsched.simulation.placement.board import Board, Shape


class Net:
    """The policy network in NumPy. tensors: "job.0", "server.0" and the layers "0", "1", ... as `Mlp` has them."""

    def __init__(self, tensors: Mapping[str, Floats], shape: Shape) -> None:
        self.shape = shape
        self.job, self.server = Mlp(tensors, "job."), Mlp(tensors, "server.")
        self.body = Mlp(tensors)

    def __call__(self, features: Floats) -> Reals:
        """Compute the logits, shape (rows, actions), of states, shape (rows, features), see `Board.features`."""
        s, rows = self.shape, len(features)
        split = s.slots * s.of_job
        jobs = np.maximum(self.job(features[:, :split].reshape(rows, s.slots, s.of_job)), 0)
        servers = np.maximum(self.server(features[:, split:].reshape(rows, s.servers, s.of_server)), 0)
        return self.body(np.concatenate([jobs.reshape(rows, -1), servers.reshape(rows, -1)], axis=1))

    def fits_shape(self) -> bool:
        """Check that the layers have the sizes of the shape."""
        s = self.shape
        merged = s.slots * self.job.outputs + s.servers * self.server.outputs
        sizes = (self.job.inputs, self.server.inputs, self.body.inputs, self.body.outputs)
        return sizes == (s.of_job, s.of_server, merged, s.actions)


class Policy:
    """A trained Harmony."""

    def __init__(self, weights: Weights) -> None:
        recipe, data, name = weights.card["recipe"], weights.card["data"], weights.source
        sizes = [recipe.get(key) for key in ("servers", "new", "running")]
        name_lists = [data.get(key) for key in ("models", "resources")]
        if not all(type(n) is int for n in sizes) or not all(isinstance(n, list) for n in name_lists):
            raise InvalidFile(f"{name}: its card lacks servers, new, running, models or resources; train it again")
        (servers, new, running), (self.types, self.resources) = sizes, name_lists
        self.shape = Shape(len(self.types), servers, len(self.resources), new, running)
        self.net = Net(weights.tensors, self.shape)
        if not self.net.fits_shape():
            raise InvalidFile(f"{name}: its network does not fit its recipe; train it again")

    def plan(self, instance: Instance, rng: np.random.Generator, greedy: bool) -> Plan:
        """Place the first N' waiting jobs; the others wait."""
        board = Board(self.shape, 1, self._types_apart(instance))
        board.read(instance, self._type_numbers(instance))
        only = np.array([0])
        while (valid := board.valid(only)).any():
            logits = np.where(valid, self.net(board.features(only)), np.float32(-np.inf))
            board.act(only, logits.argmax(axis=1) if greedy else sample(logits, rng))
        return board.plan(instance)

    def _type_numbers(self, instance: Instance) -> IntArray:
        """Return the network's number of each type of the instance; raise an error for an unknown type."""
        s = self.shape
        for name, names, trained_names in (
            ("server_free", len(instance.server_free), s.servers),
            ("resources", list(instance.resources), self.resources),
        ):
            if names != trained_names:
                what = f"has {names} servers" if name == "server_free" else f"are {', '.join(instance.resources)}"
                raise TooLarge(f"{name}: {what}: these weights know {trained_names}; {_REMEDY}")
        if len(instance.run_type) > s.running:
            raise TooLarge(
                f"run_type: {len(instance.run_type)} jobs are running: these weights know up to {s.running}; {_REMEDY}"
            )
        index = {name: k for k, name in enumerate(self.types)}
        kinds = np.array([index.get(name, -1) for name in instance.types], dtype=np.int64)
        asked_types = np.concatenate([instance.job_type[: s.new], instance.run_type])
        if (kinds[asked_types] < 0).any():
            name = instance.types[int(asked_types[kinds[asked_types] < 0][0])]
            raise TooLarge(f"types: '{name}' is unknown to these weights; {_REMEDY}")
        return kinds

    def _types_apart(self, instance: Instance) -> IntArray | None:
        """Return which of the network's types must stay apart, or None."""
        if not instance.apart.any():
            return None
        kinds, apart = self._type_numbers(instance), np.zeros((len(self.types),) * 2, dtype=np.int64)
        positions = np.flatnonzero(kinds >= 0)
        apart[np.ix_(kinds[positions], kinds[positions])] = instance.apart[np.ix_(positions, positions)]
        return apart


_REMEDY = "train one for it (`mlsched train harmony --set servers=...`), or use a rule or harmony-plus"


@functools.lru_cache(maxsize=16)
def _cached_policy(weights: Weights) -> Policy:
    return Policy(weights)


def policy(path: str) -> Policy:
    """Return the cached policy of a weights file, or of the weights that come with mlsched for ""."""
    return _cached_policy(of("harmony", "placement", path))


def world(params: dict[str, Any]) -> dict[str, Any]:
    """Return the options of the simulated world for the policy: N' visible waiting jobs, at most R running jobs."""
    shape = policy(params["weights"]).shape
    return {"window": shape.new, "most_jobs": shape.running}
