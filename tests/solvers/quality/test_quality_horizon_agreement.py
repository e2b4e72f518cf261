"""Dynamic programming over epochs against enumeration by the judge, on horizons that are hard enough to tell."""

import pytest
from draws import draws
from hypothesis import given
from quality_horizons import horizons

import mlsched
from mlsched.core.errors import TooLarge
from mlsched.core.registry import registry
from mlsched.instances.quality.horizon_judge import OBJECTIVES, Run
from mlsched.solvers.quality.epoch_dp import Program

NAMES = [objective.name for objective in OBJECTIVES]


@given(horizons(jobs=3, cores=3))
def test_every_objective_of_every_small_horizon(horizon):
    for name in NAMES:
        found = mlsched.solve(horizon, "epoch-dp", objective=name)
        assert found.status == "optimal"
        try:
            brute = mlsched.solve(horizon, "every-epoch", objective=name)
        except TooLarge:
            continue
        assert (found.sort_key, found.sort_bound) == (brute.sort_key, brute.sort_key)


def test_agreement_on_runs_like_slaqs(report):
    """Says how hard the runs are: where SLAQ is best, or jobs do not meet, agreement would show nothing."""
    met = slaq_best = cases = 0
    for seed in range(draws(12, 150)):
        horizon = mlsched.generate(
            "quality", "epochs-small", seed=seed, jobs=3, length=4.0, gap=0.3, noise=0.3, iterations=5
        )
        rule = mlsched.solve(horizon, "slaq")
        for name in NAMES:
            best = mlsched.solve(horizon, "epoch-dp", objective=name)
            try:
                brute = mlsched.solve(horizon, "every-epoch", objective=name)
            except TooLarge:
                continue
            assert best.sort_key == best.sort_bound == brute.sort_key
            cases += 1
            met += bool(((rule.plan.cores > 0).sum(axis=1) > 1).any())
            slaq_best += rule.sort_keys[name] == best.sort_key
    report(
        "quality over epochs: how hard agreement was",
        [f"{cases} optima; jobs meet in {met}, SLAQ is optimal in {slaq_best}"],
    )
    assert cases >= 30
    assert met > 0.7 * cases
    assert slaq_best < 0.7 * cases


@given(horizons(jobs=3, cores=4))
def test_a_step_of_the_program_costs_what_the_judge_says(horizon):
    """Along the first run of each objective: the same jobs, costs that add up to the judge's value, bounds below it."""
    for name in NAMES:
        program = Program(horizon, name)
        start = (0,) * len(horizon.submit)
        value, path = program.dive(start)
        run, state, cost = Run(horizon), start, 0
        for epoch, given_ in enumerate(path):
            assert cost + program.bound(epoch, state) <= value
            state, step = program.step(epoch, state, given_)
            assert run.faults(list(given_)) == []
            run.give(list(given_))
            cost += step
        assert run.ended()
        assert cost == value == run.values()[name]


def test_no_rule_is_better_than_the_optimum():
    for seed in range(draws(3, 30)):
        horizon = mlsched.generate("quality", "epochs", seed=seed, jobs=3)
        best = {name: mlsched.solve(horizon, "epoch-dp", objective=name).sort_key for name in NAMES}
        for rule in registry().available("quality", "heuristic"):
            values = mlsched.solve(horizon, rule.name).sort_keys
            assert all(values[name] >= best[name] for name in NAMES), rule.name


@pytest.mark.parametrize("work", [1, 30, 300])
def test_a_limit_leaves_a_plan_and_a_valid_bound(work):
    horizon = mlsched.generate("quality", "epochs", seed=1)
    whole = mlsched.solve(horizon, "epoch-dp")
    cut = mlsched.solve(horizon, "epoch-dp", work_limit=work)
    assert cut.stopped_by == "work limit"
    assert cut.sort_bound <= whole.sort_key <= cut.sort_key
