"""Hold a solver to what is known of the optimum of a changed instance (`Problem.relations`).

Two answers are compared with each other, so no third one is trusted. Exact solvers must keep every relation; of a
rule one may ask those that it is meant to keep.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from mlsched import api
from mlsched.core.arguments import validate_arguments
from mlsched.core.contract import Instance, MetamorphicRelation, Objective
from mlsched.core.errors import InvalidInput, TooLarge
from mlsched.core.gap import sum_up
from mlsched.core.params import Number
from mlsched.core.registry import registry
from mlsched.testing.counterexample import Counterexample
from mlsched.testing.drawing import drawn
from mlsched.testing.report import CheckFailed, Outcome, Report


class _Broken(Exception):
    """A relation that does not hold; `counterexample` says on what."""

    def __init__(self, counterexample: Counterexample) -> None:
        super().__init__(counterexample.sentence)
        self.counterexample = counterexample


@validate_arguments
def check_metamorphic_relations(
    solver: Any,
    problem: str,
    *,
    objective: str | None = None,
    examples: Number = 50,
    relations: Collection[str] | None = None,
) -> Report:
    """Check that a solver keeps the problem's relations between the optimum of an instance and that of a changed one.

    Instances that it finds infeasible, or too large, are passed over.

    Args:
        solver: anything that `solve` takes.
        problem: its name.
        objective: by which instances are solved; the problem's first by default.
        examples: how many instances for each relation.
        relations: only these, by name.

    Returns:
        What was seen of every relation.

    Raises:
        CheckFailed: an AssertionError, with the first counterexample.

    Examples:
        >>> report = mlsched.testing.check_metamorphic_relations("brute-force", "quality", examples=2)
        >>> report.failures
        ()
    """
    entry = registry().problem(problem)
    names = list(entry.metamorphic_relations if relations is None else relations)
    if unknown := sorted(set(names) - set(entry.metamorphic_relations)):
        raise InvalidInput(
            f"relations: {problem} has no {unknown[0]!r}; there are {', '.join(entry.metamorphic_relations)}"
        )
    goal = entry.instance_type.objectives[0] if objective is None else entry.instance_type.objective(objective)
    outcomes, title = {}, solver if isinstance(solver, str) else getattr(solver, "__name__", "solver")
    strategies = [entry.strategy(), *([entry.contended()] if entry.contended else [])]
    for name in names:
        compared = _Compared(solver, goal, name, entry.metamorphic_relations[name])
        try:
            for strategy in strategies if goal.name in compared.relation.says else ():
                drawn(compared, strategy, max(1, examples // len(strategies)))
        except _Broken as broken:
            outcomes[name] = Outcome(name, "failed", compared.count, "", broken.counterexample)
            continue
        known = goal.name in compared.relation.says
        why = "it never applied" if known else f"nothing is known of {goal.name}"
        outcomes[name] = Outcome(
            name, "passed" if compared.count else "skipped", compared.count, "" if compared.count else why
        )
    count = sum(o.count for o in outcomes.values())
    report = Report(title, problem, goal.name, count, sum_up([]), outcomes)
    if report.failures:
        raise CheckFailed(report)
    return report


class _Compared:
    """Compares the answers to an instance and to the changed one; called on instance after instance."""

    def __init__(self, solver: Any, goal: Objective, name: str, relation: MetamorphicRelation) -> None:
        self.solver, self.goal, self.name, self.relation = solver, goal, name, relation
        self.count = 0

    def __call__(self, instance: Instance) -> None:
        changed = self.relation.change(instance, np.random.default_rng(0))
        if changed is None:
            return
        try:
            before, after = (api.solve(i, self.solver, objective=self.goal.name) for i in (instance, changed))
        except TooLarge:
            return
        if before.sort_key is None:  # infeasible: what is changed need not be
            return
        self.count += 1
        says = self.relation.says[self.goal.name]
        if after.sort_key is None or not self._holds(says, instance, changed, before.sort_key, after.sort_key):
            what = f"is multiplied by {says}" if isinstance(says, int) else f"is {says}"
            sentence = (
                f"{self.relation.doc}, so {self.goal.name} {what}; it was {before.sort_key} and is {after.sort_key} "
                f"({after.status}) for the changed instance {changed!r}"
            )
            raise _Broken(Counterexample(self.name, sentence, instance, before.plan))

    def _holds(self, says: Any, instance: Instance, changed: Instance, before: float, after: float) -> bool:
        if isinstance(says, int):
            return after == says * before
        ranks = instance.primary(self.goal.name), changed.primary(self.goal.name)
        # A rank weighs more or less in a changed instance; what it counts comes first in both.
        one, two = (
            (value,) if rank is None else rank.split(value) for rank, value in zip(ranks, (before, after), strict=True)
        )
        if says == "equal":
            return one == two
        worse = two > one if self.goal.sense == "min" else two < one
        return not worse if says == "no worse" else worse or one == two
