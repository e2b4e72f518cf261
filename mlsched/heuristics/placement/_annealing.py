"""Greedy placement and a simulated-annealing local search over placements.

Servers are evaluated one by one. The slowdowns of a server's jobs depend only on its own tasks, so they are cached by
the set of tasks. A move touches two servers. The search is deterministic unless a time limit is given: the number of
moves is fixed, not the time.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from mlsched.instances.placement import Instance, Plan

#: First temperature as a share of the mean speed of a job; last temperature as a share of the first.
HOT, COLD = 0.03, 0.01

Hosted = tuple[tuple[int, int, int], ...]  # (job, workers, PSs), ascending


class State:
    """A placement under change: the new tasks and the free capacity of each server, and the speed of every job.

    Attributes:
        empty, free: Free capacity of each server without new jobs, and now.
        demand: Demand of a worker and of a PS of each new job.
        whole: Workers and PSs of each new job.
        running, hosts: Parts of running jobs, and of new jobs, on each server.
        group: Class of each server by its running jobs; servers of a class share cached slowdowns.
        slow: job -> slowdown, for each server.
        on: Servers with a part of each concurrent job; running jobs come first.
    """

    def __init__(self, instance: Instance, pace: Any) -> None:
        self.instance, self.pace = instance, pace
        self.servers = range(len(instance.server_free))
        self.jobs = range(len(instance.job_type))
        self.empty: list[list[int]] = instance.server_free.tolist()
        self.free = [row.copy() for row in self.empty]
        self.demand = [instance.worker_demand.tolist(), instance.ps_demand.tolist()]
        self.nothing = [0] * len(instance.resources)
        self.whole = list(zip(instance.job_workers.tolist(), instance.job_ps.tolist(), strict=True))
        self.speed: list[int] = pace.speed.tolist()
        run = [
            tuple(
                (i, int(w[s]), int(p[s]))
                for i, (w, p) in enumerate(zip(instance.run_workers, instance.run_ps, strict=True))
                if w[s] + p[s]
            )
            for s in self.servers
        ]
        classes: dict[Any, int] = {}
        self.group = [classes.setdefault(key, len(classes)) for key in run]
        self.running: list[Hosted] = run
        self.cache: dict[Any, dict[int, int]] = {}
        self.hosts: list[Hosted] = [() for _ in self.servers]
        self.slow = [self.slowdowns(s, ()) for s in self.servers]
        self.on: list[set[int]] = [set() for _ in range(len(self.speed))]
        for s in self.servers:
            for i in self.slow[s]:
                self.on[i].add(s)
        #: Speed of every job in the current placement.
        self.value = [self.value_of(job, {}) for job in range(len(self.speed))]
        most = max(0, min(instance.most_new, instance.most_jobs - pace.running))
        #: Upper bound on the value of a plan: running jobs keep their speed, and the fastest new jobs are
        #: undisturbed.
        self.ceiling = sum(self.value[: pace.running])
        self.ceiling += sum(sorted(self.speed[pace.running :], reverse=True)[:most])
        self.apart = instance.apart[np.ix_(pace.kind, pace.kind)].astype(bool).tolist()

    def slowdowns(self, server: int, hosted: Hosted) -> dict[int, int]:
        """Return the slowdown of every job on `server` if it hosted `hosted` beside its running jobs."""
        key = (self.group[server], hosted)
        cached = self.cache.get(key)
        if cached is None:
            w, p = np.zeros((2, 1, len(self.speed)), dtype=np.int64)
            new = [(job + self.pace.running, a, b) for job, a, b in hosted]
            for job, a, b in (*self.running[server], *new):
                w[0, job], p[0, job] = a, b
            row = self.pace.at_server(w, p)[0].tolist()
            cached = self.cache[key] = {job: s for job, s in enumerate(row) if s}
        return cached

    def value_of(self, job: int, changed: dict[int, dict[int, int]]) -> int:
        """Return the speed of a concurrent `job` if the slowdowns of servers were `changed`."""
        worst = 0
        for s in self.on[job]:
            if s not in changed:
                slow = self.slow[s][job]
                if slow > worst:
                    worst = slow
        for slowdowns in changed.values():
            slow = slowdowns.get(job, 0)
            if slow > worst:
                worst = slow
        return self.speed[job] * 1000 // worst if worst else 0

    def gain(self, change: dict[int, Hosted]) -> tuple[int, dict[int, dict[int, int]]]:
        """Return the change of total_speed if servers hosted other tasks, and their new slowdowns."""
        changed = {s: self.slowdowns(s, hosted) for s, hosted in change.items()}
        gain = 0
        for job in self.touched(changed):
            gain += self.value_of(job, changed) - self.value[job]
        return gain, changed

    def touched(self, changed: dict[int, dict[int, int]]) -> set[int]:
        """Return the jobs on the servers whose slowdowns change, before or after."""
        jobs: set[int] = set()
        for s, slowdowns in changed.items():
            jobs.update(self.slow[s], slowdowns)
        return jobs

    def apply(self, change: dict[int, Hosted], changed: dict[int, dict[int, int]]) -> None:
        """Apply a change to the placement."""
        affected = self.touched(changed)
        for s, hosted in change.items():
            for job in self.slow[s]:
                self.on[job].discard(s)
            self.hosts[s], self.slow[s] = hosted, changed[s]
            for job in changed[s]:
                self.on[job].add(s)
            free = self.empty[s].copy()
            for job, w, p in hosted:
                for r, (a, b) in enumerate(zip(self.demand[0][job], self.demand[1][job], strict=True)):
                    free[r] -= w * a + p * b
            self.free[s] = free
        for job in affected:
            self.value[job] = self.value_of(job, {})

    def fits(self, job: int, kind: int, server: int, without: tuple[int, int] | None = None) -> bool:
        """Return if `server` has room for a task (worker 0, PS 1) of `job`, after the task `without` has left it."""
        back = self.nothing if without is None else self.demand[without[1]][without[0]]
        for free, need, release in zip(self.free[server], self.demand[kind][job], back, strict=True):
            if free + release < need:
                return False
        here = job + self.pace.running
        leaving = -1 if without is None else without[0] + self.pace.running
        mine = self.apart[here]
        if not any(mine):
            return True
        return not any(mine[o] for o in self.slow[server] if o != here and o != leaving)

    def placed(self) -> int:
        """Count the new jobs that are placed."""
        return sum(1 for job in self.on[self.pace.running :] if job)

    def plan(self) -> Plan:
        """Return the placement as a plan."""
        table = np.zeros((2, len(self.jobs), len(self.servers)), dtype=np.int64)
        for s in self.servers:
            for job, w, p in self.hosts[s]:
                table[:, job, s] = w, p
        return Plan(workers=table[0], ps=table[1])


def with_task(hosted: Hosted, job: int, kind: int, amount: int) -> Hosted:
    """Return `hosted` with `amount` (1 or -1) more tasks of a kind of `job`."""
    more, behind = (0, amount) if kind else (amount, 0)
    for at, (j, w, p) in enumerate(hosted):
        if j == job:
            rest = ((job, w + more, p + behind),) if w + p + amount else ()
            return (*hosted[:at], *rest, *hosted[at + 1 :])
        if j > job:
            return (*hosted[:at], (job, more, behind), *hosted[at:])
    return (*hosted, (job, more, behind))


def insert(state: State, job: int, rng: np.random.Generator, temperature: float) -> bool:
    """Place a waiting job task by task on the servers that reduce total_speed least; undo all if one does not fit."""
    before = list(state.hosts)
    workers, ps = state.whole[job]
    order = [0, 1] * min(workers, ps) + [0] * (workers - ps) + [1] * (ps - workers)
    for kind in order:
        best: tuple[float, int] | None = None
        for s in state.servers:
            if state.fits(job, kind, s):
                change = {s: with_task(state.hosts[s], job, kind, 1)}
                value = state.gain(change)[0] + temperature * float(rng.random())
                if best is None or value > best[0]:
                    best = value, s
        if best is None:
            restore(state, before)
            return False
        change = {best[1]: with_task(state.hosts[best[1]], job, kind, 1)}
        state.apply(change, state.gain(change)[1])
    return True


def restore(state: State, before: list[Hosted]) -> None:
    """Restore the tasks of every server."""
    change = {s: hosted for s, hosted in enumerate(before) if hosted != state.hosts[s]}
    state.apply(change, {s: state.slowdowns(s, hosted) for s, hosted in change.items()})


def anneal(state: State, rng: np.random.Generator, moves: int, seconds: float | None = None) -> Plan:
    """Return the best plan of `moves` random moves: relocate a task, swap two tasks, or reinsert a job.

    seconds: time limit; the temperature falls fast enough to finish within it. The search also ends when a plan
    reaches the upper bound.
    """
    start_time = time.perf_counter()
    instance = state.instance
    most = min(instance.most_new, instance.most_jobs - state.pace.running)
    current = sum(state.value)
    best_value, best = current, state.plan()
    if not state.jobs or most <= 0 or best_value >= state.ceiling:
        return best
    mean = max(1.0, float(instance.job_speed.mean()))
    for move in range(moves):
        share = move / moves
        if seconds is not None:
            share = max(share, (time.perf_counter() - start_time) / max(seconds, 1e-9))
            if share >= 1:
                break
        temperature = mean * HOT * COLD**share
        change: dict[int, Hosted] | None = None
        kind_of_move = rng.random()
        if kind_of_move < 0.04:
            current = _reinsert_jobs(state, rng, temperature, current, most)
        else:
            change = _propose_relocation(state, rng) if kind_of_move < 0.5 else _propose_swap(state, rng)
        if change:
            gain, changed = state.gain(change)
            if gain >= 0 or rng.random() < math.exp(gain / temperature):
                state.apply(change, changed)
                current += gain
        if current > best_value:
            best_value, best = current, state.plan()
            if best_value >= state.ceiling:
                break
    return best


def _random_task(state: State, rng: np.random.Generator) -> tuple[int, int, int] | None:
    """Draw a task of a random placed job, as (server, job, kind)."""
    job = int(rng.random() * len(state.jobs))
    hosts = sorted(state.on[job + state.pace.running])
    if not hosts:
        return None
    s = hosts[int(rng.random() * len(hosts))]
    for j, w, p in state.hosts[s]:
        if j == job:
            return s, job, (0 if rng.random() * (w + p) < w else 1)
    raise AssertionError("a server hosts the jobs of `on`")


def _propose_relocation(state: State, rng: np.random.Generator) -> dict[int, Hosted] | None:
    task = _random_task(state, rng)
    if task is None:
        return None
    s, job, kind = task
    target = int(rng.random() * len(state.servers))
    if target == s or not state.fits(job, kind, target):
        return None
    return {s: with_task(state.hosts[s], job, kind, -1), target: with_task(state.hosts[target], job, kind, 1)}


def _propose_swap(state: State, rng: np.random.Generator) -> dict[int, Hosted] | None:
    one, other = _random_task(state, rng), _random_task(state, rng)
    if one is None or other is None or one[0] == other[0] or one[1:] == other[1:]:
        return None
    (s, job, kind), (t, mate, its) = one, other
    there, here = with_task(state.hosts[t], mate, its, -1), with_task(state.hosts[s], job, kind, -1)
    # A task of the other job that stays on the server still counts if the types must be apart.
    stays = state.apart[job + state.pace.running][mate + state.pace.running] and (
        any(j == mate for j, _, _ in there) or any(j == job for j, _, _ in here)
    )
    if stays or not state.fits(job, kind, t, (mate, its)) or not state.fits(mate, its, s, (job, kind)):
        return None
    return {s: with_task(here, mate, its, 1), t: with_task(there, job, kind, 1)}


def _reinsert_jobs(state: State, rng: np.random.Generator, temperature: float, current: int, most: int) -> int:
    """Remove a random job (if placed) and insert random waiting jobs; accept the result as annealing accepts moves.

    Args:
        state: Placement, changed in place.
        rng: Source of randomness.
        temperature: Temperature of the annealing.
        current: Value of the state.
        most: Largest number of placed new jobs.

    Returns:
        The value of the new state.
    """
    before = list(state.hosts)
    job = int(rng.random() * len(state.jobs))
    if state.on[job + state.pace.running]:
        change = {s: tuple(h for h in state.hosts[s] if h[0] != job) for s in state.on[job + state.pace.running]}
        state.apply(change, {s: state.slowdowns(s, hosted) for s, hosted in change.items()})
    waiting = [j for j in state.jobs if not state.on[j + state.pace.running]]
    for j in rng.permutation(waiting).tolist():
        if state.placed() < most:
            insert(state, int(j), rng, 3 * temperature)
    value = sum(state.value)
    if value >= current or rng.random() < math.exp((value - current) / temperature):
        return value
    restore(state, before)
    return current


def greedy(state: State, rng: np.random.Generator) -> None:
    """Insert the jobs by isolated speed; keep a job only if total_speed does not fall."""
    instance = state.instance
    most = min(instance.most_new, instance.most_jobs - state.pace.running)
    for job in np.argsort(-instance.job_speed, kind="stable").tolist():
        before, value = list(state.hosts), sum(state.value)
        inside = state.placed() < most and insert(state, job, rng, 0.0)
        if inside and sum(state.value) < value:
            restore(state, before)
