"""SCIP in a process of its own: the same answers, and an end whatever it does."""

from __future__ import annotations

import threading

import pytest
from draws import THOROUGH
from ortools.math_opt.python import mathopt

from mlsched.core.formulation import Limits
from mlsched.core.interrupts import stopping
from mlsched.solvers.backends import math_opt, scip_process
from mlsched.solvers.backends.scip_process import Apart

LIMIT = mathopt.TerminationReason.NO_SOLUTION_FOUND, mathopt.Limit.INTERRUPTED


def model(variables=3, rows=1):
    """Equations over 0 and 1 (market split), which many variables and rows make hopeless."""
    made = mathopt.Model()
    columns = [made.add_binary_variable() for _ in range(variables)]
    for k in range(rows):
        weights = [1 + (7919 * (k + 1) * (j + 1)) % 97 for j in range(variables)]
        made.add_linear_constraint(mathopt.fast_sum(w * x for w, x in zip(weights, columns, strict=True)) <= 150)
    made.maximize(mathopt.fast_sum(columns))
    return made, columns


def test_it_answers_as_in_this_process():
    made, columns = model()
    hint = mathopt.SolutionHint(variable_values={columns[0]: 1.0})
    with stopping():
        apart = math_opt.solve(made, "scip", Limits(), hints=[hint])
    here = math_opt.solve(made, "scip", Limits(), hints=[hint])
    assert apart.termination.reason == here.termination.reason == mathopt.TerminationReason.OPTIMAL
    assert apart.variable_values(columns) == here.variable_values(columns)
    assert apart.termination.objective_bounds == here.termination.objective_bounds


def test_the_error_of_parameters_that_scip_refuses_is_raised():
    with pytest.raises(RuntimeError, match="iteration_limit"):
        Apart(model()[0], mathopt.SolveParameters(iteration_limit=5), []).run()


@pytest.mark.parametrize("way", ["killed", "interrupted"])
def test_it_ends_when_it_is_stopped(monkeypatch, way):
    if way == "killed":
        monkeypatch.setattr(scip_process, "PATIENCE", -1.0)
    elif not THOROUGH:
        pytest.skip("waits until SCIP searches; in the thorough profile")
    made, columns = model(60, 8)
    for weight in (31, 37, 41, 43):
        row = mathopt.fast_sum((1 + weight * j % 101) * x for j, x in enumerate(columns))
        made.add_linear_constraint(row == 1500)
    apart, over = Apart(made, mathopt.SolveParameters(), []), threading.Event()

    def stop():
        while not over.wait(0.01):
            apart.stop()

    threading.Thread(target=stop, daemon=True).start()
    try:
        ended = apart.run()
    finally:
        over.set()
    assert (ended.termination.reason, ended.termination.limit) == LIMIT
    assert not ended.has_primal_feasible_solution()


def test_a_process_that_ends_without_an_answer_is_a_failure(monkeypatch):
    monkeypatch.setattr(scip_process.sys, "executable", "/bin/false")
    with pytest.raises(RuntimeError, match="ended without an answer"):
        Apart(model()[0], mathopt.SolveParameters(), []).run()
