"""A solver that declares `observed` cannot read what no scheduler knows, whoever asks it and by whatever way."""

from __future__ import annotations

import installed
import numpy as np
import placement_examples
import preemption_examples
import pytest
from jobs_examples import jobs_of

import mlsched
from mlsched.core.errors import InvalidInput, SolverError
from mlsched.core.record import specs
from mlsched.core.registry import registry
from mlsched.instances.placement.pace import Pace
from mlsched.testing import check_scheduler

SECRETS = [(p, name) for p in registry().problems.values() for t in p.instance_types for name in t.secrets]


def on_types():
    """A snapshot of nodes of two types."""
    load = jobs_of([[(4, 1)]], [(0, 0, 2)], node_type=[0, 1], slowness=[[10**6, 2 * 10**6]])
    return mlsched.simulate(load, "fifo", record=1.0).recorded[0].instance


EXAMPLES = {"placement": placement_examples.small, "preemption": preemption_examples.small, "taskgraph": on_types}


def by_attribute(instance, name):
    return getattr(instance, name)


def by_default(instance, name):
    return getattr(instance, name, None)


def by_copy(instance, name):
    return getattr(instance.private(), name)


def by_file(instance, name):
    return instance.to_json()[name]


def by_replace(instance, name):
    return getattr(instance.replace(resources=["other"] * len(instance.resources)), name)


def by_dictionary(instance, name):
    if name in vars(instance):
        return vars(instance)[name]
    raise InvalidInput(f"{name}: is hidden")


@pytest.mark.parametrize(("problem", "name"), SECRETS, ids=lambda value: getattr(value, "name", value))
@pytest.mark.parametrize("read", [by_attribute, by_default, by_copy, by_file, by_replace, by_dictionary])
def test_who_tries_is_told_so_in_one_line(problem, name, read):
    seen = []

    def peek(instance, *, rng):
        seen.append(read(instance, name))

    with pytest.raises(SolverError, match=r"is hidden") as caught:
        mlsched.solve(EXAMPLES[problem.name](), peek)
    assert "\n" not in str(caught.value)
    assert not seen


def read_sigma(instance, *, rng):
    raise AssertionError(instance.sigma_worker)


def test_a_process_of_its_own_is_not_handed_it_either():
    with pytest.raises(SolverError, match="sigma_worker: is hidden"):
        mlsched.solve(placement_examples.small(), read_sigma, isolate=True)


def test_the_placement_rules_of_others_can_neither_evaluate_nor_price():
    instance = placement_examples.small()
    hidden = instance.shown("observed")
    plan = mlsched.solve(instance, "bin-packing").plan
    assert hidden.violations(plan) == []
    for look in (lambda: hidden.evaluate(plan), lambda: Pace(hidden)):
        with pytest.raises(InvalidInput, match="hidden from solvers of information='observed'"):
            look()
    with pytest.raises(InvalidInput, match="hidden"):
        hidden.profile(*np.zeros((2, 2, 1, 2), dtype=np.int64))


def test_a_clock_hands_a_secret_to_no_observed_rule():
    load = mlsched.workload("synthetic:uniform", "placement", jobs=3, seed=0)

    def peek(instance, *, rng):
        raise AssertionError(instance.sigma_ps)

    with pytest.raises(SolverError, match="sigma_ps: is hidden"):
        mlsched.simulate(load, peek)
    with pytest.raises(Exception, match="sigma_ps: is hidden"):
        check_scheduler(peek, "placement", examples=4, reference=None)


def test_an_oracle_reads_all_of_it_by_declaration_or_attribute():
    instance = placement_examples.small()

    def rule(given, *, rng):
        assert (given.sigma_worker == instance.sigma_worker).all()
        return registry().solvers["placement", "bin-packing"].function(given, rng=rng)

    rule.information = "oracle"
    assert mlsched.solve(instance, rule).sort_key is not None
    rule.information = "all"
    with pytest.raises(InvalidInput, match="information: 'all', expected one of observed, profiled, oracle"):
        mlsched.solve(instance, rule)


def test_a_function_says_which_form_of_question_it_answers():
    horizon = mlsched.generate("taskgraph", "small", seed=0)

    def in_order(snapshot, *, rng):
        return mlsched.start_in_order(snapshot, snapshot.arrival)

    in_order.called = "online"
    assert mlsched.solve(horizon, in_order).sort_key == mlsched.solve(horizon, "fifo").sort_key
    in_order.called = "often"
    with pytest.raises(InvalidInput, match=r"in_order\.called: 'often', expected one of online, offline"):
        mlsched.solve(horizon, in_order)


@pytest.mark.parametrize("copied", [False, True])
def test_who_profiles_measures_but_reads_no_table(copied):
    instance = placement_examples.small()
    shown = instance.shown("profiled")
    shown = (shown.private() if copied else shown).shown("profiled")
    beside = np.zeros((2, 1, 2), dtype=np.int64)
    beside[0, 0, 1] = 1
    assert shown.profile(beside, 0 * beside).tolist() == [[0.5], [0.0]]
    with pytest.raises(InvalidInput, match="sigma_worker: is hidden"):
        shown.sigma_worker  # noqa: B018 - is what is tested
    assert mlsched.solve(instance, "tetris").sort_key is not None


def test_exactly_those_who_declare_it_see_rates():
    knowing = {a.name: a.information for a in registry().available("taskgraph") if a.information != "observed"}
    assert knowing == dict.fromkeys(
        installed.rules("taskgraph", "earliest-finish", "fastest-first", "gavel", "round-by-round"), "profiled"
    )


def test_exactly_those_who_declare_it_see_interference():
    knowing = {a.name: a.information for a in registry().available("placement") if a.information != "observed"}
    assert knowing == {
        "brute-force": "oracle",
        "cp-sat": "oracle",
        "highs": "oracle",
        "local-search": "oracle",
        "lif-linear": "profiled",
        "lif-quadratic": "profiled",
    }


def test_secrets_are_fields_and_have_no_default_that_would_show_through():
    for problem, name in SECRETS:
        holders = [t for t in problem.instance_types if name in specs(t)]
        assert holders
        assert not any(hasattr(t, name) for t in holders)


def test_what_is_not_there_is_an_ordinary_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        placement_examples.small().nonsense  # noqa: B018 - is what is tested


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_what_is_left_can_be_hashed_compared_and_shown(name):
    whole = EXAMPLES[name]()
    seen = whole.shown("observed")
    assert seen == whole.shown("observed").private()
    assert seen.hash == whole.shown("observed").hash != whole.hash
    assert seen != whole
    assert not any(secret in repr(seen) for secret in whole.secrets)
    assert whole.shown("oracle") is whole
