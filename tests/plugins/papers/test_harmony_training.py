"""Harmony's Table II, Figure 10 and the policy for 30 machines: what is trained, what is run, what is said of it."""

from __future__ import annotations

import dataclasses

import pytest

from mlsched.learned.weights import read
from mlsched_papers.harmony import claims_training, tables, training
from mlsched_papers.harmony import grid as g
from mlsched_papers.harmony.measure import run_case
from mlsched_papers.harmony.measured import HarmonyView, Measured
from mlsched_papers.runs import measure_all

#: A training of a second.
TINY = {"workers": 2, "minibatch": 4, "validation": 1, "jobs": 3, "every": 2, "span": 2, "live": 0, "replay": 64}
GRID = dataclasses.replace(g.QUICK, jobs=4, seeds=2, trainings=4, rack=g.FULL.rack, rack_training=2, rack_jobs=5)


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(training, "VARIANTS", {name: {**s, **TINY} for name, s in training.VARIANTS.items()})
    monkeypatch.setattr(training, "LARGE", {**training.LARGE, **TINY})
    monkeypatch.setattr(training, "ANNEAL", 2)
    monkeypatch.setattr(training, "HISTORY", {**training.HISTORY, "samples": 20})


def test_each_training_is_made_run_and_judged(tiny, tmp_path):
    policies = training.variants(GRID, tmp_path)
    assert [policy.label for policy in policies] == list(training.VARIANTS)
    recipes = {p.label: read(p.text.partition("=")[2], "harmony").card["recipe"] for p in policies}
    differs = {
        name: {key: value for key, value in found.items() if value != recipes[training.FULL][key]}
        for name, found in recipes.items()
    }
    assert differs.pop(training.FULL) == {}
    assert differs == {**training.TECHNIQUES, **training.NETWORKS, **training.OTHERS}

    cases = g.learned(GRID, policies, ())
    assert {(case.interpretation, case.pattern) for case in cases} == {(g.BASE, "uniform")}
    runs = measure_all(run_case, cases, GRID)
    view = HarmonyView(g.BASE, runs)
    assert view.shown() == [], "Figure 8 has no row of them"
    second, tenth = tables.trainings(view)
    assert [label for label, _ in second.rows] == [training.FULL, *training.TECHNIQUES]
    assert [label for label, _ in tenth.rows] == [training.FULL, *training.NETWORKS, *training.OTHERS]
    assert [number.paper for number in second.rows[1][1]] == [6.4, 49.3]

    some = {case: run for case, run in runs.items() if case.policy.label != "128 neurons"}
    judged = [s.judge(Measured(GRID, [HarmonyView(g.BASE, some)], None, {})) for s in claims_training.STATEMENTS]
    assert [claim.verdict == "not measured" for claim in judged] == [False, False, True, False]
    found = [statement.judge(Measured(GRID, [view], None, {})) for statement in claims_training.STATEMENTS]
    whole, without = (view.values(policies[k], view.metric) for k in (0, 1))
    longer = found[0].measurements[0].measured.mean
    assert longer == pytest.approx((100 * (without / whole - 1)).mean())
    trained = [read(path, "harmony").card["trained"] for path in sorted(tmp_path.glob("*.safetensors"))]
    assert len(trained) == len(policies)
    assert all(
        claim.verdict == "not trained" for claim in found if any(piece.untrained for piece in claim.measurements)
    )


def test_a_policy_is_trained_for_the_rack_and_kept(tiny, tmp_path):
    (policy,) = training.large(GRID, tmp_path)
    (case, *_) = g.learned(GRID, (), (policy,))
    assert (case.interpretation, case.policy.kind) == (g.FULL.rack, "trained")
    assert measure_all(run_case, [case], GRID)[case].values["average_completion"] > 0
    card = read(tmp_path / "harmony-30.safetensors", "harmony").card
    assert (card["recipe"]["servers"], card["recipe"]["rate"]) == (30, 15.0)
    assert training.untrained(policy) == "its training has not met the recipe's criterion"
    before = (tmp_path / "harmony-30.safetensors").stat().st_mtime_ns
    assert training.large(GRID, tmp_path) == (policy,)
    assert (tmp_path / "harmony-30.safetensors").stat().st_mtime_ns == before, "trained once"


def test_small_versions_train_nothing(tmp_path):
    assert training.variants(g.QUICK, tmp_path) == training.large(g.QUICK, tmp_path) == ()
    assert tables.trainings(HarmonyView(g.BASE, {})) == []
    assert list(tmp_path.iterdir()) == []
