"""Harmony's reward model: the speeds of placed jobs (Bao, Peng and Wu, INFOCOM 2019, Section V).

Input is (x, w, p, d), output the speed of every job. Speeds are relative to the isolated job on one server, because
epochs per interval differ between jobs of one model here (lengths are drawn). Relative errors are the same.

`form`: "flat" is the paper's network, all of (x, w, p, d) in and N speeds out. "jobs", the default, applies one network
to each job. Its input is the job's type, w and p, and for every server its own workers and PSs there and the tasks of
others by type. Servers with most of the job come first. The input is the same, but independent of the numbers of slots
and servers; so one network learns the N outputs of the flat network.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mlsched.core.aliases import Array
from mlsched.core.errors import InvalidFile
from mlsched.learned.net import Mlp
from mlsched.learned.weights import Weights
from mlsched.simulation.placement.board import NOBODY

FORMS = ("jobs", "flat")
#: How much a worker, a PS and a task of others count where servers are put in order.
OWN_WORKER, OWN_PS, OTHER = 10.0, 1.0, 0.1


def flat_inputs(kind: Array, on: Array, types: int) -> Array:
    """Return the paper's input (rows x features): x, then w and p, then d. kind: rows x N; on: rows x M x N x 2."""
    x = (kind[..., None] == np.arange(types)).astype(np.float32)
    parts = (x, on.sum(axis=1), on)
    return np.concatenate([part.reshape(len(kind), -1) for part in parts], axis=1, dtype=np.float32)


def job_inputs(kind: Array, on: Array, types: int) -> Array:
    """Return the inputs of the form "jobs" for every slot (rows x N x features).

    They are the type of the slot's job, its workers and PSs, and per server its own tasks and those of others by type.
    Servers with the largest weighted number of tasks come first.

    Args:
        kind: Type of each slot's job, shape (rows, N).
        on: Workers and PSs of each slot on each server, shape (rows, M, N, 2).
        types: Number of types.
    """
    x = (kind[..., None] == np.arange(types)).astype(np.float32)
    own = np.asarray(on, dtype=np.float32)
    by_type = np.einsum("bmnk,bnl->bmkl", own, x)
    others = by_type[:, :, None] - own[..., None] * x[:, None, :, None, :]
    others = others.reshape(*own.shape[:3], 2 * types)
    weight = own[..., 0] * OWN_WORKER + own[..., 1] * OWN_PS + others.sum(axis=-1) * OTHER
    order = np.argsort(-weight, axis=1, kind="stable")
    servers = np.take_along_axis(np.concatenate([own, others], axis=-1), order[..., None], axis=1)
    servers = np.moveaxis(servers, 1, 2).reshape(len(kind), kind.shape[1], -1)
    return np.concatenate([x, own.sum(axis=1), servers], axis=-1)


class Speeds:
    """A trained reward model. tensors: of an `Mlp`, its batch normalisation folded into the layers."""

    def __init__(self, tensors: Mapping[str, Array], form: str, types: int) -> None:
        self.net, self.form, self.types = Mlp(tensors), form, types

    def __call__(self, kind: Array, on: Array) -> Any:
        """Return relative speeds (rows x N) of the jobs of some states; 0 in slots without a job or without tasks."""
        there = (kind != NOBODY) & on.any(axis=(1, 3))
        speeds = np.zeros(kind.shape, dtype=np.float32)
        if self.form == "flat":
            # The model ignores waiting jobs, wherever they are in the state.
            speeds[:] = self.net(flat_inputs(np.where(there, kind, NOBODY), on, self.types))
        elif there.any():
            speeds[there] = self.net(job_inputs(kind, on, self.types)[there])[:, 0]
        return np.where(there, np.exp(np.minimum(speeds, 0.0)), 0.0)


def reward_model_of(weights: Weights) -> Speeds:
    """Return the reward model in a weights file."""
    form, models = weights.card["recipe"].get("form"), weights.card["data"].get("models")
    if form not in FORMS or not isinstance(models, list):
        raise InvalidFile(f"{weights.source}: its card lacks form or models; `mlsched train harmony-reward` makes one")
    return Speeds(weights.tensors, form, len(models))
