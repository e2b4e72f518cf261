"""Brute force, CP-SAT and HiGHS say the same about every instance and every objective, and about whole fronts.

How hard the instances were is printed at the end of the run: agreement on trivial instances is no evidence.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter

import numpy as np
import pytest
from contended_examples import contended
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from mlsched import api
from mlsched.core.registry import registry
from mlsched.formulations.taskgraph import moulded
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances import strategies
from mlsched.instances.taskgraph import PROBLEM, Instance
from mlsched.solvers import enumerate_front
from mlsched.solvers.taskgraph import brute_force
from mlsched.solvers.taskgraph.plans.schedule import search

OBJECTIVES = tuple(o.name for o in Instance.objectives)
#: Those that count GPU-seconds, and so need the length of a tick, which these instances do not state.
NEEDS_SECONDS = {"gavel", "las", "round-by-round", "tiresias", "tiresias-gittins"}
RULES = [a.name for a in registry().available("taskgraph", "heuristic") if a.name not in NEEDS_SECONDS]
#: Two and three objectives that pull apart.
FRONTS = (
    ("total_jct", "traffic"),
    ("total_jct", "total_accuracy"),
    ("total_jct", "traffic", "total_accuracy"),
    ("makespan", "deadlines_met", "accuracy_met"),
)

#: Without one that counts every tick: HiGHS's model then has no times beyond the deadlines, or none at all.
BY_DEADLINE = (("deadlines_met", "traffic"), ("traffic", "accuracy_met"), ("deadlines_met", "total_accuracy"))


@pytest.fixture(scope="session")
def count() -> int:
    """Number of drawn instances: 1000 in the thorough profile, 18 otherwise."""
    return draws(18, 1000)


def drawn(number: int) -> Instance:
    """Every other instance is a training workload, every other one is made to be hard."""
    return contended(number) if number % 2 else generated(number)


def generated(number: int) -> Instance:
    """The `number`-th instance of the test: sizes and knobs drawn, then the generator asked."""
    rng = np.random.default_rng([2027, number])
    return PROBLEM.generate(
        rng,
        jobs=int(rng.integers(1, 4)),
        nodes=int(rng.integers(1, 3)),
        runs=int(rng.integers(3, 8)),
        gpus=int(rng.integers(1, 3)),
        graph=str(rng.choice(["mlfs", "dags"])),
        slack=float(rng.choice([1.0, 1.5, 3.0])),
        longest=4,
        optional=0.6,
        pinned=0.2,
        movement=str(rng.choice(["none", "none", "between_iterations"])),
        accuracy_at=str(rng.choice(["deadline", "final"])),
    )


@functools.lru_cache(maxsize=200_000)
def enumerated(instance: Instance):
    """Status, value and plan of brute force by objective, and a front: all that is asked of one enumeration."""
    found = {}
    for objective in OBJECTIVES:
        best = api.solve(instance, "brute-force", objective=objective)
        assert best.status in ("optimal", "infeasible")
        found[objective] = best.status, best.sort_key, best.plan
    return found, brute_force.front(instance, FRONTS[2])


def optimum(instance: Instance, objective: str):
    """Status, value and plan of brute force."""
    return enumerated(instance)[0][objective]


def check(instance: Instance, solver: str) -> None:
    for number, objective in enumerate(OBJECTIVES, len(instance.task_job)):
        status, value, _ = optimum(instance, objective)
        # Alternate between a warm and a cold start: both must prove the same value.
        hint = "none" if number % 2 else None
        found = api.solve(instance, solver, objective=objective, hint=hint)
        where = f"{objective}, hint={hint}: {instance!r}"
        assert (found.status, found.sort_key, found.sort_bound) == (status, value, value), where
        assert found.stopped_by == "proof", where


def test_agreement_on_drawn_instances(solver, count):
    # HiGHS takes seconds where CP-SAT takes hundredths: it sees fewer of them here, and as many in the next test.
    for number in range(count if solver == "cp-sat" else count // 5):
        check(drawn(number), solver)


@settings(max_examples=draws(12, 2000))
@given(instance=strategies.taskgraph())
def test_agreement_on_adversarial_instances(solver, instance):
    check(instance, solver)


@given(instance=strategies.taskgraph(), objectives=st.sampled_from(FRONTS))
def test_fronts_are_those_of_brute_force(instance, objectives):
    front = api.pareto(instance, objectives, solver="cp-sat")
    assert front.complete
    assert [tuple(row) for row in front.sort_keys.tolist()] == brute_force.front(instance, objectives)


@settings(max_examples=max(5, settings().max_examples // 5))
@given(instance=strategies.taskgraph(tasks=2, runs=4), objectives=st.sampled_from((*FRONTS, *BY_DEADLINE)))
def test_fronts_of_highs_are_those_of_brute_force(instance, objectives):
    front = api.pareto(instance, objectives, solver="highs")
    assert front.complete
    assert [tuple(row) for row in front.sort_keys.tolist()] == brute_force.front(instance, objectives)


def test_a_front_is_replayed_by_the_other_backend():
    instance = next(i for i in map(generated, range(100)) if len(brute_force.front(i, ("total_jct", "traffic"))) > 1)
    front = api.pareto(instance, ("total_jct", "traffic"), solver="cp-sat")
    assert len(front) > 1
    assert front.verify() == []


def test_the_moulded_variant_is_no_better_and_its_backends_agree(count):
    seen: Counter[str] = Counter()
    for number, objective in itertools.product(range(count // 3), OBJECTIVES):
        instance = drawn(number)
        if len(instance.fixed_task):
            continue  # a gang starts as a whole
        sense = instance.objective(objective).sense
        one = api.solve(instance, "moulded", objective=objective, hint="none")
        other = api.solve(instance, "moulded-highs", objective=objective)
        assert (one.status, one.sort_key) == (other.status, other.sort_key), instance
        assert one.sort_bound is None
        if one.plan is None:
            seen["none"] += 1
            continue
        assert one.sort_key == one.work["restricted_bound"] == other.work["restricted_bound"]
        _, best, _ = optimum(instance, objective)
        assert one.sort_key >= best if sense == "min" else one.sort_key <= best
        seen["worse" if one.sort_key != best else "equal"] += 1
    assert seen["worse"] > 0, f"the moulded variant never loses anything: {seen}"
    assert seen["equal"] > 0, f"the moulded variant always loses: {seen}"


def test_moulded_fronts_of_both_backends_are_equal():
    senses = {o.name: o.sense for o in Instance.objectives}
    for number, names in itertools.product(range(draws(4, 6)), FRONTS[1:3]):
        instance = generated(number)
        values = []
        for build in (moulded.cp_sat_model, moulded.highs_model):
            made = build(instance, objectives=names)
            sums = [made.objectives[n][0].expression + made.constant.get(n, 0) for n in names]
            front = enumerate_front(made.model, sums, [senses[n] for n in names], decode=made.decode)
            assert front.complete
            for plan, row in zip(front.plans, front.sort_keys.tolist(), strict=True):
                assert instance.violations(plan) == []
                assert [instance.evaluate(plan)[n] for n in names] == row
            values.append(front.sort_keys.tolist())
        assert values[0] == values[1]


def test_the_instances_are_hard(count, report):
    """Rules: all of the problem, rolled out; beside them the four orders from which schedule generation starts."""
    able = spread = 0
    missed: list[bool] = []
    orders: list[bool] = []
    binds: Counter[str] = Counter()
    cases: Counter[str] = Counter()
    for instance in map(drawn, range(count)):
        status, value, plan = optimum(instance, "total_jct")
        if status != "optimal":
            continue
        able += 1
        spread += len(enumerated(instance)[1]) > 1
        cases.update(name for name, true in PROBLEM.cases(instance, plan).items() if true)
        for name, relaxed in PROBLEM.relaxations(instance).items():
            assert relaxed.violations(plan) == [], name
            binds[name] += api.solve(relaxed, "cp-sat", objective="total_jct", hint="none").sort_key < value
    for number in range(1, count, 2):
        instance = contended(number)
        status, value, _ = optimum(instance, "total_jct")
        if status == "optimal":
            rules = (api.solve(instance, name, objective="total_jct").sort_key for name in RULES)
            missed.append(value not in rules)  # which asks no more when one of them has found it
            generated, _ = search(Layout.of(instance), 4, 0)
            orders.append(instance.evaluate(generated)["total_jct"] > value)
    share = sum(missed) / len(missed)
    lines = [f"{count} instances, {count - able} of them infeasible, optimum of total_jct by brute force"]
    lines.append(f"{share:6.1%}  the best of {len(RULES)} rules is not optimal (the contended half)")
    lines.append(f"{sum(orders) / len(orders):6.1%}  the best of four generated schedules is not optimal (there)")
    lines.append(f"{spread / able:6.1%}  total_jct, traffic and total_accuracy conflict")
    lines += [f"{times / able:6.1%}  binds: {name}" for name, times in binds.items()]
    lines += [f"{times / able:6.1%}  case: {name}" for name, times in sorted(cases.items())]
    report("taskgraph: how hard the instances of the agreement tests are", lines)
    assert share >= 0.3, "the best rule is optimal too often: the instances are too easy"
    assert spread >= 0.3 * able, "the objectives hardly conflict"
    assert max(cases.values()) < count, "a case always occurs"
