"""The DP beyond agreement: its limits, its reductions, sizes that strain int64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from quality_examples import generated, small

from mlsched import api
from mlsched.core import deadline
from mlsched.core.errors import TooLarge
from mlsched.core.fields import EXACT
from mlsched.formulations.quality.relaxation import bound, choices, clearing_price, demand
from mlsched.instances import strategies
from mlsched.instances.quality import Instance


@given(instance=strategies.quality(jobs=6, cores=20))
@settings(max_examples=4 * settings().max_examples)
def test_every_price_bounds_the_optimum(instance):
    problem = choices(instance)
    best = api.solve(instance, "dp", reduce=False).sort_key
    price, bought = clearing_price(problem)
    for p in {0, 1, 3, price, price + 1, problem.dearest}:
        assert problem.base + bound(problem, p)[0] >= best
    assert bought.sum() <= problem.room
    assert price == 0 or demand(problem, price - 1).sum() > problem.room


def test_without_time_the_greedy_plan_and_a_safe_bound_come_back(ticking):
    ticking(deadline)
    open_gap = 0
    for number in range(150):
        instance = generated(number)
        best = api.solve(instance, "dp")
        found = api.solve(instance, "dp", time_limit=500)
        assert found.sort_key <= best.sort_key <= found.sort_bound
        if found.status == "feasible":
            assert found.stopped_by == "time limit"
            open_gap += 1
        else:
            assert found.sort_key == best.sort_key
    assert open_gap > 10


def test_values_up_to_the_limit_do_not_overflow():
    # Jumps of 2^52 and 2^48 at the last core: prices had to be cut below 2^60 / room.
    width = 5000
    gain = np.zeros((3, width + 1), dtype=np.int64)
    gain[0, 1:], gain[1, width:], gain[2, 100:] = EXACT // 2, EXACT // 32, EXACT // 4
    for cores, value in ((2 * width, EXACT // 2 + EXACT // 32 + EXACT // 4), (width + 50, EXACT // 2 + EXACT // 4)):
        inst = Instance(
            cores=cores, gain=gain, loss=EXACT - gain, weight=[1] * 3, most=[width] * 3, waiting=[0] * 3, least=0
        )
        for reduce in (True, False):
            assert api.solve(inst, "dp", reduce=reduce).sort_key == value
        assert api.solve(inst, "envelope-greedy").sort_key == value
        worst = api.solve(inst, "dp", objective="worst_loss").sort_key
        assert worst == api.solve(inst, "slaq-max-min", objective="worst_loss").sort_key


def test_states_are_few_where_gains_are_nearly_concave():
    paper = api.solve(api.generate("quality", "paper"), "dp")
    assert paper.status == "optimal"
    assert paper.work["states"] < 160 * 640 / 10, "the reduction leaves less than a tenth of the plain recursion"


def test_brute_force_refuses_what_would_take_too_long():
    """Also where the number of plans has thousands of digits, which Python writes out for nobody."""
    for preset in ("floored", "large"):
        with pytest.raises(TooLarge, match=r"brute-force: there are more than 8388608 plans: use dp or highs"):
            api.solve(api.generate("quality", preset), "brute-force")


@pytest.mark.parametrize("objective", ["total_loss_reduction", "worst_loss"])
@pytest.mark.parametrize("name", ["dp", "highs", "brute-force"])
def test_no_running_job_is_an_instance_too(name, objective):
    for inst in (small(waiting=[1, 1, 1]), small(waiting=[1, 1, 1], least=50), small(least=0, cores=0, reserved=0)):
        found = api.solve(inst, name, objective=objective)
        assert found.status == "optimal"
        assert found.plan.cores.sum() == 0
