"""Pieces of the models: covering bounds, victims that can be spared, brute force's own limit."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from preemption_examples import SCORES, row, small

from mlsched import api
from mlsched.core.errors import InvalidInput
from mlsched.formulations.preemption._model import by_node, fractional_cover, needed_victims, reduce
from mlsched.instances import strategies
from mlsched.instances.preemption import Instance, Plan

OBJECTIVES = [o.name for o in Instance.objectives]
pairs = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6)), min_size=1, max_size=6)


@given(items=pairs, share=st.fractions(0, 1))
def test_the_covering_bound_is_the_continuous_optimum_rounded_up(items, share):
    cost, release = np.array([c for c, _ in items]), np.array([r for _, r in items])
    deficit = max(1, int(release.sum() * share))
    if release.sum() < deficit:
        with pytest.raises(ValueError, match="do not cover"):
            fractional_cover(cost, release, deficit)
        return
    # A vertex of the continuous problem has whole jobs and at most one part of a job: enumerate those.
    best = None
    for k in range(len(items) + 1):
        for whole in itertools.combinations(range(len(items)), k):
            missing = deficit - sum(release[j] for j in whole)
            paid = Fraction(int(sum(cost[j] for j in whole)))
            rest = [j for j in range(len(items)) if j not in whole and release[j] >= missing > 0]
            totals = [paid + Fraction(int(cost[j]) * int(missing), int(release[j])) for j in rest]
            totals += [paid] if missing <= 0 else []
            best = min([*totals, *([] if best is None else [best])], default=None)
    assert fractional_cover(cost, release, deficit) == -(-best.numerator // best.denominator)


@given(instance=strategies.preemption(tes=1))
def test_the_bound_of_every_branch_is_below_its_optimum(instance):
    able = np.flatnonzero(instance.preemptible).tolist()
    subsets = [list(c) for k in range(len(able) + 1) for c in itertools.combinations(able, k)]
    for objective in OBJECTIVES:
        question = by_node(instance, objective, lambda reduced: reduced)
        bounds = {}
        for part in question.parts:
            nodes = {n for _, n in part.build().places}
            assert len(nodes) <= 1
            bounds.update(dict.fromkeys(nodes, part.bound))
        for node in range(len(instance.node_capacity)):
            plans = [Plan(te_node=[node], victims=v) for v in subsets]
            values = [instance.evaluate(p)[objective] for p in plans if not instance.violations(p)]
            if values:
                assert bounds[node] <= min(values), (objective, node)
        assert instance.evaluate(question.fallback)[objective] > max(bounds.values(), default=0)


@given(instance=strategies.preemption())
def test_every_job_spared_is_spared_rightly_and_none_is_left_to_spare(instance):
    able = np.flatnonzero(instance.preemptible).tolist()
    hosts = [-1] * len(instance.te_demand)
    for t in range(len(hosts)):
        for n in range(len(instance.node_capacity)):
            trial = [*hosts[:t], n, *hosts[t + 1 :]]
            if not instance.violations(Plan(te_node=trial, victims=able)):
                hosts = trial
                break
    kept = needed_victims(instance, hosts, able)
    assert set(kept) <= set(able)
    assert instance.violations(Plan(te_node=hosts, victims=kept)) == []
    for j in kept:
        assert instance.violations(Plan(te_node=hosts, victims=[v for v in kept if v != j])), f"{j} can be spared"


def test_reductions_drop_what_cannot_matter():
    reduced = reduce(small(te_demand=[[9, 1], [5, 2]], job_preemptions=[1, 0, 0]))
    assert reduced.places == [(1, 1)], "TE 0 fits nowhere, TE 1 not on node 0 without job 0"
    assert reduced.candidates == [2]
    assert reduced.rows == [(1, 0, 2), (1, 1, 1)]
    assert reduced.waiting_cost == {
        "total_score": 1 + SCORES[1] + SCORES[2],
        "victim_count": 3,
        "max_grace_period": 121,
    }
    assert [p.bound for p in by_node(small(), "victim_count", lambda r: r).parts] == [1, 1]


def test_a_node_that_cannot_host_is_no_branch():
    inst = small(job_preemptions=[1, 1, 0])
    assert len(by_node(inst, "total_score", lambda r: r).parts) == 1


def test_brute_force_refuses_what_it_cannot_enumerate():
    inst = api.generate("preemption", "surge")
    with pytest.raises(InvalidInput, match=r"brute-force: there are more than 67108864 plans: use cp-sat or highs"):
        api.solve(inst, "brute-force")


def test_brute_force_reports_its_work():
    assert api.solve(small(), "brute-force").work == {"plans": 8 * 3}


@pytest.mark.parametrize("solver", ["brute-force", "cp-sat", "highs"])
def test_ties_are_all_proved(solver):
    inst = row([2, 2], [4, 2], preemption_limit=1)
    assert api.solve(inst, solver, objective="victim_count").sort_key == 3
