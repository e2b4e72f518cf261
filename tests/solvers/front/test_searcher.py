"""What `core.scalar.Searcher` promises beyond `Scalar`, of CP-SAT."""

from __future__ import annotations

import threading

import pytest
from ortools.sat.python import cp_model

from mlsched import api
from mlsched.formulations.taskgraph._intervals import model
from mlsched.formulations.taskgraph._layout import Layout
from mlsched.solvers.front.cp_sat import CpSatScalar


def scalar():
    cp = cp_model.CpModel()
    x, y = cp.new_int_var(0, 9, "x"), cp.new_int_var(0, 9, "y")
    cp.add(x + y >= 5)
    return CpSatScalar(cp, [x, y], ["min", "max"]), x, y


def test_a_solution_takes_the_values_it_is_given_and_no_others():
    made, x, y = scalar()
    assert made.solution_of([(x, 2), (y, 7)]) == (2, 7)
    assert made.solution_of([(x, 0), (y, 4)]) is None
    found = made.solution_of([(x, 1)])
    assert found[0] == 1
    assert sum(found) >= 5


def test_boxes_of_an_earlier_question_do_not_narrow_solutions():
    made, x, y = scalar()
    assert made.minimise((1, 0), ((3, None),), None, None).status == "optimal"
    assert made.solution_of([(x, 9), (y, 9)]) == (9, 9)


@pytest.fixture(scope="module")
def hard() -> CpSatScalar:
    made = model(Layout.of(api.generate("taskgraph", preset="ten-loose", seed=0)), ("total_jct", "makespan"))
    sums = [made.objectives[o][0].expression for o in ("total_jct", "makespan")]
    return CpSatScalar(made.model, sums, ["min", "min"])


def test_deterministic_time_limits_a_solve(hard):
    hard.work = 0.05
    answer = hard.minimise((1, 0), ((None, None),), None, None)
    assert answer.status in ("feasible", "unknown")


def test_another_thread_ends_a_solve(hard, monkeypatch):
    """It is ended at its first bound, long before the work that it might do."""
    begun, solve, answers, spent = threading.Event(), cp_model.CpSolver.solve, [], []

    def told(solver, model):
        solver.best_bound_callback = lambda bound: begun.set()
        status = solve(solver, model)
        spent.append(solver.response_proto.deterministic_time)
        return status

    monkeypatch.setattr(cp_model.CpSolver, "solve", told)
    hard.work = 500.0
    search = threading.Thread(target=lambda: answers.append(hard.minimise((1, 0), ((None, None),), None, None)))
    search.start()
    begun.wait()
    hard.stop()
    search.join()
    assert answers[0].status in ("feasible", "unknown")
    assert spent[0] < hard.work
