"""`solve(..., certify=True)`: what prices prove in passing is certified, and nothing else is."""

from __future__ import annotations

import dataclasses

import pytest
from certificate_examples import drawn

from mlsched import api
from mlsched.api import certified
from mlsched.core.errors import SolverError
from mlsched.core.registry import registry


@pytest.mark.parametrize("problem", ["quality", "workers", "preemption", "placement"])
def test_an_optimum_is_certified_in_passing(problem):
    for instance in drawn(problem, 3):
        exact = registry().problem(problem).default
        assert api.solve(instance, exact, certify=True).evidence == "certified"
        assert api.solve(instance, exact).evidence == "unconfirmed"


def test_what_is_not_proved_stays_as_it_was(monkeypatch):
    (instance,) = drawn("quality", 1)
    assert api.solve(instance, "slaq", certify=True).evidence is None
    monkeypatch.setattr(certified, "reasons_unproved", lambda *given: ["something"])
    assert api.solve(instance, "dp", certify=True).evidence == "unconfirmed"
    (tasks,) = drawn("taskgraph", 1)
    assert api.solve(tasks, "cp-sat", certify=True).evidence == "unconfirmed"


def test_a_false_optimum_is_refuted(monkeypatch):
    (instance,) = drawn("workers", 1)
    found = api.solve(instance, "brute-force")

    false = dataclasses.replace(found, sort_key=found.sort_key + 5)
    with pytest.raises(SolverError, match=r"calls total_jct = .* optimal, and a better plan exists"):
        certified.with_certificate(instance, false)
