"""The least total completion time of a few gangs on a few nodes, by trying everything, with the price of a pause.

At every tick, every job that is there waits, stays where it is, or starts on any nodes with room for its tasks. Who
goes on after a pause or a move holds its nodes for `cost` ticks before it makes progress; where jobs may not move
(`moves`), on the nodes where it was. Where nodes are of several types, a job's tasks are on nodes of one, and each tick
there does as much of its work as it is fast. Written from the statement alone, in plain Python.
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


def optimum(
    nodes: tuple[int, ...],
    jobs: list[Gang],
    cost: int,
    moves: bool,
    types: tuple[int, ...] = (),
    speeds: tuple[tuple[int, ...], ...] = (),
) -> int:
    """Sum over the jobs of end - arrival; some job fits no node: an error of the caller.

    types: of each node; speeds: of each job on each type, work a tick (0: it may not run there). Without: 1 everywhere.
    """
    types, speeds = types or (0,) * len(nodes), speeds or ((1,),) * len(jobs)
    places = [
        tuple(
            place
            for place in itertools.product(range(len(nodes)), repeat=len(tasks))
            if len(kinds := {types[node] for node in place}) == 1 and speed[min(kinds)]
        )
        for (_, _, tasks), speed in zip(jobs, speeds, strict=True)
    ]

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
            left = max(0, work - speeds[job][types[place[0]]]) if ticks == 1 else work
            yield (left, ticks - 1, place, True), tuple(rest), True

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
            total += max(now, jobs[j][0]) + -(-work // max(speeds[j])) + owed - jobs[j][0]
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


def typed(rng: np.random.Generator) -> tuple[tuple[int, ...], list[Gang], int, bool, tuple[int, ...], tuple]:
    """As `drawn`, on nodes of two types; work of a tick is 6 on the faster type, 0 to 6 on the other. Three jobs.

    Whole numbers of iterations of 6, so that an iteration is a tick at 6.
    """
    nodes, jobs, cost, moves = drawn(rng)
    jobs = jobs[:3]
    types = (0, 1) if rng.random() < 0.7 else (1, 0)
    speeds = []
    for _, _, tasks in jobs:
        slow = int(rng.choice([0, 2, 3, 3, 4, 6]))
        pair = [6, slow] if rng.random() < 0.7 else [slow, 6]
        fits = [max(n for n, kind in zip(nodes, types, strict=True) if kind == m) >= sum(tasks) for m in range(2)]
        pair = [speed if able else max(speed, 2) for speed, able in zip(pair, fits, strict=True)]
        speeds.append(tuple(pair))
    scaled = [(arrival, 6 * ticks, tasks) for arrival, ticks, tasks in jobs]
    fitting = [
        any(speed[m] and n >= sum(tasks) for n, m in zip(nodes, types, strict=True))
        for (_, _, tasks), speed in zip(jobs, speeds, strict=True)
    ]
    if not all(fitting):
        return typed(rng)
    return nodes, scaled, cost, moves, types, tuple(speeds)


def typed_workload(nodes, jobs, cost, moves, types, speeds) -> Jobs:
    """The same as a workload of the iteration engine, times being stated at a speed of 6; a class for each job."""
    plain = workload(nodes, [(arrival, work // 6, tasks) for arrival, work, tasks in jobs], cost, moves)
    kinds = sorted(set(zip(plain.template.tolist(), speeds, strict=True)))
    rows = [first_end for template, _ in kinds for first_end in [plain.tasks[template]]]
    owner = np.repeat(np.arange(len(kinds)), [end - first for first, end in rows])
    old = np.concatenate([np.arange(first, end) for first, end in rows])
    eligible = [[int(speed[m] > 0) for m in types] for _, speed in kinds]
    of_tasks = {name: getattr(plain, name)[old] for name in ("duration", "estimate", "demand", "parameters")}
    return plain.replace(
        **of_tasks,
        role=np.zeros(len(old), dtype=np.int64),
        replica=np.zeros(len(old), dtype=np.int64),
        usage=np.full((len(old), 1), WHOLE),
        gang=np.ones(len(kinds), dtype=np.int64),
        accuracy_table=np.zeros(len(kinds), dtype=np.int64),
        accuracy_told=np.full(len(kinds), -1),
        loss_table=np.full(len(kinds), -1),
        task_template=owner,
        task_class=owner,
        eligible=eligible,
        template=[kinds.index(pair) for pair in zip(plain.template.tolist(), speeds, strict=True)],
        node_type=types,
        slowness=[[-(-6 * WHOLE // speed) if speed else WHOLE for speed in pair] for _, pair in kinds],
    )
