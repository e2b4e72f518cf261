"""Models out of the library: every file of every problem has the optimum, and complete ones have every plan."""

from __future__ import annotations

from typing import Any

import installed
import pytest
from changed_models import every_plan, key, model_plans
from draws import draws

import mlsched
from mlsched import api
from mlsched.core.models import Models
from mlsched.core.registry import scan_problems

PROBLEMS = installed.problems("admission", "placement", "preemption", "quality", "rounds", "taskgraph", "workers")
#: Sizes at which SCIP answers in a moment.
SIZES: dict[str, dict[str, Any]] = {"taskgraph": {"jobs": 1}, "placement": {"servers": 2, "jobs": 2}}
SEEDS = (10, *range(20))
CASES = [
    (problem, objective)
    for problem in PROBLEMS
    for objective in scan_problems("formulations", "MODELS", Models, problem)[0].objectives
]


def small(problem: str, seed: int) -> Any:
    return mlsched.generate(problem, "small", seed, **SIZES.get(problem, {}))


def solved(path: str, engine: str) -> tuple[int, dict[str, float]]:
    """The optimum of an MPS file by HiGHS or by SCIP (of OR-Tools), and the values by name."""
    import highspy
    from ortools.linear_solver.python import model_builder

    if engine == "highs":
        highs = highspy.Highs()
        highspy.Highs.resetGlobalScheduler(True)
        highs.setOptionValue("output_flag", False)
        highs.setOptionValue("mip_rel_gap", 0.0)
        highs.readModel(path)
        highs.run()
        assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
        values = dict(zip(highs.getLp().col_names_, highs.getSolution().col_value, strict=True))
        return round(highs.getInfo().objective_function_value), values
    model = model_builder.Model()
    assert model.import_from_mps_file(path)
    solver = model_builder.Solver(engine)
    assert solver.solve(model) == model_builder.SolveStatus.OPTIMAL
    return round(solver.objective_value), {v.name: solver.value(v) for v in model.get_variables()}


@pytest.mark.parametrize(("problem", "objective"), CASES)
@pytest.mark.parametrize("pruned", [False, True])
def test_files_have_the_optimum(tmp_path, problem, objective, pruned):
    for seed in SEEDS[: draws(1, 20)]:
        instance = small(problem, seed)
        best = api.solve(instance, "brute-force", objective=objective).sort_key
        model = mlsched.model(instance, objective, pruned=pruned)
        path = str(tmp_path / "m.mps")
        model.write(path)
        for engine in ("highs", "scip"):
            value, values = solved(path, engine)
            found = mlsched.plan_from(model, values)
            assert (value, found.sort_key, found.status) == (best, best, "feasible")


@pytest.mark.parametrize(("problem", "objective"), CASES)
def test_cp_sat_models_have_the_optimum(tmp_path, problem, objective):
    from ortools.sat import cp_model_pb2
    from ortools.sat.python import cp_model

    instance = small(problem, 1)
    best = api.solve(instance, objective=objective).sort_key
    model = mlsched.model(instance, objective)
    solver = cp_model.CpSolver()
    assert solver.solve(model.cp_sat) == cp_model.OPTIMAL
    assert (round(solver.objective_value), mlsched.plan_from(model, solver).sort_key) == (best, best)
    model.write(tmp_path / "m.pb")
    proto = cp_model_pb2.CpModelProto.FromString((tmp_path / "m.pb").read_bytes())
    assert [v.name for v in proto.variables] == [v.name for v in model.cp_sat.proto.variables]
    variables = [model.cp_sat.get_int_var_from_proto_index(i) for i in range(len(proto.variables))]
    named = {variable.name: solver.value(variable) for variable in variables if variable.name}
    if all("[" in name or name == "last" for name in named):
        assert mlsched.plan_from(model, named).sort_key == best


@pytest.mark.parametrize(
    ("problem", "sizes"),
    [
        ("quality", {"jobs": 3, "cores": 8, "cap": 5}),
        ("workers", {"jobs": 2}),
        ("preemption", {"jobs": 6}),
        *[("rounds", {"jobs": 4})] * len(installed.problems("rounds")),
    ],
)
def test_complete_models_have_every_plan(problem, sizes):
    instance = mlsched.generate(problem, "small", 2, **sizes)
    expected = {key(plan) for plan in every_plan(instance)}
    assert len(expected) > 20
    assert model_plans(instance) == expected


def test_another_objective_bounds_the_first():
    instance = mlsched.generate("quality", "contended", 1)
    front = mlsched.pareto(instance, ["total_loss_reduction", "worst_loss"])
    for total, worst in front.sort_keys.tolist():
        model = mlsched.model(instance, "total_loss_reduction", also=["worst_loss"])
        import pyomo.environ as pyo

        model.pyomo.limit = pyo.Constraint(expr=model.pyomo.value["worst_loss"] <= worst)
        pyo.SolverFactory("appsi_highs").solve(model.pyomo)
        assert mlsched.plan_from(model).sort_key == total


def test_groups_are_documented_and_named():
    for problem in PROBLEMS:
        (models,) = scan_problems("formulations", "MODELS", Models, problem)
        for objective in models.objectives:
            model = mlsched.model(small(problem, 0), objective)
            import pyomo.environ as pyo

            listed = {group.name: group for group in (*model.variables, *model.constraints)}
            assert len(listed) == len(model.variables) + len(model.constraints)
            for part in model.pyomo.component_objects((pyo.Var, pyo.Constraint)):
                assert part.name in listed or not len(part), f"{problem}: {part.name}"
            assert all(group.doc for group in listed.values())


def test_a_pruned_model_says_what_it_leaves_out():
    instance = small("preemption", 0)
    assert mlsched.model(instance).left_out == ""
    assert mlsched.model(instance, pruned=True).left_out == "victims on nodes where no TE job fits"


def test_a_model_beyond_the_limit_is_refused_in_one_line():
    model = mlsched.model(mlsched.generate("taskgraph", "six-loose"))
    with pytest.raises(mlsched.InvalidInput, match=r"most_variables: 20000, expected 46044 .* pruned=True"):
        _ = model.pyomo
    assert len(model.cp_sat.proto.variables) < 200
    with pytest.raises(mlsched.InvalidInput, match="most_variables: 10, expected 12"):
        _ = mlsched.model(small("preemption", 0), most_variables=10).pyomo


def test_wrong_calls_are_refused_in_one_line(tmp_path):
    instance = small("preemption", 0)
    with pytest.raises(mlsched.UnknownName, match="unknown objective 'victims'"):
        mlsched.model(instance, "victims")
    with pytest.raises(mlsched.InvalidInput, match=r"m\.txt: suffix '\.txt', expected one of"):
        mlsched.model(instance).write(tmp_path / "m.txt")
    with pytest.raises(mlsched.InvalidInput, match="the model is not solved"):
        mlsched.plan_from(mlsched.model(instance))
    with pytest.raises(mlsched.InvalidInput, match="has no model; pass a quality"):
        mlsched.model(mlsched.generate("quality", preset="epochs-small"))
    with pytest.raises(mlsched.InvalidInput, match="solution: expected None"):
        mlsched.plan_from(mlsched.model(instance), 5)


def test_the_judge_refuses_a_plan_of_a_model_without_its_rows():
    import pyomo.environ as pyo

    model = mlsched.model(small("preemption", 0), "victim_count")
    model.pyomo.capacity.deactivate()
    pyo.SolverFactory("appsi_highs").solve(model.pyomo)
    with pytest.raises(mlsched.SolverError, match="model returned an infeasible plan"):
        mlsched.plan_from(model)
