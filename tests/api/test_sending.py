"""Results, runs and fronts go to other processes and come back, by pickle, `concurrent.futures` and joblib."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import pytest

import mlsched
from mlsched import InvalidInput
from mlsched.core.registry import registry
from mlsched.simulation import every_simulation
from mlsched.solvers import enumerate_front


def sent(thing):
    return pickle.loads(pickle.dumps(thing))


def test_what_is_registered_is_sent_by_name():
    assert all(sent(solver) is solver for solver in registry().available())
    assert all(sent(simulation) is simulation for simulation in every_simulation())


def test_results_of_rules_and_exact_solvers():
    instance = mlsched.generate("preemption", "small", seed=1)
    for solver in ("fitgpp", "brute-force"):
        result = mlsched.solve(instance, solver)
        assert sent(result) == result


def run(solver, **options):
    return mlsched.simulate(
        mlsched.workload("synthetic:z:jobs=40,nodes=1", problem="preemption"), solver, record=1.0, **options
    )


@pytest.mark.parametrize("name", ["fitgpp", "brute-force"])
def test_runs(name):
    before = run(name)
    after = sent(before)
    assert after.to_json() == before.to_json()
    assert after.violations() == []
    decision, kept = after.recorded[-1], before.recorded[-1]
    assert after.replay(decision) == before.replay(kept)


def test_a_rule_that_cannot_be_sent_stays_behind():
    waits = registry().solver("preemption", "fifo")[0].function
    before = run(lambda instance, *, rng: waits(instance, rng=rng))
    after = sent(before)
    assert after.summary() == before.summary()
    with pytest.raises(InvalidInput, match="replay where it ran"):
        after.replay(after.recorded[0])


def test_fronts():
    instance = mlsched.generate("preemption", "surge", seed=1)
    before = mlsched.pareto(instance, ["total_score", "victim_count"])
    after = sent(before)
    assert after.sort_keys.tolist() == before.sort_keys.tolist()
    assert after.plans == before.plans
    assert after.verify() == []


def test_a_front_of_a_model_of_ones_own():
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    x = model.new_int_var(0, 3, "x")
    front = sent(enumerate_front(model, [x, 3 - x], ["min", "min"]))
    assert len(front) == 4
    with pytest.raises(InvalidInput, match="the model stayed in the process"):
        front.verify()


def test_concurrent_futures():
    """There and back: the instance goes, the result comes."""
    instances = [mlsched.generate("preemption", "small", seed=seed) for seed in (0, 1)]
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(mlsched.solve, instances, ["fitgpp", "fitgpp"]))
    assert [r.plan for r in found] == [mlsched.solve(i, "fitgpp").plan for i in instances]


def test_joblib():
    joblib = pytest.importorskip("joblib")
    instances = [mlsched.generate("preemption", "small", seed=seed) for seed in (0, 1)]
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(mlsched.solve)(i, "fitgpp") for i in instances)
    assert [r.plan for r in found] == [mlsched.solve(i, "fitgpp").plan for i in instances]
