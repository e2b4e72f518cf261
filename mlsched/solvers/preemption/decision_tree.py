"""Preemption over time, exactly: a best-first search over the decisions of a run.

A node of the tree is the run at its next question. Its children are the answers to it: every set of BE jobs that may be
suspended (with `eager`, the empty set or one that makes room), and every node with enough room then. A child is
simulated up to its next question, so that waiting times up to there are known. Its lower bound on the final value
(`_run_state.py`) assumes that waits and intervals end now, and that victims return at the first tick after their grace
period. The open node with the lowest bound comes first, among equals the deepest. The search ends when that bound is
not below the incumbent. Two states that differ only in their costs so far have the same future, so only the better
state is kept.

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

#: Most jobs among which victims are chosen: 65,536 sets.
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
        assert plan is not None  # every question has an answer, so some run ends
        return Outcome("optimal", plan, search.value, work={"nodes": search.nodes})
    return Outcome("feasible" if plan is not None else "unknown", plan, search.bound, reason, {"nodes": search.nodes})


class Search:
    """The search from a start state; `best`, `value` and `bound` are its results."""

    def __init__(self, root: RunState, objective: str) -> None:
        self.lower_bound = LOWER_BOUNDS[objective]
        self.best: Answer | None = None
        self.value: int | None = None
        self.bound = self.lower_bound(root)
        self.nodes = 0
        self._serial = itertools.count()
        self._open: list[tuple[int, int, int, RunState, Answer | None]] = []
        self._known: dict[tuple[object, ...], int] = {}
        self._add_reached_state(root, None, 0)

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
                self._add_reached_state(
                    state.decided(node, victims), Answer(state.asking, node, victims, before), 1 - minus_depth
                )
        return "proof"

    def _add_reached_state(self, state: RunState, answer_chain: Answer | None, depth: int) -> None:
        """Add a reached state: record an end, open a node, or drop a duplicate."""
        bound = self.lower_bound(state)
        if self.value is not None and bound >= self.value:
            return
        if state.asking is None:
            self.best, self.value = answer_chain or NONE, bound
            return
        key = state.key()
        if self._known.get(key, bound + 1) <= bound:
            return
        self._known[key] = bound
        heapq.heappush(self._open, (bound, -depth, next(self._serial), state, answer_chain))


#: Stands for the answers of a run without questions.
NONE = Answer(NOWHERE, NOWHERE, (), None)


def answers(state: RunState) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield every answer (node, victims) to the question of a state, starting with few victims."""
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
    """Return the plan that ends with an answer."""
    answer_chain: list[Answer] = []
    step: Answer | None = last
    while step is not None and step is not NONE:
        answer_chain.append(step)
        step = step.before
    answer_chain.reverse()
    return Decisions(
        te=ints(a.te for a in answer_chain),
        node=ints(a.node for a in answer_chain),
        by=ints(k for k, a in enumerate(answer_chain) for _ in a.victims),
        victim=ints(j for a in answer_chain for j in a.victims),
    )
