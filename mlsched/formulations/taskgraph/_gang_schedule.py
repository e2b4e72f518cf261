"""List schedules of the moulded variant: gangs one after another, each as early as possible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.formulations.taskgraph._columns import Mode, Moulded

#: A mode and a start for each job.
Gangs = list[tuple[Mode, int]]
#: Objectives that depend on every time.
TIMED = ("total_jct", "makespan")


def list_schedules(moulded: Moulded) -> list[Gangs]:
    """Return two list schedules: jobs in order of arrival, and in order of their earliest possible ends."""
    jobs, earliest = range(len(moulded.modes)), _earliest_ends(moulded)
    by_arrival = sorted(jobs, key=lambda j: (moulded.layout.arrival[j], earliest[j]))
    by_end = sorted(jobs, key=lambda j: earliest[j])
    return [scheduled(moulded, [moulded.modes[j] for j in order]) for order in (by_arrival, by_end)]


def latest_ends(moulded: Moulded, objectives: Sequence[str], known: Sequence[Gangs]) -> list[int]:
    """Return latest ends of the jobs in some best plan, or in all plans at least as good as `known`."""
    jobs = len(moulded.modes)
    if len(objectives) != 1 or objectives[0] not in TIMED:
        return [moulded.end] * jobs
    ends = [[start + mode.duration for mode, start in plan] for plan in known]
    if objectives[0] == "makespan":
        return [min(max(of, default=0) for of in ends)] * jobs
    earliest = _earliest_ends(moulded)
    # total_jct: the minimum needs of all others are not available to a job.
    spare = min(map(sum, ends)) - sum(earliest)
    return [end + spare for end in earliest]


def _earliest_ends(moulded: Moulded) -> list[int]:
    return [min(moulded.release(mode) + mode.duration for mode in modes) for modes in moulded.modes]


def scheduled(moulded: Moulded, order: Sequence[Sequence[Mode]]) -> Gangs:
    """Choose for each job in turn the mode of `order` that can end first, and its start.

    Given the modes of a feasible plan, in the order of their starts, jobs start at the plan's times or earlier.
    """
    room = np.array(moulded.layout.capacity, dtype=np.int64).reshape(-1)
    selection: list[tuple[Mode, int]] = []
    start, end = np.zeros((2, 0), dtype=np.int64)
    usage = np.zeros((0, len(room)), dtype=np.int64)
    for modes in order:
        release = np.array([moulded.release(mode) for mode in modes], dtype=np.int64)
        duration = np.array([mode.duration for mode in modes], dtype=np.int64)
        hold = np.array([_reserved_amounts(mode, len(room)) for mode in modes], dtype=np.int64)
        best: tuple[int, int, int] | None = None
        # A gang that cannot start at its release has to wait until another gang ends.
        for since in [0, *sorted(end.tolist())]:
            at = np.maximum(release, since)
            fits = _fits_beside(at, at + duration, hold, (start, end, usage), room)
            end_literals = np.where(fits, at + duration, np.iinfo(np.int64).max)
            if fits.any() and (best is None or end_literals.min() < best[0]):
                index = int(end_literals.argmin())
                best = int(end_literals[index]), index, int(at[index])
        assert best is not None  # after all others have ended, it fits
        until, index, at_last = best
        selection.append((modes[index], at_last))
        start, end = np.append(start, at_last), np.append(end, until)
        usage = np.concatenate([usage, hold[index : index + 1]])
    return selection


def _reserved_amounts(mode: Mode, width: int) -> list[int]:
    return [0] * width if mode.column is None else [usage for row in mode.column.hold for usage in row]


def _fits_beside(
    start: IntArray, end: IntArray, hold: IntArray, others: tuple[IntArray, IntArray, IntArray], room: IntArray
) -> IntArray:
    """Return which gangs (start, end and reserved amounts, one row each) have room beside the placed gangs."""
    opened, end_literals, usage = others
    there = (opened <= start[:, None]) & (start[:, None] < end_literals)
    # A gang without duration needs no room.
    fits: IntArray = (end == start) | (there @ usage + hold <= room).all(axis=1)
    for time in set(opened.tolist()):
        use = usage[(opened <= time) & (time < end_literals)].sum(axis=0)
        fits &= ~((start < time) & (time < end)) | (use + hold <= room).all(axis=1)
    return fits
