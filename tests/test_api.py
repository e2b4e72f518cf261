"""The public calls: load and save, solve and what it refuses, solvers that lie."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from preemption_examples import SCORES, small

from mlsched import api, solvers
from mlsched.core.contract import Plan as AnyPlan
from mlsched.core.errors import InvalidFile, InvalidInput, SolverError, UnknownName
from mlsched.core.formulation import Outcome
from mlsched.core.registry import registry, solver
from mlsched.instances import strategies
from mlsched.instances.preemption import Plan

BEST = Plan(te_node=[1], victims=[2])


def wait(instance, *, rng):
    """Everybody waits."""
    return Plan(te_node=[-1] * len(instance.te_demand), victims=[])


# -- results ----------------------------------------------------------------------------------------------------------


def test_a_result_says_everything():
    r = api.solve(small(), "fitgpp:s=8", seed=5)
    assert r.plan == BEST
    assert r.sort_keys == {"total_score": SCORES[2], "victim_count": 1, "max_grace_period": 0}
    assert (r.sort_key, r.sort_bound, r.gap, r.status, r.stopped_by) == (SCORES[2], None, None, "feasible", None)
    assert (r.solver, r.problem, r.objective, r.seed) == ("fitgpp", "preemption", "total_score", 5)
    assert r.params["s"] == 8.0
    assert r.instance_hash == small().hash
    assert r.seconds > 0
    assert r.versions["mlsched"]


@pytest.mark.parametrize("name", ["brute-force", "cp-sat", "highs"])
def test_an_exact_result_proves_itself(name):
    r = api.solve(small(), name)
    assert (r.sort_key, r.sort_bound, r.gap, r.status, r.stopped_by) == (SCORES[2], SCORES[2], 0, "optimal", "proof")
    assert r.work


@pytest.mark.parametrize("name", [a.name for a in registry().available("preemption") if a.called == "online"])
def test_results_are_json_and_hold_the_plan(name):
    r = api.solve(small(), name)
    data = json.loads(json.dumps(r.to_json(), allow_nan=False))
    assert Plan.from_json(data["plan"]) == r.plan
    assert data["sort_keys"]["value"] == r.sort_key


def test_the_objective_can_be_chosen_and_the_first_is_the_default():
    assert api.solve(small(), "cp-sat").objective == "total_score"
    assert api.solve(small(), "cp-sat", objective="victim_count").sort_key == 1
    assert api.solve(small(), wait, objective="max_grace_period").sort_key == 121


def test_anyones_function_with_its_own_parameters():
    def mine(instance, *, rng, node):
        return Plan(te_node=[node], victims=[2])

    r = api.solve(small(), mine, node=1)
    assert (r.solver, r.plan) == ("mine", BEST)


def test_a_function_gets_a_generator_of_the_seed():
    drawn = []

    def mine(instance, *, rng):
        drawn.append(int(rng.integers(10**9)))
        return BEST

    for seed in (1, 1, 2):
        api.solve(small(), mine, seed=seed)
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0] == int(np.random.default_rng(1).integers(10**9))


def test_available():
    exact = solvers.available("preemption", "exact")
    assert {a.name for a in exact if a.called == "online"} == {"brute-force", "columns", "cp-sat", "highs"}
    assert {a.name for a in exact if a.called == "offline"} == {"decision-tree", "every-decision"}


# -- wrong calls ------------------------------------------------------------------------------------------------------

WRONG_CALLS = [
    ({"objective": "cost"}, UnknownName, "unknown objective 'cost' of preemption; there are total_score, victim_count"),
    ({"solver": "gurobi"}, UnknownName, "unknown solver 'gurobi' for preemption; there are brute-force"),
    ({"solver": "fitgpp:s"}, InvalidInput, "'s' is not KEY=VALUE"),
    ({"solver": 3}, InvalidInput, "solver: 3, expected a name or a function"),
    ({"time_limit": 0}, InvalidInput, "time_limit: 0, expected above 0"),
    ({"time_limit": -1.0}, InvalidInput, "time_limit: -1.0, expected above 0"),
    ({"time_limit": math.nan}, InvalidInput, "time_limit: nan, expected above 0"),
    ({"work_limit": 0}, InvalidInput, "work_limit: 0, expected above 0"),
    ({"threads": 0}, InvalidInput, "threads: 0, expected between 1 and 10000"),
    ({"threads": 1.5}, InvalidInput, "threads: 1.5, expected an integer"),
    ({"threads": True}, InvalidInput, "threads: True, expected an integer"),
    ({"seed": -1}, InvalidInput, "seed: -1, expected at least 0"),
    ({"seed": 0.5}, InvalidInput, "seed: 0.5, expected an integer"),
    ({"hint": "warm"}, InvalidInput, "hint: 'warm', expected a plan, None"),
    ({"hint": [1, 2]}, InvalidInput, "hint: a list, expected a plan"),
    ({"hint": Plan(te_node=[0], victims=[])}, InvalidInput, "hint: is infeasible: node 0: its TE jobs need 5 cpu"),
    (
        {"hint": Plan(te_node=[1], victims=[2, 2])},
        InvalidInput,
        "hint: is infeasible: BE job 2 is listed as a victim twice",
    ),
    ({"hint": AnyPlan()}, InvalidInput, "hint: is infeasible: the answer is a Plan, expected a preemption.plan"),
    ({"decompose": 1}, InvalidInput, "cp-sat: decompose: 1, expected true or false"),
    ({"speed": 1}, UnknownName, "cp-sat: unknown parameter 'speed'; it has decompose"),
]


@pytest.mark.parametrize(("call", "error", "message"), WRONG_CALLS)
def test_a_wrong_call_is_refused_in_one_line(call, error, message):
    with pytest.raises(error) as caught:
        api.solve(small(), **{"solver": "cp-sat", **call})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("thing", [None, {}, BEST, "inst.json"])
def test_only_instances_are_solved(thing):
    with pytest.raises(InvalidInput, match=r"instance: .*, expected an instance; see mlsched.generate and load"):
        api.solve(thing, "cp-sat")


# -- solvers that lie -----------------------------------------------------------------------------------------------


def raises(instance, *, rng):
    raise ZeroDivisionError("oops")


def mutates(instance, *, rng):
    instance.te_demand[0] = 0
    return wait(instance, rng=rng)


LIARS = [
    (lambda i, *, rng: None, "did not return a plan; a rule must return a preemption.plan"),
    (lambda i, *, rng: [1], "returned an infeasible plan: the answer is a list, expected a preemption.plan"),
    (lambda i, *, rng: Plan(te_node=[0], victims=[]), "returned an infeasible plan: node 0: its TE jobs need 5 cpu"),
    (lambda i, *, rng: Plan(te_node=[1], victims=[2, 2]), "returned an infeasible plan: BE job 2 is listed"),
    (lambda i, *, rng: Plan(te_node=[], victims=[]), "returned an infeasible plan: te_node has 0 entries"),
    (raises, "raises raised ZeroDivisionError: oops"),
    (mutates, "mutates raised ValueError: assignment destination is read-only"),
]


@pytest.mark.parametrize(("liar", "message"), LIARS, ids=range(len(LIARS)))
def test_a_rule_that_breaks_its_contract_is_named(liar, message):
    with pytest.raises(SolverError) as caught:
        api.solve(small(), liar)
    assert message in str(caught.value)


def prover(outcome):
    """An exact algorithm of somebody else's that returns `outcome`."""

    @solver("prover", problem="preemption", kind="exact", backend="direct", objectives=("total_score",))
    def answer(instance, *, objective, limits):
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return answer


