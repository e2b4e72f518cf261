"""Plain CP-SAT models, one file per problem, as a user of OR-Tools would write them from the statement.

Each file has `build(instance, objective)`, like `build` here, and its OBJECTIVES; also INFORMATION if it needs more
than observed data. A plug-in has its `benchmark/plain.py`. The models use none of the library's bounds, reductions or
symmetries; its defaults are compared with them.

They are not registered solvers, so that users do not select one by accident. Each has the name in rows of benchmarks,
"mlsched.benchmark.plain:quality". Their proofs rely on CP-SAT, as those of most defaults; they confirm the models.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from mlsched.benchmark.row import PLAIN
from mlsched.core import plugins
from mlsched.core.aliases import BackendModel
from mlsched.core.contract import Instance, Plan, objective_entry
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.registry import exact_algorithm


def has_model(problem: str) -> bool:
    """Return whether there is a plain model of a problem."""
    return plugins.module_spec(_module_name(problem)) is not None


def _module_name(problem: str) -> str:
    package = plugins.packages().get(problem)
    return f"{__name__}._{problem}" if package is None else f"{package}.benchmark.plain"


def build(instance: Instance, objective: str) -> tuple[BackendModel, Callable[[Any], Plan]]:
    """Return the plain model (`cp_model.CpModel`, with its objective), and a function from its solver to the plan."""
    module = importlib.import_module(_module_name(instance.problem))
    objective_entry(module.OBJECTIVES, objective, f"OBJECTIVES of {module.__name__}")
    model_and_reader: tuple[BackendModel, Callable[[Any], Plan]] = module.build(instance, objective)
    return model_and_reader


def _solve_plain_model(instance: Instance, objective: str, limits: Limits) -> Outcome:
    """Solve the plain model of the instance's problem by CP-SAT."""
    from ortools.sat.python import cp_model

    from mlsched.solvers.backends.limits import WORK, stopped_by, within

    model, plan = build(instance, objective)
    solver = within(limits)
    status = solver.solve(model)
    work = {WORK: solver.response_proto.deterministic_time}
    if status == cp_model.INFEASIBLE:
        return Outcome("infeasible", None, None, work=work)
    proven = status == cp_model.OPTIMAL
    stop_reason = stopped_by(proven, limits, work)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Outcome("unknown", None, None, stop_reason, work)
    bound = round(solver.best_objective_bound)
    return Outcome("optimal" if proven else "feasible", plan(solver), bound, stop_reason, work)


@functools.cache
def _registered_solver(problem: str) -> Callable[..., Outcome]:
    """Return the solver of a problem's plain model, as the function of this package with its name."""
    module = importlib.import_module(_module_name(problem))

    def solve(instance: Instance, *, objective: str, limits: Limits, hint: Plan | None = None) -> Outcome:
        return _solve_plain_model(instance, objective, limits)

    solve.__name__ = solve.__qualname__ = problem
    solve.__doc__ = module.__doc__
    return exact_algorithm(
        f"{PLAIN}:{problem}",
        problem=problem,
        kind="exact",
        engine="cp-sat",
        objectives=tuple(module.OBJECTIVES),
        information=getattr(module, "INFORMATION", "observed"),
    )(solve)


def __getattr__(name: str) -> Callable[..., object]:
    if name.isidentifier() and not name.startswith("_") and has_model(name):
        return _registered_solver(name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
