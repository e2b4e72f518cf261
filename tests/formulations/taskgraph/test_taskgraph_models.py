"""Special cases collapse to the classic models, limits are kept, models can be written and solved elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from contended_examples import contended
from draws import THOROUGH
from taskgraph_examples import OF_EDGES, OF_JOBS

import mlsched
from mlsched import api
from mlsched.core.fields import UNLIMITED
from mlsched.core.models import with_objective
from mlsched.core.registry import registry
from mlsched.formulations.taskgraph import moulded
from mlsched.formulations.taskgraph._intervals import model
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.instances.taskgraph import Instance


def single(capacity, duration, demand, eligible, edges=(), jobs=None, **changes) -> Instance:
    """Jobs that run once, without transfers."""
    tasks = len(duration)
    task_job = np.zeros(tasks, dtype=np.int64) if jobs is None else np.array(jobs)
    count = int(task_job.max()) + 1
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
    nothing, zeros = np.zeros(len(pairs), dtype=np.int64), np.zeros(count, dtype=np.int64)
    fields = {
        "resources": tuple(f"r{r}" for r in range(len(capacity[0]))),
        "node_capacity": np.array(capacity),
        "arrival": zeros,
        "deadline": zeros + UNLIMITED,
        "urgency": zeros,
        "required": zeros,
        "min_iterations": zeros + 1,
        "max_iterations": zeros + 1,
        "accuracy": np.zeros((count, 2), dtype=np.int64),
        "task_job": task_job,
        "duration": np.array(duration),
        "demand": np.array(demand),
        "eligible": np.array(eligible),
        "parameters": np.zeros(tasks, dtype=np.int64),
        "edge_from": pairs[:, 0],
        "edge_to": pairs[:, 1],
        "edge_lag": nothing,
        "edge_volume": nothing,
        "edge_delay": nothing,
    }
    return Instance(**{**fields, **changes})


def count(instance: Instance, objective: str = "makespan") -> dict[str, int]:
    """How many constraints of each kind, and Boolean variables, the model has."""
    proto = model(Layout.of(instance), (objective,)).model.proto
    kinds = ("cumulative", "no_overlap", "interval")
    found = {kind: sum(getattr(c, "has_" + kind)() for c in proto.constraints) for kind in kinds}
    return {**found, "bool": sum(list(v.domain) == [0, 1] for v in proto.variables)}


def machines(m: int, tasks: int = 5) -> Instance:
    return single([[1]] * m, list(range(1, tasks + 1)), [[1]] * tasks, [[1] * m] * tasks, [(0, 1), (0, 2)])


def test_identical_machines_are_one_cumulative_without_node_choices():
    assert count(machines(3)) == {"cumulative": 1, "no_overlap": 0, "interval": 5, "bool": 0}
    found = api.solve(machines(3), "cp-sat", objective="makespan")
    assert (found.status, found.sort_key) == ("optimal", 6)


def test_tasks_that_share_a_node_or_pay_for_transfers_are_not_folded():
    assert count(machines(3).replace(node_capacity=np.full((3, 1), 2)))["bool"] > 0
    assert count(machines(3).replace(edge_delay=np.array([1, 0])))["bool"] > 0
    assert count(machines(3).replace(edge_volume=np.array([1, 0])))["bool"] == 0
    assert count(machines(3).replace(edge_volume=np.array([1, 0])), "traffic")["bool"] > 0
    assert count(machines(2).replace(max_iterations=np.array([2]), accuracy=np.zeros((1, 3), dtype=np.int64)))["bool"]


def test_one_node_is_rcpsp_with_plain_intervals():
    instance = single([[3, 2]], [2, 3, 1, 4], [[2, 1], [2, 0], [1, 2], [1, 1]], [[1]] * 4, [(0, 3)])
    assert count(instance) == {"cumulative": 2, "no_overlap": 0, "interval": 4, "bool": 0}


def test_one_eligible_node_a_task_is_the_job_shop_with_no_overlap():
    eligible = [[1, 0], [0, 1], [0, 1], [1, 0]]
    instance = single([[1], [1]], [3, 2, 2, 4], [[1]] * 4, eligible, [(0, 1), (2, 3)], jobs=[0, 0, 1, 1])
    found = count(instance)
    assert (found["no_overlap"], found["bool"]) == (2, 0)
    assert api.solve(instance, "cp-sat", objective="makespan").sort_key == 7


def test_fixed_runs_of_machines_that_clash_are_infeasible():
    fixed = {"now": 1, "fixed_task": np.array([0, 3]), "fixed_node": np.array([1, 1]), "fixed_start": np.array([0, 0])}
    clash = machines(2).replace(
        edge_from=np.zeros(0, dtype=np.int64),
        edge_to=np.zeros(0, dtype=np.int64),
        edge_lag=np.zeros(0, dtype=np.int64),
        edge_volume=np.zeros(0, dtype=np.int64),
        edge_delay=np.zeros(0, dtype=np.int64),
        **fixed,
    )
    for solver in ("cp-sat", "highs", "brute-force"):
        assert api.solve(clash, solver, objective="makespan").status == "infeasible"
    apart = clash.replace(fixed_node=np.array([1, 0]))
    values = {api.solve(apart, solver, objective="makespan").sort_key for solver in ("cp-sat", "highs", "brute-force")}
    assert len(values) == 1


def test_a_task_that_fits_nowhere_is_infeasible_for_both():
    instance = single([[1], [1]], [1], [[2]], [[1, 1]])
    for solver in ("cp-sat", "highs", "brute-force"):
        for objective in instance.objectives:
            assert api.solve(instance, solver, objective=objective.name).status == "infeasible"


def test_no_jobs_at_all():
    gone = (*OF_JOBS, *OF_EDGES, "finished", "on_time", "home", "last_end")
    empty = machines(2).replace(**{name: getattr(machines(2), name)[:0] for name in gone})
    for solver in ("cp-sat", "highs", "moulded", "moulded-highs"):
        for objective in empty.objectives:
            assert api.solve(empty, solver, objective=objective.name).sort_key == 0


@pytest.mark.parametrize("objective", ["total_jct", *(["total_accuracy"] if THOROUGH else []), "makespan"])
def test_limits_leave_an_incumbent_and_a_bound(objective):
    preset, seed = ("eight-replicas", 2) if THOROUGH else ("six-replicas", 12)
    instance = mlsched.generate("taskgraph", preset=preset, seed=seed)
    found = [api.solve(instance, "cp-sat", objective=objective, work_limit=0.02) for _ in range(2)]
    assert found[0].status in ("feasible", "optimal", "unknown")
    if found[0].status == "feasible" and objective == "total_jct":
        assert found[0].stopped_by == "work limit"
        assert found[0].sort_bound is not None
    assert [found[0].sort_key, found[0].sort_bound] == [found[1].sort_key, found[1].sort_bound]
    assert found[0].plan == found[1].plan


def test_a_time_limit_of_nothing_gives_the_warm_start_or_better():
    instance = mlsched.generate("taskgraph", preset="eight-replicas", seed=2)
    rules = [rule.name for rule in registry().available("taskgraph") if rule.warm_start]
    found = api.solve(instance, "cp-sat", objective="total_jct", time_limit=0.001)
    assert found.sort_bound <= found.sort_key <= min(api.solve(instance, rule).sort_keys["total_jct"] for rule in rules)
    assert (found.status, found.stopped_by) in (("feasible", "time limit"), ("optimal", "proof"))


@pytest.mark.parametrize("objective", ["total_jct", "traffic", "total_accuracy"])
@pytest.mark.parametrize("ending", ["mps", "lp"])
def test_models_of_gangs_can_be_written_and_read_elsewhere(tmp_path, objective, ending):
    import highspy

    instance = next(i for i in map(contended, range(50)) if not len(i.fixed_task) and i.movement == "none")
    expected = api.solve(instance, "moulded-highs", objective=objective).sort_key
    path = str(tmp_path / f"model.{ending}")
    with_objective(moulded.highs_model(instance, objectives=(objective,)), instance, objective).write(path)
    solver = highspy.Highs()
    highspy.Highs.resetGlobalScheduler(True)
    solver.setOptionValue("output_flag", False)
    solver.readModel(path)
    solver.run()
    assert round(solver.getInfo().objective_function_value) == expected


def test_moulded_refuses_runs_under_way_and_never_claims_infeasible():
    begun = next(i for i in map(contended, range(50)) if len(i.fixed_task))
    with pytest.raises(mlsched.InvalidInput, match="under way"):
        api.solve(begun, "moulded")
    nowhere = single([[1], [1]], [1], [[2]], [[1, 1]])
    for solver in ("moulded", "moulded-highs"):
        assert api.solve(nowhere, solver).status == "unknown"


def test_fronts_are_asked_from_models_of_all_plans_only():
    with pytest.raises(mlsched.InvalidInput, match="cp-sat or highs"):
        api.pareto(machines(2), ("makespan", "traffic"), solver="moulded")


@pytest.mark.slow
def test_published_optima(known_optima):
    cases = [
        ("jsp/ft06.txt", {}, 55),
        ("jsp/la01.txt", {}, 666),
        ("psplib_j30/j301_1.sm", {}, 43),
        ("stg/rand0006.stg", {"processors": 4}, 108),
        ("stg/rand0000.stg", {"processors": 2}, 131),
    ]
    for name, options, value in cases:
        found = api.solve(mlsched.load(str(known_optima / name), **options), "cp-sat", objective="makespan")
        assert (found.status, found.sort_key, found.sort_bound) == ("optimal", value, value), name
