"""Sharing a state without names changes nothing that is asked."""

from __future__ import annotations

from draws import draws
from hypothesis import given, settings

import mlsched
from mlsched_admission.instances import instances
from mlsched_admission.instances.anonymous import anonymous


@settings(max_examples=draws(25, 1000), deadline=None)
@given(instance=instances())
def test_optima_without_names_are_the_same(instance):
    other = anonymous(instance)
    for objective in ("victims", "lost"):
        best, same = (mlsched.solve(one, "brute-force", objective=objective) for one in (instance, other))
        assert (best.status, best.sort_key) == (same.status, same.sort_key)
    if best.plan is not None:
        assert other.violations(best.plan) == []
        assert other.evaluate(best.plan) == instance.evaluate(best.plan)


@settings(max_examples=draws(25, 1000), deadline=None)
@given(instance=instances())
def test_nothing_but_names_changes(instance):
    named, numbered = instance.to_json(), anonymous(instance).to_json()
    changed = {field for field in named if named[field] != numbered[field]}
    assert all(field == "resources" or field.endswith("_names") for field in changed)
    assert all(len(named[field]) in (0, len(numbered[field])) for field in changed)
