"""The least total completion time of a few gangs on a few nodes, by trying everything, with the price of a pause.

At every tick, every job that is there waits, stays where it is, or starts on any nodes with room for its tasks. Who
goes on after a pause or a move holds its nodes for `cost` ticks before it makes progress; where jobs may not move
(`moves`), on the nodes where it was. Written from the statement alone, in plain Python.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

import numpy as np
from jobs_examples import jobs_of

from mlsched.simulation.taskgraph.iterations.workload import WHOLE, Jobs

#: (arrival, ticks of work, GPUs of each task) of a job.
Gang = tuple[int, int, tuple[int, ...]]
#: Ticks of work that remain, those until it has next made progress (0: it just has), the nodes of its tasks now or last
#: (() before it starts), whether it runs.
State = tuple[int, int, tuple[int, ...], bool]

#: Where a job was that may go on anywhere.
ANYWHERE = (-1,)
SHAPES = ((1,), (2,), (2,), (2,), (2,), (3,), (1, 1), (2, 2))


def optimum(nodes: tuple[int, ...], jobs: list[Gang], cost: int, moves: bool) -> int:
    """Sum over the jobs of end - arrival; some job fits no node: an error of the caller."""
    places = [tuple(itertools.product(range(len(nodes)), repeat=len(tasks))) for _, _, tasks in jobs]

    def after(job: int, state: State, free: tuple[int, ...]) -> Iterator[tuple[State, tuple[int, ...], bool]]:
        """What may become of a job in a tick: its state then, what is left of the nodes, and whether it runs."""
        work, until, last, runs = state
        if not (runs and until):  # who leaves before it made progress could as well have waited
            yield (work, 0, last and (ANYWHERE if moves else last), False), free, False
        own = runs or (last and not moves)
        for place in [last] if own and (until or not moves) else places[job]:
            rest = list(free)
            for node, gpus in zip(place, jobs[job][2], strict=True):
                rest[node] -= gpus
            if min(rest) < 0:
                continue
            ticks = max(until, 1) if runs and place == last else cost + 1 if last else 1
            yield (work - (ticks == 1), ticks - 1, place, True), tuple(rest), True

    def rounds(here: list[int], states: tuple[State, ...], free: tuple[int, ...], any_runs: bool) -> Iterator[tuple]:
        if not here:
            if any_runs:
                yield states
            return
        for state, rest, runs in after(here[0], states[here[0]], free):
            changed = (*states[: here[0]], state, *states[here[0] + 1 :])
            yield from rounds(here[1:], changed, rest, any_runs or runs)

    def alone(now: int, states: tuple[State, ...], those: list[int]) -> int:
        """What these jobs' completion times come to if none waits any more."""
        total = 0
        for j in those:
            work, until, last, runs = states[j]
            owed = (max(until - 1, 0) if runs else cost if last else 0) if work else 0
            total += max(now, jobs[j][0]) + work + owed - jobs[j][0]
        return total

    @functools.cache
    def best(now: int, states: tuple[State, ...]) -> int:
        open_jobs = [j for j, state in enumerate(states) if state[0]]
        if not open_jobs:
            return 0
        here = [j for j in open_jobs if jobs[j][0] <= now]
        later = [jobs[j][0] for j in open_jobs if jobs[j][0] > now]
        if not here:
            return best(min(later), states)
        least = 10**9
        # It can pay to wait for a job that is to come; where none is, somebody runs.
        coming = dict.fromkeys(rounds(here, states, nodes, bool(later)))
        for quickest, changed in sorted((alone(now + 1, changed, open_jobs), changed) for changed in coming):
            if quickest >= least:
                break
            ended = sum(now + 1 - jobs[j][0] for j in here if not changed[j][0])
            least = min(least, ended + best(now + 1, changed))
        return least

    return best(0, tuple((ticks, 0, (), False) for _, ticks, _ in jobs))


def drawn(rng: np.random.Generator) -> tuple[tuple[int, ...], list[Gang], int, bool]:
    """Nodes, jobs (each fits the empty cluster), the price of a pause in ticks, and whether jobs may move."""
    nodes = tuple(int(n) for n in rng.choice([[2, 2], [3, 2], [3, 3], [3, 3]]))
    fitting = [tasks for tasks in SHAPES if max(tasks) <= max(nodes)]  # of two tasks, each fits the smaller node
    jobs = [
        (int(rng.integers(0, 4)), int(rng.choice([1, 1, 2, 4])), fitting[int(rng.integers(len(fitting)))])
        for _ in range(int(rng.choice([3, 4, 4])))
    ]
    jobs.sort(key=lambda job: job[0])
    first = jobs[0][0]
    jobs = [(arrival - first, ticks, tasks) for arrival, ticks, tasks in jobs]
    return nodes, jobs, int(rng.choice([0, 1, 1, 2])), bool(rng.random() < 0.7)


def workload(nodes: tuple[int, ...], jobs: list[Gang], cost: int, moves: bool) -> Jobs:
    """The same as a workload of the iteration engine: an iteration is a tick."""
    kinds = sorted({tasks for _, _, tasks in jobs})
    return jobs_of(
        [[(1, gpus) for gpus in tasks] for tasks in kinds],
        [(arrival, kinds.index(tasks), ticks) for arrival, ticks, tasks in jobs],
        nodes=[(n,) for n in nodes],
        tick_ms=1000,
        pause_cost=[cost * WHOLE] * len(jobs),
        movement="anytime" if moves else "none",
    )
