"""`mlsched/TaskGraphRounds-v0`: a cluster of training jobs by iterations, with one choice per action.

An episode is the run of a workload in `simulation/taskgraph/iterations` under a cadence. Every scheduling event makes a
round by the choices of `simulation/taskgraph/allocation.py`: which job stops, which running job is preempted, which
task leaves an overloaded node, which job starts next, and on which node each of its tasks runs. A removed task that
finds no node pauses or stays. A choice is among rows of features, at most `window` in addition to row 0, "nothing". The
environment makes forced choices itself, so each step has at least two allowed actions. An action outside the mask has
no effect. The reward is that of the jobs that ended since the last action (Eq. 7 of MLFS,
`mlsched_training/taskgraph/_reward.py`), and the return of an episode is that of the complete run.

Observations only contain snapshots, with estimated durations and accuracies. The same workload and actions give the
same episode. The replay of the simulator checks `log`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import gymnasium
import numpy as np

from mlsched.core.aliases import Array, Data
from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidInput
from mlsched.core.params import Range, check_choice, flatten_groups, parameters_of, resolve
from mlsched.heuristics.taskgraph.measures import STOPS, stops_after, tasks_of
from mlsched.heuristics.taskgraph.preemption import QUEUEING
from mlsched.simulation.taskgraph.allocation import FEATURES_OF, HOST, Allocation
from mlsched.simulation.taskgraph.allocation_features import OF_CHOICE, OF_CLUSTER, OF_JOB, OF_PLACE, OF_TASK
from mlsched.simulation.taskgraph.competition_features import OF_COMPETITION
from mlsched.simulation.taskgraph.iterations import SIMULATION, IterationWorld, Jobs, Segments
from mlsched.simulation.taskgraph.iterations.fits import never_start
from mlsched.simulation.taskgraph.iterations.mlfs import mlfs
from mlsched.simulation.wake import Wake
from mlsched_training.environments._base import MaskedEnv
from mlsched_training.taskgraph._reward import Reward

#: Default sizes of the workloads, parameters of `synthetic:mlfs-cluster`.
SIZES = {"jobs": 8, "servers": 2, "hours": 1.0, "load": 1.0}
#: Greatest number of draws of a workload until it has a choice.
MOST_DRAWS = 100
#: Options of MLFS' evaluation, with usage drawn per period, so that the usage of a task is independent of actions.
WORLD = {"usage": "drawn", "usage_every": 600, "usage_at_start": False, "movement": "anytime", "pausing": "keep"}


class RoundsEnv(MaskedEnv):
    """Environment of one workload per episode: drawn by `synthetic:mlfs-cluster` with `sizes`, or from `workloads`.

    Action 0 chooses nothing, and i > 0 the choice of row i.

    An observation has "rows", float32 in [-1, 1] of shape (window + 1, columns), with row 0 for "nothing" and 0 in
    missing rows. It also has "action_mask", int8, with at least two allowed rows. `observation_names` has the columns:
    five marks of the kind of choice (stop, leave, next, host, nothing), eight figures of the cluster, then figures of
    the task, its job, and its present or possible node (`simulation/taskgraph/allocation_features.py` defines them).
    With queueing="iteration", figures that compare jobs follow (`competition_features.py`).

    Args:
        window: Greatest number of choices besides "nothing".
        stop: Number of iterations after which jobs stop ("most", "least", "required").
        stopping: Whether an action may stop a job earlier.
        scheduling_events: Cadence of the run, as for `mlsched simulate`.
        options: Options of the run, as for `mlsched simulate`.
        h_r: Threshold above which a node is overloaded.
        reward: Weights of the reward, given as beta1 to beta5.
        workloads: Draw episodes from these.
        render_mode: "ansi" or None.
        queueing: "held": a job keeps its nodes until it ends. "iteration": running jobs compete again in every round,
            and actions select the preempted jobs (`options` must have pausing = "keep").
        sizes: Sizes of drawn workloads.
    """

    @flatten_groups
    @validate_arguments
    def __init__(
        self,
        *,
        window: Annotated[int, Range(1, 10**4)] = 32,
        stop: str = "most",
        stopping: bool = False,
        scheduling_events: str = "events+interval:600",
        options: Mapping[str, Any] = WORLD,
        h_r: float = 0.9,
        reward: Reward,
        workloads: Sequence[Jobs] | None = None,
        render_mode: str | None = None,
        queueing: str = "held",
        **sizes: object,
    ) -> None:
        if render_mode is not None:
            check_choice("render_mode", render_mode, tuple(self.metadata["render_modes"]))
        self.render_mode = render_mode
        check_choice("stop", stop, STOPS)
        check_choice("queueing", queueing, QUEUEING)
        self._queueing = queueing
        self._window, self._stop, self._stopping, self._h_r = window, stop, stopping, h_r
        self._wake = Wake.parse(scheduling_events)
        self._options = SIMULATION.options(options)
        if queueing == "iteration" and self._options.pausing != "keep":
            raise InvalidInput(
                f"options: pausing: '{self._options.pausing}', expected 'keep' where jobs are preempted; or leave "
                "queueing=iteration out"
            )
        self._reward = reward
        if workloads is not None and sizes:
            raise InvalidInput("workloads: are given; leave out the sizes")
        if workloads is not None and not len(workloads):
            raise InvalidInput("workloads: expected at least one, or left out for synthetic ones")
        for i, load in enumerate(workloads or ()):
            if not len(load.arrival):
                raise InvalidInput(f"workloads[{i}]: 0 jobs, expected at least one")
            if wrong := never_start(load):
                raise InvalidInput(f"workloads[{i}]: {wrong[0]}")
            self._wake.in_units(SIMULATION.parts_of_second(load))  # rejects events between ticks
        self._workloads = None if workloads is None else list(workloads)
        size_parameters = {name: size for name, size in parameters_of(mlfs).items() if name != "seed"}
        self._sizes = resolve("mlsched/TaskGraphRounds-v0", size_parameters, SIZES | sizes)
        self.action_space = gymnasium.spaces.Discrete(window + 1)
        self.observation_space = gymnasium.spaces.Dict(
            {
                "rows": gymnasium.spaces.Box(-1, 1, (window + 1, FEATURES_OF[queueing]), dtype=np.float32),
                "action_mask": gymnasium.spaces.MultiBinary(window + 1),
            }
        )
        self.workload: Jobs | None = None
        self._due: Allocation | None = None

    @property
    def action_names(self) -> list[str]:
        """Return descriptions of the actions, in order."""
        return ["choose nothing", *(f"choose row {i}" for i in range(1, self._window + 1))]

    @property
    def observation_names(self) -> list[str]:
        """Return the names of the columns of "rows"."""
        parts = {"choice": OF_CHOICE, "cluster": OF_CLUSTER, "task": OF_TASK, "job": OF_JOB, "place": OF_PLACE}
        if self._queueing == "iteration":
            parts["competition"] = OF_COMPETITION
        return [f"{part}: {name}" for part, names in parts.items() for name in names]

    def _state_as_text(self) -> str:
        assert self.workload is not None, "render: reset first"
        due, finished_count = self._due, int(self._ended.sum())
        head = f"time {self._world.now}: {finished_count} of {len(self._ended)} jobs have ended"
        if due is None or due.kind is None:
            return f"{head}; the episode is over"
        rows, kind = np.flatnonzero(self._action_mask()).tolist(), self.observation_names[due.kind].partition(": ")[2]
        if due.kind == HOST:
            task = int(due.offered()[0][0])
            job = int(due.snapshot.task_job[task])
            first, _ = tasks_of(due.snapshot, job)
            kind = f"{kind} of task {task - first} of job {int(due.snapshot.job_id[job])}"
        return f"{head}; to choose: {kind}, allowed rows {', '.join(map(str, rows))}"

    @property
    def log(self) -> Segments:
        """Log of the run so far."""
        return self._world.log

    def violations(self) -> list[str]:
        """Return the faults that the independent replay finds in a finished episode; empty if it is correct."""
        return SIMULATION.violations(self.workload, self._options, self._wake, self.log)

    def reset(self, *, seed: int | None = None, options: Data | None = None) -> tuple[Any, Data]:
        """Begin with a new workload."""
        super().reset(seed=seed, options=options)
        for _ in range(MOST_DRAWS):
            self._begin_episode(self._random_instance())
            if self._due is not None:
                return self._observation(), self._step_info()
        rule = "expected a workload with a choice; give more jobs or nodes"
        raise InvalidInput(f"reset: {MOST_DRAWS} workloads leave nothing to choose, {rule}")

    def _random_instance(self) -> Jobs:
        """Return the workload of an episode."""
        if self._workloads is None:
            return mlfs(**self._sizes, seed=int(self.np_random.integers(2**31)))
        return self._workloads[int(self.np_random.integers(len(self._workloads)))]

    def _begin_episode(self, workload: Jobs) -> None:
        """Begin a run, up to its first choice."""
        self.workload = workload
        self._world = IterationWorld(workload, self._options)
        self._cadence = self._wake.in_units(SIMULATION.parts_of_second(workload))
        self._now = -1
        self._ended = np.zeros(len(workload.arrival), dtype=np.bool_)
        self._advance_to_choice()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Data]:
        """Choose a row; a complete round is followed by the run up to the next one."""
        due = self._due
        if due is None:
            raise InvalidInput("step: the episode is over; reset begins the next")
        index, reward = self._index_of(action), 0.0
        if self._action_mask()[index]:
            due.take(index)
            due.take_forced()
            if due.kind is None:
                self._world.apply(due.round())
                self._advance_to_choice()
                reward = self._reward_of_ended()
        return self._observation(), reward, self._due is None, False, self._step_info()

    # -- the rules ----------------------------------------------------------------------------------------------------

    def _advance_to_choice(self) -> None:
        """Advance to the next choice, or to the end."""
        world, self._due = self._world, None
        skips = self._stop == "most" and not self._stopping  # otherwise jobs may be stopped at any time
        while world.unfinished():
            snapshot = None if skips and world.at_rest(self._h_r) else world.ask()
            if snapshot is None:
                time = self._cadence.next(self._now, world.next_event(), world.pending())
                assert time is not None, "jobs that can start wait, and nothing runs"
                self._now = time
                world.advance(time)
                continue
            last = snapshot.stop_after if self._stopping else stops_after(snapshot, self._stop)
            due = Allocation(
                snapshot, last, h_r=self._h_r, stopping=self._stopping, most=self._window, queueing=self._queueing
            )
            due.take_forced()
            if due.kind is not None:
                self._due = due
                return
            world.apply(due.round())

    def _reward_of_ended(self) -> float:
        """Return the reward of the jobs that ended since the last call."""
        assert self.workload is not None
        there = self._world.view.jobs_there()
        has_arrived = self.workload.arrival <= self._world.now
        has_arrived[there] = False
        new = has_arrived & ~self._ended
        self._ended = has_arrived
        return float(self._reward.of_jobs(self.workload, self.log)[new].sum()) if new.any() else 0.0

    # -- observations --------------------------------------------------------------------------------------------------

    def _action_mask(self) -> Array:
        mask_of_rows = np.zeros(self._window + 1, dtype=np.int8)
        if self._due is not None:
            mask = self._due.mask
            mask_of_rows[: len(mask)] = mask
        return mask_of_rows

    def _step_info(self) -> Data:
        """Return the mask and the time in ticks."""
        return {"action_mask": self._action_mask(), "now": self._world.now}

    def _observation(self) -> Any:
        rows = np.zeros((self._window + 1, FEATURES_OF[self._queueing]), dtype=np.float32)
        if self._due is not None:
            features = self._due.rows()
            rows[: len(features)] = features
        return {"rows": rows, "action_mask": self._action_mask()}
