"""Schedule from starts suggested by prices: in that order, each job at or after its own start, once nodes have room.

At its cheapest start under good prices (`bound/uninterrupted.py`) a job waits as long as waiting pays for all. Those
starts together demand a little more than the capacity. So each job waits for its own start, and from then on for room,
the one of the earliest suggested start first. Of the nodes with room it takes the one whose last end grows least. So
some nodes become empty, for jobs that need entire nodes.
"""

from __future__ import annotations

import heapq

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import FloatArray, IntArray
from mlsched.simulation.taskgraph.iterations.reference.board import Board
from mlsched.simulation.taskgraph.iterations.reference.question import Question

Schedule = tuple[IntArray, list[list[int]], Board]


def listed(asked: Question, suggested: FloatArray) -> Schedule:
    """Start jobs in the order of their suggested starts, as soon as they fit.

    Returns:
        The starts, the nodes of each job's tasks, and the board.
    """
    hold = np.maximum(np.ceil(suggested).astype(np.int64), asked.release)
    board = Board(asked, int((hold + asked.length).max(initial=0)) - int(asked.release.min(initial=0)))
    count = len(asked.release)
    start, places = np.full(count, -1), [list[int]() for _ in range(count)]
    last = np.full(len(asked.capacity), board.first)  # last end of the jobs of each node
    coming = np.argsort(hold, kind="stable")[::-1].tolist()
    holds, ranks = hold.tolist(), suggested.tolist()
    lengths, kinds = asked.length.tolist(), asked.kind.tolist()
    needs = [rows.sum(axis=0) for rows in asked.tasks]
    waiting: dict[int, list[tuple[float, int]]] = {}
    ends: list[int] = []
    while coming or waiting:
        if not coming and not ends:
            job = next(iter(waiting.values()))[0][1]
            raise InvalidInput(
                f"reference: job {job} does not fit on the empty cluster; leave it out, or enlarge the cluster"
            )
        time = min(([holds[coming[-1]]] if coming else []) + ends[:1])
        while ends and ends[0] <= time:
            heapq.heappop(ends)
        while coming and holds[coming[-1]] <= time:
            job = coming.pop()
            heapq.heappush(waiting.setdefault(kinds[job], []), (ranks[job], job))
        board.reach(time - board.first + 1)
        room = board.free[:, :, time - board.first].sum(axis=1)
        closed: set[int] = set()  # kinds without room for any job now
        while ready := [
            (queue[0], kind) for kind, queue in waiting.items() if kind not in closed and (needs[kind] <= room).all()
        ]:
            (_, job), kind = min(ready)
            nodes = board.fitting(job, time, last)
            if nodes is None:
                closed.add(kind)
                continue
            heapq.heappop(waiting[kind])
            if not waiting[kind]:
                del waiting[kind]
            start[job], places[job] = time, nodes
            board.take(job, time, nodes)
            room = room - needs[kind]
            last[nodes] = np.maximum(last[nodes], time + lengths[job])
            heapq.heappush(ends, time + lengths[job])
    return start, places, board
