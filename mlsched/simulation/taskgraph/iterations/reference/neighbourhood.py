"""Large neighbourhood search of a schedule without pauses: a few neighbouring jobs are removed and reinserted.

A move removes a waiting job and some others that run on a few nodes at about its earliest start. All of them return in
a random order, the short ones mostly first, each as early as it fits. The move is kept if the weighted sum of
completion times does not rise; so the schedule wanders among equals and never gets worse. (Large neighbourhood search:
Shaw, CP 1998.)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mlsched.core.fields import IntArray
from mlsched.simulation.taskgraph.iterations.reference.board import Board
from mlsched.simulation.taskgraph.iterations.reference.listed import Schedule

#: Most removed jobs of a move, and number of nodes on which the others are searched.
MOST_JOBS, MOST_NODES = 12, 4


def improved(
    schedule: Schedule, moves: int, seed: int, progress: Callable[[int, int], bool] | None = None
) -> tuple[Schedule, int]:
    """Return a schedule that is at least as good after `moves` moves, and the number of moves made.

    `progress(moves, value)` is called every hundred moves; the search ends if it returns True.
    """
    start, places, board = schedule
    problem, rng = board.asked, np.random.default_rng([seed, len(schedule[0])])
    value = problem.value(start)
    length, weight, release = problem.length, problem.weight, problem.release
    node_of = np.array([place[0] for place in places])  # a node of each job, by which neighbours are found
    for number in range(moves):
        if number % 100 == 0:
            if progress is not None and progress(number, value):
                return (start, places, board), number
            waits = weight * (start - release)
            waiting = np.flatnonzero(waits)
            if not waiting.size:
                return (start, places, board), number
            share = waits[waiting] / waits[waiting].sum()
        first = int(rng.choice(waiting, p=share)) if rng.random() < 0.7 else int(rng.choice(waiting))
        leaving = _neighbouring_jobs(first, start, length, node_of, release, rng)
        before = [(int(start[job]), places[job]) for job in leaving]
        for job, (time, nodes) in zip(leaving, before, strict=True):
            board.take(job, time, nodes, 1)
        most = int((weight[leaving] * (start[leaving] - release[leaving])).sum())
        placed_jobs = _reinsert_jobs(leaving, board, release, weight, length, most, rng)
        if placed_jobs is None:
            for job, (time, nodes) in zip(leaving, before, strict=True):
                board.take(job, time, nodes)
            continue
        for job, (time, nodes) in placed_jobs.items():
            value += int(weight[job]) * (time - int(start[job]))
            start[job], places[job], node_of[job] = time, nodes, nodes[0]
    return (start, places, board), moves


def _neighbouring_jobs(
    first: int, start: IntArray, length: IntArray, node_of: IntArray, release: IntArray, rng: np.random.Generator
) -> list[int]:
    """Return jobs to remove with a waiting one: some that run during its wait, on a few nodes.

    Args:
        first: The waiting job.
        start, length, release: Times of each job.
        node_of: A node of each job.
        rng: Random stream.
    """
    early, late = int(release[first]), int(start[first] + length[first])
    overlap = np.flatnonzero((start < late) & (start + length > early))
    used_values = np.unique(node_of[overlap])
    nodes = rng.choice(used_values, min(MOST_NODES, len(used_values)), replace=False)
    among = overlap[np.isin(node_of[overlap], np.append(nodes, node_of[first])) & (overlap != first)]
    many = min(int(rng.integers(1, MOST_JOBS)), len(among))
    return [first, *rng.choice(among, many, replace=False).tolist()] if many else [first]


def _reinsert_jobs(
    leaving: list[int],
    board: Board,
    release: IntArray,
    weight: IntArray,
    length: IntArray,
    most: int,
    rng: np.random.Generator,
) -> dict[int, tuple[int, list[int]]] | None:
    """Return new starts and nodes of the jobs with a total of at most `most`; None (with all off the board) otherwise.

    Args:
        leaving: Removed jobs.
        board: Board without them.
        release, weight, length: Data of each job.
        most: Largest weighted sum.
        rng: Random stream.
    """

    rank = (length[leaving] / weight[leaving]) ** rng.choice([0.3, 1.0]) * np.exp(rng.normal(0, 0.7, len(leaving)))
    order = np.argsort(rank, kind="stable")
    placed_jobs: dict[int, tuple[int, list[int]]] = {}
    cost = 0
    for job in (leaving[k] for k in order):
        w = int(weight[job])
        until = int(release[job]) + (most - cost) // w + 1
        until = min(until, board.first + board.ticks - int(length[job]))
        time = board.soonest(job, int(release[job]), until)
        nodes_found = board.fitting(job, time) if time < until else None
        if nodes_found is None:
            for back, (when, nodes) in placed_jobs.items():
                board.take(back, when, nodes, 1)
            return None
        cost += w * (time - int(release[job]))
        placed_jobs[job] = (time, nodes_found)
        board.take(job, time, nodes_found)
    return placed_jobs
