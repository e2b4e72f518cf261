"""Workers online by enumeration: every policy, each judged completely."""

from __future__ import annotations

import itertools

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.errors import TooLarge
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.registry import exact_algorithm
from mlsched.instances.workers import NEVER, Policy, Stream

#: Limit on judged policies: about 5 s.
MOST_POLICIES = 10_000
State = tuple[int, tuple[tuple[int, int], ...]]


@exact_algorithm("every-policy", problem="workers", objectives=("expected_total_jct",), called="policy")
def answer(instance: Stream, *, objective: str, limits: Limits, hint: Policy | None = None) -> Outcome:
    """Judge every policy on every state that any policy may come to; for two jobs of one or two iterations."""
    states = _possible_states(instance)
    choices = [_joint_allocations(instance, state) for state in states]
    policies = 1
    for allocation in choices:
        policies *= len(allocation)
    if policies > MOST_POLICIES:
        raise TooLarge(f"every-policy: there are more than {MOST_POLICIES} policies; use backward-induction")
    deadline, best, plan = Deadline(limits.seconds), float("inf"), None
    for allocations in deadline.over(itertools.product(*choices)):
        policy = _policy_of_choices(instance, states, allocations)
        value = instance.evaluate(policy)["expected_total_jct"]
        if value < best:
            best, plan = value, policy
    return Outcome("optimal", plan, best, work={"policies": policies})


def _possible_states(stream: Stream) -> list[State]:
    """Return every state: any jobs of the types, in any order, any remaining iterations, and any future jobs."""
    types = zip(stream.type_model.tolist(), stream.type_iterations.tolist(), strict=True)
    single = sorted({(m, b) for m, iterations in types for b in range(1, iterations + 1)})
    result: list[State] = []
    for size in range(1, stream.jobs + 1):
        result += [(c, jobs) for jobs in itertools.product(single, repeat=size) for c in range(stream.jobs - size + 1)]
    return result


def _joint_allocations(stream: Stream, state: State) -> list[tuple[tuple[int, int], ...]]:
    """Return the allocations of the jobs in a state, without regard to capacity."""
    _, workers, ps = stream.time.shape
    own = []
    for m, _ in state[1]:
        pairs = itertools.product(range(1, workers + 1), range(1, ps + 1))
        own.append([(0, 0), *((w, p) for w, p in pairs if int(stream.time[m, w - 1, p - 1]) < NEVER)])
    return [allocation for allocation in itertools.product(*own) if _fits_capacity(stream, state, allocation)]


def _fits_capacity(stream: Stream, state: State, allocation: tuple[tuple[int, int], ...]) -> bool:
    need = np.zeros_like(stream.capacity)
    for (m, _), (w, p) in zip(state[1], allocation, strict=True):
        need = need + w * stream.worker_demand[m] + p * stream.ps_demand[m]
    return any(w for w, _ in allocation) and bool((need <= stream.capacity).all())


def _policy_of_choices(
    stream: Stream, states: list[State], allocations: tuple[tuple[tuple[int, int], ...], ...]
) -> Policy:
    def column(values: list[list[int]], free: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        rows = [row + [free] * (stream.jobs - len(row)) for row in values]
        return np.array(rows, dtype=np.int64).reshape(len(rows), stream.jobs)

    return Policy(
        coming=np.array([c for c, _ in states], dtype=np.int64),
        model=column([[m for m, _ in jobs] for _, jobs in states], -1),
        remaining=column([[b for _, b in jobs] for _, jobs in states], 0),
        workers=column([[w for w, _ in allocation] for allocation in allocations], 0),
        ps=column([[p for _, p in allocation] for allocation in allocations], 0),
    )
