"""Plain CP-SAT models, one file a problem, as a user of OR-Tools would write them from the statement.

Each file has `build(instance, objective)`, as `build` here says, and its OBJECTIVES; INFORMATION where it needs more
than what is observed. A plug-in's is its `benchmark/plain.py`. They know none of the library's bounds, reductions or
symmetries, and are what its defaults are held against.

They are no registered solvers, so that nobody gets one by accident: each is asked by the name that rows of benchmarks
store, "mlsched.benchmark.plain:quality". What they prove rests on CP-SAT, as most defaults do; they confirm the models.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from mlsched.benchmark.row import PLAIN
from mlsched.core import plugins
from mlsched.core.contract import Instance, Plan, objective_entry
from mlsched.core.formulation import Limits, Outcome
from mlsched.core.registry import exact_algorithm


def has(problem: str) -> bool:
    """Whether there is a plain model of a problem."""
    return plugins.module_spec(_file(problem)) is not None


def _file(problem: str) -> str:
    package = plugins.packages().get(problem)
    return f"{__name__}._{problem}" if package is None else f"{package}.benchmark.plain"


def build(instance: Instance, objective: str) -> tuple[Any, Callable[[Any], Plan]]:
    """The plain model (`cp_model.CpModel`, with its objective), and what reads the plan off a solver that solved it."""
    module = importlib.import_module(_file(instance.problem))
    objective_entry(module.OBJECTIVES, objective, f"OBJECTIVES of {module.__name__}")
    made: tuple[Any, Callable[[Any], Plan]] = module.build(instance, objective)
    return made


def _solved(instance: Instance, objective: str, limits: Limits) -> Outcome:
    """CP-SAT on the plain model of the instance's problem."""
    from ortools.sat.python import cp_model

    from mlsched.solvers.backends.limits import WORK, stopped_by, within

    model, plan = build(instance, objective)
    solver = within(limits)
    status = solver.solve(model)
    work = {WORK: solver.response_proto.deterministic_time}
    if status == cp_model.INFEASIBLE:
        return Outcome("infeasible", None, None, work=work)
    proven = status == cp_model.OPTIMAL
    stopped = stopped_by(proven, limits, work)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Outcome("unknown", None, None, stopped, work)
    bound = round(solver.best_objective_bound)
    return Outcome("optimal" if proven else "feasible", plan(solver), bound, stopped, work)


@functools.cache
def _solver(problem: str) -> Callable[..., Outcome]:
    """What solves the plain model of a problem, as the function of this package that has its name."""
    module = importlib.import_module(_file(problem))

    def solve(instance: Instance, *, objective: str, limits: Limits, hint: Plan | None = None) -> Outcome:
        return _solved(instance, objective, limits)

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


def __getattr__(name: str) -> Any:
    if name.isidentifier() and not name.startswith("_") and has(name):
        return _solver(name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
