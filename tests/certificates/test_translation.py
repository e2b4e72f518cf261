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
    """Without a family of constraints an objective's value is another one, in at least a tenth of the instances.

    Every instance is compared with brute force; a family is left out until it has mattered in a tenth of them all.
    """
    count = draws(FEW[problem], 2000)
    enough = max(1, count // 10)
    matters, tried = Counter[str](), Counter[str]()
    for instance in drawn(problem, count):
        found: dict[str, bool] = {}
        asked = set[str]()
        for goal in instance.objectives:
            best = api.solve(instance, "brute-force", objective=goal.name)
            formulas = translation_of(instance).formulas(instance, goal.name, best.plan)
            assert sum(f.value(minimum(f)) for f in formulas) == best.sort_key, f"{goal.name}: {instance!r}"
            for family in sorted({c.family for f in formulas for c in f.constraints}):
                if matters[family] < enough and not found.get(family):
                    asked.add(family)
                    found[family] = sum(f.value(minimum(f, without=family)) for f in formulas) != best.sort_key
        matters.update(found)
        tried.update(asked)
    lines = [f"{n:5} of {tried[family]:5}  {family}" for family, n in sorted(matters.items())]
    report(f"{problem}: how often a value is another one without a family of constraints ({count} instances)", lines)
    assert min(matters.values()) >= enough, matters
