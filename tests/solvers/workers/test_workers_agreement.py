"""Brute force, DP, CP-SAT and HiGHS say the same about every instance, and the judge accepts every plan.

How hard the instances were is printed at the end of the run: agreement on trivial instances is no evidence.
"""

from __future__ import annotations

import functools
from collections import Counter

import pytest
from draws import THOROUGH, draws
from hypothesis import given, settings
from workers_examples import generated

from mlsched import api
from mlsched.core.registry import registry
from mlsched.instances import strategies
from mlsched.instances.workers import PROBLEM, Instance, Plan

RULES = [a.name for a in registry().available("workers", "heuristic")]


@functools.cache
def instances(count: int) -> list[Instance]:
    return [generated(number) for number in range(count)]


@functools.lru_cache(maxsize=200_000)
def optimum(instance: Instance) -> tuple[int, Plan]:
    """Value and plan of brute force."""
    found = api.solve(instance, "brute-force")
    assert (found.status, found.sort_bound) == ("optimal", found.sort_key)
    return found.sort_key, found.plan


def check(instance: Instance, exact: str, **params) -> None:
    expected, _ = optimum(instance)
    found = api.solve(instance, exact, **params)
    where = f"{params}: {instance!r}"
    assert (found.status, found.sort_key, found.sort_bound, found.gap) == ("optimal", expected, expected, 0), where
    assert found.stopped_by == "proof", where


def test_models_agree_on_generated_instances(solver, scale):
    for number, instance in enumerate(instances(scale)):
        # The plain model and the one cut by bounds in turn, with and without a start.
        check(instance, solver, reduce=number % 4 < 2, hint="none" if number % 2 else None)


@pytest.mark.parametrize("reduce", [True, False])
def test_dp_agrees_on_generated_instances(scale, reduce):
    for instance in instances(scale):
        check(instance, "dp", reduce=reduce)


@settings(max_examples=4 * settings().max_examples)
@given(instance=strategies.workers())
def test_dp_agrees_on_adversarial_instances(instance):
    check(instance, "dp")
    check(instance, "dp", reduce=False)


@given(instance=strategies.workers())
def test_models_agree_on_adversarial_instances(solver, instance):
    check(instance, solver)
    check(instance, solver, reduce=False)


@pytest.mark.parametrize("preset", ["paper", "paper-10", "crowded", "x16", "cpu-bound", "asynchronous", "measured"])
def test_everyone_agrees_on_large_instances(preset):
    # The plain model takes as long as all others together, and minutes where all amounts matter.
    small = ("paper", "paper-10", "crowded", "cpu-bound", "measured") if THOROUGH else ("crowded", "measured")
    plain = ["highs:reduce=false"] if preset in small else []
    for seed in range(draws(1, 2)):
        instance = api.generate("workers", preset, seed=seed)
        found = {name: api.solve(instance, name) for name in ("dp", "cp-sat", "highs", *plain)}
        assert {r.status for r in found.values()} == {"optimal"}
        assert len({r.sort_key for r in found.values()}) == 1, found


def test_the_plain_recursion_agrees_where_its_states_fit():
    """One binding resource of the paper's cluster, no bounds: all sums of uses are states."""
    for seed in range(3):
        instance = api.generate("workers", "paper", seed=seed)
        plain = api.solve(instance, "dp", reduce=False)
        assert plain.sort_key == api.solve(instance, "highs", reduce=False).sort_key
        assert plain.work["states"] > 100


def test_the_instances_are_hard(scale, report):
    drawn = instances(scale)
    count = len(drawn)
    missed: Counter[str] = Counter()
    binds: Counter[str] = Counter()
    cases: Counter[str] = Counter()
    best_missed = 0
    for instance in drawn:
        best, plan = optimum(instance)
        values = {rule: api.solve(instance, rule).sort_key for rule in RULES}
        assert min(values.values()) >= best
        missed.update(rule for rule, value in values.items() if value > best)
        best_missed += min(values.values()) > best
        cases.update(name for name, true in PROBLEM.cases(instance, plan).items() if true)
        for name, relaxed in PROBLEM.relaxations(instance).items():
            binds[name] += api.solve(relaxed, "dp").sort_key < best
    lines = [f"{count} generated instances, optimum by brute force"]
    lines += [f"{missed[rule] / count:6.1%}  not optimal: {rule}" for rule in RULES]
    lines += [f"{best_missed / count:6.1%}  not optimal: the best of them"]
    lines += [f"{number / count:6.1%}  binds: {name}" for name, number in binds.items()]
    lines += [f"{number / count:6.1%}  case: {name}" for name, number in sorted(cases.items())]
    report("workers: how hard the instances of the agreement tests are", lines)
    assert missed["optimus"] >= 0.3 * count, "optimus is optimal too often: instances too easy"
    assert min(binds[name] for name in drawn[0].resources) >= 0.02 * count, f"a resource hardly ever binds: {binds}"
    assert set(cases) == set(PROBLEM.cases(drawn[0], optimum(drawn[0])[1])), "a case never occurs"
    assert max(cases.values()) < count, "a case always occurs"
