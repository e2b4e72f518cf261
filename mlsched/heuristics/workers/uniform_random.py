"""Uniform-random: one worker or PS more of a job drawn at random.

Paper: Gong, Li, Liang, Zhan, "Chic", IWQoS 2019, Section 4.2 (state and action space, Conditions 1 and 2) and 4.3 (the
uniform policy on the states that are not in S'). Starting from nothing, actions are drawn until no further task fits
(Eq. 4) or no task would make any job's iterations shorter (Eq. 5; a job without worker or PS counts as one that can be
improved). An action that does not fit changes nothing. A job left with only workers or only PSs has nothing.

These are the actions of Chic's sample N + 1, not its untrained policy: a network that was just initialised prefers some
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
    """Random tasks until nothing fits or helps.

    void: the void action is drawn like any other and ends the phase; otherwise it is only taken when the phase is over
    anyway (Eq. 6). pair: an action is a worker and a PS together (Chic-Pair, Section 4.4). window: I, jobs that actions
    speak of (0: all); those beyond it get nothing, actions for jobs that are not there change nothing. most_steps: cap
    on the actions of a phase.
    """
    room = Room(instance)
    seats = window or room.jobs
    kinds = [(1, 1)] if pair else [STEP[WORKER], STEP[PS]]
    phase = _Phase(room, range(min(seats, room.jobs)), kinds)
    count = seats * len(kinds)
    for _ in range(most_steps):
        if phase.over():
            break
        action = int(rng.integers(count + void))
        if action == count:
            break
        job, kind = divmod(action, len(kinds))
        if phase.can(job, kinds[kind]):
            room.give(job, *kinds[kind])
    return room.plan()


class _Phase:
    """Chic's decision making phase: what can still be done."""

    def __init__(self, room: Room, jobs: range, kinds: list[tuple[int, int]]) -> None:
        self.room, self.jobs = room, jobs
        self.actions = [(job, step) for job in jobs for step in kinds]
        # Where an action that fits and one that helps were last found: mostly they still do.
        self.fitting = self.helping = 0

    def can(self, job: int, step: tuple[int, int]) -> bool:
        """Whether the action changes anything: it fits, and leads to nothing that the job cannot train with."""
        if job not in self.jobs:
            return False
        w, p = self.room.workers[job] + step[0], self.room.ps[job] + step[1]
        if w > self.room.most_workers or p > self.room.most_ps or not self.room.fits(job, *step):
            return False
        return not (w and p) or self.room.allowed(job, w, p)

    def over(self) -> bool:
        """Whether no action fits (Eq. 4), or none would speed up any job (Eq. 5)."""
        self.fitting = self._find(self.can, self.fitting)
        self.helping = self._find(self._helps, self.helping)
        return min(self.fitting, self.helping) < 0

    def _find(self, good: Callable[[int, tuple[int, int]], bool], last: int) -> int:
        """Index of an action that is good, the last one if it still is; -1 if there is none."""
        if self.actions and good(*self.actions[last]):
            return last
        return next((i for i, action in enumerate(self.actions) if good(*action)), -1)

    def _helps(self, job: int, step: tuple[int, int]) -> bool:
        """Eq. 5, which does not ask whether the task fits."""
        room = self.room
        if not room.workers[job] or not room.ps[job]:
            return True
        w, p = room.workers[job] + step[0], room.ps[job] + step[1]
        return room.allowed(job, w, p) and room.cost[job][w - 1][p - 1] < room.now(job)
