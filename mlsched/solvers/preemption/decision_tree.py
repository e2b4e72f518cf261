"""Preemption over time, exactly: a best-first search over the decisions of a run.

A node of the tree is the run at its next question; its children are the answers to it: every set of BE jobs that may be
suspended (with `eager`, none or one that makes room), and every node that then has room. A child is carried on to the
question after it, so that waiting times up to there are known, and has a lower bound on what a run from there comes to
(`_run_state.py`): waits and intervals as long as they already are, and victims back at the first tick after their grace
period. The open node with the lowest bound is taken first, of equals the deepest; the search ends when that bound is
not below the incumbent. Two states that differ only in what they have come to so far have the same future: of those the
better is kept.

For runs on a few nodes: a question has up to (nodes x 2^jobs) answers.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
from collections.abc import Iterator

from mlsched.core.deadline import Deadline
from mlsched.core.errors import TooLarge
from mlsched.core.fields import ints
from mlsched.core.formulation import Limits, Outcome, StoppedBy
from mlsched.core.registry import exact_algorithm
from mlsched.instances.preemption import Decisions, Horizon
from mlsched.solvers.preemption._run_state import LOWER_BOUNDS, NOWHERE, Jobs, RunState

#: Jobs among which victims are chosen, at most: 65,536 sets.
MOST_CANDIDATES = 16


@dataclasses.dataclass(frozen=True)
class Answer:
    """An answer, and those before it."""

    te: int
    node: int
    victims: tuple[int, ...]
    before: Answer | None


@exact_algorithm("decision-tree", problem="preemption", objectives=tuple(LOWER_BOUNDS), called="offline")
def answer(instance: Horizon, *, objective: str, limits: Limits, hint: Decisions | None = None) -> Outcome:
    """Best-first search over all decisions of a run, with bounds; for a few nodes and up to some 15 jobs."""
    search = Search(RunState(Jobs(instance)), objective)
    reason = search.run(Deadline(limits.seconds), limits.work)
    plan = None if search.best is None else plan_of(search.best)
    if reason == "proof":
        assert plan is not None  # whoever asks can be answered, so some run ends
        return Outcome("optimal", plan, search.value, work={"nodes": search.nodes})
    return Outcome("feasible" if plan is not None else "unknown", plan, search.bound, reason, {"nodes": search.nodes})


class Search:
    """The search from a state on; `best`, `value` and `bound` are what is known when it ends."""

    def __init__(self, root: RunState, objective: str) -> None:
        self.lower_bound = LOWER_BOUNDS[objective]
        self.best: Answer | None = None
        self.value: int | None = None
        self.bound = self.lower_bound(root)
        self.nodes = 0
        self._serial = itertools.count()
        self._open: list[tuple[int, int, int, RunState, Answer | None]] = []
        self._known: dict[tuple[object, ...], int] = {}
        self._meet(root, None, 0)

    def run(self, deadline: Deadline, most_nodes: float | None) -> StoppedBy:
        """Search until the proof or a limit."""
        while self._open:
            bound, minus_depth, _, state, before = heapq.heappop(self._open)
            if self.value is not None and bound >= self.value:
                break
            self.bound = max(self.bound, bound)
            if deadline.passed():
                return "time limit"
            if most_nodes is not None and self.nodes >= most_nodes:
                return "work limit"
            self.nodes += 1
            assert state.asking is not None
            for node, victims in answers(state):
                self._meet(state.decided(node, victims), Answer(state.asking, node, victims, before), 1 - minus_depth)
        return "proof"

    def _meet(self, state: RunState, given: Answer | None, depth: int) -> None:
        """A state that was reached by these answers: an end, or a node to open, or nothing new."""
        bound = self.lower_bound(state)
        if self.value is not None and bound >= self.value:
            return
        if state.asking is None:
            self.best, self.value = given or NONE, bound
            return
        key = state.key()
        if self._known.get(key, bound + 1) <= bound:
            return
        self._known[key] = bound
        heapq.heappush(self._open, (bound, -depth, next(self._serial), state, given))


#: Stands for the answers of a run in which nobody asks.
NONE = Answer(NOWHERE, NOWHERE, (), None)


def answers(state: RunState) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Every answer (node, victims) to the question of a state, those with few victims first."""
    able = state.candidates()
    if len(able) > MOST_CANDIDATES:
        raise TooLarge(
            f"decision-tree: {len(able)} jobs could be suspended at {state.now} s: at most {MOST_CANDIDATES}"
        )
    waits = not state.jobs.horizon.eager or not state.hosts(tuple(able))
    for size in range(len(able) + 1):
        for victims in itertools.combinations(able, size):
            yield from ((node, victims) for node in state.hosts(victims))
            if waits and not (state.jobs.horizon.eager and victims):
                yield NOWHERE, victims


def plan_of(last: Answer) -> Decisions:
    """The plan that ends with an answer."""
    given: list[Answer] = []
    step: Answer | None = last
    while step is not None and step is not NONE:
        given.append(step)
        step = step.before
    given.reverse()
    return Decisions(
        te=ints(a.te for a in given),
        node=ints(a.node for a in given),
        by=ints(k for k, a in enumerate(given) for _ in a.victims),
        victim=ints(j for a in given for j in a.victims),
    )
