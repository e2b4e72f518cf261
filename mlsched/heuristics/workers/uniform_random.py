"""Uniform-random: one more worker or PS of a job drawn at random.

Paper: Gong, Li, Liang, Zhan, "Chic", IWQoS 2019, Section 4.2 (state and action space, Conditions 1 and 2) and 4.3
(the uniform policy on the states that are not in S'). Starting from an empty cluster, actions are drawn until all
further tasks fail to fit (Eq. 4) or to shorten any job's iterations (Eq. 5; a job without worker or PS counts as
improvable). An action that does not fit has no effect. A job that ends with only workers or only PSs gets neither.

These are the actions of Chic's sample N + 1, not its untrained policy. A freshly initialised network prefers some
actions, and is worse or better by chance. Chic's own phase ends after at most `limit` steps (100), this one after
`most_steps`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np

from mlsched.core.params import Range
from mlsched.core.registry import solver
from mlsched.heuristics.workers._room import PS, STEP, WORKER, Room
from mlsched.instances.workers import Instance, Plan


@solver("uniform-random", problem="workers", paper="Chic Section 4.3, sample N + 1")
def answer(
    instance: Instance,
    *,
    rng: np.random.Generator,
    void: bool = False,
    pair: bool = False,
    window: Annotated[int, Range(0)] = 0,
    most_steps: Annotated[int, Range(0)] = 10_000,
) -> Plan:
    """Draw random tasks until none fits or helps.

    void: the void action is drawn like any other and ends the phase; otherwise it is only taken at the end of the
    phase (Eq. 6). pair: an action is a worker and a PS together (Chic-Pair, Section 4.4). window: I, the number of
    jobs that actions cover (0: all); jobs beyond it get no tasks, and actions for absent jobs have no effect.
    most_steps: cap on the actions of a phase.
    """
    room = Room(instance)
    seats = window or room.jobs
    kinds = [(1, 1)] if pair else [STEP[WORKER], STEP[PS]]
    phase = _Phase(room, range(min(seats, room.jobs)), kinds)
    count = seats * len(kinds)
    for _ in range(most_steps):
        if phase.is_over():
            break
        action = int(rng.integers(count + void))
        if action == count:
            break
        job, kind = divmod(action, len(kinds))
        if phase.has_effect(job, kinds[kind]):
            room.give(job, *kinds[kind])
    return room.plan()


class _Phase:
    """Chic's decision making phase: the actions that are still possible."""

    def __init__(self, room: Room, jobs: range, kinds: list[tuple[int, int]]) -> None:
        self.room, self.jobs = room, jobs
        self.actions = [(job, step) for job in jobs for step in kinds]
        # Index of the last fitting and of the last helping action: mostly they still fit or help.
        self.fitting = self.helping = 0

    def has_effect(self, job: int, step: tuple[int, int]) -> bool:
        """Return if the action has an effect: it fits, and the job can train with the result."""
        if job not in self.jobs:
            return False
        w, p = self.room.workers[job] + step[0], self.room.ps[job] + step[1]
        if w > self.room.most_workers or p > self.room.most_ps or not self.room.fits(job, *step):
            return False
        return not (w and p) or self.room.allowed(job, w, p)

    def is_over(self) -> bool:
        """Return if all actions fail to fit (Eq. 4) or to speed up a job (Eq. 5)."""
        self.fitting = self._find_action(self.has_effect, self.fitting)
        self.helping = self._find_action(self._speeds_up, self.helping)
        return min(self.fitting, self.helping) < 0

    def _find_action(self, good: Callable[[int, tuple[int, int]], bool], last: int) -> int:
        """Return the index of a good action, preferably the last; -1 if all are bad."""
        if self.actions and good(*self.actions[last]):
            return last
        return next((i for i, action in enumerate(self.actions) if good(*action)), -1)

    def _speeds_up(self, job: int, step: tuple[int, int]) -> bool:
        """Return if the step shortens the job's iterations (Eq. 5), even without room; True without workers or PSs."""
        room = self.room
        if not room.workers[job] or not room.ps[job]:
            return True
        w, p = room.workers[job] + step[0], room.ps[job] + step[1]
        return room.allowed(job, w, p) and room.cost[job][w - 1][p - 1] < room.now(job)
