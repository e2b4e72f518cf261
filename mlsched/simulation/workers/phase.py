"""Chic's decision phase: an allocation is built one worker or PS at a time (Gong et al., 2019, Section 4.2).

Jobs sit in `window` slots in arrival order. Each step takes one action: add a worker to slot i (action 2i), add a PS to
it (2i + 1), or the void action (the last). The void action ends the phase; in another interpretation it only lets a
step pass (`Phase.void_ends`). Chic-Pair's action i adds one of each to slot i. The paper's action space is therefore
{1, ..., 2I, void}: seven actions for I = 3, four for Chic-Pair.

Interpretations:

- An action that does not fit (resources, the job's table, an empty slot) changes no slot, but counts as a step.
- The phase also ends when no slot has room for another task (Condition 1 in the text; Eq. 4 as printed tests each
  resource separately and may miss that). It ends when no action would make an iteration of any slot faster (Condition
  2, Eq. 5; a slot that lacks a worker or a PS always gets faster), and after `limit` steps.
- The void action has no effect while all slots are unable to train. If a phase ends in that state, the first slot that
  can train as the only job on the cluster gets the smallest sufficient numbers. The paper's training phase lasts until
  a job is done, and would otherwise last forever.
- A slot with only workers or only PSs keeps them to the end of the phase and then waits without them.

`batch.py` steps many episodes at once and does exactly the same; this module answers one question of the world.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from typing import Annotated

import numpy as np
import numpy.typing as npt

from mlsched.core.arguments import ValidatedFields
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched.core.params import Count, Range
from mlsched.instances.workers import NEVER, Instance, Plan

Mask = npt.NDArray[np.bool_]
Features = npt.NDArray[np.float32]
#: Columns of a slot in the state: model (-1: empty), iterations left, workers, PSs.
FIELDS = 4
#: Units of the features: iterations, workers and PSs of a slot, and the backlog.
ITERATIONS_UNIT, TASKS_UNIT, BACKLOG_UNIT = 200.0, 10.0, 10.0


@dataclasses.dataclass(frozen=True)
class Phase(ValidatedFields):
    """Parameters of the decision phase.

    Attributes:
        window: I, the number of slots.
        pair: Use Chic-Pair's actions.
        limit: Most steps of a phase. The paper has no limit, but actions without effect could otherwise repeat forever.
        void_ends: The void action ends the phase once a slot can train. Otherwise it lets a step pass, and the phase
            ends by Conditions 1 and 2 or by the limit.
    """

    window: Annotated[int, Range(1, 1000)] = 3
    pair: bool = False
    limit: Count = 100
    void_ends: bool = True

    @property
    def actions(self) -> int:
        """Return the number of actions; the last is the void action."""
        return (self.window if self.pair else 2 * self.window) + 1

    def feature_size(self, models: int) -> int:
        """Return the length of the features: each slot's one-hot model and three numbers, then the backlog."""
        return (models + FIELDS - 1) * self.window + 1


