"""The judge of workers online, written only from the problem statement: it follows every possible run.

1. The first job arrives at time 0. In each ms since the last arrival (from the first ms on) the next job comes with
probability 1 / gap, until `jobs` have come; it is of type i with probability chance[i] / sum of chance.
2. A state is the present jobs, in arrival order, each with its model and its iterations left, and the number of jobs to
come. Whenever a job arrives or one is done, the policy's row of the state is carried out: each job has at least one
worker and one PS with which it can train, or neither; all fit the capacity; at least one job trains.
3. A job that trains with iterations of g ns finishes its B iterations in ceil(B g / 10^6) ms. If an event comes before,
after t ms, floor(10^6 t / g) of them are done, and the started one is lost.
4. A policy has one row for each reachable state.
5. `expected_total_jct` = expectation of the sum over the jobs of (finish - arrival), ms: a real number.

Plain loops; it does not share code with the simulated world and the solvers. Probabilities are floats.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mlsched.core.errors import InvalidInput, with_article

if TYPE_CHECKING:
    from mlsched.instances.workers.stream import Policy, Stream

#: An entry of `time` that means "cannot train" (2^53); ns in a ms.
CANNOT, NS = 9007199254740992, 1000000
#: (model, iterations left) of the present jobs; the allocation of each.
Jobs = tuple[tuple[int, int], ...]
Given = tuple[tuple[int, int], ...]
State = tuple[int, Jobs]


def violations(stream: Stream, plan: object) -> list[str]:
    """Return sentences that describe the faults of `plan`; empty if it is feasible."""
    if not isinstance(plan, stream.plan_type):
        return [f"the answer is {with_article(type(plan).__name__)}, expected {with_article(stream.plan_type.kind)}"]
    policy: Any = plan
    try:
        _expected(stream, policy)
    except InvalidInput as wrong:
        return [str(wrong)]
    return []


def evaluate(stream: Stream, plan: Policy) -> dict[str, float]:
    """Evaluate the objectives, ms, of a feasible plan."""
    try:
        return {"expected_total_jct": _expected(stream, plan)}
    except InvalidInput as wrong:
        raise InvalidInput(f"the plan cannot be evaluated: {wrong}") from None


def realised(stream: Stream, plan: Policy, arrival: list[int], kind: list[int]) -> int:
    """Sum of the jobs' times from arrival to finish, ms, when they come at these ms and are of these types."""
    rows = _rows_of_states(stream, plan)
    now, arrived, there, total = 0, 0, tuple[tuple[int, int], ...](), 0
    while arrived < len(arrival) or there:
        if arrived < len(arrival) and (not there or arrival[arrived] == now):
            now = arrival[arrived]
            there += ((int(stream.type_model[kind[arrived]]), int(stream.type_iterations[kind[arrived]])),)
            arrived += 1
            continue
        allocation = _allocation_in(stream, rows, (stream.jobs - arrived, there))
        lasts = _first_finish(stream, there, allocation)
        if arrived < len(arrival):
            lasts = min(lasts, arrival[arrived] - now)
        total += lasts * len(there)
        now, there = now + lasts, _remaining_after(stream, there, allocation, lasts)
    return total


def _rows_of_states(stream: Stream, plan: Policy) -> dict[State, Given]:
    """Return the allocation of the jobs of each state."""
    rows: dict[State, Given] = {}
    for k in range(len(plan.coming)):
        slots = [s for s in range(plan.model.shape[1]) if int(plan.remaining[k, s]) > 0]
        jobs = tuple((int(plan.model[k, s]), int(plan.remaining[k, s])) for s in slots)
        state = (int(plan.coming[k]), jobs)
        if state in rows:
            raise InvalidInput(f"row {k} is of a state that has a row already: {_text_of_state(state)}")
        rows[state] = tuple((int(plan.workers[k, s]), int(plan.ps[k, s])) for s in slots)
    return rows


def _text_of_state(state: State) -> str:
    coming, jobs = state
    there = ", ".join(f"model {m} with {b} iterations" for m, b in jobs)
    return f"{there}; {coming} to come"


