"""The 0-1 formulas say what the judge says: agreement with brute force, and every family of constraints is needed."""

from __future__ import annotations

from collections import Counter

import pytest
from certificate_examples import DRAWN, drawn, minimum
from draws import draws

from mlsched import api
from mlsched.certificates.translation import translation_of

#: Instances by default: as many as it takes for every family to matter once.
FEW = {"preemption": 8, "quality": 8, "workers": 8, "placement": 12, "taskgraph": 16}


@pytest.mark.parametrize("problem", DRAWN)
def test_the_formulas_agree_with_brute_force_and_need_every_family(problem, report):
    """Without a family of constraints an objective's value is another one, in at least a tenth of the instances."""
    count = draws(FEW[problem], 2000)
    matters: Counter[str] = Counter()
    for instance in drawn(problem, count):
        found: dict[str, bool] = {}
        for goal in instance.objectives:
            best = api.solve(instance, "brute-force", objective=goal.name)
            formulas = translation_of(instance).formulas(instance, goal.name, best.plan)
            assert sum(f.value(minimum(f)) for f in formulas) == best.value, f"{goal.name}: {instance!r}"
            for family in sorted({c.family for f in formulas for c in f.constraints}):
                if not found.get(family):
                    found[family] = sum(f.value(minimum(f, without=family)) for f in formulas) != best.value
        matters.update(found)
    lines = [f"{n / count:6.1%}  {family}" for family, n in sorted(matters.items())]
    report(f"{problem}: how often a value is another one without a family of constraints", lines)
    assert min(matters.values()) >= (0.1 * count if count >= 1000 else 1), matters
