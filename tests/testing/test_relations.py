"""What is known of the optimum of a changed instance, held against every exact solver and against false claims."""

from __future__ import annotations

import dataclasses
import types

import pytest
from draws import THOROUGH, draws

import mlsched
from mlsched.core.contract import MetamorphicRelation
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import UNLIMITED
from mlsched.core.registry import registry
from mlsched.testing import CheckFailed, check_metamorphic_relations
from mlsched.testing.relations import _Comparison

MAIN = {name: problem.instance_type.called for name, problem in registry().problems.items()}
EXACT = [
    (a.problem, a.name) for a in registry().available(kind="exact") if not a.restricted and a.called == MAIN[a.problem]
]
PAIRS = [(p, n, o.name) for p, n in EXACT for o in registry().problem(p).instance_type.objectives]


@pytest.mark.parametrize(("problem", "name", "objective"), [x for x in PAIRS if THOROUGH or x[1] == "brute-force"])
def test_exact_solvers_keep_every_relation(problem, name, objective):
    report = check_metamorphic_relations(name, problem, objective=objective, examples=draws(6, 60))
    assert {o.status for o in report.outcomes.values()} <= {"passed", "skipped"}


def test_what_is_claimed_falsely_is_found(monkeypatch):
    found = registry().problem("quality")
    known = found.metamorphic_relations["another core"]
    wrong = {"another core": dataclasses.replace(known, says={"total_loss_reduction": "equal"})}
    monkeypatch.setitem(registry().problems, "quality", dataclasses.replace(found, metamorphic_relations=wrong))
    with pytest.raises(CheckFailed, match="a core is added, so total_loss_reduction is equal; it was") as caught:
        check_metamorphic_relations("dp", "quality")
    assert len(str(caught.value).splitlines()) < 30


@pytest.mark.parametrize(
    ("says", "after"), [("equal", {10}), ("no worse", {9, 10}), ("no better", {10, 11, 20}), (1, {10}), (2, {20})]
)
def test_each_way_of_saying_it(says, after):
    """A total completion time was 10; what it may be now."""
    instance = mlsched.generate("workers", "small")
    compared = _Comparison("dp", instance.objectives[0], "", MetamorphicRelation("", lambda i, rng: i, {}))
    assert {value for value in (9, 10, 11, 20) if compared._holds(says, instance, instance, 10, value)} == after


def test_the_rank_comes_first():
    """A deferred TE job outweighs everything, whatever it weighs in either instance."""
    other = mlsched.generate("preemption", "small").replace(preemption_limit=UNLIMITED)
    one = other.replace(preemption_limit=0)
    weights = [i.primary("victim_count").weight for i in (one, other)]
    compared = _Comparison("fifo", one.objective("victim_count"), "", MetamorphicRelation("", lambda i, rng: i, {}))
    assert weights[0] == 1 < weights[1]
    assert compared._holds("no worse", one, other, 2 * weights[0], weights[1] + 1)
    assert not compared._holds("no worse", one, other, 2 * weights[0], 3 * weights[1])


def test_of_a_rule_one_may_ask_what_it_is_meant_to_keep():
    report = check_metamorphic_relations("fifo", "preemption", relations=["no limit"], examples=10)
    assert report.outcomes["no limit"].count == 10
    with pytest.raises(InvalidInput, match="'x' is unknown for preemption; there are relabelled"):
        check_metamorphic_relations("fifo", "preemption", relations=["x"])


def test_what_never_applies_is_said(monkeypatch):
    found = registry().problem("workers")
    never = MetamorphicRelation("never", lambda instance, rng: None, {"total_jct": "equal"})
    unsaid = types.MappingProxyType({"never": never, "unsaid": dataclasses.replace(never, says={})})
    monkeypatch.setitem(registry().problems, "workers", dataclasses.replace(found, metamorphic_relations=unsaid))
    report = check_metamorphic_relations("dp", "workers", examples=4)
    assert [str(o) for o in report.outcomes.values()] == [
        "never         skipped: it never applied",
        "unsaid        skipped: nothing is known of total_jct",
    ]
