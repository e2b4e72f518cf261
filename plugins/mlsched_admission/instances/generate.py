"""Random admission instances: full clusters in which jobs of higher priority wait.

Nodes of eight GPUs in racks of four run jobs of 1 to 16 GPUs until the cluster is nearly full; a job of more than eight
uses complete nodes. A job is a unit. With `gangs`, some are gangs of units of one pod each, which may spare some. Lost
work is GPUs times the time since the last checkpoint. Presets are frozen: measurements and tests quote them by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.arguments import validate_arguments
from mlsched.core.contract import Preset
from mlsched.core.params import Count, CountOrNone, Share, check_size
from mlsched_admission.instances.instance import Instance

PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("small", "brute force answers within 5 s", {"nodes": 3, "jobs": 2, "largest": 8}),
        Preset("one-job", "one job waits, as an administrator asks", {"nodes": 12, "jobs": 1, "gangs": 0.2}),
        Preset("surge", "several jobs wait for the same rooms", {"nodes": 16, "jobs": 4, "gangs": 0.2, "movable": 0.1}),
        Preset(
            "quota", "no nodes: queues of a cohort with nominal quotas", {"nodes": 0, "jobs": 1, "quotas": "cohort"}
        ),
        Preset("cohort", "nodes and quotas", {"nodes": 12, "jobs": 2, "quotas": "cohort"}),
        Preset("cluster", "a whole cluster, one job waits", {"nodes": 400, "jobs": 1, "gangs": 0.1}),
    )
}
NODE = (8, 64)
RACK = 4
#: GPUs of a job, and its frequency among the draws.
SIZES, SHARES = (1, 2, 4, 8, 16), (0.35, 0.2, 0.2, 0.15, 0.1)


@validate_arguments
def generate(
    rng: np.random.Generator,
    *,
    nodes: CountOrNone = 3,
    jobs: Count = 2,
    largest: Count = 16,
    gangs: Share = 0.3,
    movable: Share = 0.2,
    racks: Share = 0.3,
    free: Share = 0.1,
    quotas: Literal["none", "cohort"] = "none",
    running: Count = 24,
) -> Instance:
    """Draw an instance.

    Args:
        rng: Source of random numbers.
        nodes, jobs: Number of nodes and of waiting jobs.
        largest: Most GPUs of a job.
        gangs: Share of the running jobs of several GPUs that are gangs of units.
        movable: Share of the running units that may be moved.
        racks: Share of the waiting jobs that must be in one rack.
        free: Share of the room for one more job that stays free.
        quotas: "cohort" puts jobs into four queues of a cohort that borrow from each other.
        running: Number of running jobs if there are zero nodes.
    """
    check_size("nodes x jobs", nodes * (jobs + 1))
    state = _State(rng, nodes, gangs)
    if nodes:
        state.fill(largest, free)
    else:
        for _ in range(running):
            state.job(_draw_gpus(rng, largest))
    return state.instance(jobs, largest, movable, racks, quotas)


def _draw_gpus(rng: np.random.Generator, largest: int) -> int:
    able = [(size, share) for size, share in zip(SIZES, SHARES, strict=True) if size <= largest] or [(1, 1.0)]
    weights = np.array([share for _, share in able])
    return int(rng.choice([size for size, _ in able], p=weights / weights.sum()))


class _State:
    """Running work: pods by node and unit, units by gang."""

    def __init__(self, rng: np.random.Generator, nodes: int, gangs: float) -> None:
        self.rng, self.gangs, self.nodes = rng, gangs, nodes
        self.free = np.tile(np.array(NODE, dtype=np.int64), (nodes, 1))
        self.pods: list[tuple[int, int, tuple[int, int]]] = []
        self.units: list[tuple[int, int]] = []  # (gang, GPUs)
        self.group_min: list[int] = []
        self.priority: list[int] = []

    def fill(self, largest: int, free: float) -> None:
        """Place random jobs, each on the node with least room for it, until one of this many does not fit."""
        misses = 0
        while misses < 3:
            if not self.job(_draw_gpus(self.rng, largest)):
                misses += 1
            elif self.rng.uniform() < free / max(1, self.nodes):
                break

    def job(self, gpus: int) -> bool:
        """Start a running job of this many GPUs; return False if it does not fit."""
        parts = [8] * (gpus // 8) + ([gpus % 8] if gpus % 8 else [])
        cpus = int(self.rng.choice([2, 4, 8]))
        hosts = self._nodes_with_room(parts, cpus)
        if hosts is None:
            return False
        whole = len(parts) == 1 or self.rng.uniform() >= self.gangs
        group, priority = len(self.group_min), int(self.rng.integers(0, 3))
        spare = 0 if whole else int(self.rng.integers(0, len(parts)))
        self.group_min.append(max(1, len(parts) - spare))
        for i, (part, host) in enumerate(zip(parts, hosts, strict=True)):
            if i == 0 or not whole:
                self.units.append((group, gpus if whole else part))
                self.priority.append(priority)
            if self.nodes:
                self.pods.append((host, len(self.units) - 1, (part, part * cpus)))
        return True

    def _nodes_with_room(self, parts: list[int], cpus: int) -> list[int] | None:
        if not self.nodes:
            return [-1] * len(parts)
        before, hosts = self.free.copy(), []
        for part in parts:
            demand = np.array([part, part * cpus])
            able = np.flatnonzero((self.free >= demand).all(axis=1))
            if not able.size:
                self.free = before
                return None
            hosts.append(int(able[np.argmin(self.free[able, 0])]))
            self.free[hosts[-1]] -= demand
        return hosts

    def instance(self, jobs: int, largest: int, movable: float, racks: float, quotas: str) -> Instance:
        rng, units = self.rng, len(self.units)
        job_priority = rng.integers(1, 4, jobs)
        shapes = [(j, *self._draw_shape(largest)) for j in range(jobs)] if self.nodes else []
        unit_priority = np.array(self.priority, dtype=np.int64)
        age = np.rint(rng.exponential(6 * 3600, units)).astype(np.int64)
        gpus = np.array([g for _, g in self.units], dtype=np.int64)
        fields: Data = {}
        if quotas == "cohort":
            fields = self._draw_quotas(jobs, largest, gpus)
        may = (unit_priority[None, :] < job_priority[:, None]).astype(np.int64)
        if fields:
            own = fields["job_queue"][:, None] == fields["unit_queue"][None, :]
            may = np.where(own, may, 1)
        return Instance(
            resources=("gpu", "cpu"),
            node_free=self.free,
            pod_node=np.array([n for n, _, _ in self.pods], dtype=np.int64),
            pod_unit=np.array([u for _, u, _ in self.pods], dtype=np.int64),
            pod_demand=np.array([d for _, _, d in self.pods], dtype=np.int64).reshape(len(self.pods), 2),
            unit_group=np.array([g for g, _ in self.units], dtype=np.int64),
            unit_priority=unit_priority,
            group_min=np.array(self.group_min, dtype=np.int64),
            job_priority=job_priority,
            shape_job=np.array([j for j, _, _ in shapes], dtype=np.int64),
            shape_count=np.array([count for _, count, _ in shapes], dtype=np.int64),
            shape_demand=np.array([[g, 4 * g] for _, _, g in shapes], dtype=np.int64).reshape(len(shapes), 2),
            shape_nodes=np.ones((len(shapes), self.nodes), dtype=np.int64),
            may=may,
            node_domain=(np.arange(self.nodes) // RACK)[None, :],
            unit_lost=gpus * np.minimum(age, rng.integers(600, 7200, units)),
            unit_grace=rng.choice([0, 30, 60, 300], units),
            unit_movable=(rng.uniform(size=units) < movable).astype(np.int64) if self.nodes else np.zeros(units, int),
            unit_age=age,
            shape_level=np.where(rng.uniform(size=len(shapes)) < racks, 0, -1),
            **fields,
        )

    def _draw_shape(self, largest: int) -> tuple[int, int]:
        """Return (pods, GPUs of each) of a waiting job."""
        gpus = int(self.rng.choice([size for size in (4, 8, 16, 32) if size <= max(4, largest)]))
        each = int(self.rng.choice([size for size in (2, 4, 8) if size <= gpus]))
        return gpus // each, each

    def _draw_quotas(self, jobs: int, largest: int, gpus: np.ndarray[Any, np.dtype[np.int64]]) -> Data:
        """Return four queues below one cohort; together they use about the cohort's amount."""
        queues = 4
        unit_queue = self.rng.integers(1, queues + 1, len(gpus))
        gangs: dict[int, int] = {}
        for u, (group, _) in enumerate(self.units):
            unit_queue[u] = gangs.setdefault(group, int(unit_queue[u]))
        usage = np.zeros((queues + 1, 1), dtype=np.int64)
        np.add.at(usage, unit_queue, gpus[:, None])
        nominal = np.full((queues + 1, 1), max(1, -(-int(gpus.sum()) // queues)), dtype=np.int64)
        nominal[0] = 0
        use = np.array([int(self.rng.integers(1, max(2, largest))) for _ in range(jobs)], dtype=np.int64)
        return {
            "quota_parent": np.array([-1, *[0] * queues], dtype=np.int64),
            "quota_nominal": nominal,
            "quota_borrow": np.array([-1, *self.rng.choice([-1, 4, 16], queues)], dtype=np.int64)[:, None],
            "quota_used": usage,
            "job_queue": self.rng.integers(1, queues + 1, jobs),
            "job_use": use[:, None],
            "unit_queue": unit_queue,
            "unit_use": gpus[:, None],
            "above_nominal": 1 if jobs == 1 else 0,
        }
