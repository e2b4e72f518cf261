"""Brute force, CP-SAT and HiGHS say the same about every instance, and the judge accepts every plan.

How hard the instances were is printed at the end of the run: agreement on trivial instances is no evidence.
"""

from __future__ import annotations

import contextlib
import functools
from collections import Counter

import numpy as np
import pytest
from draws import draws, share
from hypothesis import given, settings

from mlsched import api
from mlsched.core.errors import InvalidInput, MlschedError
from mlsched.instances import strategies
from mlsched.instances.preemption import PROBLEM, Instance, Plan

OBJECTIVES = [o.name for o in Instance.objectives]


def generated(number: int) -> Instance:
    """The `number`-th instance of the test: sizes and knobs drawn, then the generator asked."""
    rng = np.random.default_rng([2026, number])
    nodes = int(rng.integers(1, 4))
    return PROBLEM.generate(
        rng,
        nodes=nodes,
        jobs=int(rng.integers(2 * nodes, 4 * nodes + 1)),
        tes=int(rng.integers(1, 5)),
        te_scale=float(rng.choice([0.3, 0.5, 0.8])),
        saturation=float(rng.choice([0.7, 0.9, 1.0])),
        limit_share=float(rng.choice([0.0, 0.2, 0.4])),
        limit=int(rng.integers(1, 3)),
    )


@functools.cache
def instances(count: int) -> list[Instance]:
    """The first `count` numbers' instances, less those whose jobs find no room on their nodes."""
    drawn = []
    for number in range(count):
        with contextlib.suppress(InvalidInput):
            drawn.append(generated(number))
    return drawn


@functools.lru_cache(maxsize=200_000)
def optimum(instance: Instance, objective: str) -> tuple[int, Plan]:
    """Value and plan of brute force."""
    found = api.solve(instance, "brute-force", objective=objective)
    assert found.status == "optimal"
    assert found.sort_bound == found.sort_key
    assert instance.violations(found.plan) == []
    return found.sort_key, found.plan


def check(instance: Instance, solver: str) -> None:
    """`solver` proves the value of brute force, for every objective, with and without decomposition."""
    for objective in OBJECTIVES:
        expected, _ = optimum(instance, objective)
        for decompose in (True, False):
            # Alternate between a warm and a cold start: both must prove the same value.
            hint = "none" if decompose == (len(instance.job_node) % 2 == 0) else None
            found = api.solve(instance, solver, objective=objective, decompose=decompose, hint=hint)
            where = f"{objective}, decompose={decompose}, hint={hint}: {instance!r}"
            assert (found.status, found.sort_key, found.sort_bound, found.gap) == ("optimal", expected, expected, 0), (
                where
            )
            assert instance.violations(found.plan) == [], where
            assert instance.evaluate(found.plan)[objective] == expected, where
            assert found.stopped_by == "proof", where


def test_agreement_on_generated_instances(solver, scale):
    # HiGHS takes twice as long, mostly to build its models: it sees every other one.
    for instance in share(instances(scale), 1 if solver == "cp-sat" else 2):
        check(instance, solver)


@settings(max_examples=draws(12, 2000))
@given(instance=strategies.preemption(tes=3))
def test_agreement_on_adversarial_instances(solver, instance):
    check(instance, solver)


def test_the_instances_are_hard(scale, report):
    drawn = instances(scale)
    assert len(drawn) >= 0.9 * scale
    missed = sum(api.solve(i, "fitgpp").sort_key > optimum(i, "total_score")[0] for i in drawn)
    lines = [f"{len(drawn)} generated instances, objective total_score, optimum by brute force"]
    lines.append(f"{missed / len(drawn):6.1%}  fitgpp is not optimal")
    binds: Counter[str] = Counter()
    cases: Counter[str] = Counter()
    for instance in drawn:
        value, plan = optimum(instance, "total_score")
        cases.update(name for name, true in PROBLEM.cases(instance, plan).items() if true)
        for name, relaxed in PROBLEM.relaxations(instance).items():
            binds[name] += instance.evaluate(optimum(relaxed, "total_score")[1])["total_score"] < value
    lines += [f"{count / len(drawn):6.1%}  binds: {name}" for name, count in binds.items()]
    lines += [f"{count / len(drawn):6.1%}  case: {name}" for name, count in sorted(cases.items())]
    report("preemption: how hard the instances of the agreement tests are", lines)
    assert missed >= 0.3 * len(drawn), "fitgpp is optimal too often: the instances are too easy"
    assert min(binds.values()) >= 0.02 * len(drawn), f"a constraint hardly ever binds: {binds}"
    assert set(cases) == set(PROBLEM.cases(drawn[0], optimum(drawn[0], "total_score")[1])), "a case never occurs"
    assert max(cases.values()) < len(drawn), "a case always occurs"


@pytest.mark.parametrize("unit", [10**3, 10**6, 10**9, 10**12])
def test_fine_units_never_give_a_wrong_answer_in_silence(solver, unit):
    """Bytes instead of GB: floats may fail on such numbers, but then they must say so."""
    for seed in range(12):
        inst = PROBLEM.generate(np.random.default_rng(seed), nodes=3, jobs=7, tes=1 + seed % 3)
        nudge = np.random.default_rng(seed).integers(-1, 2, inst.te_demand.shape)
        fine = inst.replace(
            node_capacity=inst.node_capacity * unit,
            node_free=inst.node_free * unit,
            max_size=0,
            job_demand=inst.job_demand * unit,
            te_demand=np.maximum(inst.te_demand * unit + nudge, 0),
        )
        try:
            found = api.solve(fine, solver)
        except MlschedError:
            assert solver != "cp-sat", "integers are exact"
            assert unit >= 10**9, "ordinary units must work"
            continue
        assert (found.status, found.sort_key) == ("optimal", optimum(fine, "total_score")[0])
