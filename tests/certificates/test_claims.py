"""What no formula proves is stated with the numbers of the instance and the plan, and these numbers are right."""

from __future__ import annotations

import itertools
import re

import pytest
from certificate_examples import drawn, minimum

from mlsched import api
from mlsched.certificates.translation import translation_of
from mlsched.instances.preemption import Plan


def proved(instance, objective, plan):
    """The values of the formulas, by CP-SAT."""
    return [f.value(minimum(f)) for f in translation_of(instance).formulas(instance, objective, plan)]


@pytest.mark.parametrize("objective", ["total_score", "victim_count", "max_grace_period"])
def test_the_two_minima_add_up(objective):
    for instance in drawn("preemption", 4):
        best = api.solve(instance, "brute-force", objective=objective)
        values = proved(instance, objective, best.plan)
        (claim,) = translation_of(instance).claims(instance, objective, best.plan, values)
        waiting, number, largest, d, gain, again, base, w, e, b, total = map(int, re.findall(r"\d+", claim))
        assert (waiting, waiting, largest, d, base, total) == (again, w, gain, e, b, best.sort_key)
        assert waiting * d + base == total
        assert values == [waiting * d, base]
        assert number == len(instance.te_demand)
        assert d == largest + 1
        assert waiting == fewest_waiting(instance)


def fewest_waiting(instance) -> int:
    """By trying all plans."""
    nodes, jobs = range(-1, len(instance.node_capacity)), range(len(instance.job_node))
    subsets = [list(c) for k in range(len(jobs) + 1) for c in itertools.combinations(jobs, k)]
    plans = (
        Plan(te_node=list(te), victims=some)
        for te in itertools.product(nodes, repeat=len(instance.te_demand))
        for some in subsets
    )
    return min(plan.te_node.tolist().count(-1) for plan in plans if not instance.violations(plan))


@pytest.mark.parametrize(
    "objective", ["total_jct", "makespan", "deadlines_met", "total_accuracy", "accuracy_met", "traffic"]
)
def test_the_horizon_is_where_the_formula_ends(objective):
    """No variable of the formula is about a later tick."""
    for instance in drawn("taskgraph", 6):
        plan = api.solve(instance, "brute-force", objective=objective).plan
        translation = translation_of(instance)
        (claim,) = translation.claims(instance, objective, plan, [])
        (formula,) = translation.formulas(instance, objective, plan)
        ticks = [int(found[1]) for meaning in formula.meanings if (found := re.search(r" by (\d+)$", meaning))]
        if objective == "traffic":
            assert (claim[:24], ticks) == ("The formula has no time:", [])
        else:
            horizon = int(re.search(r"(?:done|last) (?:by|at) tick (\d+)|by tick (\d+)", claim)[0].split()[-1])
            assert max(ticks, default=0) <= horizon
            assert max(plan.start.tolist(), default=0) <= horizon or objective not in ("total_jct", "makespan")


def test_problems_whose_formulas_say_it_all_claim_nothing():
    for problem in ("quality", "workers", "placement"):
        instance = next(drawn(problem, 1))
        plan = api.solve(instance, "brute-force").plan
        assert translation_of(instance).claims(instance, instance.objectives[0].name, plan, []) == []
