"""The decision tree against enumeration by the judge, on horizons that are hard enough to tell."""

import numpy as np
from draws import draws
from hypothesis import given
from preemption_horizons import horizons

import mlsched
from mlsched.core.errors import TooLarge
from mlsched.core.registry import registry
from mlsched.instances.preemption.horizon_judge import OBJECTIVES
from mlsched.solvers.preemption._run_state import LOWER_BOUNDS, Jobs, RunState
from mlsched.solvers.preemption.decision_tree import answers

NAMES = [objective.name for objective in OBJECTIVES]


@given(horizons(jobs=6))
def test_every_objective_of_every_small_horizon(horizon):
    for name in NAMES:
        found = mlsched.solve(horizon, "decision-tree", objective=name)
        try:
            brute = mlsched.solve(horizon, "every-decision", objective=name)
        except TooLarge:
            assert found.status == "optimal"
            continue
        assert (found.status, found.sort_key, found.sort_bound) == (brute.status, brute.sort_key, brute.sort_key)


def test_agreement_on_runs_like_the_papers(report):
    """Says how hard the runs are: where nobody is asked, or FitGpp is best, agreement would show nothing."""
    asked = several = fitgpp_best = cases = 0
    for seed in range(draws(12, 150)):
        horizon = mlsched.generate("preemption", "run-small", seed=seed, te_scale=2.0)
        rule = mlsched.solve(horizon, "fitgpp")
        for name in NAMES:
            best, brute = (mlsched.solve(horizon, s, objective=name) for s in ("decision-tree", "every-decision"))
            assert best.sort_key == brute.sort_key == best.sort_bound
            cases += 1
            asked += bool(len(rule.plan.te))
            several += len(set(best.plan.by.tolist())) < len(best.plan.by)
            fitgpp_best += rule.sort_keys[name] == best.sort_key
    report(
        "preemption over time: how hard agreement was",
        [f"{cases} optima; somebody asks in {asked}, several victims in {several}, FitGpp optimal in {fitgpp_best}"],
    )
    assert asked > 0.6 * cases
    assert fitgpp_best < 0.7 * cases


@given(horizons(jobs=6))
def test_no_bound_is_above_what_a_run_comes_to(horizon):
    """From state to state a lower bound never falls, whatever is decided."""
    rng = np.random.default_rng(int(horizon.hash[:8], 16))
    state = RunState(Jobs(horizon))
    bounds = {name: bound(state) for name, bound in LOWER_BOUNDS.items()}
    for _ in range(60):
        if state.asking is None:
            break
        options = list(answers(state))
        state = state.decided(*options[int(rng.integers(len(options)))])
        for name, bound in LOWER_BOUNDS.items():
            assert bound(state) >= bounds[name]
            bounds[name] = bound(state)


def test_a_limit_leaves_a_plan_and_a_valid_bound():
    horizon = mlsched.generate("preemption", "run-large-te", seed=1)
    whole = mlsched.solve(horizon, "decision-tree")
    cut = mlsched.solve(horizon, "decision-tree", work_limit=1)
    assert cut.stopped_by == "work limit"
    assert cut.sort_bound <= whole.sort_key
    assert cut.plan is None or cut.sort_key >= whole.sort_key
    enough = mlsched.solve(horizon, "decision-tree", work_limit=20)
    assert enough.sort_bound <= whole.sort_key <= enough.sort_key


def test_no_rule_is_better_than_the_optimum():
    for seed in range(draws(3, 40)):
        horizon = mlsched.generate("preemption", "run", seed=seed)
        best = {name: mlsched.solve(horizon, "decision-tree", objective=name).sort_key for name in NAMES}
        for rule in registry().available("preemption", "heuristic"):
            if rule.name != "fifo":
                values = mlsched.solve(horizon, rule.name).sort_keys
                assert all(values[name] >= best[name] for name in NAMES), rule.name
