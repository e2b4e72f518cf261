"""Brute force, CP-SAT and HiGHS say the same about every instance, and the judge accepts every plan.

How hard the instances were is printed at the end of the run: agreement on trivial instances is no evidence.
"""

from __future__ import annotations

import functools
from collections import Counter

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings

from mlsched import api
from mlsched.core.fields import UNLIMITED
from mlsched.core.registry import registry
from mlsched.instances import strategies
from mlsched.instances.placement import PROBLEM, Instance, Plan
from mlsched.instances.placement.models import KINDS

#: Those that do not search.
RULES = [a.name for a in registry().available("placement", "heuristic") if not a.searches]


@pytest.fixture(scope="session")
def count() -> int:
    """Number of generated instances: 1000 in the thorough profile, 30 otherwise."""
    return draws(30, 1000)


def generated(number: int) -> Instance:
    """The `number`-th instance of the test: sizes and knobs drawn, then the generator asked."""
    rng = np.random.default_rng([2027, number])
    tasks = int(rng.integers(1, 3))
    drawn = PROBLEM.generate(
        rng,
        servers=int(rng.integers(2, 4)),
        jobs=int(rng.integers(2, 4 if tasks == 2 else 5)),
        contention=float(rng.choice([0.7, 1.0, 1.4])),
        model=str(rng.choice(KINDS)),
        sigma_scale=float(rng.choice([0.5, 1.0, 2.0])),
        most_tasks=tasks,
        all_reduce=float(rng.choice([0.0, 0.3])),
        most_jobs=int(rng.choice([3, UNLIMITED])),
        most_new=int(rng.choice([1, 2, UNLIMITED, UNLIMITED])),
    )
    if rng.random() < 0.3:
        mask = np.triu(rng.random(drawn.apart.shape) < 0.3).astype(np.int64)
        drawn = drawn.replace(apart=np.maximum(mask, mask.T))
    return drawn


@functools.lru_cache(maxsize=200_000)
def optimum(instance: Instance) -> tuple[int, Plan]:
    """Value and plan of brute force."""
    found = api.solve(instance, "brute-force")
    assert found.status == "optimal"
    assert instance.violations(found.plan) == []
    return found.sort_key, found.plan


def check(instance: Instance, solver: str, cold: bool) -> None:
    expected, _ = optimum(instance)
    found = api.solve(instance, solver, hint="none" if cold else None)
    where = f"cold={cold}: {instance!r}"
    assert (found.status, found.sort_key, found.sort_bound, found.gap) == ("optimal", expected, expected, 0), where
    assert found.stopped_by == "proof", where


def test_agreement_on_generated_instances(solver, count):
    for number in range(count):
        check(generated(number), solver, cold=number % 2 == 0)


@settings(max_examples=2 * settings().max_examples)
@given(instance=strategies.placement())
def test_agreement_on_adversarial_instances(solver, instance):
    check(instance, solver, cold=len(instance.run_type) % 2 == 0)


def test_the_instances_are_hard(count, report):
    drawn = [generated(number) for number in range(count)]
    best = {i: max(api.solve(i, rule).sort_key for rule in RULES) for i in drawn}
    missed = sum(best[i] < optimum(i)[0] for i in drawn)
    lines = [f"{len(drawn)} generated instances, optimum by brute force"]
    lines.append(f"{missed / count:6.1%}  the best of the rules is not optimal")
    binds: Counter[str] = Counter()
    cases: Counter[str] = Counter()
    for instance in drawn:
        value, plan = optimum(instance)
        cases.update(name for name, true in PROBLEM.cases(instance, plan).items() if true)
        for name, relaxed in PROBLEM.relaxations(instance).items():
            assert relaxed.violations(plan) == [], name
            binds[name] += optimum(relaxed)[0] > value
    lines += [f"{times / count:6.1%}  binds: {name}" for name, times in binds.items()]
    lines += [f"{times / count:6.1%}  case: {name}" for name, times in sorted(cases.items())]
    report("placement: how hard the instances of the agreement tests are", lines)
    assert missed >= 0.3 * count, "the best rule is optimal too often: the instances are too easy"
    common = {name: times for name, times in binds.items() if name != "capacity of ram"}
    assert min(common.values()) >= 0.02 * count, f"a constraint hardly ever binds: {binds}"
    assert max(cases.values()) < count, "a case always occurs"
