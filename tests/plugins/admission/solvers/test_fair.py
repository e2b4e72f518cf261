"""Verdicts under fair sharing: against all victim sets that some order allows."""

from __future__ import annotations

import pytest
from kueue_examples import kueue_state, manager
from state_examples import written

import mlsched_admission
from mlsched_admission.solvers import fair


@pytest.fixture
def paths(tmp_path):
    documents = kueue_state()
    documents["config.json"] = manager("fairSharing: {}\n")
    return written(tmp_path, documents)


def test_kueues_own_decision_is_on_the_front(paths):
    found = mlsched_admission.judge(*paths, rule="kueue", job="urgent")
    assert found.verdict.kind == "on the front"
    assert found.verdict.proof == fair.ENUMERATED


def test_victims_that_no_policy_allows_are_ineligible(paths):
    verdict = mlsched_admission.judge(*paths, decision=["rent", "train", "notebook"], job="urgent").verdict
    assert verdict.kind in ("unknown", "does not start", "dominated")
    documents = kueue_state()
    documents["config.json"] = manager("fairSharing: {}\n")
    documents["queues.json"]["items"][0]["spec"]["preemption"]["reclaimWithinCohort"] = "Never"
    paths = written(paths[0].parent, documents)
    verdict = mlsched_admission.judge(*paths, decision=["rent"], job="urgent").verdict
    assert (verdict.kind, verdict.ineligible[0][1]) == ("ineligible", "reclaimWithinCohort is Never")


def test_a_verdict_needs_only_the_sets_that_could_dominate(paths, monkeypatch):
    own = mlsched_admission.judge(*paths, rule="kueue", job="urgent")
    sets = 1 + len(own.instance.unit_names) + 1
    monkeypatch.setattr(fair, "MOST", sets)
    again = mlsched_admission.judge(*paths, rule="kueue", job="urgent").verdict
    assert again.kind in ("on the front", "unknown")
    assert not again.complete or again.proof == fair.ENUMERATED
