"""The 0-1 formulas say what the judge says: agreement with brute force, and every family of constraints is needed."""

from __future__ import annotations

from collections import Counter

import pytest
from certificate_examples import DRAWN, drawn, minimum
from draws import draws

from mlsched import api
from mlsched.certificates.translation import translation_of
from mlsched.core.registry import registry

OBJECTIVES = [
    (problem, goal.name) for problem in DRAWN for goal in registry().problem(problem).instance_type.objectives
]


@pytest.mark.parametrize(("problem", "objective"), OBJECTIVES)
def test_the_formulas_agree_with_brute_force_and_need_every_family(problem, objective, report):
    """Without a family of constraints the value is another one, in at least a tenth of the instances."""
    count = draws(12, 2000)
    matters: Counter[str] = Counter()
    for instance in drawn(problem, count):
        best = api.solve(instance, "brute-force", objective=objective)
        formulas = translation_of(instance).formulas(instance, objective, best.plan)
        assert sum(f.value(minimum(f)) for f in formulas) == best.value, repr(instance)
        for family in {c.family for f in formulas for c in f.constraints}:
            matters[family] += sum(f.value(minimum(f, without=family)) for f in formulas) != best.value
    lines = [f"{n / count:6.1%}  {family}" for family, n in sorted(matters.items())]
    report(f"{problem}, {objective}: how often the value is another one without a family of constraints", lines)
    assert min(matters.values()) >= max(1, 0.1 * count if count >= 1000 else 0), matters