def _allocation_in(stream: Stream, rows: dict[State, Given], state: State) -> Given:
    """Return the policy's allocation in a state; InvalidInput if it is missing or not allowed."""
    if state not in rows:
        raise InvalidInput(f"a row is missing for {_text_of_state(state)}")
    allocation, jobs = rows[state], state[1]
    _, most_workers, most_ps = stream.time.shape
    for (m, _), (w, p) in zip(jobs, allocation, strict=True):
        if (w == 0) != (p == 0):
            raise InvalidInput(f"{_text_of_state(state)}: a job has {w} workers and {p} PSs, expected both, or neither")
        if w > most_workers or p > most_ps or (w and int(stream.time[m, w - 1, p - 1]) == CANNOT):
            raise InvalidInput(f"{_text_of_state(state)}: a job of model {m} cannot train with {w} workers and {p} PSs")
    for r, resource in enumerate(stream.resources):
        need = 0
        for (m, _), (w, p) in zip(jobs, allocation, strict=True):
            need += w * int(stream.worker_demand[m, r]) + p * int(stream.ps_demand[m, r])
        if need > int(stream.capacity[r]):
            raise InvalidInput(
                f"{_text_of_state(state)}: the jobs need {need} {resource}: there are {int(stream.capacity[r])}"
            )
    if not any(w for w, _ in allocation):
        raise InvalidInput(f"{_text_of_state(state)}: all jobs wait, expected one that trains")
    return allocation


def _first_finish(stream: Stream, jobs: Jobs, given: Given) -> int:
    """Return after how many ms the first of the jobs is done, by rule 3."""
    times = [int(stream.time[m, w - 1, p - 1]) * b for (m, b), (w, p) in zip(jobs, given, strict=True) if w]
    return min(-(-time // NS) for time in times)


def _remaining_after(stream: Stream, jobs: Jobs, given: Given, ms: int) -> Jobs:
    """Return the remaining jobs if an event comes after `ms`, by rule 3."""
    remaining = []
    for (m, b), (w, p) in zip(jobs, given, strict=True):
        iterations = 0
        if w:
            iterations = ms * NS // int(stream.time[m, w - 1, p - 1])
        if iterations < b:
            remaining.append((m, b - iterations))
    return tuple(remaining)


def _completion_times(stream: Stream, jobs: Jobs, given: Given, end: int) -> list[int]:
    """Return the ms before `end` at which some job completes another iteration; the first ms among them."""
    times = {1}
    for (m, b), (w, p) in zip(jobs, given, strict=True):
        if w:
            g = int(stream.time[m, w - 1, p - 1])
            times |= {-(-k * g // NS) for k in range(1, b)}
    return sorted(t for t in times if 1 <= t < end)


def _expected(stream: Stream, plan: Policy) -> float:
    """Compute rule 5 over the reachable states; states with most future jobs and work come last."""
    rows, value = _rows_of_states(stream, plan), dict[State, float]()
    total = sum(int(c) for c in stream.chance)
    kinds = [
        ((int(m), int(b)), int(c) / total)
        for m, b, c in zip(stream.type_model, stream.type_iterations, stream.chance, strict=True)
    ]

    def arrival(coming: int, jobs: Jobs) -> float:
        return math.fsum(chance * worth((coming - 1, (*jobs, kind))) for kind, chance in kinds)

    def worth(state: State) -> float:
        coming, jobs = state
        if not jobs:
            return arrival(coming, ()) if coming else 0.0
        if state not in value:
            value[state] = follow(coming, jobs, _allocation_in(stream, rows, state))
        return value[state]

    def follow(coming: int, jobs: Jobs, given: Given) -> float:
        end = _first_finish(stream, jobs, given)
        remaining = _remaining_after(stream, jobs, given, end)
        if not coming:
            return len(jobs) * end + worth((0, remaining))
        stay = 1 - 1 / stream.gap  # of a ms without an arrival
        parts = []
        changes = [*_completion_times(stream, jobs, given, end), end]
        for since, until in zip(changes, changes[1:], strict=False):
            probability = stay ** (since - 1) - stay ** (until - 1)
            if probability:
                parts.append(probability * arrival(coming, _remaining_after(stream, jobs, given, since)))
        alone = stay ** (end - 1)
        if alone:  # an unreachable state needs no row
            parts.append(alone / stream.gap * arrival(coming, remaining))
        if alone * stay:
            parts.append(alone * stay * worth((coming, remaining)))
        lasts = (1 - stay**end) * stream.gap  # expectation of the shorter of the gap and `end`
        return math.fsum([len(jobs) * lasts, *parts])

    return worth((stream.jobs, ())) if stream.jobs else 0.0
