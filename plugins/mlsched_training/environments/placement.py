"""`mlsched/Placement-v0`: Harmony's decision, one task after another.

An episode is one instance. Its new jobs are placed in order, each with its workers first and then its PSs. Action s
places the task on server s. The last action, or an action that does not fit, lets the job wait and removes its placed
tasks. The reward of a job's last task is the increase of the plan's total speed, divided by the sum of all isolated
speeds. The return of an episode is therefore the achieved share of this sum, in addition to the running jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from mlsched.core.aliases import Array, Data
from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import FloatArray
from mlsched.core.params import parameters_of, resolve
from mlsched.instances.placement import Instance, Plan, generate
from mlsched.instances.placement.draw import draw
from mlsched_training.environments._base import PICTURE, TEXT, InstanceEnv, painted_plan

#: Default sizes of random instances.
SIZES = {"servers": 6, "jobs": 5}
#: Number of features of a server besides its free resources, and of the job and its task.
OF_SERVER, OF_TASK = 4, 6


class PlacementEnv(InstanceEnv):
    """Environment of one random instance per episode, or one of `instances` (with equal servers and resources).

    `servers` (6), `jobs` (5) and further keywords are sizes of `generate("placement", ...)`. Observations and rewards
    need an instance with its secrets. `reset(options={"instance": 3})` selects an entry of `instances`, and
    `reset(options={"instance": inst})` sets an instance. `mask_observation` and `render_mode` ("ansi", "rgb_array") are
    as in `MaskedEnv`.

    Actions, with S servers: s < S places the task on server s; S lets the job wait.

    Observation, float32 in [0, 10], most entries in [0, 1]; K resources, and L = K + 4 entries per server:

    | index | value |
    |---|---|
    | s L + k, k < K | free share of resource k of server s |
    | s L + K | 1: the task fits there |
    | s L + K + 1 | this job's tasks there, share of all its tasks |
    | s L + K + 2 | slowdown of this job by the running and new tasks there |
    | s L + K + 3 | slowdown of these tasks by a worker of this job |
    | S L | 1: the task is a PS |
    | S L + 1 | placed share of the job's tasks |
    | S L + 2, S L + 3 | workers and PSs of the job, in tens |
    | S L + 4 | demand of the task, its largest share of a server |
    | S L + 5 | jobs left, share of all |
    """

    metadata: ClassVar[Data] = {"render_modes": [TEXT, PICTURE], "render_fps": 4}

    @validate_arguments
    def __init__(
        self,
        servers: int | None = None,
        jobs: int | None = None,
        instances: Sequence[Instance] | None = None,
        mask_observation: bool = False,
        render_mode: str | None = None,
        **sizes: Any,
    ) -> None:
        all_sizes = {name: size for name, size in (("servers", servers), ("jobs", jobs)) if size is not None} | sizes
        self._sizes = resolve("mlsched/Placement-v0", parameters_of(generate), SIZES | all_sizes)
        self._instances = None if instances is None else list(instances)
        if self._instances is not None and all_sizes:
            raise InvalidInput("instances: are given; leave out the sizes")
        example = self._example_instance(Instance, "placement")
        self._servers, self._resources = len(example.server_free), example.resources
        for i, inst in enumerate(self._instances or []):
            self._check_instance(inst, f"instances[{i}]")
        self._check_instance(example, "sizes")
        self._per_server = len(self._resources) + OF_SERVER
        self._declare_spaces(0, 10, mask_observation, render_mode)
        self.instance: Instance | None = None

    def _random_instance(self, rng: np.random.Generator) -> Instance:
        return generate(rng, **self._sizes)

    def _begin_episode(self, inst: Instance) -> None:
        self.instance = inst
        shape = (len(inst.job_type), len(inst.server_free))
        self._workers, self._ps = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        self._free = inst.server_free.copy()
        self._job, self._best = 0, max(1, int(inst.job_speed.sum()))
        self._speed = self._task_count(inst)
        self._placed = 0
        self._skip_capped_jobs(inst)

    def _check_instance(self, inst: Any, name: str) -> None:
        """Raise InvalidInput for an instance that cannot be an episode of this environment."""
        if not isinstance(inst, Instance):
            raise InvalidInput(f"{name}: is not an instance of placement")
        if inst.resources != self._resources or len(inst.server_free) != self._servers:
            raise InvalidInput(
                f"{name}: expected as many servers and the same resources as the environment: {self._servers} with "
                f"{', '.join(self._resources)}"
            )
        if not len(inst.job_type):
            raise InvalidInput(f"{name}: 0 new jobs, expected at least one")
        if not inst.most_new or inst.most_jobs <= len(inst.run_type):
            raise InvalidInput(f"{name}: leaves nothing to decide; most_new and most_jobs must allow a new job")

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Data]:
        """Place the task, or let the job wait."""
        inst = self.instance
        if inst is None or self._job >= len(inst.job_type):
            raise InvalidInput("step: the episode is over; reset begins the next")
        server, gain = self._index_of(action), 0.0
        if server < len(self._free) and self._servers_with_space(inst)[server]:
            table, demand = self._next_task(inst)
            table[self._job, server] += 1
            self._free[server] -= demand
            if self._is_complete(inst):
                self._placed += 1
                self._job += 1
                total = self._task_count(inst)
                gain, self._speed = (total - self._speed) / self._best, total
        else:
            self._let_job_wait(inst)
        self._skip_capped_jobs(inst)
        return self._with_mask(self._observation()), gain, self._job >= len(inst.job_type), False, self._step_info()

    @property
    def plan(self) -> Plan:
        """Return the placement so far; a partly placed job waits."""
        workers, ps = self._workers.copy(), self._ps.copy()
        workers[self._job :], ps[self._job :] = 0, 0
        return Plan(workers=workers, ps=ps)

    # -- the rules ----------------------------------------------------------------------------------------------------

    def _task_count(self, inst: Instance) -> int:
        return int(inst.evaluate(self.plan)["total_speed"])

    def _is_next_ps(self, inst: Instance) -> bool:
        return bool(self._workers[self._job].sum() == inst.job_workers[self._job])

    def _next_task(self, inst: Instance) -> tuple[Array, Array]:
        """Return the table that counts the next task, and its demand."""
        if self._is_next_ps(inst):
            return self._ps, inst.ps_demand[self._job]
        return self._workers, inst.worker_demand[self._job]

    def _is_complete(self, inst: Instance) -> bool:
        j = self._job
        return bool(self._is_next_ps(inst) and self._ps[j].sum() == inst.job_ps[j])

    def _servers_with_space(self, inst: Instance) -> Any:
        """Return the mask of servers with space for the next task."""
        _, demand = self._next_task(inst)
        fits = (demand <= self._free).all(axis=1)
        kind = int(inst.job_type[self._job])
        for kinds, tables in (
            (inst.run_type, (inst.run_workers, inst.run_ps)),
            (inst.job_type, (self._workers, self._ps)),
        ):
            there = (tables[0] + tables[1]) > 0
            if kinds is inst.job_type:
                there[self._job] = False
            foreign = there & (inst.apart[kind, kinds] > 0)[:, None]
            fits &= ~foreign.any(axis=0)
        return fits

    def _let_job_wait(self, inst: Instance) -> None:
        """Let the job wait and free its placed tasks."""
        j = self._job
        self._free += self._workers[j][:, None] * inst.worker_demand[j] + self._ps[j][:, None] * inst.ps_demand[j]
        self._workers[j] = self._ps[j] = 0
        self._job += 1

    def _skip_capped_jobs(self, inst: Instance) -> None:
        """Let all remaining jobs wait once the caps are reached."""
        if self._placed >= inst.most_new or self._placed + len(inst.run_type) >= inst.most_jobs:
            while self._job < len(inst.job_type):
                self._let_job_wait(inst)

    # -- observations --------------------------------------------------------------------------------------------------

    @property
    def action_names(self) -> list[str]:
        """Return descriptions of the actions, in order."""
        return [*(f"put the task on server {s}" for s in range(self._servers)), "let the job wait"]

    @property
    def observation_names(self) -> list[str]:
        """Return the names of the entries of an observation, in order."""
        each = [*(f"free {r}" for r in self._resources), "fits", "this job's tasks", "slows this job", "is slowed"]
        task = ["is a PS", "share placed", "workers", "PSs", "demand", "jobs left"]
        return [*(f"server {s}: {name}" for s in range(self._servers) for name in each), *(f"task: {n}" for n in task)]

    def _state_as_text(self) -> str:
        inst = self.instance
        assert inst is not None, "render: reset first"
        lines = [f"total speed {self._speed}; {self._placed} of {len(inst.job_type)} jobs are placed"]
        if self._job < len(inst.job_type):
            table, kind = self._next_task(inst)[0], "PS" if self._is_next_ps(inst) else "worker"
            fits = np.flatnonzero(self._servers_with_space(inst)).tolist()
            where = ", ".join(map(str, fits)) or "none"
            lines.append(f"  job {self._job}: its {kind} {int(table[self._job].sum())} fits on servers: {where}")
        for s in range(self._servers):
            tasks = (
                int(inst.run_workers[:, s].sum() + inst.run_ps[:, s].sum()),
                int(self._workers[:, s].sum() + self._ps[:, s].sum()),
            )
            lines.append(f"  server {s}: {tasks[0]} running and {tasks[1]} new tasks, free {self._free[s].tolist()}")
        return "\n".join(lines)

    def _plan_as_picture(self) -> Array:
        assert self.instance is not None, "render: reset first"
        return painted_plan(draw, self.instance, self.plan)

    def _action_mask(self) -> Array:
        inst, mask = self.instance, np.zeros(self._servers + 1, dtype=np.int8)
        assert inst is not None, "reset first"
        if self._job < len(inst.job_type):
            mask[:-1] = self._servers_with_space(inst)
        mask[-1] = 1
        return mask

    def _step_info(self) -> Data:
        return {"action_mask": self._action_mask(), "total_speed": self._speed}

    def _observation(self) -> Any:
        inst = self.instance
        assert inst is not None, "reset first"
        servers = np.zeros((len(self._free), self._per_server))
        k = len(inst.resources)
        servers[:, :k] = self._free / np.maximum(inst.server_capacity, 1)
        task = np.zeros(OF_TASK)
        if self._job < len(inst.job_type):
            j, kind = self._job, int(inst.job_type[self._job])
            whole = int(inst.job_workers[j] + inst.job_ps[j])
            mine = self._workers[j] + self._ps[j]
            servers[:, k] = self._servers_with_space(inst)
            servers[:, k + 1] = mine / whole
            servers[:, k + 2], servers[:, k + 3] = self._interference(inst, kind)
            share = self._next_task(inst)[1] / np.maximum(inst.server_capacity.max(axis=0), 1)
            task[:] = [
                self._is_next_ps(inst),
                mine.sum() / whole,
                inst.job_workers[j] / 10,
                inst.job_ps[j] / 10,
                share.max(initial=0.0),
                (len(inst.job_type) - j) / len(inst.job_type),
            ]
        return np.clip(np.concatenate([servers.ravel(), task]), 0, 10).astype(np.float32)

    def _interference(self, inst: Instance, kind: int) -> tuple[FloatArray, FloatArray]:
        """Return, per server, the slowdown of a job of this kind, and that of all jobs there by one worker of it."""
        kinds = np.concatenate([inst.run_type, np.delete(inst.job_type, self._job)])
        workers = np.concatenate([inst.run_workers, np.delete(self._workers, self._job, axis=0)])
        ps = np.concatenate([inst.run_ps, np.delete(self._ps, self._job, axis=0)])
        slowdown = inst.sigma_worker[kind, kinds] @ workers + inst.sigma_ps[kind, kinds] @ ps
        suffered = inst.sigma_worker[kinds, kind] @ ((workers + ps) > 0)
        return slowdown / 1e6, suffered / 1e6
