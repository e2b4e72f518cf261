"""Preemption over time by enumeration: every answer to every question, each run simulated by the judge."""

from __future__ import annotations

import copy
import itertools

from mlsched.core.deadline import Deadline
from mlsched.core.errors import TooLarge
from mlsched.core.fields import ints
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.registry import exact_algorithm
from mlsched.instances.preemption import Decisions, Horizon
from mlsched.instances.preemption.horizon_judge import OBJECTIVES, Run

#: Questions that may be answered: about 10 s.
MOST_QUESTIONS = 20_000
NAMES = tuple(objective.name for objective in OBJECTIVES)


@exact_algorithm("every-decision", problem="preemption", objectives=NAMES, called="offline")
def answer(instance: Horizon, *, objective: str, limits: Limits, hint: Decisions | None = None) -> Outcome:
    """Try every answer to every question; for runs with two or three questions and few jobs."""
    deadline, question = Deadline(limits.seconds), 0
    best: tuple[int, list[tuple[int, int, list[int]]]] | None = None
    stack: list[tuple[Run, list[tuple[int, int, list[int]]]]] = [(Run(instance), [])]
    while stack:
        deadline.check()
        run, answers = stack.pop()
        asking = run.question()
        if asking is None:
            value = run.values()[objective]
            if best is None or value < best[0]:
                best = value, answers
            continue
        question += 1
        if question > MOST_QUESTIONS:
            raise TooLarge(f"every-decision: there are more than {MOST_QUESTIONS} questions; use decision-tree")
        able = run.candidates()
        for size in range(len(able) + 1):
            for victims in map(list, itertools.combinations(able, size)):
                for node in range(-1, len(instance.node_capacity)):
                    if not run.faults(asking, node, victims):
                        further = copy.deepcopy(run, {id(instance): instance})
                        further.carry_out(asking, node, victims)
                        stack.append((further, [*answers, (asking, node, victims)]))
    assert best is not None  # every question has an answer, so some run ends
    return Outcome("optimal", _plan_of_answers(best[1]), best[0], work={"questions": question})


def _plan_of_answers(answers: list[tuple[int, int, list[int]]]) -> Decisions:
    return Decisions(
        te=ints(te for te, _, _ in answers),
        node=ints(node for _, node, _ in answers),
        by=ints(k for k, (_, _, victims) in enumerate(answers) for _ in victims),
        victim=ints(j for _, _, victims in answers for j in victims),
    )
