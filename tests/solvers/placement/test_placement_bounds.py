"""Pieces of the exact answer: bounds hold whatever the prices, limits leave valid bounds, false proofs are caught."""

from __future__ import annotations

import types

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st

from mlsched import api
from mlsched.core import deadline
from mlsched.core.deadline import Deadline, OutOfTime
from mlsched.core.errors import Contradiction, InvalidInput, TooLarge
from mlsched.core.formulation import Limits
from mlsched.formulations.placement._configurations import Space, TooMany
from mlsched.formulations.placement._master import build, coarse, price
from mlsched.instances import strategies
from mlsched.instances.placement.pace import Pace, patterns_of
from mlsched.solvers.placement import _from_the_top, brute_force, cp_sat, highs
from mlsched.solvers.placement._from_the_top import MasterAnswer
from mlsched.solvers.placement._relaxation import solve as solve_lp


def space_of(instance):
    return Space(instance, Pace(instance))


@given(instance=strategies.placement(), levels=st.sampled_from([0, 2, 5]), seed=st.integers(0, 1000))
def test_every_bound_is_at_least_the_optimum(instance, levels, seed):
    best = api.solve(instance, "brute-force").sort_key
    space = space_of(instance)
    assert space.upper >= best
    master = build(space, space.configurations(-1, 10**6), levels)
    wild = np.random.default_rng(seed).normal(0, 3e5, master.rows)
    assert price(master, wild).value >= best
    prices = solve_lp(master, None)
    assert prices is not None
    bound = price(master, prices)
    assert best <= bound.value <= space.upper + 1


@given(instance=strategies.placement())
def test_what_is_removed_is_not_needed_for_a_better_plan(instance):
    best = api.solve(instance, "brute-force").sort_key
    space = space_of(instance)
    table = space.configurations(best - 1, 10**6)
    master = build(space, table)
    bound = price(master, solve_lp(master, None))
    rows, cuts = bound.useful(best - 1)
    kept = build(space, table.keep(rows), 0, _from_the_top._alive(master, cuts))
    found = cp_sat.solve(kept, best - 1, Limits())
    assert found.status == "optimal"
    assert found.bound == best


def test_levels_round_speeds_up():
    speeds = np.arange(100, 200, dtype=np.int64)
    few = coarse(speeds, 7)
    assert len(np.unique(few)) <= 7
    assert (few >= speeds).all()
    assert coarse(speeds, 0) is speeds


def test_patterns_are_all_multisets_of_parts():
    all_parts = {(w, p) for w in range(3) for p in range(3) if w + p}
    assert len(patterns_of(1, 1, all_parts)) == 2
    assert len(patterns_of(2, 2, all_parts)) == 9
    assert patterns_of(2, 0, {(1, 0)}) == [{(1, 0): 2}]
    assert patterns_of(2, 1, {(2, 0)}) == []


def test_a_time_limit_leaves_a_plan_and_a_valid_bound_wherever_it_strikes(solver, ticking):
    instance = api.generate("placement", "small", seed=3)
    best = api.solve(instance, "cp-sat")
    assert best.status == "optimal"
    looks, found = 1 - draws(5, 1), None
    while found is None or found.status != "optimal":
        looks += draws(5, 1)
        ticking(deadline)
        found = api.solve(instance, solver, time_limit=1000 * looks - 500, hint="none")
        assert found.sort_key <= best.sort_key <= found.sort_bound
        assert (found.status, found.stopped_by) in (("feasible", "time limit"), ("optimal", "proof"))
    assert looks > 40


@pytest.mark.parametrize("work", [1e-6, 1e-4])
def test_a_work_limit_leaves_a_plan_and_a_valid_bound(solver, work):
    instance = api.generate("placement", "small", seed=1)
    cut, again = (api.solve(instance, solver, work_limit=work, hint="none") for _ in range(2))
    assert cut.sort_key <= api.solve(instance, "cp-sat").sort_key <= cut.sort_bound
    assert (cut.status, cut.stopped_by) == ("feasible", "work limit")
    assert (cut.plan, cut.sort_bound, cut.work) == (again.plan, again.sort_bound, again.work)


