"""Brute force, CP-SAT, HiGHS and the plain model say the same about every instance; the fractional optimum bounds them.

How hard the instances were is printed at the end of the run: agreement on trivial instances is no evidence.
"""

from __future__ import annotations

import functools
from collections import Counter

import pytest
from draws import THOROUGH, draws, share
from hypothesis import given, settings
from rounds_examples import generated

from mlsched import api
from mlsched.benchmark.plain import build
from mlsched.core.registry import registry
from mlsched.instances import strategies
from mlsched_rounds.instances import PROBLEM, Instance, Plan
from mlsched_rounds.solvers.relaxation import fractional

OBJECTIVES = [o.name for o in Instance.objectives]
RULES = ["fifo", "fifo:perf=false", "worst-served", "cheapest", *(f"lp-rounding:by={name}" for name in OBJECTIVES)]


@functools.lru_cache(maxsize=200_000)
def optimum(instance: Instance, objective: str) -> tuple[int, Plan]:
    """Value and plan of brute force."""
    found = api.solve(instance, "brute-force", objective=objective)
    assert (found.status, found.sort_bound) == ("optimal", found.sort_key)
    return found.sort_key, found.plan


def check(instance: Instance, exact: str, **params) -> None:
    for objective in OBJECTIVES:
        expected, _ = optimum(instance, objective)
        found = api.solve(instance, exact, objective=objective, **params)
        where = f"{objective}: {instance.to_json()}"
        assert (found.status, found.sort_key, found.sort_bound, found.gap) == ("optimal", expected, expected, 0), where
        assert instance.violations(found.plan) == [], where


@pytest.mark.parametrize("exact", ["cp-sat", "highs"])
def test_models_agree_on_generated_instances(exact):
    # HiGHS takes longer: it sees every other one.
    for number in share(range(draws(20, 1000)), 1 if exact == "cp-sat" else 2):
        check(generated(number), exact, hint="none" if number % 4 > 1 else None)


@pytest.mark.parametrize("exact", ["cp-sat", "highs"])
@settings(max_examples=draws(15, 2000))
@given(instance=strategies.rounds())
def test_models_agree_on_adversarial_instances(exact, instance):
    check(instance, exact)


@settings(max_examples=draws(15, 2000))
@given(instance=strategies.rounds())
def test_plain_models_and_relaxations_agree(instance):
    from ortools.sat.python import cp_model

    for objective in Instance.objectives:
        best, _ = optimum(instance, objective.name)
        model, plan = build(instance, objective.name)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        assert solver.solve(model) == cp_model.OPTIMAL
        assert instance.violations(plan(solver)) == []
        assert instance.evaluate(plan(solver))[objective.name] == best, (objective.name, instance.to_json())
        bound = fractional(instance, objective.name).value
        slack = 1e-6 * max(1.0, abs(best))
        assert bound <= best + slack if objective.sense == "min" else bound >= best - slack, instance.to_json()
        trivial = PROBLEM.trivial_bound(instance, objective.name)
        assert not objective.better(best, trivial), instance.to_json()


def test_the_instances_are_hard(report):
    count = draws(20, 1000)
    relaxing = OBJECTIVES if THOROUGH else ("total_steps",)
    missed: Counter[str] = Counter()
    binds: Counter[str] = Counter()
    cases: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    for number in range(count):
        instance = generated(number)
        values = {rule: api.solve(instance, rule).sort_keys for rule in RULES}
        for name in OBJECTIVES:
            best, plan = optimum(instance, name)
            missed[f"all rules on {name}"] += all(found[name] != best for found in values.values())
            missed.update(f"{rule} on {name}" for rule, found in values.items() if found[name] != best)
            lost[name] += abs(fractional(instance, name).value - best) > 1e-6 * max(1, abs(best))
            for constraint, relaxed in PROBLEM.relaxations(instance).items() if name in relaxing else ():
                binds[f"{constraint}, {name}"] += api.solve(relaxed, "cp-sat", objective=name).sort_key != best
            if name == "total_steps":
                cases.update(case for case, true in PROBLEM.cases(instance, plan).items() if true)
    lines = [f"{count} generated instances, optimum by brute force"]
    lines += [f"{missed[key] / count:6.1%}  not optimal: {key}" for key in sorted(missed)]
    lines += [f"{number / count:6.1%}  the fractional optimum is better: {name}" for name, number in lost.items()]
    lines += [f"{number / count:6.1%}  binds: {name}" for name, number in binds.items()]
    lines += [f"{number / count:6.1%}  case: {name}" for name, number in sorted(cases.items())]
    report("rounds: how hard the instances of the agreement tests are", lines)
    for name in ("goodput_cost", "total_steps"):
        best_rule = min(missed[f"{rule} on {name}"] for rule in RULES)
        assert best_rule >= 0.3 * count, f"rules are optimal too often on {name}: instances too easy"
    assert binds["GPUs, total_steps"] >= 0.3 * count
    assert binds["gangs, total_steps"] >= 0.05 * count
    assert binds["price of a change, total_steps"] >= 0.05 * count
    assert set(cases) == set(PROBLEM.cases(instance, plan)), "a case never occurs"


def test_limits_are_kept_on_a_large_round():
    instance = api.generate("rounds", "sia", seed=1)
    for exact in [a.name for a in registry().available("rounds", "exact") if a.name != "brute-force"]:
        found = api.solve(instance, exact, objective="total_steps", time_limit=0.05)
        assert found.status in ("optimal", "feasible", "unknown")
        if found.plan is not None:
            assert instance.violations(found.plan) == []
            assert found.sort_bound >= found.sort_key
