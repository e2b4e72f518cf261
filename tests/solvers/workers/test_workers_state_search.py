"""DP, columns and bounds beyond agreement: limits, dominance, safe bounds, sizes that strain int64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from workers_examples import generated, small

from mlsched import api
from mlsched.core import deadline
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT, UNLIMITED
from mlsched.formulations.workers.columns import columns, total
from mlsched.formulations.workers.relaxation import at_prices, cut, round_off
from mlsched.instances import strategies
from mlsched.instances.workers import NEVER, Instance
from mlsched.solvers.workers import _state_search as search
from mlsched.solvers.workers._lagrangian import relax

MANY = settings(max_examples=4 * settings().max_examples)


@MANY
@given(instance=strategies.workers())
def test_all_prices_bound_the_optimum(instance):
    best = api.solve(instance, "brute-force").sort_key
    choice = columns(instance)
    assert relax(choice).bound <= best
    for price in (0, 1, 7, 1000):
        prices = np.full(len(choice.capacity), price, dtype=np.int64)
        assert at_prices(choice, prices, 1).bound <= best


@MANY
@given(instance=strategies.workers())
def test_a_rounded_plan_is_feasible_and_its_cut_keeps_it(instance):
    choice = columns(instance)
    known = round_off(choice, relax(choice))
    plan = choice.plan(known)
    assert instance.violations(plan) == []
    assert instance.evaluate(plan)["total_jct"] == total(choice, known)
    few = cut(choice, relax(choice))
    assert few.plan(few.chosen(plan)) == plan


@MANY
@given(instance=strategies.workers())
def test_no_column_dominates_another_but_to_wait(instance):
    choice = columns(instance)
    first = choice.first.tolist()
    for a, b in zip(first[:-1], first[1:], strict=True):
        assert (choice.workers[a], choice.ps[a], choice.cost[a]) == (0, 0, instance.waiting[choice.job[a]])
        use = np.stack(
            [
                choice.workers[a:b, None] * instance.worker_demand[choice.job[a]]
                + choice.ps[a:b, None] * instance.ps_demand[choice.job[a]]
            ]
        )[0]
        for i in range(b - a):
            for k in range(b - a):
                covers = (use[i] <= use[k]).all() and choice.cost[a + i] <= choice.cost[a + k]
                assert i == k or k == 0 or not covers, "a column is dominated"


def test_columns_of_the_small_example():
    choice = columns(small())
    pairs = list(zip(choice.job.tolist(), choice.workers.tolist(), choice.ps.tolist(), strict=True))
    # Nothing of this instance is dominated; job 1 has no column with 2 workers and 2 PSs.
    assert sorted(pairs) == [
        (0, 0, 0),
        (0, 1, 1),
        (0, 1, 2),
        (0, 2, 1),
        (0, 2, 2),
        (1, 0, 0),
        (1, 1, 1),
        (1, 1, 2),
        (1, 2, 1),
    ]
    assert len(columns(small(capacity=[100, 100])).capacity) == 0, "nothing can run short"
    slow = small(cost=[[[100, 100], [60, 60]], [[90, 90], [95, NEVER]]])
    kept = columns(slow)
    assert list(zip(kept.job.tolist(), kept.workers.tolist(), kept.ps.tolist(), strict=True)) == [
        (0, 0, 0),
        (0, 1, 1),
        (0, 2, 1),
        (1, 0, 0),
        (1, 1, 1),
    ]


@pytest.mark.parametrize("solver", ["dp", "dp:reduce=false", "cp-sat", "highs", "brute-force"])
def test_the_small_example(solver):
    found = api.solve(small(), solver)
    assert (found.sort_key, found.plan.workers.tolist(), found.plan.ps.tolist()) == (130, [1, 2], [2, 1])


def test_without_time_a_plan_and_a_safe_bound_come_back(ticking, scale):
    ticking(deadline)
    gaps = 0
    for number in range(scale):
        instance = generated(number)
        best = api.solve(instance, "dp").sort_key
        found = api.solve(instance, "dp", time_limit=500)
        assert found.sort_bound <= best <= found.sort_key
        if found.status == "feasible":
            assert found.stopped_by == "time limit"
            gaps += 1
        nothing = api.solve(instance, "dp", reduce=False, time_limit=500, hint="none")
        assert (nothing.status, nothing.plan) == ("unknown", None)
    assert gaps > scale // 10


def test_too_many_states_are_refused_in_a_line(monkeypatch):
    monkeypatch.setattr(search, "STATES", 100)
    instance = api.generate("workers", "paper-10")
    with pytest.raises(InvalidInput, match="dp: more than 100 states: use cp-sat or highs"):
        api.solve(instance, "dp", reduce=False)
    assert api.solve(instance, "dp").status == "optimal", "bounds leave fewer"


def test_brute_force_refuses_what_would_take_too_long():
    with pytest.raises(InvalidInput, match="brute-force: more than 2097152 plans fit: use dp, cp-sat or highs"):
        api.solve(api.generate("workers", "paper-10"), "brute-force")


def test_states_are_few():
    found = api.solve(api.generate("workers", "x16"), "dp")
    assert found.status == "optimal"
    assert found.work["states"] < 20_000


@pytest.mark.parametrize("solver", ["dp", "dp:reduce=false", "cp-sat", "highs", "brute-force", "optimus", "max-rate"])
def test_no_job_is_an_instance_too(solver):
    found = api.solve(api.generate("workers", jobs=0), solver)
    assert (found.sort_key, len(found.plan.workers)) == (0, 0)


@pytest.mark.parametrize("solver", ["dp", "dp:reduce=false", "cp-sat", "brute-force"])
def test_values_up_to_the_limit_do_not_overflow(solver):
    """Costs near 2^53 and demands near 2^31: what HiGHS' floats cannot separate, integers must."""
    high = EXACT // 4
    inst = Instance(
        resources=["a", "b"],
        models=["m"],
        capacity=[UNLIMITED, UNLIMITED],
        worker_demand=[[UNLIMITED, 1], [1, 1]],
        ps_demand=[[0, UNLIMITED // 2], [0, UNLIMITED // 2]],
        cost=[[[high - 1, high - 3]], [[high - 1, high - 2]]],
        waiting=[high, high + 5],
        remaining=[EXACT, 1],
        model=[0, 0],
        current_workers=[0, 0],
        current_ps=[0, 0],
        waited=[0, 0],
    )
    # Only one of them fits (resource a). Job 1 with 2 PSs uses all of resource b and saves 7; job 0 could save 3.
    found = api.solve(inst, solver)
    assert (found.status, found.sort_key) == ("optimal", 2 * high - 2)
    assert found.plan.workers.tolist() == [0, 1]
