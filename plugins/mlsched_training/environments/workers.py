"""`mlsched/Workers-v0`: Chic's task as one environment and as a vector of environments.

An episode schedules a workload from its first arrival to its last completion. Actions are Chic's: add a worker or a PS
to slot i (with `pair` both), or end the decision phase. Observations are the float32 features of
`simulation/workers/phase`. Rewards are the paper's r_t (Eq. 8); with p1 = p2 = 0, they are minus the time in the
system, in units of `unit_s`. Both forms use the same batched simulation, so that a vector of environments costs little
more than one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import gymnasium
import numpy as np
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from mlsched.core.aliases import Array, Data
from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched.core.params import Number
from mlsched.simulation.workers.phase import BACKLOG_UNIT, ITERATIONS_UNIT, TASKS_UNIT, Phase
from mlsched.simulation.workers.synthetic import chic
from mlsched.simulation.workers.workload import MS, Workload
from mlsched_training.environments._base import MaskedEnv, reject_unknown_options, seen_space
from mlsched_training.workers.batch import Batch, Rewards

#: First seed of synthetic sequences; smaller seeds are reserved for tests and measurements.
FIRST_SEED = 1_000_000


class Task:
    """Workloads, phase and rewards that both forms share.

    Args:
        jobs: Number of jobs of synthetic workloads of the Chic paper (default 30), with a new workload every episode.
        rate: Arrival rate of synthetic workloads (default 1.8).
        workloads: Draw episodes from these instead.
        window: Number of slots, I.
        pair: Use Chic-Pair's actions.
        limit: Largest number of actions of a decision phase.
        p1: Punishment of actions for empty slots (Section 4.2).
        p2: Punishment of slots with only workers or only PSs (Section 4.2).
        unit_s: Time in the system that counts as 1, in seconds.
        floor: Cost of a re-schedule ("always", Eq. 7, or "never").
    """

    @validate_arguments
    def __init__(
        self,
        *,
        jobs: int | None = None,
        rate: float | None = None,
        workloads: Sequence[Workload] | None = None,
        window: int = 3,
        pair: bool = False,
        limit: int = 100,
        p1: float = 5.0,
        p2: float = 1.0,
        unit_s: Number = 1200,
        floor: Literal["always", "never"] = "always",
    ) -> None:
        if workloads is not None and not len(workloads):
            raise InvalidInput("workloads: expected at least one, or left out for synthetic ones")
        if workloads is not None and (jobs is not None or rate is not None):
            raise InvalidInput("workloads: are given; leave out jobs and rate")
        self.jobs, self.rate = 30 if jobs is None else jobs, 1.8 if rate is None else rate
        self.workloads, self.floor = workloads, floor
        self.phase = Phase(window, pair, limit)
        self.rewards = Rewards(p1, p2, unit_s * MS)
        self.examples = list(workloads) if workloads is not None else [self._synthetic_workload(FIRST_SEED)]
        self.room = max(len(w.submit) for w in self.examples)
        self.models = tuple(self.examples[0].models)
        self.actions = gymnasium.spaces.Discrete(self.phase.actions)
        self.observations = gymnasium.spaces.Box(0, self._largest_features(), dtype=np.float32)

    def _largest_features(self) -> Array:
        """Return the largest value of each feature, shape (features,)."""
        models, most_w, most_p = self.examples[0].iteration.shape
        most = [max(1, int(w.iterations.max(initial=1))) for w in self.examples]
        iterations = max(most) if self.workloads is not None else ITERATIONS_UNIT
        slot = [*[1.0] * models, iterations / ITERATIONS_UNIT, most_w / TASKS_UNIT, most_p / TASKS_UNIT]
        return np.array([*slot * self.phase.window, self.room / BACKLOG_UNIT], dtype=np.float32)

    def draw(self, rng: np.random.Generator) -> Workload:
        """Return the workload of the next episode."""
        if self.workloads is not None:
            return self.workloads[int(rng.integers(len(self.workloads)))]
        return self._synthetic_workload(FIRST_SEED + int(rng.integers(10**9)))

    def _synthetic_workload(self, seed: int) -> Workload:
        return chic(jobs=self.jobs, rate=self.rate, seed=seed)

    def batch(self, workloads: Sequence[Workload]) -> Batch:
        """Return the batch of episodes of several workloads."""
        return Batch(workloads, self.phase, floor=self.floor, rewards=self.rewards, room=self.room)


class WorkersEnv(MaskedEnv):
    """Environment of one episode after another.

    `mask_observation` and `render_mode` ("ansi") are as in `MaskedEnv`; further keywords are those of `Task`.

    Actions, with I = window (`action_names` names them):

    | action | effect |
    |---|---|
    | 2 i, for i < I | add a worker to slot i |
    | 2 i + 1 | add a PS to slot i |
    | 2 I | void: end the decision phase |

    With `pair`, action i < I adds one of each to slot i, and I is void.

    Observation, float32, with L models and S = L + 3 entries per slot (`observation_names` names them; entries of
    an empty slot are 0):

    | index | value |
    |---|---|
    | i S + l, l < L | 1: the job in slot i trains model l |
    | i S + L | its iterations left, in units of 200 |
    | i S + L + 1 | its workers so far, in tens |
    | i S + L + 2 | its PSs so far, in tens |
    | I S | jobs in the system that are in no slot, in tens |
    """

    def __init__(self, mask_observation: bool = False, render_mode: str | None = None, **keywords: Any) -> None:
        self.task = Task(**keywords)
        self._batch: Batch | None = None
        self._declare_spaces(self.task.observations.low, self.task.observations.high, mask_observation, render_mode)

    @property
    def action_names(self) -> list[str]:
        """Return descriptions of the actions, in order."""
        phase = self.task.phase
        what = ("worker and a PS",) if phase.pair else ("worker", "PS")
        return [*(f"add a {one} to slot {i}" for i in range(phase.window) for one in what), "end the decision phase"]

    @property
    def observation_names(self) -> list[str]:
        """Return the names of the entries of an observation, in order."""
        each = [*(f"is {model}" for model in self.task.models), "iterations left", "workers", "PSs"]
        return [*(f"slot {i}: {name}" for i in range(self.task.phase.window) for name in each), "backlog"]

    def _action_mask(self) -> Any:
        assert self._batch is not None, "reset first"
        return self._batch.mask[0].astype(np.int8)

    def _state_as_text(self) -> str:
        assert self._batch is not None, "render: reset first"
        lines = [f"time {int(self._batch.now[0]) / MS:g} s"]
        values = dict(zip(self.observation_names, self._batch.features[0].tolist(), strict=True))
        for i in range(self.task.phase.window):
            model = next((m for m in self.task.models if values[f"slot {i}: is {m}"]), None)
            if model is None:
                lines.append(f"  slot {i}: empty")
                continue
            remaining = round(values[f"slot {i}: iterations left"] * ITERATIONS_UNIT)
            workers, ps = (round(values[f"slot {i}: {name}"] * TASKS_UNIT) for name in ("workers", "PSs"))
            lines.append(f"  slot {i}: {model}, {remaining} iterations left, {workers} workers, {ps} PSs")
        return "\n".join([*lines, f"  backlog: {round(values['backlog'] * BACKLOG_UNIT)} jobs"])

    def reset(self, *, seed: int | None = None, options: Data | None = None) -> tuple[Any, Data]:
        """Begin an episode with the next workload."""
        super().reset(seed=seed, options=options)
        workload = self.task.draw(self.np_random)
        if self._batch is None:
            self._batch = self.task.batch([workload])
        else:
            self._batch.restart(np.array([0]), [workload])
        return self._with_mask(self._batch.features[0].copy()), self._step_info(self._batch)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Data]:
        """Take an action; an episode ends when its last job is done."""
        batch = self._batch
        if batch is None or batch.done[0]:
            raise InvalidInput("step: the episode is over; reset begins the next")
        step = batch.step(np.array([self._index_of(action)]))
        info = self._step_info(batch) | {"system_ms": int(step.system_ms[0])}
        if batch.done[0]:
            info["average_completion_s"] = float(batch.completion_s()[0])
        return self._with_mask(batch.features[0].copy()), float(step.reward[0]), bool(batch.done[0]), False, info

    def _step_info(self, batch: Batch) -> Data:
        return {"action_mask": self._action_mask(), "now_s": int(batch.now[0]) / MS}


class WorkersVectorEnv(VectorEnv):  # type: ignore[misc, unused-ignore]
    """Environment of `num_envs` episodes in one batched simulation, equal to as many separately seeded `WorkersEnv`.

    After the end of an episode, the next step ignores its action and begins a new episode (Gymnasium's NEXT_STEP).
    `mask_observation` is as in `MaskedEnv`; further keywords are those of `Task`.
    """

    metadata: ClassVar[Data] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}

    @validate_arguments
    def __init__(self, num_envs: Number = 1, mask_observation: bool = False, **keywords: Any) -> None:
        self.task, self.num_envs = Task(**keywords), num_envs
        self.single_action_space = self.task.actions
        self.single_observation_space = seen_space(self.task.observations, self.task.phase.actions, mask_observation)
        self._masked = mask_observation
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._random = [np_random(None)[0] for _ in range(num_envs)]
        self._batch: Batch | None = None

    def reset(self, *, seed: int | Sequence[int | None] | None = None, options: Data | None = None) -> tuple[Any, Data]:
        """Begin a new episode in every environment; an integer `seed` seeds environment i by seed + i."""
        reject_unknown_options(options)
        seeds = (
            [None if seed is None else seed + i for i in range(self.num_envs)]
            if not isinstance(seed, Sequence)
            else list(seed)
        )
        if len(seeds) != self.num_envs:
            raise InvalidInput(f"reset: {len(seeds)} seeds: expected {self.num_envs}, one per environment")
        for i, one in enumerate(seeds):
            if one is not None:
                self._random[i] = np_random(one)[0]
        self._batch = self.task.batch([self.task.draw(rng) for rng in self._random])
        return self._with_mask(self._batch), self._step_info(self._batch)

    def step(self, actions: IntArray) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Take one action per environment; one whose episode is over ignores it and begins a new episode.

        Returns:
            Observations, rewards, ended episodes, truncated episodes (none) and information, one entry per environment.
        """
        batch = self._batch
        if batch is None:
            raise InvalidInput("step: reset first")
        valid_actions = batch.actions(actions)  # rejects wrong actions before any episode restarts
        over = np.flatnonzero(batch.done)
        if over.size:
            batch.restart(over, [self.task.draw(self._random[i]) for i in over])
            # The first observation of the new episode is returned; its action belongs to the old episode.
            outcome = self._step_others(batch, over, valid_actions)
        else:
            outcome = batch.step(valid_actions)
        info = self._step_info(batch) | {"system_ms": outcome.system_ms}
        if batch.done.any():
            info["average_completion_s"] = np.where(batch.done, batch.completion_s(), 0.0)
            info["_average_completion_s"] = batch.done.copy()
        nothing = np.zeros(self.num_envs, dtype=bool)
        return self._with_mask(batch), outcome.reward, batch.done.copy(), nothing, info

    def _step_others(self, batch: Batch, rows: Array, actions: Array) -> Any:
        """Step all episodes except `rows`, which have just begun."""
        batch.done[rows], batch.mask[rows] = True, False  # with an empty mask, no action has an effect
        step = batch.step(actions)
        batch.done[rows] = False
        return step

    def _with_mask(self, batch: Batch) -> Any:
        """Return the observations, with the masks if `mask_observation` is set."""
        features = batch.features.copy()
        return {"observation": features, "action_mask": batch.mask.astype(np.int8)} if self._masked else features

    def _step_info(self, batch: Batch) -> Data:
        every = np.ones(self.num_envs, dtype=bool)
        return {
            "action_mask": batch.mask.astype(np.int8),
            "_action_mask": every,
            "now_s": batch.now / MS,
            "_now_s": every,
        }