LIES = [
    (
        Outcome("optimal", BEST, SCORES[2] + 1),
        f"its bound {SCORES[2] + 1} contradicts the judge's total_score = {SCORES[2]}",
    ),
    (Outcome("feasible", BEST, SCORES[2] + 1), "contradicts the judge's"),
    (Outcome("optimal", BEST, SCORES[2] - 1), "contradicts the judge's"),
    (Outcome("optimal", BEST, math.nan), "contradicts the judge's"),
    (Outcome("feasible", BEST, math.nan), "contradicts the judge's"),
    (Outcome("optimal", BEST, None), "claims an optimum without a bound"),
    (Outcome("optimal", None, 3), "returned no plan and 'optimal'"),
    (Outcome("feasible", None, 3), "returned no plan and 'feasible'"),
    (Outcome("infeasible", BEST, None), "returned a plan and 'infeasible'"),
    (Outcome("optimal", Plan(te_node=[0], victims=[]), 0), "returned an infeasible plan"),
    (None, "returned a NoneType, expected an Outcome"),
    (RuntimeError("segfault"), "prover raised RuntimeError: segfault"),
]


@pytest.mark.parametrize(("outcome", "message"), LIES, ids=range(len(LIES)))
def test_an_exact_solver_that_lies_is_named(outcome, message):
    with pytest.raises(SolverError) as caught:
        api.solve(small(), prover(outcome))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome("unknown", None, 5),
        Outcome("infeasible", None, None),
        Outcome("feasible", BEST, None),
        Outcome("feasible", BEST, SCORES[2] - 10),
        Outcome("optimal", BEST, SCORES[2]),
    ],
)
def test_an_honest_outcome_passes(outcome):
    r = api.solve(small(), prover(outcome), hint="none")
    bound = 0 if outcome == Outcome("feasible", BEST, None) else outcome.bound  # no score is below 0
    assert (r.status, r.plan, r.sort_bound) == (outcome.status, outcome.plan, bound)
    assert (r.sort_key is None) == (outcome.plan is None)


