"""The clairvoyant optimum against a MIP of the same fluid model and an integral model in slots; limits; determinism."""

import dataclasses
import functools

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from workers_fluid import contended, horizons, mip, slots

import mlsched
from mlsched.core.formulation import Limits
from mlsched.instances.workers.horizons import generate_horizon, horizon
from mlsched.solvers.workers import clairvoyant
from mlsched.solvers.workers._event_lp import ARRIVE, FINISH, EventLP
from mlsched.solvers.workers._fluid import fluid
from mlsched.solvers.workers._orders import shared_order, solve_order
from mlsched.solvers.workers._price_lp import grid
from mlsched.solvers.workers._prices import Prices, Pricing


def optimum(question):
    result = mlsched.solve(question, "clairvoyant")
    assert result.status == "optimal"
    assert result.gap <= 1e-6
    return result.sort_key


def examples(strategy, count):
    """`count` draws of a strategy, the same at every run."""
    found = []

    @settings(max_examples=count, derandomize=True, database=None, deadline=None)
    @given(strategy)
    def collect(one):
        found.append(one)

    collect()
    return found


@pytest.mark.slow
def test_the_optimum_equals_that_of_a_mip_of_the_same_model(report):
    count, first = draws(5, 400), draws(20, 0)
    questions = examples(horizons(), count)
    questions += [contended(np.random.default_rng(seed), 4) for seed in range(first, first + count)]
    delayed = shared = descended = 0
    for question in questions:
        value = optimum(question)
        assert value == pytest.approx(mip(question), rel=2e-6), repr(question)
        delayed += value > sum(question.alone) / 1e6 * (1 + 1e-6)
        data = fluid(question)
        scaled = value * 1e6 / data.unit_ns * (1 + 1e-6)
        shared += solve_order(EventLP(data), shared_order(data)).value > scaled
        descended += clairvoyant.first_incumbent(EventLP(data), lambda: False).value > scaled
    report(
        "workers: clairvoyant against a MIP of the fluid model",
        [
            f"{len(questions)} horizons of 1 to 4 jobs, all equal; in {delayed} jobs delay each other",
            f"not optimal: the order of equal sharing in {shared}, local search in {descended}",
        ],
    )
    assert delayed >= 0.5 * len(questions)
    assert shared >= 0.3 * count
    assert descended >= 1


@pytest.mark.slow
def test_no_integral_schedule_in_slots_is_better(report):
    compared = strictly = 0
    for question in [contended(np.random.default_rng(seed), 3, 20_000) for seed in range(draws(5, 25))]:
        integral = slots(question, 20_000)
        if integral is not None:
            compared += 1
            value = optimum(question)
            assert value <= integral * (1 + 1e-6), repr(question)
            strictly += value < integral * (1 - 1e-6)
    report("workers: clairvoyant against integral slots", [f"{compared} horizons, strictly below in {strictly}"])
    assert compared >= draws(2, 5)


@given(horizons(jobs=4))
def test_any_prices_prove_a_bound(question):
    data = fluid(question)
    value = optimum(question) * 1e6 / data.unit_ns
    rng = np.random.default_rng(0)
    times = grid(np.array([value]), data.arrival, 500.0)
    for scale in (0.0, 0.3, 1.0, 3.0):
        price = rng.uniform(0, scale, (len(times) - 1, data.resources))
        assert Pricing(data, Prices(times, price)).bound().value <= value * (1 + 1e-9)


@given(horizons(jobs=4), st.integers(0, 10))
def test_a_limit_leaves_a_valid_bound(question, nodes):
    best = optimum(question)
    cut = mlsched.solve(question, "clairvoyant", work_limit=nodes + 1)
    assert cut.sort_bound <= best * (1 + 1e-6)
    assert cut.sort_key >= best * (1 - 1e-6)
    assert cut.status in ("optimal", "feasible")
    assert (cut.status == "optimal") == (cut.stopped_by == "proof")


@given(horizons(jobs=3))
def test_windows_hold_the_optimum(question):
    """With prices of the first order, every finish of the optimum lies in its window."""
    data = fluid(question)
    best = clairvoyant.first_incumbent(EventLP(data), lambda: False)
    pricing, root = clairvoyant.priced(data, best, lambda: None)
    plan = mlsched.solve(question, "clairvoyant").plan
    value = question.evaluate(plan)["total_jct"] * 1e6 / data.unit_ns
    assert root.value <= value * (1 + 1e-6)
    if value < best.value * (1 - 1e-6):
        for j, (early, late) in enumerate(pricing.windows):
            end = (plan.ends[plan.finish[j]] - data.start_ns) / data.unit_ns
            assert early - 1e-6 * value <= end <= late + 1e-6 * value


def test_the_lp_of_an_order_is_the_same_however_it_was_reached():
    data = fluid(horizon("poisson-6", 2))
    order = shared_order(data)
    fresh = solve_order(EventLP(data), order).value
    lp = EventLP(data)
    for event in order[:7]:
        lp.push(event)
    lp.solve()
    for _ in range(3):
        lp.pop()
    for event in order[4:]:
        lp.push(event)
        lp.set_tails({}, 0.0)
    assert lp.solve().value == pytest.approx(fresh, rel=1e-9)
    assert lp.solve().bound == pytest.approx(fresh, rel=1e-7)


def test_an_impossible_order_has_no_schedule():
    data = fluid(horizon("poisson-6", 1))
    lp = EventLP(data)
    # Job 0 takes longer alone than until the arrival of job 1, or the order is possible: pick the gap.
    early = [(ARRIVE, 0), (FINISH, 0)] + [(ARRIVE, j) for j in range(1, 6)] + [(FINISH, j) for j in range(1, 6)]
    squeezed = dataclasses.replace(data, arrival=data.arrival * 1e-3)
    assert solve_order(EventLP(squeezed), early) is None
    assert solve_order(lp, shared_order(data)) is not None


@functools.cache
def preset_solved(seed):
    return mlsched.solve(horizon("poisson-6", seed), "clairvoyant")


@pytest.mark.parametrize(("seed", "total_jct"), [(2, 8326772.087), (1, 13803007.707), (0, 14528442.080)][: draws(2, 3)])
def test_presets_stay_what_they_are(seed, total_jct):
    assert preset_solved(seed).status == "optimal"
    assert preset_solved(seed).sort_key == pytest.approx(total_jct, abs=0.01)


def test_same_question_same_answer():
    one, two = preset_solved(2), mlsched.solve(horizon("poisson-6", 2), "clairvoyant")
    assert one.plan == two.plan
    assert one.work == two.work


def test_a_horizon_without_jobs_costs_nothing():
    assert optimum(generate_horizon(np.random.default_rng(0), jobs=0)) == 0.0


def test_a_job_alone_takes_its_fastest_configuration():
    question = generate_horizon(np.random.default_rng(0), jobs=1)
    assert optimum(question) == pytest.approx(question.alone[0] / 1e6, rel=1e-8)


def test_time_that_is_up_still_leaves_a_plan_and_a_bound():
    question = horizon("poisson-8", 0)
    outcome = clairvoyant.answer(question, objective="total_jct", limits=Limits(seconds=0.0))
    assert outcome.status == "feasible"
    assert outcome.stopped_by == "time limit"
    assert not question.violations(outcome.plan)
    assert 0 < outcome.bound <= question.evaluate(outcome.plan)["total_jct"]
