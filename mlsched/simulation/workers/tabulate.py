"""Conversions between rules of the clock and policies of a stream, which answer in every reachable state.

A rule sees the simulated world, except that jobs appear to have just arrived without resources: a state of a stream
does not record their arrival. mlsched's rules use neither.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.errors import SolverError
from mlsched.core.fields import ints
from mlsched.instances.workers import NEVER, Instance, Plan, Policy, Stream, waiting_terms
from mlsched.simulation.clock import Rule, decision_rng
from mlsched.simulation.clock import run as run_clock
from mlsched.simulation.wake import Wake
from mlsched.simulation.workers.log import Log
from mlsched.simulation.workers.options import Options
from mlsched.simulation.workers.workload import MS, NS_PER_MS, Workload
from mlsched.simulation.workers.world import WorkersWorld
from mlsched.solvers.workers._events import changes, first_finish, remaining_after

State = tuple[int, tuple[tuple[int, int], ...]]


def tabulate(instance: Stream, rule: Rule, seed: int) -> Policy:
    """Tabulate `rule` in every state that a run under it can reach.

    It is called once per set of present jobs; future arrivals are invisible to it.
    """
    window = Options(**rule.options).window
    cache: dict[tuple[tuple[int, int], ...], list[tuple[int, int]]] = {}
    rows: dict[State, list[tuple[int, int]]] = {}
    stack: list[State] = [(instance.jobs, ())]
    states_seen: set[State] = set()
    while stack:
        state = stack.pop()
        if state in states_seen:
            continue
        states_seen.add(state)
        coming, jobs = state
        if jobs:
            if jobs not in cache:
                cache[jobs] = _asked(instance, rule, jobs, window, decision_rng(seed, len(cache)))
            rows[state] = cache[jobs]
            stack += _next_states(instance, state, rows[state])
        elif coming:
            stack += [(coming - 1, (new,)) for new in _type_columns(instance)]
    return _state_table(instance, rows)


def _type_columns(stream: Stream) -> list[tuple[int, int]]:
    return list(zip(stream.type_model.tolist(), stream.type_iterations.tolist(), strict=True))


def _asked(
    stream: Stream, rule: Rule, jobs: tuple[tuple[int, int], ...], window: int, rng: np.random.Generator
) -> list[tuple[int, int]]:
    """Return the rule's allocation to the jobs; those beyond its window get zero."""
    visible_jobs = jobs[: window or None]
    model, remaining = ints(m for m, _ in visible_jobs), ints(b for _, b in visible_jobs)
    never = stream.time[model] == NEVER
    cost = -(-remaining[:, None, None] * np.where(never, 1, stream.time[model]) // NS_PER_MS)
    cost = np.where(never, NEVER, cost)
    none = np.zeros(len(visible_jobs), dtype=np.int64)
    question = Instance(
        resources=stream.resources,
        models=stream.models,
        capacity=stream.capacity,
        worker_demand=stream.worker_demand[model],
        ps_demand=stream.ps_demand[model],
        cost=cost,
        waiting=waiting_terms(cost),
        remaining=remaining,
        model=model,
        current_workers=none,
        current_ps=none,
        waited=none,
        backlog=len(jobs) - len(visible_jobs),
    )
    plan: Any = rule.call(question, None, rng)[0]
    if wrong := question.violations(plan):
        raise SolverError(f"{rule.name}: infeasible plan: {wrong[0]}")
    allocation = list(zip(plan.workers.tolist(), plan.ps.tolist(), strict=True))
    if not any(w for w, _ in allocation):
        raise SolverError(f"{rule.name}: lets all {len(jobs)} jobs wait; the run is stuck until another comes")
    return allocation + [(0, 0)] * (len(jobs) - len(visible_jobs))


def _next_states(stream: Stream, state: State, allocation: list[tuple[int, int]]) -> list[State]:
    """Return the possible next states: events fall on the ms of the first finish, or on any before."""
    coming, jobs = state
    remaining = [b for _, b in jobs]
    iteration = [int(stream.time[m, w - 1, p - 1]) if w else 0 for (m, _), (w, p) in zip(jobs, allocation, strict=True)]
    end = first_finish(remaining, iteration)

    def after(ms: int) -> tuple[tuple[int, int], ...]:
        remaining_work = remaining_after(remaining, iteration, ms)
        return tuple((m, b) for (m, _), b in zip(jobs, remaining_work, strict=True) if b)

    following: list[State] = [(coming, after(end))]
    if coming:
        for ms in [*changes(remaining, iteration, end), end]:
            following += [(coming - 1, (*after(ms), new)) for new in _type_columns(stream)]
    return following


def _state_table(stream: Stream, rows: dict[State, list[tuple[int, int]]]) -> Policy:
    shape = (len(rows), max(1, stream.jobs))
    columns = {name: np.zeros(shape, dtype=np.int64) for name in ("model", "remaining", "workers", "ps")}
    columns["model"] -= 1
    for row, ((_, jobs), allocation) in enumerate(rows.items()):
        for slot, pair in enumerate(zip(jobs, allocation, strict=True)):
            (columns["model"][row, slot], columns["remaining"][row, slot]) = pair[0]
            (columns["workers"][row, slot], columns["ps"][row, slot]) = pair[1]
    return Policy(coming=ints(coming for coming, _ in rows), **columns)


def workload_of(stream: Stream, submit: list[int], kind: list[int]) -> Workload:
    """Build the workload of a stream's jobs with these submission times in ms and types."""
    return Workload(
        resources=stream.resources,
        models=stream.models,
        capacity=stream.capacity,
        worker_demand=stream.worker_demand,
        ps_demand=stream.ps_demand,
        iteration=stream.time,
        submit=ints(submit),
        model=stream.type_model[kind],
        iterations=stream.type_iterations[kind],
        source="a stream",
    )


def carried_out(stream: Stream, policy: Policy, submit: list[int], kind: list[int]) -> Log:
    """Return the log of the simulated world under a policy, for jobs with these submission times in ms and types."""
    rows: dict[State, tuple[Any, Any]] = {}
    for k, coming in enumerate(policy.coming.tolist()):
        slots = np.flatnonzero(policy.remaining[k])
        jobs = tuple(zip(policy.model[k, slots].tolist(), policy.remaining[k, slots].tolist(), strict=True))
        rows[coming, jobs] = policy.workers[k, slots], policy.ps[k, slots]
    world = WorkersWorld(workload_of(stream, submit, kind), Options())

    def look_up(instance: Any, memory: Any, rng: np.random.Generator) -> tuple[Plan, Any]:
        coming = sum(time > world.now for time in submit)
        workers, ps = rows[coming, tuple(zip(instance.model.tolist(), instance.remaining.tolist(), strict=True))]
        return Plan(workers=workers, ps=ps), memory

    run_clock(world, Rule("policy", look_up), scheduling_events=Wake.parse("events"), seed=0, unit=MS)
    return world.log
