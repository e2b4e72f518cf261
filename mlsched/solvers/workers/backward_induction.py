"""Workers online, exactly: the best policy of a small Markov decision process, by backward induction.

State: the jobs in the system with their remaining iterations, and the number of future jobs. From a state and an
allocation the run continues until the next job arrives or the first of them finishes. Gaps are memoryless and only
complete iterations count, so the states are finitely many. Every event uses up a future job or finishes a present
one, so states never repeat. The value of a state is the least, over all allocations, of

    (jobs there) * E[length of the stay] + sum over the next states of probability * value.

Between two ms at which an iteration of some job ends, arrivals lead to the same state: their probabilities are summed
in closed form. An allocation is dropped as soon as its sum exceeds the best one's. Floats; the judge recomputes the
value only from the policy.
"""

from __future__ import annotations

import numpy as np

from mlsched.core.deadline import Deadline
from mlsched.core.errors import TooLarge
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.registry import exact_algorithm
from mlsched.instances.workers import Policy, Stream
from mlsched.solvers.workers._events import Given, Kinds, changes, first_finish, remaining_after

#: Limit on processed states: some minutes.
MOST_STATES = 300_000
#: The jobs in the system: (model, iterations left) in arrival order.
Jobs = tuple[tuple[int, int], ...]


@exact_algorithm("backward-induction", problem="workers", objectives=("expected_total_jct",), called="policy")
def answer(instance: Stream, *, objective: str, limits: Limits, hint: Policy | None = None) -> Outcome:
    """Backward induction over all states of a stream; for two or three jobs of few iterations."""
    program = Program(instance, Deadline(limits.seconds))
    value = program.value(instance.jobs, ()) if instance.jobs else 0.0
    plan = program.policy()
    return Outcome("optimal", plan, value, work={"states": len(program.known)})


class Program:
    """Values and best allocations of the states of a stream, computed on demand."""

    def __init__(self, stream: Stream, deadline: Deadline) -> None:
        self.stream, self.deadline = stream, deadline
        self.kinds = Kinds(stream.time, stream.worker_demand, stream.ps_demand, stream.capacity)
        total = int(stream.chance.sum())
        self.types = [
            (int(c) / total, (int(m), int(b)))
            for m, b, c in zip(stream.type_model, stream.type_iterations, stream.chance, strict=True)
        ]
        self.known: dict[tuple[int, Jobs], tuple[float, tuple[Given, ...]]] = {}
        self._joined: dict[tuple[int, Jobs], float] = {}

    def value(self, coming: int, jobs: Jobs) -> float:
        """Return the least expected sum of times in the system from this state on, in ms."""
        if not jobs:
            return self._value_after_arrival(coming, ()) if coming else 0.0
        state = (coming, jobs)
        if state not in self.known:
            self.deadline.check()
            if len(self.known) >= MOST_STATES:
                raise TooLarge(
                    f"backward-induction: there are more than {MOST_STATES} states; use fewer or shorter jobs"
                )
            best, selection = float("inf"), None
            for allocation in self.kinds.allocations(tuple(m for m, _ in jobs)):
                if (worth := self._value_of_allocation(coming, jobs, allocation, best)) < best:
                    best, selection = worth, allocation
            assert selection is not None  # a single job can always train
            self.known[state] = best, selection
        return self.known[state][0]

    def _value_after_arrival(self, coming: int, jobs: Jobs) -> float:
        """Return the expected value at the arrival of one more job, besides `jobs`."""
        state = (coming, jobs)
        if state not in self._joined:
            self._joined[state] = sum(chance * self.value(coming - 1, (*jobs, new)) for chance, new in self.types)
        return self._joined[state]

    def _value_of_allocation(self, coming: int, jobs: Jobs, allocation: tuple[Given, ...], enough: float) -> float:
        """Return the value of an allocation, or any number of at least `enough` if it is not better."""
        remaining = [b for _, b in jobs]
        iteration = [self.kinds.iteration(m, pair) for (m, _), pair in zip(jobs, allocation, strict=True)]
        end = first_finish(remaining, iteration)
        if not coming:
            total = float(len(jobs) * end)
            return total if total >= enough else total + self.value(0, _after_stay(jobs, remaining, iteration, end))
        stay = 1 - 1 / self.stream.gap
        total = len(jobs) * (1 - stay**end) * self.stream.gap
        if total >= enough:
            return total
        ending = _after_stay(jobs, remaining, iteration, end)
        nobody = stay ** (end - 1)
        total += nobody * (
            self._value_after_arrival(coming, ending) / self.stream.gap + stay * self.value(coming, ending)
        )
        # From each of these ms on, an arrival finds one more iteration of some job complete.
        until = end
        for since in reversed(changes(remaining, iteration, end)):
            if total >= enough:
                return total
            probability = stay ** (since - 1) - stay ** (until - 1)
            total += probability * self._value_after_arrival(coming, _after_stay(jobs, remaining, iteration, since))
            until = since
        return total

    def policy(self) -> Policy:
        """Return the best allocations of the states that are reachable under them."""
        slots, rows = max(1, self.stream.jobs), list[tuple[int, Jobs, tuple[Given, ...]]]()
        visited, stack = set[tuple[int, Jobs]](), [(self.stream.jobs, Jobs())]
        while stack:
            coming, jobs = state = stack.pop()
            if state in visited:
                continue
            visited.add(state)
            if jobs:
                allocation = self.known[state][1]
                rows.append((coming, jobs, allocation))
                stack += self._next_states(coming, jobs, allocation)
            elif coming:
                stack += [(coming - 1, (new,)) for _, new in self.types]
        return table_of(rows, slots)

    def _next_states(self, coming: int, jobs: Jobs, allocation: tuple[Given, ...]) -> list[tuple[int, Jobs]]:
        """Return the states that may follow a state under an allocation."""
        remaining = [b for _, b in jobs]
        iteration = [self.kinds.iteration(m, pair) for (m, _), pair in zip(jobs, allocation, strict=True)]
        end = first_finish(remaining, iteration)
        ending = _after_stay(jobs, remaining, iteration, end)
        following = [(coming, ending)]
        if coming:
            for since in [*changes(remaining, iteration, end), end]:
                after = _after_stay(jobs, remaining, iteration, since)
                following += [(coming - 1, (*after, new)) for _, new in self.types]
        return following


def _after_stay(jobs: Jobs, remaining: list[int], iteration: list[int], ms: int) -> Jobs:
    """Return the jobs with their remaining iterations after `ms` of training; finished jobs are left out."""
    after = remaining_after(remaining, iteration, ms)
    return tuple((m, b) for (m, _), b in zip(jobs, after, strict=True) if b)


def table_of(rows: list[tuple[int, Jobs, tuple[Given, ...]]], slots: int) -> Policy:
    """Convert rows (coming, jobs, allocations) to a policy with `slots` slots."""
    shape = (len(rows), slots)
    model, remaining = np.full(shape, -1), np.zeros(shape, dtype=np.int64)
    workers, ps = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for row, (_, jobs, allocation) in enumerate(rows):
        for slot, ((m, b), (w, p)) in enumerate(zip(jobs, allocation, strict=True)):
            model[row, slot], remaining[row, slot] = m, b
            workers[row, slot], ps[row, slot] = w, p
    coming = np.array([c for c, _, _ in rows], dtype=np.int64)
    return Policy(coming=coming, model=model, remaining=remaining, workers=workers, ps=ps)