def test_too_many_configurations_leave_ub0(monkeypatch):
    monkeypatch.setattr(_from_the_top, "MOST_CONFIGURATIONS", 5)
    instance = api.generate("placement", "10x8-contended", seed=2)
    found = api.solve(instance, "cp-sat")
    assert (found.status, found.stopped_by) == ("feasible", "backend")
    assert found.sort_bound == space_of(instance).upper
    with pytest.raises(TooMany):
        space_of(instance).configurations(0, 5)


@pytest.mark.parametrize("seconds", [0.0, 500.0])
def test_no_time_to_list_configurations_leaves_ub0(ticking, seconds):
    instance = api.generate("placement", "10x8-contended", seed=2)
    ticking(deadline)
    with pytest.raises(OutOfTime):
        space_of(instance).configurations(0, 10**6, Deadline(seconds))
    found = _from_the_top.prove(instance, Limits(seconds=seconds), None, cp_sat.solve)
    assert (found.status, found.stopped_by) == ("feasible", "time limit")
    assert found.bound == space_of(instance).upper


def test_who_confirms_gets_what_the_first_solver_left(monkeypatch):
    """HiGHS takes 3 of 5 s by this clock; building the model of CP-SAT, half a second."""
    times, given = iter([0.0, 3.0, 3.0, 3.5]), []
    monkeypatch.setattr(deadline, "time", types.SimpleNamespace(perf_counter=lambda: next(times)))
    within = cp_sat.within
    monkeypatch.setattr(cp_sat, "within", lambda limits: given.append(limits.seconds) or within(limits))
    monkeypatch.setattr(highs, "solve", lambda master, above, limits: MasterAnswer("infeasible", None, None, {}))
    space = space_of(api.generate("placement", "small", seed=3))
    master = build(space, space.configurations(-1, 10**6))
    highs.checked(master, space.upper, Limits(seconds=5.0))
    assert given == [1.5]


def test_a_false_proof_of_highs_is_caught(monkeypatch):
    """HiGHS has claimed optimality with 3.5 % missing: what it says last is put to CP-SAT."""
    instance = api.generate("placement", "6x5", seed=1)

    def nothing_better(master, above, limits):
        return MasterAnswer("infeasible", None, None, {})

    monkeypatch.setattr(highs, "solve", nothing_better)
    with pytest.raises(Contradiction, match="highs claims that the optimum is"):
        api.solve(instance, "highs", hint="none")


def test_prices_that_a_solver_got_wrong_only_weaken_the_bound(monkeypatch):
    instance = api.generate("placement", "6x5", seed=4)
    best = api.solve(instance, "cp-sat").sort_key
    monkeypatch.setattr(_from_the_top, "solve_lp", lambda master, seconds: np.full(master.rows, 12345.678))
    found = api.solve(instance, "cp-sat")
    assert (found.status, found.sort_key) == ("optimal", best)


def test_the_same_seed_gives_the_same_answer():
    instance = api.generate("placement", "6x5", seed=1)
    one, two = (api.solve(instance, "cp-sat", seed=3) for _ in range(2))
    assert one.plan == two.plan
    assert one.work == two.work


def test_brute_force_refuses_what_it_cannot_do():
    with pytest.raises(InvalidInput, match="use cp-sat or highs"):
        api.solve(api.generate("placement", "rack-30x10"), "brute-force")


def test_brute_force_counts_what_it_would_have_to_try(monkeypatch):
    """Where few of many ways fit, the number of plans stays small for a long time."""
    instance = api.generate("placement", "small", seed=1)
    assert api.solve(instance, "brute-force").status == "optimal"
    monkeypatch.setattr(brute_force, "MOST_PAIRS", 5)
    with pytest.raises(TooLarge, match="more than 5 ways to add job"):
        api.solve(instance, "brute-force")


def test_hints_are_used():
    instance = api.generate("placement", "6x5", seed=4)
    start = api.solve(instance, "local-search")
    cut = api.solve(instance, "cp-sat", work_limit=1e-6, hint=start.plan)
    assert cut.sort_key >= start.sort_key
