"""Metamorphic tests: compare a solver's answers on an instance and on a transformed copy
(`Problem.metamorphic_relations`).

A reference solver is not needed. Exact solvers must satisfy every relation. For a heuristic, select the relations that
it is meant to satisfy.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from mlsched import api
from mlsched.core.arguments import validate_arguments
from mlsched.core.contract import Instance, MetamorphicRelation, Objective
from mlsched.core.errors import InvalidInput, TooLarge
from mlsched.core.gap import sum_up
from mlsched.core.params import Number
from mlsched.core.registry import registry
from mlsched.testing.counterexample import Counterexample
from mlsched.testing.drawing import examine_draws
from mlsched.testing.report import CheckFailed, Outcome, Report


class _ViolatedRelation(Exception):
    """Violated relation, with its counterexample."""

    def __init__(self, counterexample: Counterexample) -> None:
        super().__init__(counterexample.sentence)
        self.counterexample = counterexample


@validate_arguments
def check_metamorphic_relations(
    solver: str,
    problem: str,
    *,
    objective: str | None = None,
    examples: Number = 50,
    relations: Collection[str] | None = None,
) -> Report:
    """Check the problem's relations between a solver's optima of an instance and of a changed instance.

    Instances that the solver finds infeasible or too large are skipped.

    Args:
        solver: Any solver argument of `solve`.
        problem: Name of the problem.
        objective: Objective of the instances; by default the problem's first.
        examples: Number of instances for each relation.
        relations: Names of the relations to check; by default all.

    Returns:
        The outcome of every relation.

    Raises:
        CheckFailed: A relation is violated; an AssertionError with the first counterexample.

    Examples:
        >>> report = mlsched.testing.check_metamorphic_relations("brute-force", "quality", examples=2)
        >>> report.failures
        ()
    """
    entry = registry().problem(problem)
    names = list(entry.metamorphic_relations if relations is None else relations)
    if unknown := sorted(set(names) - set(entry.metamorphic_relations)):
        raise InvalidInput(
            f"relations: {unknown[0]!r} is unknown for {problem}; there are {', '.join(entry.metamorphic_relations)}"
        )
    goal = entry.instance_type.objectives[0] if objective is None else entry.instance_type.objective(objective)
    outcomes, title = {}, solver if isinstance(solver, str) else getattr(solver, "__name__", "solver")
    strategies = [entry.strategy(), *([entry.contended()] if entry.contended else [])]
    for name in names:
        comparison = _Comparison(solver, goal, name, entry.metamorphic_relations[name])
        try:
            for strategy in strategies if goal.name in comparison.relation.says else ():
                examine_draws(comparison, strategy, max(1, examples // len(strategies)))
        except _ViolatedRelation as violation:
            outcomes[name] = Outcome(name, "failed", comparison.count, "", violation.counterexample)
            continue
        applies = goal.name in comparison.relation.says
        reason = "it never applied" if applies else f"nothing is known of {goal.name}"
        outcomes[name] = Outcome(
            name, "passed" if comparison.count else "skipped", comparison.count, "" if comparison.count else reason
        )
    count = sum(o.count for o in outcomes.values())
    report = Report(title, problem, goal.name, count, sum_up([]), outcomes)
    if report.failures:
        raise CheckFailed(report)
    return report


class _Comparison:
    """Comparison of the answers to an instance and to its changed copy; called on instance after instance."""

    def __init__(self, solver: str, goal: Objective, name: str, relation: MetamorphicRelation) -> None:
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
        if before.sort_key is None:  # infeasible: the changed instance may differ
            return
        self.count += 1
        says = self.relation.says[self.goal.name]
        if after.sort_key is None or not self._holds(says, instance, changed, before.sort_key, after.sort_key):
            effect = f"is multiplied by {says}" if isinstance(says, int) else f"is {says}"
            sentence = (
                f"{self.relation.doc}, so {self.goal.name} {effect}; it was {before.sort_key} and is {after.sort_key} "
                f"({after.status}) for the changed instance {changed!r}"
            )
            raise _ViolatedRelation(Counterexample(self.name, sentence, instance, before.plan))

    def _holds(self, says: int | str, instance: Instance, changed: Instance, before: float, after: float) -> bool:
        if isinstance(says, int):
            return after == says * before
        criteria = instance.primary(self.goal.name), changed.primary(self.goal.name)
        # The weight of the primary criterion may differ in a changed instance; its count comes first in both.
        before_key, after_key = (
            (value,) if rank is None else rank.split(value)
            for rank, value in zip(criteria, (before, after), strict=True)
        )
        if says == "equal":
            return before_key == after_key
        worse = after_key > before_key if self.goal.sense == "min" else after_key < before_key
        return not worse if says == "no worse" else worse or before_key == after_key
