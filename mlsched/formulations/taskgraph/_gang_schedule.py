"""Gangs one after another, each as early as those before it leave room: list schedules of the moulded variant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.formulations.taskgraph._columns import Mode, Moulded

#: A mode and a start for each job.
Gangs = list[tuple[Mode, int]]
#: Objectives to which every time matters.
TIMED = ("total_jct", "makespan")


def list_schedules(moulded: Moulded) -> list[Gangs]:
    """Gangs by arrival, and by when they could end at the earliest."""
    jobs, earliest = range(len(moulded.modes)), _earliest(moulded)
    by_arrival = sorted(jobs, key=lambda j: (moulded.layout.arrival[j], earliest[j]))
    by_end = sorted(jobs, key=lambda j: earliest[j])
    return [scheduled(moulded, [moulded.modes[j] for j in order]) for order in (by_arrival, by_end)]


def latest_ends(moulded: Moulded, objectives: Sequence[str], known: Sequence[Gangs]) -> list[int]:
    """By when each job ends in some best plan, or in all that are as good as plans that are `known`."""
    jobs = len(moulded.modes)
    if len(objectives) != 1 or objectives[0] not in TIMED:
        return [moulded.end] * jobs
    ends = [[start + mode.duration for mode, start in plan] for plan in known]
    if objectives[0] == "makespan":
        return [min(max(of, default=0) for of in ends)] * jobs
    earliest = _earliest(moulded)
    # total_jct: what all others need at least is not there for one.
    spare = min(map(sum, ends)) - sum(earliest)
    return [end + spare for end in earliest]


def _earliest(moulded: Moulded) -> list[int]:
    return [min(moulded.release(mode) + mode.duration for mode in modes) for modes in moulded.modes]


def scheduled(moulded: Moulded, order: Sequence[Sequence[Mode]]) -> Gangs:
    """A mode and a start for each job in turn: of its modes in `order` the one that can end first.

    A feasible plan's modes, in the order of their starts, start no later than there.
    """
    room = np.array(moulded.layout.capacity, dtype=np.int64).reshape(-1)
    chosen: list[tuple[Mode, int]] = []
    start, end = np.zeros((2, 0), dtype=np.int64)
    held = np.zeros((0, len(room)), dtype=np.int64)
    for modes in order:
        release = np.array([moulded.release(mode) for mode in modes], dtype=np.int64)
        duration = np.array([mode.duration for mode in modes], dtype=np.int64)
        hold = np.array([_hold(mode, len(room)) for mode in modes], dtype=np.int64)
        best: tuple[int, int, int] | None = None
        # What cannot start at its release has to wait until another gang ends.
        for since in [0, *sorted(end.tolist())]:
            at = np.maximum(release, since)
            fits = _fits(at, at + duration, hold, (start, end, held), room)
            ended = np.where(fits, at + duration, np.iinfo(np.int64).max)
            if fits.any() and (best is None or ended.min() < best[0]):
                index = int(ended.argmin())
                best = int(ended[index]), index, int(at[index])
        assert best is not None  # when all others have ended, it fits
        until, index, at_last = best
        chosen.append((modes[index], at_last))
        start, end = np.append(start, at_last), np.append(end, until)
        held = np.concatenate([held, hold[index : index + 1]])
    return chosen


def _hold(mode: Mode, width: int) -> list[int]:
    return [0] * width if mode.column is None else [held for row in mode.column.hold for held in row]


def _fits(
    start: IntArray, end: IntArray, hold: IntArray, others: tuple[IntArray, IntArray, IntArray], room: IntArray
) -> IntArray:
    """Which gangs (start, end and what they hold, a row each) have room beside those that have been placed."""
    begun, ended, held = others
    there = (begun <= start[:, None]) & (start[:, None] < ended)
    # One that lasts no time holds nothing.
    fits: IntArray = (end == start) | (there @ held + hold <= room).all(axis=1)
    for time in set(begun.tolist()):
        used = held[(begun <= time) & (time < ended)].sum(axis=0)
        fits &= ~((start < time) & (time < end)) | (used + hold <= room).all(axis=1)
    return fits
