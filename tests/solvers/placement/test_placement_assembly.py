"""Plans put together from few configurations: the optimum whatever the prices, and none above it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlsched import api
from mlsched.core import deadline
from mlsched.core.deadline import Deadline, OutOfTime
from mlsched.formulations.placement._configurations import Space
from mlsched.formulations.placement._master import Bound, Master, build, plan_of, price
from mlsched.instances import strategies
from mlsched.instances.placement.pace import Pace
from mlsched.solvers.placement import _from_the_top
from mlsched.solvers.placement._assembly import TooManyStates, assemble
from mlsched.solvers.placement._relaxation import solve as solve_lp

PLENTY = 10**7


def masters(instance, below: int, seed: int | None) -> tuple[Master, Bound]:
    """All configurations that a plan above `below` may use, with the LP's prices, or with any that a seed draws."""
    space = Space(instance, Pace(instance))
    master = build(space, space.configurations(below, 10**6))
    prices = solve_lp(master, None) if seed is None else np.random.default_rng(seed).normal(0, 3e5, master.rows)
    return master, price(master, prices)


@settings(max_examples=3 * settings().max_examples)
@given(instance=strategies.placement(), seed=st.none() | st.integers(0, 1000), slack=st.integers(1, 10**6))
def test_it_finds_the_optimum_and_nothing_above_it(instance, seed, slack):
    best = api.solve(instance, "brute-force").sort_key
    below = max(-1, best - slack)
    master, bound = masters(instance, below, seed)
    found, states = assemble(master, bound, below, PLENTY, Deadline())
    assert found is not None
    assert states > 0
    value, use = found
    assert value == best
    plan = plan_of(master, use)
    assert instance.violations(plan) == []
    assert instance.evaluate(plan)["total_speed"] == best
    assert assemble(master, bound, best, PLENTY, Deadline())[0] is None


def test_too_many_states_leave_the_master_to_the_solver(monkeypatch):
    """The answer is the same; what was too large once is not tried again."""
    instance = api.generate("placement", "6x3", seed=2002)
    master, bound = masters(instance, 1_000_000, None)
    with pytest.raises(TooManyStates):
        assemble(master, bound, 1_000_000, 100, Deadline())
    best = api.solve(instance, "cp-sat")
    assert "assemblies" in best.work
    monkeypatch.setattr(_from_the_top, "MOST_STATES", 10)
    other = api.solve(instance, "cp-sat")
    assert "assemblies" not in other.work
    assert (other.status, other.sort_key) == (best.status, best.sort_key) == ("optimal", 1_099_982)


def test_it_ends_with_the_time(ticking):
    instance = api.generate("placement", "6x3", seed=2006)
    master, bound = masters(instance, 700_000, None)
    ticking(deadline)
    with pytest.raises(OutOfTime):
        assemble(master, bound, 700_000, PLENTY, Deadline(2500.0))