class Decision:
    """One decision phase over one instance; `state` and `mask` describe it, `step` takes an action."""

    def __init__(self, instance: Instance, phase: Phase) -> None:
        self.instance, self.phase = instance, phase
        self._jobs = min(phase.window, len(instance.waiting))
        self._model: list[int] = instance.model.tolist()
        self._remaining: list[int] = instance.remaining.tolist()
        self._backlog = len(instance.waiting) - self._jobs + instance.backlog
        self._free: list[int] = instance.capacity.tolist()
        self._cost: list[list[list[int]]] = instance.cost[: self._jobs].tolist()
        _, self._most_workers, self._most_ps = instance.cost.shape
        self._demand: list[tuple[list[int], list[int]]] = list(
            zip(instance.worker_demand[: self._jobs].tolist(), instance.ps_demand[: self._jobs].tolist(), strict=True)
        )
        self._adds = [self._added_tasks(action) for action in range(phase.actions - 1)]
        self._need = [self._needed_amounts(*adds) for adds in self._adds if adds[0] < self._jobs]
        self.workers, self.ps = [0] * self._jobs, [0] * self._jobs
        self._fitting = self._fitting_actions()
        self.steps, self.over = 0, not any(self._fitting)

    @property
    def state(self) -> IntArray:
        """Return the paper's s_t: (model, B, workers, PSs) of every slot, (-1, 0, 0, 0) if empty; the backlog N."""
        entries: list[int] = []
        for slot in range(self._jobs):
            entries += (self._model[slot], self._remaining[slot], self.workers[slot], self.ps[slot])
        entries += (-1, 0, 0, 0) * (self.phase.window - self._jobs)
        return np.array([*entries, self._backlog], dtype=np.int64)

    @property
    def features(self) -> Features:
        """Return `features` of the state, computed directly, as a network reads them at every step."""
        models = len(self.instance.models)
        entries: list[float] = []
        for slot in range(self._jobs):
            one_hot = [0.0] * models
            one_hot[self._model[slot]] = 1.0
            entries += one_hot
            entries += (
                self._remaining[slot] / ITERATIONS_UNIT,
                self.workers[slot] / TASKS_UNIT,
                self.ps[slot] / TASKS_UNIT,
            )
        entries += [0.0] * ((models + FIELDS - 1) * (self.phase.window - self._jobs))
        return np.array([*entries, self._backlog / BACKLOG_UNIT], dtype=np.float32)

    @property
    def mask(self) -> Mask:
        """Return the mask of actions with an effect."""
        return np.array([*self._fitting, self._void_ends_phase() or not any(self._fitting)], dtype=bool)

    def step(self, action: int) -> None:
        """Take an action."""
        if self.over:
            raise InvalidInput("step: the phase is over")
        if not 0 <= action < self.phase.actions:
            raise InvalidInput(f"action: {action}, expected between 0 and {self.phase.actions - 1}")
        self.steps += 1
        if action == self.phase.actions - 1:
            self.over = self._void_ends_phase()
        elif self._fitting[action]:
            slot, workers, ps = self._adds[action]
            self.workers[slot] += workers
            self.ps[slot] += ps
            self._free = [free - need for free, need in zip(self._free, self._need[action], strict=True)]
            self._fitting = self._fitting_actions()
        full = not any(self._fitting)  # Condition 1
        self.over = self.over or full or self.steps >= self.phase.limit or not self._is_improvable()

    def plan(self) -> Plan:
        """Return the current allocation; slots that cannot train with it wait."""
        jobs = len(self.instance.waiting)
        workers, ps = np.zeros(jobs, dtype=np.int64), np.zeros(jobs, dtype=np.int64)
        for slot in range(self._jobs):
            if self._finish_time(slot, 0, 0) < NEVER:
                workers[slot], ps[slot] = self.workers[slot], self.ps[slot]
        if not workers.any() and (smallest := self._smallest_allocation()) is not None:
            workers[smallest[0]], ps[smallest[0]] = smallest[1:]
        return Plan(workers=workers, ps=ps)

    # -- rules of the phase -------------------------------------------------------------------------------------------

    def _added_tasks(self, action: int) -> tuple[int, int, int]:
        """Return (slot, workers, PSs) that an action other than void adds."""
        return (action, 1, 1) if self.phase.pair else (action // 2, 1 - action % 2, action % 2)

    def _needed_amounts(self, slot: int, workers: int, ps: int) -> list[int]:
        return [workers * a + ps * b for a, b in zip(*self._demand[slot], strict=True)]

    def _fitting_actions(self) -> list[bool]:
        """Return for every action but void whether its addition fits."""
        fits = []
        for (slot, workers, ps), needs in zip(self._adds, self._need, strict=False):
            within_table = self.workers[slot] + workers <= self._most_workers and self.ps[slot] + ps <= self._most_ps
            fits.append(within_table and all(map(operator.le, needs, self._free)))
        return fits + [False] * (len(self._adds) - len(fits))  # empty slots

    def _is_improvable(self) -> bool:
        """Check that Condition 2 is not met: an action makes some slot faster, or a slot lacks a worker or a PS."""
        for slot in range(self._jobs):
            now = self._finish_time(slot, 0, 0)
            if not self.workers[slot] or not self.ps[slot]:
                return True
            ahead = [(1, 1)] if self.phase.pair else [(1, 0), (0, 1)]
            if min(self._finish_time(slot, w, p) for w, p in ahead) < now:
                return True
        return False

    def _finish_time(self, slot: int, workers: int, ps: int) -> int:
        """Return the time to finish with additional workers and PSs; NEVER if the slot cannot train with them."""
        w, p = self.workers[slot] + workers, self.ps[slot] + ps
        table = self._cost[slot]
        return table[w - 1][p - 1] if 1 <= w <= len(table) and 1 <= p <= len(table[0]) else NEVER

    def _void_ends_phase(self) -> bool:
        """Check whether the void action would end the phase in this state."""
        return self.phase.void_ends and self._can_train()

    def _can_train(self) -> bool:
        return any(self._finish_time(slot, 0, 0) < NEVER for slot in range(self._jobs))

    def _smallest_allocation(self) -> tuple[int, int, int] | None:
        """Return the first slot that can train as the only job, with its fewest workers and then fewest PSs."""
        capacity = self.instance.capacity.tolist()
        for slot in range(self._jobs):
            for w, row in enumerate(self._cost[slot], 1):
                for p, cost in enumerate(row, 1):
                    needs = (w * a + p * b for a, b in zip(*self._demand[slot], strict=True))
                    if cost < NEVER and all(need <= c for need, c in zip(needs, capacity, strict=True)):
                        return slot, w, p
        return None


#: A policy: the current phase -> an action.
Choose = Callable[[Decision], int]


def decide(instance: Instance, choose: Choose, phase: Phase | None = None) -> Decision:
    """Run the complete decision phase of a policy over Chic's actions."""
    decision = Decision(instance, phase or Phase())
    while not decision.over:
        decision.step(choose(decision))
    return decision


def features(state: IntArray, models: int) -> Features:
    """Return network inputs of a state (or of one state per row): one-hot models, numbers of about 1; float32.

    A slot is (one-hot model, B / 200, workers / 10, PSs / 10), all 0 if it is empty; then the backlog / 10.
    """
    rows = np.atleast_2d(state)
    slots = rows[:, :-1].reshape(len(rows), -1, FIELDS)
    rows_of_features = np.zeros((len(rows), slots.shape[1], models + FIELDS - 1), dtype=np.float32)
    rows_of_features[..., :models] = slots[..., :1] == np.arange(models)
    rows_of_features[..., models:] = slots[..., 1:] / np.array([ITERATIONS_UNIT, TASKS_UNIT, TASKS_UNIT])
    flat = np.concatenate(
        [rows_of_features.reshape(len(rows), -1), rows[:, -1:] / BACKLOG_UNIT], axis=1, dtype=np.float32
    )
    return flat if state.ndim == 2 else flat[0]
