"""Schedule without pauses for a complete log: lists by several sets of prices, and a search from the best one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from mlsched.simulation.bound import uninterrupted
from mlsched.simulation.bound.completion import Effort, climbed
from mlsched.simulation.bound.parts import earliest_end
from mlsched.simulation.bound.pieces import Pieces
from mlsched.simulation.bound.prices import Ways
from mlsched.simulation.taskgraph.iterations.reference.board import Board
from mlsched.simulation.taskgraph.iterations.reference.listed import Schedule, listed
from mlsched.simulation.taskgraph.iterations.reference.neighbourhood import improved
from mlsched.simulation.taskgraph.iterations.reference.question import Question

#: Shares of the cluster for which prices are computed: the rest is lost between jobs that do not fit each other. Fixed
#: on Philly (400 and 600 GPUs; 2,000 jobs on 256, 320 and 400).
SHARES = (1.0, 0.97, 0.95, 0.92, 0.9, 0.87)
#: Effort of prices that only suggest starts.
SUGGESTED = Effort(4, 50, 0, 200_000_000)
Told = Callable[[str, int, int], bool]  # (stage, moves made, value) -> whether to stop now


def first_schedule(asked: Question, pieces: Pieces, told: Told) -> Schedule:
    """Return the best list schedule over all `SHARES` of the capacity, or over the first ones until `told` stops.

    Jobs are listed by their cheapest starts at the prices of the reduced capacity.
    """
    best: tuple[int, Schedule] | None = None
    for share in SHARES:
        narrow = dataclasses.replace(pieces, capacity=np.maximum((pieces.capacity * share).astype(np.int64), 1))
        climb = climbed(narrow, earliest_end(pieces), pausing=False, effort=SUGGESTED)
        suggested = asked.release.astype(np.float64)
        if climb is not None:
            assert isinstance(climb.ways, Ways), "references are refused where nodes are of several types"
            rows = np.flatnonzero((pieces.length > 0) & (pieces.weight > 0))
            suggested[rows] = uninterrupted.cheapest(climb.ways, climb.prices)[1]
        schedule = listed(asked, suggested)
        value = asked.value(schedule[0])
        if best is None or value < best[0]:
            best = value, schedule
        if told(f"list for {100 * share:.0f} % of the cluster", 0, best[0]) or climb is None:
            break
    assert best is not None, "SHARES has an entry"
    return best[1]


def search(schedule: Schedule, moves: int, seed: int, told: Told) -> tuple[Schedule, int]:
    """Return a schedule that is at least as good, and the number of moves made."""
    return improved(schedule, moves, seed, lambda workload, value: told("neighbourhood", workload, value))


def on_board(asked: Question, start: list[int], places: list[list[int]]) -> Schedule:
    """Return a stored schedule (start and nodes of each job) in the form for a search."""
    ticks = int((np.array(start) + asked.length).max(initial=0)) - int(asked.release.min(initial=0))
    board = Board(asked, ticks + int(asked.length.max(initial=1)))
    for job, time in enumerate(start):
        board.take(job, time, places[job])
    return np.array(start, dtype=np.int64), places, board
