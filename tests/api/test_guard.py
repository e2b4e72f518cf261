"""A foreign solver can neither change what it is judged by nor end the program."""

from __future__ import annotations

import hostile_rules
import pytest
from preemption_examples import small

import mlsched
from mlsched.api.guard import Guarded, is_foreign
from mlsched.core.errors import RuleFailure, SolverError
from mlsched.core.record import specs
from mlsched.core.registry import registry
from mlsched.instances.preemption import Plan

RIGHT = {"te_node": [1], "victims": [2]}


def by_attribute(instance):
    object.__setattr__(instance, "te_demand", instance.te_demand * 0)


def by_dictionary(instance):
    instance.__dict__["te_demand"] = instance.te_demand * 0


def by_flag(instance):
    instance.te_demand.flags.writeable = True
    instance.te_demand[:] = 0


def by_deleting(instance):
    del instance.__dict__["te_demand"]


@pytest.mark.parametrize("change", [by_attribute, by_dictionary, by_flag, by_deleting])
def test_who_changes_the_instance_is_told_so_and_the_instance_stays(change):
    instance, untouched = small(), small()

    def cheat(given, *, rng):
        change(given)
        return Plan(te_node=[0], victims=[])

    with pytest.raises(RuleFailure, match="cheat changed the instance that it received") as caught:
        mlsched.solve(instance, cheat)
    assert caught.value.how == "cheated"
    assert instance == untouched
    assert instance.same_as(untouched)


def test_numbers_that_are_changed_unseen_are_not_those_that_count():
    """Made writeable, changed, and made read-only again: told in a process of its own, and of no use in this one."""

    def cheat(given, *, rng):
        by_flag(given)
        given.te_demand.flags.writeable = False
        return Plan(te_node=[0], victims=[])

    instance, untouched = small(), small()
    with pytest.raises(SolverError, match="returned an infeasible plan"):
        mlsched.solve(instance, cheat)
    assert instance == untouched
    thorough = Guarded("cheat", cheat)
    thorough.thorough = True
    with pytest.raises(RuleFailure, match="changed the instance that it received"):
        thorough(instance, rng=None)


def test_what_a_rule_computes_beforehand_is_not_what_the_judge_computes():
    """Derived values are remembered in the instance; a false one must not reach the judge."""
    instance = small()
    value = mlsched.solve(instance, lambda given, *, rng: Plan(**RIGHT)).sort_key

    def plants(given, *, rng):
        for name in ("hash", "deferral_weight", "victim_cost", "need"):
            given.__dict__[name] = 0
        return Plan(**RIGHT)

    found = mlsched.solve(small(), plants)
    assert found.sort_key == value
    assert found.instance_hash == instance.hash


def test_a_plan_of_a_class_of_its_own_is_refused():
    class Other(Plan):
        pass

    with pytest.raises(SolverError, match="returned an Other, expected a preemption"):
        mlsched.solve(small(), lambda given, *, rng: Other(**RIGHT))


@pytest.mark.parametrize("error", [SystemExit(0), KeyboardInterrupt(), GeneratorExit(), hostile_rules.Speechless()])
def test_what_would_end_the_program_is_the_rules_failure(error):
    def leaves(given, *, rng):
        raise error

    with pytest.raises(SolverError, match=f"leaves raised {type(error).__name__}"):
        mlsched.solve(small(), leaves)
    with pytest.raises(SolverError, match=f"leaves: decision 0 at .*: raised {type(error).__name__}"):
        mlsched.simulate(mlsched.workload("synthetic:z:jobs=20,nodes=2"), leaves)


def test_the_users_interrupt_is_not_the_rules_failure(control_c):
    def works(given, *, rng):
        control_c()

    with pytest.raises(KeyboardInterrupt):
        mlsched.solve(small(), works)
    with pytest.raises(KeyboardInterrupt):
        mlsched.simulate(mlsched.workload("synthetic:z:jobs=20,nodes=2"), works)


def test_a_private_copy_shares_nothing_that_can_be_changed():
    instance = small()
    copied = instance.private()
    assert instance.same_as(copied)
    assert copied == instance
    for name in specs(type(instance)):
        value = getattr(copied, name)
        if hasattr(value, "flags"):
            assert not value.flags.writeable
            assert not (value.size and value is getattr(instance, name))


def test_mlscheds_own_solvers_are_handed_the_instance_itself():
    assert not any(is_foreign(a) for a in registry().available() if a.function.__module__.startswith("mlsched."))
    solver, _ = mlsched.api.resolve_solver("preemption", "fifo", {})
    assert solver is registry().solvers["preemption", "fifo"]


def test_the_guard_keeps_the_signature():
    def search(instance, *, rng, limits=None):
        assert limits.seconds == 3
        return Plan(**RIGHT)

    assert mlsched.solve(small(), search, time_limit=3).status == "feasible"
