"""`mlsched.pareto` on the preemption problem, against the front of all plans."""

from __future__ import annotations

import dataclasses
import functools
import itertools

import numpy as np
import pytest
from front_data import nondominated
from hypothesis import given
from preemption_examples import row, small

import mlsched
from mlsched.core.errors import Contradiction, InvalidInput, SolverError, UnknownName
from mlsched.instances.preemption import Plan, instances
from mlsched.solvers.front import planned

OBJECTIVES = ("total_score", "victim_count", "max_grace_period")
CHOICES = [c for size in (2, 3) for c in itertools.permutations(OBJECTIVES, size)]


def brute_force(inst, objectives) -> list[list[int]]:
    """Non-dominated values over every feasible plan, by the judge alone."""
    columns = [OBJECTIVES.index(name) for name in objectives]
    return nondominated(np.unique(all_values(inst)[:, columns], axis=0)).tolist()


@functools.lru_cache(maxsize=2)
def all_values(inst) -> np.ndarray:
    """The values of every feasible plan, in the order of OBJECTIVES."""
    jobs = range(len(inst.job_node))
    found = set()
    for victims in itertools.chain.from_iterable(itertools.combinations(jobs, size) for size in range(len(jobs) + 1)):
        for te_node in itertools.product(range(-1, len(inst.node_capacity)), repeat=len(inst.te_demand)):
            plan = Plan(te_node=list(te_node), victims=list(victims))
            if not inst.violations(plan):
                values = inst.evaluate(plan)
                found.add(tuple(values[name] for name in OBJECTIVES))
    return np.array(sorted(found))


def trade_off():
    """One full node; a TE job of 6 can be hosted by one big job of long grace, or several small ones of short grace."""
    return row([6, 4, 3, 2, 1], [6], grace=[30, 8, 9, 2, 1] * 2)


@pytest.mark.parametrize("objectives", CHOICES, ids="-".join)
@pytest.mark.parametrize("stages", ["one", "two", None])
def test_the_front_of_a_trade_off(solver, objectives, stages):
    inst = trade_off()
    if stages == "one" and solver == "highs" and "total_score" in objectives:
        pytest.skip("weights beyond what floats can tell apart")
    front = mlsched.pareto(inst, objectives, solver, stages=stages)
    assert front.sort_keys.tolist() == brute_force(inst, objectives)
    assert front.complete
    assert len(front) > 1 or set(objectives) == {"total_score", "max_grace_period"}
    for plan, values in zip(front.plans, front.sort_keys.tolist(), strict=True):
        assert inst.violations(plan) == []
        assert [inst.evaluate(plan)[name] for name in objectives] == values


@given(inst=instances(nodes=2, jobs=5, tes=2))
def test_the_front_equals_that_of_all_plans(solver, inst):
    for objectives in (OBJECTIVES, ("victim_count", "max_grace_period")):
        assert mlsched.pareto(inst, objectives, solver).sort_keys.tolist() == brute_force(inst, objectives)


def test_one_formulation_confirms_the_front_of_the_other(solver):
    front = mlsched.pareto(trade_off(), OBJECTIVES, solver)
    assert front.verify() == []
    assert front.verify(solver) == []


def test_another_engine_confirms_the_front(solver):
    other = {"cp-sat": "highs", "highs": "cp-sat"}[solver]
    alone = mlsched.pareto(trade_off(), OBJECTIVES, solver)
    assert (alone.evidence, alone.confirmed_by) == ("unconfirmed", None)
    both = mlsched.pareto(trade_off(), OBJECTIVES, solver, confirm=True)
    assert (both.evidence, both.confirmed_by) == ("confirmed", other)
    assert both.sort_keys.tolist() == alone.sort_keys.tolist()
    assert (both.to_json()["evidence"], both.to_json()["confirmed_by"]) == ("confirmed", other)
    with pytest.raises(InvalidInput, match="another engine must confirm it"):
        alone.confirmed(solver)


def test_a_front_that_another_engine_denies_is_an_error():
    front = mlsched.pareto(trade_off(), OBJECTIVES, "cp-sat")
    missing = dataclasses.replace(front, sort_keys=front.sort_keys[1:])
    with pytest.raises(Contradiction, match=r"highs denies the front of cp-sat: \d+ zones follow to be open, not 0"):
        missing.confirmed()


def test_defaults_are_all_objectives_and_the_default_solver():
    front = mlsched.pareto(small())
    assert (front.backend, front.method, len(front.senses)) == ("cp-sat", "tamby-vanderpooten", 3)


def test_resume(tmp_path, solver):
    file = tmp_path / "front.jsonl"
    first = mlsched.pareto(trade_off(), OBJECTIVES, solver, resume=file, solve_limit=3)
    assert (first.status, first.complete) == ("solve limit", False)
    second = mlsched.pareto(trade_off(), OBJECTIVES, solver, resume=file)
    assert (second.recalled, second.complete) == (3, True)
    assert second.sort_keys.tolist() == mlsched.pareto(trade_off(), OBJECTIVES, solver).sort_keys.tolist()


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (
            {"objectives": ["total_score", "cost"]},
            UnknownName,
            "unknown objective 'cost' of preemption; there are total_s",
        ),
        ({"objectives": ["victim_count"] * 2}, InvalidInput, "'victim_count' is given twice"),
        ({"objectives": "victim_count"}, InvalidInput, "1 given: a front needs two or more"),
        (
            {"solver": "fitgpp"},
            InvalidInput,
            "solver: 'fitgpp', expected a solver with a model to enumerate; use cp-sat or highs",
        ),
        ({"solver": "brute-force"}, InvalidInput, "expected a solver with a model to enumerate"),
        ({"solver": "gurobi"}, UnknownName, "unknown solver 'gurobi'"),
        ({"method": "sweep"}, InvalidInput, "method: 'sweep', expected one of"),
        ({"seed": -1}, InvalidInput, "seed: -1"),
        ({"time_limit": -1}, InvalidInput, "time_limit: -1"),
        ({"depth": 3}, UnknownName, "unknown parameter 'depth'"),
    ],
)
def test_wrong_calls(arguments, error, words):
    with pytest.raises(error, match=words):
        mlsched.pareto(small(), **arguments)
    with pytest.raises(InvalidInput, match="instance: dict, expected an instance"):
        mlsched.pareto({}, ("victim_count", "total_score"))


def test_a_front_that_the_judge_refutes_is_an_error(solver, monkeypatch):
    from mlsched.formulations.preemption._model import Reduced

    monkeypatch.setattr(Reduced, "plan", lambda self, placed, victims: Plan(te_node=[0], victims=[]))
    with pytest.raises(SolverError, match=f"{solver} returned an infeasible plan in a front: node 0"):
        mlsched.pareto(small(), OBJECTIVES, solver)
    monkeypatch.setattr(Reduced, "plan", lambda self, placed, victims: Plan(te_node=[-1], victims=[]))
    with pytest.raises(SolverError, match=r"its total_score = 1000000 contradicts the judge's \d+"):
        mlsched.pareto(small(), OBJECTIVES, solver)


def test_the_judge_sees_every_plan(monkeypatch):
    seen = []
    monkeypatch.setattr(planned, "judge", lambda name, inst, objectives, front: seen.append(len(front)))
    front = mlsched.pareto(trade_off(), OBJECTIVES)
    assert seen == [len(front)]
