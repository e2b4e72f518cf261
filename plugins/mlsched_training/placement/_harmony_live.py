"""Clusters that are live: the speeds of their jobs are measured, and the reward model learns from them.

Harmony "periodically retrain[s] the DRL NN and the reward NN using online collected samples" (Section III). A live
cluster here has the speeds of the simulated testbed instead of the reward model's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.aliases import Array
from mlsched.instances.placement import Instance
from mlsched.instances.placement.models import RESOURCES, SERVER, interference
from mlsched.simulation.placement.board import NOBODY
from mlsched_training.placement._harmony_rewards import TYPES, History, RewardNet, RewardParams, random_history
from mlsched_training.placement.harmony_speeds import Speeds
from mlsched_training.placement.history import ALONE, measured_slowdowns

#: Random placements of the first history that retraining mixes with measurements.
PAST = 2000
#: Steps of a retraining, and its learning rate.
STEPS, RATE = 30, 0.001


class Measured:
    """Measurements of live clusters, and the reward model that is retrained on them and on random placements."""

    def __init__(self, params: Any, seed: int, device: str, model: Speeds) -> None:
        self.kind, self.most = params.model, params.replay
        self.settings = RewardParams(
            form=model.form,
            servers=params.servers,
            slots=params.shape.slots,
            model=params.model,
            learning_rate=RATE,
            hidden="-".join(str(len(bias)) for _, bias in model.net.layers[:-1]),
        )
        self.net = RewardNet(self.settings, device, model.net)
        self.past = random_history(PAST, seed, params.model, params.servers, params.shape.slots)
        self.seen: list[tuple[Array, Array, Array]] = []
        self.model = interference(params.model)

    def begin(self) -> None:
        """Forget all measurements."""
        self.seen = []

    def measure(self, kind: Array, on: Array) -> Array:
        """Return relative speeds (N) of the jobs of one cluster (kind: N, on: M x N x 2)."""
        slots = np.flatnonzero((kind != NOBODY) & on.any(axis=(0, 2)))
        speeds = np.zeros(len(kind), dtype=np.float32)
        if slots.size:
            speeds[slots] = 1 / measured_slowdowns(self._as_running_jobs(kind[slots], on[:, slots]))
            there = np.isin(np.arange(len(kind)), slots)
            self.seen.append((np.where(there, kind, NOBODY), (on * there[:, None]).astype(np.float32), speeds))
            del self.seen[: -self.most]
        return speeds

    def _as_running_jobs(self, kind: Array, on: Array) -> Instance:
        """Return the jobs as running jobs."""
        none, servers = np.zeros(0, dtype=np.int64), len(on)
        capacity = np.tile(np.array(SERVER, dtype=np.int64), (servers, 1))
        return Instance.trusted(
            resources=RESOURCES,
            server_capacity=capacity,
            server_free=np.zeros_like(capacity),
            **self.model,
            run_type=kind,
            run_speed=np.full(len(kind), ALONE),
            run_workers=np.ascontiguousarray(on[:, :, 0].T),
            run_ps=np.ascontiguousarray(on[:, :, 1].T),
            job_type=none,
            job_speed=none,
            job_workers=none,
            job_ps=none,
            worker_demand=none.reshape(0, len(RESOURCES)),
            ps_demand=none.reshape(0, len(RESOURCES)),
            most_jobs=len(kind),
            most_new=0,
            network_at="workers",
        )

    def retrain(self, rng: np.random.Generator) -> Speeds:
        """Run steps on minibatches, half of live measurements and half of the first history."""
        if self.seen:
            columns = [np.stack(column) for column in zip(*self.seen, strict=True)]
            both = History(*columns).joined(self.past)
            half = self.settings.minibatch // 2
            batches = [
                np.concatenate(
                    [rng.integers(len(self.seen), size=half), len(self.seen) + rng.integers(PAST, size=half)]
                )
                for _ in range(STEPS)
            ]
            self.net.learn(rng, both, batches)
        return self._speeds_of_model()

    def _speeds_of_model(self) -> Speeds:
        return Speeds(self.net.folded(), self.settings.form, len(TYPES))

    def state(self) -> dict[str, Array]:
        """Return the reward model; measurements are not kept."""
        return self.net.state()

    def restore(self, state: dict[str, Array]) -> Speeds:
        """Restore a `state`."""
        self.net.restore(state)
        return self._speeds_of_model()
