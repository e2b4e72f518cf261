"""A time limit covers the search for a start as well; rules that stop by themselves are told of it."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from mlsched import api
from mlsched.api import exact
from mlsched.core import deadline
from mlsched.core.errors import InvalidInput
from mlsched.core.formulation import NO_LIMITS, Limits
from mlsched.core.registry import registry
from mlsched.core.request import Request
from mlsched.core.solver import Solver
from mlsched.heuristics.placement import _annealing

INSTANCE = api.generate("placement", "small", seed=1)
EXACT = registry().solvers["placement", "cp-sat"]


def left_after(monkeypatch, seconds: float, limit: float | None) -> Limits:
    """What `start_within` leaves of a limit when finding a start takes so many seconds by its clock."""
    clock = itertools.chain([0.0], itertools.repeat(seconds))
    monkeypatch.setattr(deadline.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(exact, "_rule_plans", lambda *arguments, **more: [])
    limits = Limits(seconds=limit, work=3.0, seed=5)
    return exact.start_within(Request(EXACT, "total_speed", limits=limits, instance=INSTANCE)).limits


@pytest.mark.parametrize(("seconds", "limit", "left"), [(4, 10, 6), (20, 10, 0.1), (0, 10, 10), (4, None, None)])
def test_finding_a_start_counts(monkeypatch, seconds, limit, left):
    found = left_after(monkeypatch, seconds, limit)
    assert found.seconds == pytest.approx(left)
    assert (found.work, found.seed, found.threads) == (3.0, 5, 1)


@pytest.fixture
def told(monkeypatch):
    """A warm-start rule that notes the limits it is told, added to the registry."""
    seen: list[Limits | None] = []

    def search(instance, *, rng, limits: Limits | None = None):
        seen.append(limits)
        return registry().solvers["placement", "bin-packing"].function(instance, rng=rng)

    declared = Solver("search", "placement", "heuristic", search, warm_start=True)
    monkeypatch.setitem(registry().solvers, ("placement", "search"), declared)
    return seen


def test_a_search_for_a_start_gets_a_share_of_the_limit(told):
    api.solve(INSTANCE, "cp-sat", time_limit=10.0)
    assert told[0].seconds == 10.0 * exact.START_SHARE
    api.solve(INSTANCE, "cp-sat")
    assert told[1].seconds is None


def test_a_search_asked_for_itself_gets_all_of_it(told):
    api.solve(INSTANCE, "search", time_limit=10.0)
    assert told[0].seconds == 10.0
    assert registry().solvers["placement", "search"].searches
    assert not EXACT.searches


def test_a_run_tells_rules_no_limit(told):
    """Its rules are pure: another machine must give the same run."""
    api.simulate(api.workload("synthetic:uniform:jobs=4"), "search", time_limit=10.0)
    assert told
    assert set(told) == {NO_LIMITS}


def test_local_search_stops_at_once_where_it_must(ticking):
    instance = api.generate("placement", "10x8-contended", seed=2)
    whole = api.solve(instance, "local-search")
    ticking(_annealing)
    cut = api.solve(instance, "local-search", time_limit=1.0)
    assert cut.status == "feasible"  # a greedy start is there before any move
    assert cut.sort_key <= whole.sort_key
    ticking(_annealing, seconds=0.0)
    unhurried = api.solve(instance, "local-search", time_limit=1e9)
    assert np.array_equal(whole.plan.workers, unhurried.plan.workers)


def test_when_the_time_is_over_no_further_rule_is_asked_for_a_start(ticking):
    """The first plan comes in any case: without one, there might be none at all."""
    limited, free = Limits(seconds=10.0, seed=0), Limits(seed=0)
    request = Request(EXACT, "total_speed", instance=INSTANCE)
    values = exact.Values(request)
    assert len(exact._rule_plans(dataclasses.replace(request, limits=free), values, searching=True)) > 1
    ticking(deadline)
    assert len(exact._rule_plans(dataclasses.replace(request, limits=limited), values, searching=True)) == 1


@pytest.mark.parametrize("solver", ["cp-sat", "greedy"])
@pytest.mark.parametrize(
    ("given", "rule"),
    [
        *[({"threads": number}, "expected between 1 and 10000") for number in (0, 10_001, 10**400)],
        *[({"time_limit": number}, "expected at most 1e[+]300") for number in (10**301, 10**400)],
        ({"time_limit": -(10**400)}, "expected above 0"),
        ({"time_limit": 10**5000}, "a number of thousands of digits, expected at most"),
    ],
)
def test_limits_beyond_all_measure_are_refused_in_a_line(solver, given, rule):
    with pytest.raises(InvalidInput, match=rule) as caught:
        api.solve(INSTANCE, solver, **given)
    assert len(str(caught.value)) <= 160
