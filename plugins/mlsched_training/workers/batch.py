"""Batched simulation of many episodes of the workers problem for training; a step takes one action per episode.

An episode is a workload from its first arrival to its last completion, scheduled by Chic's alternation of decision and
training phases. For the same actions, `Batch` gives bit-identical states, masks, allocations and finishing times to
`WorkersWorld` (woken at events, `window` = I) with `phase.Decision`. A step costs a few NumPy calls for the complete
batch. A training phase immediately follows the step that ends its decision phase.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from mlsched.core.aliases import Array
from mlsched.core.arguments import ValidatedFields, validate_arguments
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT, FloatArray, IntArray
from mlsched.core.params import Number
from mlsched.instances.workers import NEVER
from mlsched.simulation.workers.log import PARTS
from mlsched.simulation.workers.phase import BACKLOG_UNIT, FIELDS, ITERATIONS_UNIT, TASKS_UNIT, Features, Mask, Phase
from mlsched.simulation.workers.workload import MS, NS_PER_MS, Workload, never_start, startable

#: Time after every event.
FAR = 2**62
#: Bits of a slot's code: an action would make it faster; it can train; it has only workers or only PSs. The sum of the
#: codes of an episode's slots gives all three counts.
_FASTER, _TRAINS, _HALF = 1, 1 << 20, 1 << 40
_COUNT = (1 << 20) - 1


@dataclasses.dataclass(frozen=True)
class Rewards(ValidatedFields):
    """Rewards of the paper (Eq. 8 and Section 6.1).

    Attributes:
        p1: Punishment of an action for an empty slot.
        p2: Amount subtracted when a job gets its first worker or PS, and returned when it has both.
        unit: Milliseconds that count as 1 in r_t1 (20 minutes in the paper).
    """

    p1: float = 5.0
    p2: float = 1.0
    unit: Number = 20 * 60 * MS


@dataclasses.dataclass(frozen=True)
class Step:
    """Result of a step, with one entry per episode (0 for finished episodes).

    Attributes:
        reward: r_t1 + r_t2 + r_t3, shape (episodes,).
        system_ms: Total time of all jobs in the system during the following training phase, in ms; 0 without such a
            phase. The sum over an episode is the sum of its completion times (r_t1 = -system_ms / unit).
        absent: Whether the action was for an empty slot (r_t2 = -p1).
        halves: Increase in the number of slots with only workers or only PSs (r_t3 = -p2 halves).
        trained: Whether the decision phase ended.
    """

    reward: FloatArray
    system_ms: IntArray
    absent: Mask
    halves: IntArray
    trained: Mask


class Batch:
    """Episodes of equal models and clusters that are stepped together.

    A finished episode ignores its actions. `step` updates the arrays in place; copy them to keep their values.

    Attributes:
        mask: Actions with an effect, shape (episodes, actions).
        features: `phase.features` of `state`, float32, shape (episodes, features).
        done: Whether an episode is finished, shape (episodes,).
    """

    @validate_arguments
    def __init__(
        self,
        workloads: Sequence[Workload],
        phase: Phase | None = None,
        *,
        floor: Literal["always", "never"] = "always",
        rewards: Rewards | None = None,
        room: int = 0,
    ) -> None:
        """Begin all episodes.

        Args:
            workloads: One workload per episode.
            phase: Decision phase.
            floor: Cost of a re-schedule ("always", Eq. 7, or "never").
            rewards: Rewards.
            room: Largest number of jobs of an episode in later calls of `restart`, if more than any has now.
        """
        self.phase, self.rewards, self.floor = phase or Phase(), rewards or Rewards(), floor
        _check_workloads(workloads, self._iteration_parts)
        self._first = workloads[0]
        self._lay_out_tables(workloads[0], len(workloads))
        self._enter_workloads(workloads, room)
        self.reset()

    @property
    def _iteration_parts(self) -> int:
        """Return the parts of an iteration in which work is counted."""
        return 1 if self.floor == "always" else PARTS

    # -- tables -------------------------------------------------------------------------------------------------------

    def _lay_out_tables(self, first: Workload, episodes: int) -> None:
        """Create tables by model, with an empty slot as an additional model, and index offsets."""
        phase, window, actions = self.phase, self.phase.window, self.phase.actions
        models, most_w, most_p = first.iteration.shape
        self._models, self._episodes, self._most = models, episodes, (most_w, most_p)
        self._width = most_p + 1  # a cell is (model x (most workers + 1) + workers) x _width + PSs
        self._block = (most_w + 1) * self._width
        time = np.full((models + 1, most_w + 1, most_p + 1), NEVER)
        time[:models, 1:, 1:] = first.iteration
        trains = time != NEVER
        self._trains = trains.ravel()
        self._time = np.where(trains, time, 1).ravel()
        self._code = _slot_codes(time, phase.pair).ravel()
        adds = np.array([[1, 1]] if phase.pair else [[1, 0], [0, 1]])
        need = np.zeros((len(first.resources), models + 1, len(adds)), dtype=np.int64)
        for i, (w, p) in enumerate(adds):
            need[:, :models, i] = (w * first.worker_demand + p * first.ps_demand).T
        need[:, models] = FAR  # an empty slot never fits
        self._need = need
        self._capacity = first.capacity[:, None, None]
        self._fits_at_first: Mask = np.asarray((need <= self._capacity).all(axis=0))
        self._least = _least_times(first)
        kinds = len(adds)
        self._slot_of = np.append(np.repeat(np.arange(window), kinds), window)  # the void action has the spare slot
        self._inc = np.append(np.tile(adds @ np.array([self._width, 1]), window), 0)
        rows = np.arange(episodes)
        self._row_action, self._row_slot = rows * actions, rows * (window + 1)
        self._slots = np.arange(window)

    def _enter_workloads(self, workloads: Sequence[Workload], room: int) -> None:
        """Create the arrays of jobs, padded to the longest episode plus one sentinel."""
        self._jobs = np.array([len(w.submit) for w in workloads], dtype=np.int64)
        self._none = max(int(self._jobs.max()), room)  # the job of an empty slot

        def padded_column(name: str, fill: int) -> IntArray:
            filled = np.full((self._episodes, self._none + 1), fill, dtype=np.int64)
            for row, one in enumerate(workloads):
                filled[row, : len(one.submit)] = getattr(one, name)
            return filled

        self._submit, self._model = padded_column("submit", FAR), padded_column("model", self._models)
        self._iterations = padded_column("iterations", 0) * self._iteration_parts
        real = np.where(self._submit == FAR, 0, self._submit)
        self._submitted = np.concatenate([np.zeros((self._episodes, 1), dtype=np.int64), real.cumsum(axis=1)], axis=1)

    # -- episodes -----------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Restart all episodes."""
        count, window, phase = self._episodes, self.phase.window, self.phase
        self.now = np.zeros(count, dtype=np.int64)
        self._remaining = self._iterations.copy()
        self.finish = np.full((count, self._none + 1), -1)
        self._arrived, self._pulled, self._finished = (np.zeros(count, dtype=np.int64) for _ in range(3))
        self._slot_job = np.full((count, window), self._none)
        self._cell = np.zeros((count, window + 1), dtype=np.int64)
        self._cell[:, window] = self._models * self._block  # the spare slot is always empty
        self._tasks = np.zeros((count, window, 2), dtype=np.int64)
        self._free = np.broadcast_to(self._capacity, (len(self._capacity), count, 1)).copy()
        self._demand = np.zeros((len(self._capacity), count, phase.actions), dtype=np.int64)
        self._steps, self._halves = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        self._system = np.zeros(count, dtype=np.int64)
        self.decisions = 0
        self.mask = np.zeros((count, phase.actions), dtype=bool)
        self.done = np.zeros(count, dtype=bool)
        self.features: Features = np.zeros((count, phase.feature_size(self._models)), dtype=np.float32)
        slots = self.features[:, :-1].reshape(count, window, -1)
        self._one_hot, self._numbers = slots[..., : self._models], slots[..., self._models :]
        rows = np.arange(count)
        self._fill_free_slots(rows)

    def restart(self, rows: IntArray, workloads: Sequence[Workload]) -> None:
        """Restart the episodes `rows` with other workloads of the same tables and cluster; the others continue."""
        _check_workloads([self._first, *workloads], self._iteration_parts)
        for row, one in zip(rows.tolist(), workloads, strict=True):
            jobs = len(one.submit)
            if jobs > self._none:
                raise InvalidInput(f"workloads: one has {jobs} jobs: there is room for {self._none}")
            self._jobs[row] = jobs
            for padded_column, values, fill in (
                (self._submit, one.submit, FAR),
                (self._model, one.model, self._models),
                (self._iterations, one.iterations * self._iteration_parts, 0),
            ):
                padded_column[row, :jobs], padded_column[row, jobs:] = values, fill
        real = np.where(self._submit[rows] == FAR, 0, self._submit[rows])
        self._submitted[rows, 1:] = real.cumsum(axis=1)
        self._remaining[rows] = self._iterations[rows]
        self.finish[rows], self._slot_job[rows], self.done[rows] = -1, self._none, False
        for counter in (self.now, self._arrived, self._pulled, self._finished, self._system):
            counter[rows] = 0
        self._fill_free_slots(rows)

    @property
    def state(self) -> IntArray:
        """Return the states s_t of the paper, as `Decision.state`, shape (episodes, 4I + 1)."""
        state = np.empty((self._episodes, self.phase.window, FIELDS), dtype=np.int64)
        kind = self._model[np.arange(self._episodes)[:, None], self._slot_job]
        state[..., 0] = np.where(kind == self._models, -1, kind)
        state[..., 1] = -(-self._remaining[np.arange(self._episodes)[:, None], self._slot_job] // self._iteration_parts)
        state[..., 2:] = self._tasks
        backlog = (self._arrived - self._pulled)[:, None]
        return np.concatenate([state.reshape(self._episodes, -1), backlog], axis=1)

    def completion_s(self) -> FloatArray:
        """Return the mean completion time of each episode's finished jobs, in seconds; NaN before the first."""
        is_finished = self.finish >= 0
        total = np.where(is_finished, self.finish - self._submit, 0).sum(axis=1)
        with np.errstate(invalid="ignore"):
            return np.asarray(total / is_finished.sum(axis=1) / MS)

    def step(self, actions: npt.ArrayLike) -> Step:
        """Take one action per episode, from 0 to A - 1; the last is the void action.

        An action outside the mask changes no allocation, but counts as a step of the decision phase. The phase ends
        after a valid void action, if no task fits, if no action makes a job faster, or after `phase.limit` steps.
        """
        action = self.actions(actions)
        alive = ~self.done
        at, slot = self._row_action + action, self._row_slot + self._slot_of[action]
        valid = self.mask.ravel()[at]
        absent = (self._cell.ravel()[slot] >= self._models * self._block) & (action < self.phase.actions - 1) & alive
        self._apply_actions(action, at, slot, valid)
        self._steps += alive
        self.decisions += int(np.count_nonzero(alive))
        counts = np.add.reduce(self._code[self._cell], axis=1)
        halves = counts >> 40
        change = halves - self._halves
        self._halves = halves
        fitting = self._refresh_mask(counts)
        void = valid & (action == self.phase.actions - 1)
        over = (void | ~fitting | ((counts & _COUNT) == 0) | (self._steps >= self.phase.limit)) & alive
        self._system[:] = 0
        rows = np.flatnonzero(over)
        if rows.size:
            self._run_training_phase(rows)
        reward = self._system / -self.rewards.unit - self.rewards.p1 * absent
        if not self.phase.pair:
            reward -= self.rewards.p2 * change
        return Step(reward, self._system.copy(), absent, change, over)

    def actions(self, values: npt.ArrayLike) -> IntArray:
        """Return the actions of one step as an array; raise InvalidInput unless each episode has a valid one."""
        action = np.asarray(values)
        if action.shape != (self._episodes,) or action.dtype.kind not in "iu":
            raise InvalidInput(f"actions: expected {self._episodes} integers, one per episode")
        if action.min() < 0 or action.max() >= self.phase.actions:
            raise InvalidInput(f"actions: expected between 0 and {self.phase.actions - 1}, the void action")
        return action

    # -- the decision phase -------------------------------------------------------------------------------------------

    def _apply_actions(self, action: IntArray, at: IntArray, slot: IntArray, valid: Mask) -> None:
        """Add the effect of each valid action to its slot.

        Args:
            action: Actions, shape (episodes,).
            at: Flat index of each action in the mask.
            slot: Flat index of each slot.
            valid: Whether each action is valid.
        """
        self._cell.ravel()[slot] += self._inc[action] * valid
        self._free[:, :, 0] -= self._demand.reshape(len(self._demand), -1)[:, at] * valid
        cells = self._cell[:, :-1] % self._block
        np.floor_divide(cells, self._width, out=self._tasks[..., 0])
        np.remainder(cells, self._width, out=self._tasks[..., 1])
        self._numbers[..., 1:] = self._tasks / TASKS_UNIT

    def _refresh_mask(self, counts: IntArray) -> Mask:
        """Recompute `mask` from the free capacity; return episodes with a task that fits (otherwise Condition 1)."""
        fits = np.logical_and.reduce(self._demand <= self._free, axis=0)
        window = self.phase.window
        within_table = fits[:, :-1].reshape(self._episodes, window, -1)
        if self.phase.pair:
            within_table[..., 0] &= (self._tasks[..., 0] < self._most[0]) & (self._tasks[..., 1] < self._most[1])
        else:
            within_table &= self._tasks < self._most
        fitting: Mask = np.asarray(np.logical_or.reduce(fits[:, :-1], axis=1))
        fits[:, -1] = (self.phase.void_ends & (((counts >> 20) & _COUNT) > 0)) | ~fitting
        self.mask[...] = fits
        return fitting

    # -- the training phase -------------------------------------------------------------------------------------------

    def _run_training_phase(self, rows: IntArray) -> None:
        """Run the training phase of the episodes `rows` and begin their next decision phase.

        The phase ends as soon as a job has finished or, if a slot is free, at the next arrival.
        """
        jobs, cell = self._slot_job[rows], self._cell[rows, :-1]
        trains, time = self._trains[cell], self._time[cell]
        stuck = ~trains.any(axis=1)
        if stuck.any():
            self._rescue_stuck(rows, stuck, trains, time)
        at = rows[:, None] * (self._none + 1) + jobs
        remaining = self._remaining.ravel()[at]
        # Time until the first training job finishes, rounded up.
        need = np.where(trains, -(-remaining * time // (NS_PER_MS * self._iteration_parts)), FAR).min(axis=1)
        full = jobs[:, -1] != self._none  # empty slots are last
        arrival = self._submit.ravel()[rows * (self._none + 1) + self._arrived[rows]]
        now = self.now[rows]
        end = now + np.where(full, need, np.minimum(need, arrival - now))
        elapsed = (end - now)[:, None] * (NS_PER_MS * self._iteration_parts)
        remaining -= np.where(trains, np.minimum(elapsed // time, remaining), 0)
        self._remaining.ravel()[at] = remaining
        self._count_arrivals(rows, now, end)
        self._free_slots(rows, at, jobs, remaining, end)
        self.now[rows] = end
        self._fill_free_slots(rows)

    def _rescue_stuck(self, rows: IntArray, stuck: Mask, trains: Mask, time: IntArray) -> None:
        """Give the first slot that can train by itself its smallest allocation: otherwise, all slots would be idle.

        Args:
            rows: Episodes.
            stuck: Episodes without a training slot.
            trains: Whether each slot trains, changed in place.
            time: Time of an iteration of each slot, changed in place.
        """
        least = self._least[self._model[rows[:, None], self._slot_job[rows]]]
        allocation = (least > 0).argmax(axis=1)
        which = np.flatnonzero(stuck)
        trains[which, allocation[which]] = True
        time[which, allocation[which]] = least[which, allocation[which]]

    def _count_arrivals(self, rows: IntArray, now: IntArray, end: IntArray) -> None:
        """Count arrivals up to `end`, and the total time of all jobs in the system since `now` (Eq. 8)."""
        before = self._arrived[rows]
        after = (self._submit[rows] <= end[:, None]).sum(axis=1)
        came = self._submitted[rows, after] - self._submitted[rows, before]
        self._system[rows] = (before - self._finished[rows]) * (end - now) + (after - before) * end - came
        self._arrived[rows] = after

    def _free_slots(self, rows: IntArray, at: IntArray, jobs: IntArray, remaining: IntArray, end: IntArray) -> None:
        """Remove finished jobs from the slots and move later jobs up.

        Args:
            rows: Episodes.
            at: Flat index of each slot's job.
            jobs: Job of each slot.
            remaining: Remaining iterations of each slot's job.
            end: End of the training phase.
        """
        is_finished = (remaining == 0) & (jobs != self._none)
        self.finish.ravel()[at[is_finished]] = np.broadcast_to(end[:, None], is_finished.shape)[is_finished]
        self._finished[rows] += is_finished.sum(axis=1)
        self._slot_job[rows] = np.sort(np.where(is_finished, self._none, jobs), axis=1)  # empty slots last

    def _fill_free_slots(self, rows: IntArray) -> None:
        """Fill free slots from the queue; an episode without jobs advances to its next arrival, or is finished."""
        jobs = self._refill_slots(rows)
        idle = jobs[:, 0] == self._none
        if idle.any():
            quiet = rows[idle]
            is_over = self._finished[quiet] == self._jobs[quiet]
            self.done[quiet[is_over]] = True
            waiting = quiet[~is_over]
            self.now[waiting] = self._submit[waiting, self._arrived[waiting]]
            self._arrived[waiting] = (self._submit[waiting] <= self.now[waiting, None]).sum(axis=1)
            jobs = self._refill_slots(rows)
        self._begin_phase(rows, jobs)

    def _refill_slots(self, rows: IntArray) -> IntArray:
        """Move the next waiting jobs of the episodes `rows` into free slots; return the job of each slot."""
        jobs = self._slot_job[rows]
        slot_count = (jobs != self._none).sum(axis=1)
        pulled, arrived = self._pulled[rows], self._arrived[rows]
        next_one = (pulled - slot_count)[:, None] + self._slots
        free = self._slots >= slot_count[:, None]
        jobs = np.where(free, np.where(next_one < arrived[:, None], next_one, self._none), jobs)
        self._slot_job[rows] = jobs
        self._pulled[rows] = np.minimum(arrived, pulled + self.phase.window - slot_count)
        return jobs

    def _begin_phase(self, rows: IntArray, jobs: IntArray) -> None:
        """Begin a decision phase without allocations."""
        window = self.phase.window
        kind = self._model.ravel()[rows[:, None] * (self._none + 1) + jobs]
        self._cell[rows, :-1] = kind * self._block
        self._demand[:, rows, :-1] = self._need[:, kind].reshape(len(self._need), len(rows), -1)
        self._free[:, rows] = self._capacity
        self._tasks[rows] = 0
        self._steps[rows] = 0
        self._halves[rows] = 0
        fits: Mask = self._fits_at_first[kind].reshape(len(rows), -1)
        self.mask[rows, :-1] = fits
        self.mask[rows, -1] = ~fits.any(axis=1)
        remaining = self._remaining.ravel()[rows[:, None] * (self._none + 1) + jobs]
        self._one_hot[rows] = kind[..., None] == np.arange(self._models)
        numbers = np.zeros((len(rows), window, 3), dtype=np.float32)
        numbers[..., 0] = -(-remaining // self._iteration_parts) / ITERATIONS_UNIT
        self._numbers[rows] = numbers
        self.features[rows, -1] = (self._arrived[rows] - self._pulled[rows]) / BACKLOG_UNIT


def _check_workloads(workloads: Sequence[Workload], parts: int) -> None:
    """Raise InvalidInput for episodes that cannot be stepped, or not together."""
    if not workloads:
        raise InvalidInput("workloads: expected at least one")
    first = workloads[0]
    for index, one in enumerate(workloads):
        for name in ("capacity", "worker_demand", "ps_demand", "iteration"):
            if not np.array_equal(getattr(one, name), getattr(first, name)):
                raise InvalidInput(f"workloads[{index}]: its {name} differs from the first one's: expected the same")
        if not len(one.submit):
            raise InvalidInput(f"workloads[{index}]: 0 jobs, expected at least one")
        if reasons := never_start(one):
            raise InvalidInput(f"workloads[{index}]: could never end: {reasons[0]}")
        slowest = int(np.where(first.iteration == NEVER, 0, first.iteration).max())
        if slowest * int(one.iterations.max()) * parts >= FAR or int(one.submit[-1]) > EXACT:
            raise InvalidInput(f"workloads[{index}]: its jobs or its arrivals take too long for this floor")


def _slot_codes(time: IntArray, pair: bool) -> IntArray:
    """Return the code of a slot by model (the last is an empty slot), workers and PSs."""
    padded = np.pad(time, ((0, 0), (0, 1), (0, 1)), constant_values=NEVER)
    ahead = padded[:, 1:, 1:] if pair else np.minimum(padded[:, 1:, :-1], padded[:, :-1, 1:])
    faster: Array = ahead < time
    faster[:, 0, :] = faster[:, :, 0] = True
    half = np.zeros(time.shape, dtype=bool)
    half[:, 0, 1:] = half[:, 1:, 0] = True
    code = faster * _FASTER + (time != NEVER) * _TRAINS + half * _HALF
    code[-1] = 0
    return np.asarray(code, dtype=np.int64)


def _least_times(workload: Workload) -> IntArray:
    """Return the iteration time of each model with its smallest allocation, or 0; the last entry is an empty slot."""
    can = startable(workload).reshape(len(workload.models), -1)
    first = can.argmax(axis=1)
    time = workload.iteration.reshape(len(workload.models), -1)
    return np.append(np.where(can.any(axis=1), time[np.arange(len(can)), first], 0), 0)
