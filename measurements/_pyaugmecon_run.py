"""Run pyaugmecon on a question given as JSON on standard input; one JSON line on standard output.

Started by fronts.py in an interpreter of its own (`--pyaugmecon-python`), because pyaugmecon pins other versions.
Solver: HiGHS through Pyomo's appsi, relative gap 0, one process, one thread.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import time

import pyomo.environ as pyo
from pyaugmecon import PyAugmecon
from pyomo.contrib.appsi.solvers import Highs as Appsi


class Highs:
    """What pyaugmecon expects of a solver, without the Gurobi options it sets."""

    def __init__(self) -> None:
        self.options: dict[str, object] = {}
        self.inner = Appsi()
        self.inner.config.load_solution = False
        self.inner.highs_options = {"mip_rel_gap": 0.0, "mip_abs_gap": 0.999, "threads": 1}

    def solve(self, model):
        from pyomo.opt import SolverResults, SolverStatus, TerminationCondition

        found = self.inner.solve(model)
        result = SolverResults()
        optimal = found.termination_condition.name == "optimal"
        result.solver.status = SolverStatus.ok if optimal else SolverStatus.warning
        result.solver.termination_condition = (
            TerminationCondition.optimal if optimal else TerminationCondition.infeasible
        )
        if optimal:
            found.solution_loader.load_vars()
        return result


def main() -> None:
    question = json.load(sys.stdin)
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(len(question["low"])), domain=pyo.Binary)
    x = list(model.x.values())
    model.rows = pyo.ConstraintList()
    for row, sense, right in zip(question["rows"], question["row_sense"], question["right"], strict=True):
        body = sum(c * v for c, v in zip(row, x, strict=True))
        model.rows.add(body <= right if sense < 0 else body >= right if sense > 0 else body == right)
    model.obj_list = pyo.ObjectiveList()
    for row, sense in zip(question["objectives"], question["senses"], strict=True):
        made = pyo.minimize if sense == "min" else pyo.maximize
        model.obj_list.add(expr=sum(c * v for c, v in zip(row, x, strict=True)), sense=made)
    for i in range(1, len(question["senses"]) + 1):
        model.obj_list[i].deactivate()
    pyo.SolverFactory = lambda *_, **__: Highs()
    options = {
        "grid_points": question["grid_points"],
        "nadir_points": question["nadir_points"],
        "cpu_count": 1,
        "redivide_work": False,
        "shared_flag": False,
        "output_excel": False,
        "logging_folder": "logs",
        "solver_name": "appsi_highs",
    }
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with contextlib.redirect_stdout(sys.stderr):
            before, started = os.times(), time.perf_counter()
            run = PyAugmecon(model, options, {})
            run.solve()
            after, seconds = os.times(), time.perf_counter() - started
    cpu = sum(getattr(after, n) - getattr(before, n) for n in ("user", "system", "children_user", "children_system"))
    points = sorted([round(v) for v in p] for p in run.get_pareto_solutions())
    print(json.dumps({"points": points, "cpu": cpu, "seconds": seconds, "solves": run.model.models_solved.value()}))


if __name__ == "__main__":
    main()
