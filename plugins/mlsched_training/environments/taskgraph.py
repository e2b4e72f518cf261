"""`mlsched/TaskGraph-v0`: which task of a training job starts on which node, and which nodes stay free for now.

An episode is one horizon, run by the simulator (`simulation/taskgraph/world`). At every event with a task that can
start, actions make a round. Action i * nodes + n starts the i-th task of the window on node n. The last action (void)
ends the round, as does the start of the last possible task. Void is not allowed in an idle cluster, so that an episode
cannot get stuck. An action outside the mask has no effect. Rewards are minus the total ticks of all jobs in the system
since the last action, so that an episode's return is -total_jct of its plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from mlsched.core.aliases import Array, Data
from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidInput, UnknownName
from mlsched.core.fields import FloatArray
from mlsched.core.params import Number, check_choice, check_range, parameters_of, resolve
from mlsched.heuristics.taskgraph.measures import STOPS, by_job, per_job, remaining_ticks
from mlsched.heuristics.taskgraph.place import Placer
from mlsched.instances.taskgraph import Instance, Snapshot, Timetable, generate
from mlsched.instances.taskgraph.draw import draw
from mlsched.instances.taskgraph.presets import PRESETS
from mlsched.simulation.taskgraph.adapters import timetable
from mlsched.simulation.taskgraph.options import Options
from mlsched.simulation.taskgraph.workload import impossible
from mlsched.simulation.taskgraph.world import TaskgraphWorld
from mlsched_training.environments._base import PICTURE, TEXT, InstanceEnv, painted_plan

#: Default sizes of the instances without a preset.
SIZES = {"jobs": 4, "nodes": 2, "runs": 24, "gpus": 2, "slack": 2.0}
#: Number of features of a task besides its demands and nodes, of a task on a node, and of the cluster.
OF_TASK, OF_PLACE, OF_ALL = 6, 2, 4
#: Number of jobs or tasks that counts as one half.
COUNT_UNIT = 10


class TaskGraphEnv(InstanceEnv):
    """Environment of one random horizon per episode, or one of `instances` (with equal nodes and resources).

    `preset` and `sizes` are those of `generate("taskgraph", ...)`. `window` is the number of observed tasks, and `unit`
    the number of ticks that counts as one half in observations. `stop` is the number of iterations after which jobs
    stop ("most", "least", "required": as allowed, or with their required accuracy). Tasks that can start are listed by
    arrival of their jobs, and within a job by decreasing length of the path to the end of the iteration. Observations
    exclude future jobs.

    `reset(options={"instance": 3})` selects an entry of `instances`, and `reset(options={"instance": inst})` sets an
    instance. `mask_observation` and `render_mode` ("ansi", "rgb_array") are as in `MaskedEnv`.

    Actions, with W = window and N nodes (`action_names` names them):

    | action | effect |
    |---|---|
    | i N + n, for i < W and n < N | start the i-th task of the window on node n |
    | W N | void: end the round |

    Observation, float32 in [-1, 1]; times t are t / (|t| + unit), counts n are n / (n + 10). K resources, and
    S = K + 6 + 2 N entries per task of the window (`observation_names` names them; entries of a missing task are 0):

    | index | value |
    |---|---|
    | i S + k, k < K | demand of task i of resource k, share of the largest node |
    | i S + K | its duration |
    | i S + K + 1 | longest chain until its job is done |
    | i S + K + 2 | all ticks of work until its job is done |
    | i S + K + 3 | time since its job's arrival |
    | i S + K + 4 | time since its job last ran |
    | i S + K + 5 | slack: time to the deadline less the longest chain |
    | i S + K + 6 + 2 n | 1: may start on node n |
    | i S + K + 7 + 2 n | share of its input on node n |
    | W S + n K + k | free share of resource k of node n |
    | W S + N K | jobs in the system |
    | W S + N K + 1 | running tasks |
    | W S + N K + 2 | tasks that can start beyond the window |
    | W S + N K + 3 | 1: void is allowed |
    """

    metadata: ClassVar[Data] = {"render_modes": [TEXT, PICTURE], "render_fps": 4}

    @validate_arguments
    def __init__(
        self,
        preset: str | None = None,
        window: Number = 8,
        unit: Number = 10,
        stop: str = "most",
        instances: Sequence[Instance] | None = None,
        mask_observation: bool = False,
        render_mode: str | None = None,
        **sizes: Any,
    ) -> None:
        check_choice("stop", stop, STOPS)
        self._window, self._unit, self._stop = window, unit, stop
        self._instances = None if instances is None else list(instances)
        if self._instances is None:
            self._sizes = _generator_sizes(preset, sizes)
        elif preset is not None or sizes:
            raise InvalidInput("instances: are given; leave out preset and sizes")
        example = self._example_instance(Instance, "taskgraph")
        self._nodes, self._resources = len(example.node_capacity), example.resources
        self._per_task = len(self._resources) + OF_TASK + OF_PLACE * self._nodes
        self._size = window * self._per_task + self._nodes * len(self._resources) + OF_ALL
        self._declare_spaces(-1, 1, mask_observation, render_mode)
        self.instance: Instance | None = None
        self._placer: Placer | None = None
        self._order: list[int] = []
        self._open: list[tuple[int, Any]] = []
        self._total = 0
        for i, inst in enumerate(self._instances or []):
            self._check_instance(inst, f"instances[{i}]")

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Data]:
        """Start a task, or end the round; an episode ends when its last job is done."""
        placer = self._placer
        if placer is None:
            raise InvalidInput("step: the episode is over; reset begins the next")
        number = self._index_of(action)
        if self._action_mask()[number]:
            if number < self._window * self._nodes:
                place, node = divmod(number, self._nodes)
                placer.put(self._open[place][0], node)
                self._open = self._startable_tasks(placer)
            else:
                self._open = []
            if not self._open:
                self._world.apply(placer.round())
                self._advance_to_start()
        total = _time_in_system(self._world)
        reward, self._total = float(self._total - total), total
        return self._with_mask(self._observation()), reward, self._placer is None, False, self._step_info()

    @property
    def plan(self) -> Timetable:
        """Return the runs that have ended so far; after the episode, they are a feasible plan of `instance`."""
        return timetable(self._world)

    # -- the rules ----------------------------------------------------------------------------------------------------

    def _check_instance(self, inst: Any, name: str) -> None:
        """Raise InvalidInput for an instance that cannot be an episode of this environment."""
        if not isinstance(inst, Instance):
            raise InvalidInput(f"{name}: is not an instance of taskgraph")
        if inst.resources != self._resources or len(inst.node_capacity) != self._nodes:
            raise InvalidInput(
                f"{name}: expected as many nodes and the same resources as the environment: {self._nodes} with "
                f"{', '.join(self._resources)}"
            )
        if wrong := impossible(inst):
            raise InvalidInput(f"{name}: is infeasible: {wrong[0]}")
        self._begin_episode(inst)
        if self._placer is None:
            raise InvalidInput(f"{name}: leaves nothing to decide")

    def _random_instance(self, rng: np.random.Generator) -> Instance:
        instance: Instance = generate(rng, **self._sizes)
        return instance

    def _begin_episode(self, inst: Instance) -> None:
        self.instance = inst
        self._world = TaskgraphWorld(inst, inst.duration, Options())
        self._total = 0  # the first reward includes time before the first action, also the past of a residual horizon
        self._advance_to_start()

    def _advance_to_start(self) -> None:
        """Advance to the next time at which a task can start, or to the end."""
        world = self._world
        self._placer, self._open = None, []
        while world.unfinished():
            snapshot = world.ask()
            if snapshot is None:
                time = world.next_event()
                assert time is not None, "a feasible horizon in which something always runs got stuck"
                world.advance(time)
                continue
            placer, self._order = Placer(snapshot, self._stop), by_job(snapshot).tolist()
            self._open = self._startable_tasks(placer)
            if self._open:
                self._placer = placer
                return
            world.apply(placer.round())  # only jobs that are to stop now have ready tasks

    def _startable_tasks(self, placer: Placer) -> list[tuple[int, Array]]:
        """Return the tasks that can start now, and their possible nodes."""
        startable = [(task, placer.nodes(task)) for task in self._order]
        return [(task, nodes) for task, nodes in startable if nodes.size]

    def _may_end_round(self, placer: Placer) -> bool:
        """Return whether the round may end now, because a task runs or will run."""
        return bool(self._world.running or placer.starts)

    # -- observations --------------------------------------------------------------------------------------------------

    @property
    def action_names(self) -> list[str]:
        """Return descriptions of the actions, in order."""
        pairs = [(i, n) for i in range(self._window) for n in range(self._nodes)]
        return [*(f"start task {i} of the window on node {n}" for i, n in pairs), "end the round"]

    @property
    def observation_names(self) -> list[str]:
        """Return the names of the entries of an observation, in order."""
        of_task = ["duration", "longest chain", "work", "since arrival", "since last run", "slack"]
        of_place = [f"{what} node {n}" for n in range(self._nodes) for what in ("may start on", "input on")]
        each = [*(f"demand of {r}" for r in self._resources), *of_task, *of_place]
        tasks = [f"task {i}: {name}" for i in range(self._window) for name in each]
        free = [f"node {n}: free {r}" for n in range(self._nodes) for r in self._resources]
        return [*tasks, *free, "jobs in the system", "running tasks", "tasks beyond the window", "void is allowed"]

    def _number_in_instance(self, task: int) -> int:
        """Return the number in the instance of a task of the snapshot, which only has tasks of present jobs."""
        assert self.instance is not None
        assert self._placer is not None
        snapshot = self._placer.snapshot
        job = int(snapshot.task_job[task])
        within_job = task - int(np.searchsorted(snapshot.task_job, job))
        return int(np.searchsorted(self.instance.task_job, int(snapshot.job_id[job]))) + within_job

    def _state_as_text(self) -> str:
        assert self.instance is not None, "render: reset first"
        world, inst = self._world, self.instance
        over = int((world.finished == world.stop_after).sum())
        lines = [f"time {world.now}: {over} of {len(inst.arrival)} jobs are done, {len(world.running)} tasks run"]
        for place, (task, nodes) in enumerate(self._open[: self._window]):
            number = self._number_in_instance(task)
            name = f"{inst.job_name(int(inst.task_job[number]))}, task {inst.task_name(number)}"
            lines.append(f"  window {place}: {name} may start on node {', '.join(map(str, nodes.tolist()))}")
        return "\n".join(lines)

    def _plan_as_picture(self) -> Array:
        assert self.instance is not None, "render: reset first"
        return painted_plan(draw, self.instance, self.plan)

    def _action_mask(self) -> Array:
        mask = np.zeros(self._window * self._nodes + 1, dtype=np.int8)
        if self._placer is not None:
            for place, (_, nodes) in enumerate(self._open[: self._window]):
                mask[place * self._nodes + nodes] = 1
            mask[-1] = self._may_end_round(self._placer)
        return mask

    def _step_info(self) -> Data:
        """Return the mask, the time, and the total ticks of all jobs in the system."""
        return {"action_mask": self._action_mask(), "now": self._world.now, "total_jct": self._total}

    def _observation(self) -> Array:
        observation = np.zeros(self._size)
        if self._placer is None:
            return observation.astype(np.float32)
        placer, snapshot = self._placer, self._placer.snapshot
        window = observation[: self._window * self._per_task].reshape(self._window, self._per_task)
        tasks = [task for task, _ in self._open[: self._window]]
        k = len(snapshot.resources)
        window[: len(tasks), :k] = snapshot.demand[tasks] / np.maximum(snapshot.node_capacity.max(axis=0), 1)
        window[: len(tasks), k : k + OF_TASK] = self._squashed_times(placer)[tasks]
        places = window[:, k + OF_TASK :].reshape(self._window, self._nodes, OF_PLACE)
        for row, (task, nodes) in enumerate(self._open[: self._window]):
            places[row, nodes, 0] = 1
            places[row, :, 1] = _input_share(snapshot, task)
        counts = np.array(
            [len(snapshot.arrival), len(self._world.running) + len(placer.starts), len(self._open) - len(tasks)]
        )
        free = placer.free / np.maximum(snapshot.node_capacity, 1)
        rest = [free.ravel(), counts / (counts + COUNT_UNIT), [self._may_end_round(placer)]]
        observation[self._window * self._per_task :] = np.concatenate(rest)
        return np.clip(observation, -1, 1).astype(np.float32)

    def _squashed_times(self, placer: Placer) -> Any:
        """Return the squashed times of the tasks, shape (tasks, OF_TASK)."""
        snapshot, job = placer.snapshot, placer.snapshot.task_job
        tail, longest = snapshot.tails, np.zeros(len(snapshot.arrival), dtype=np.int64)
        np.maximum.at(longest, job, tail)
        later = np.maximum(placer.stop_after - snapshot.finished - 1, 0)
        chain = tail + (later * longest)[job]
        work = per_job(snapshot, remaining_ticks(snapshot, placer.stop_after))[job]
        stay, idle = snapshot.now - snapshot.arrival, snapshot.now - snapshot.idle_since
        slack = snapshot.deadline[job] - snapshot.now - chain
        ticks = np.stack([snapshot.duration, chain, work, stay[job], idle[job], slack], axis=1).astype(np.float64)
        return ticks / (np.abs(ticks) + self._unit)


def _generator_sizes(preset: str | None, sizes: Data) -> Data:
    """Return all parameters of the generator; raise an error for unknown sizes and instances without a job."""
    if preset is not None and preset not in PRESETS:
        raise UnknownName(f"unknown preset '{preset}' of taskgraph; there are {', '.join(PRESETS)}")
    requested = {**(SIZES if preset is None else PRESETS[preset].sizes), **sizes}
    sizes_by_name = resolve("mlsched/TaskGraph-v0", parameters_of(generate), requested)
    check_range("jobs", sizes_by_name.get("jobs", 1), 1)
    return sizes_by_name


def _time_in_system(world: TaskgraphWorld) -> int:
    """Return the total ticks of all jobs from arrival to completion, or to now."""
    horizon = world.horizon
    completion = horizon.arrival.copy()
    np.maximum.at(completion, horizon.task_job, world.last_end)
    over = world.finished == world.stop_after
    until = np.where(over, completion, np.maximum(world.now, horizon.arrival))
    return int((until - horizon.arrival).sum())


def _input_share(snapshot: Snapshot, task: int) -> FloatArray:
    """Return, per node, the share of the task's input volume with sources on that node; 0 for a task without input."""
    into = np.flatnonzero(snapshot.edge_to == task)
    sources = snapshot.edge_from[into]
    where = np.where(snapshot.edge_lag[into] == 0, snapshot.node[sources], snapshot.home[sources])
    has_input = where >= 0
    there = np.bincount(where[has_input], snapshot.edge_volume[into][has_input], minlength=len(snapshot.node_capacity))
    return there / max(1.0, float(there.sum()))