def test_an_exact_solver_cannot_be_asked_for_what_it_does_not_optimise():
    with pytest.raises(InvalidInput, match="prover cannot optimise victim_count; it can total_score"):
        api.solve(small(), prover(None), objective="victim_count")


def test_a_rule_with_memory_starts_with_none():
    seen = []

    @solver("remembers", problem="preemption", kind="heuristic", stateful=True)
    def remembers(instance, *, memory, rng):
        seen.append(memory)
        return BEST, {"rounds": 1}

    assert api.solve(small(), remembers).plan == BEST
    assert seen == [None]


# -- files ------------------------------------------------------------------------------------------------------------


@settings(suppress_health_check=[*settings().suppress_health_check, HealthCheck.function_scoped_fixture])
@given(instance=strategies.preemption())
def test_what_is_saved_is_loaded(tmp_path, instance):
    api.save(instance, tmp_path / "inst.json")
    assert api.load(tmp_path / "inst.json") == instance
    result = api.solve(instance, "fitgpp")
    api.save(result, tmp_path / "result.json")
    assert api.load(tmp_path / "result.json") == result


def test_a_plan_carries_the_hash_of_its_instance_where_it_is_known(tmp_path):
    api.save(BEST, tmp_path / "plan.json")
    assert api.load_with_hash(tmp_path / "plan.json") == (BEST, None)
    api.save(BEST, tmp_path / "plan.json", instance=small())
    assert api.load_with_hash(tmp_path / "plan.json") == (BEST, small().hash)


GOOD = small().to_json()
BAD_FILES = [
    ({**GOOD, "kind": "preemption.plan"}, "resources: unknown field of a preemption.plan"),
    ({**GOOD, "kind": "chess.instance"}, "kind: 'chess.instance', expected one of"),
    ({**GOOD, "kind": []}, "expected one of"),
    ({k: v for k, v in GOOD.items() if k != "kind"}, "kind: None"),
    ({**GOOD, "version": 2}, "version: 2, expected 1 for preemption.instance; upgrade mlsched"),
    ({**GOOD, "version": None}, "version: None"),
    ({**GOOD, "job_graze": []}, "job_graze: unknown field"),
    ({k: v for k, v in GOOD.items() if k != "job_grace"}, "job_grace: is missing"),
    ({**GOOD, "job_grace": [60, 120]}, "job_grace: length is 2, expected 3"),
    ({**GOOD, "job_grace": "60"}, "job_grace: '60', expected a list"),
    ({**GOOD, "job_grace": [60, 120, None]}, "job_grace[2]: None, expected an integer"),
    ({**GOOD, "job_grace": [60, 120, 0.0]}, "job_grace[2]: 0.0, expected an integer"),
    ({**GOOD, "job_grace": [60, 120, 10**30]}, f"job_grace[2]: {10**30}, expected"),
    ({**GOOD, "job_grace": [60, 120, False]}, "job_grace[2]: False, expected an integer"),
    ({**GOOD, "node_free": [[1, 0], [2]]}, "node_free: rows have different lengths"),
    ({**GOOD, "te_demand": [[[5, 2]]]}, "te_demand: has 3 dimension(s)"),
    ({**GOOD, "preemption_limit": "1"}, "preemption_limit: '1', expected an integer"),
    ({**GOOD, "resources": [1, 2]}, "resources: [1, 2], expected a list of strings"),
    ({**GOOD, "job_node": [0, 0, 5]}, "job_node[2]: 5, expected below 2"),
    ({**GOOD, "instance_hash": "x"}, "instance_hash: unknown field"),
    ({**BEST.to_json(), "instance_hash": 5}, "instance_hash: 5, expected a string"),
    ({**BEST.to_json(), "te_node": [-2]}, "te_node[0]: -2, expected >= -1"),
]


@pytest.mark.parametrize(("data", "message"), BAD_FILES, ids=range(len(BAD_FILES)))
def test_a_bad_file_is_refused_in_a_line_that_names_it(tmp_path, data, message):
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(data))
    with pytest.raises(InvalidFile) as caught:
        api.load(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_nan_in_a_file_is_refused(tmp_path):
    path = tmp_path / "bad.json"
    path.write_text(json.dumps({**GOOD, "job_grace": [60, 120, math.nan]}))
    with pytest.raises(InvalidFile, match="NaN is not a JSON number"):
        api.load(path)


def test_a_rule_without_rng_is_refused_with_the_remedy():
    with pytest.raises(InvalidInput, match=r"<lambda>\(i\): expected <lambda>\(instance, \*, rng\); add `\*, rng`"):
        api.solve(small(), lambda i: BEST)
