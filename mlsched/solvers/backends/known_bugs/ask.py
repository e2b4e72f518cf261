"""Test of one engine on one known-bug model: is its answer right?"""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Literal

import numpy as np

from mlsched.core.aliases import Variable
from mlsched.core.errors import BackendError
from mlsched.core.formulation import Limits
from mlsched.solvers.backends.known_bugs.models import KnownBug

#: Engines that are tested on known-bug models, and the distribution whose version identifies them.
ENGINES = {"cp-sat": "ortools", "highs": "highspy", "scip": "ortools", "ortools-highs": "ortools"}
#: right; wrong; silent: without a claim (an error, a limit, "unbounded or infeasible"); not asked: the engine does not
#: accept such a model (CP-SAT and continuous variables).
Verdict = Literal["right", "wrong", "silent", "not asked"]
#: Values and rows agree up to this share of the larger one: solvers compute in floats.
TOLERANCE = 1e-6
#: Bounds for CP-SAT, which needs finite ones; the optima of all known-bug models are far inside them.
FAR = 10**9
#: Work limit per answer: nodes, or deterministic seconds; the models need a few.
MOST = {"cp-sat": 20.0, "highs": 100_000.0, "scip": 100_000.0, "ortools-highs": 100_000.0}


@dataclasses.dataclass(frozen=True)
class Said:
    """An engine's answer: "optimal", "infeasible", "unbounded" or the reason for silence; value and solution."""

    status: str
    value: float | None = None
    solution: tuple[float, ...] = ()


def judged(known_bug: KnownBug, engine: str) -> tuple[Verdict, str]:
    """Return the verdict on an engine, and a description of its answer."""
    if engine == "cp-sat" and not all(v.integer for v in known_bug.variables):
        return "not asked", ""
    try:
        message = _ASK[engine](known_bug, engine)
    except BackendError as error:
        return "silent", str(error)
    words = message.status if message.value is None else f"{message.status} {message.value:.12g}"
    if message.status in ("infeasible", "unbounded"):
        return ("right" if known_bug.answer == message.status else "wrong"), words
    if message.status != "optimal" or message.value is None:
        return "silent", words
    if isinstance(known_bug.answer, str) or not _is_close(message.value, float(known_bug.answer)):
        return "wrong", words
    broken = _violated_constraint(known_bug, message.solution)
    return ("wrong", f"{words}, but {broken}") if broken else ("right", words)


def _is_close(a: float, b: float) -> bool:
    return abs(a - b) <= TOLERANCE * max(1.0, abs(a), abs(b))


def _violated_constraint(known_bug: KnownBug, solution: tuple[float, ...]) -> str:
    """Return a description of the constraint that a solution violates; empty if it is feasible."""
    value = {v.name: x for v, x in zip(known_bug.variables, solution, strict=True)}
    for v in known_bug.variables:
        if v.integer and not _is_close(value[v.name], round(value[v.name])):
            return f"{v.name} = {value[v.name]} is not an integer"
        if not _satisfies_bounds(v.low, value[v.name], v.high):
            return f"{v.name} = {value[v.name]} is out of its bounds"
    for number, row in enumerate(known_bug.rows):
        if not _satisfies_bounds(row.low, sum(float(f) * value[name] for name, f in row.terms.items()), row.high):
            return f"row {number} does not hold"
    return ""


def _satisfies_bounds(low: Fraction | None, value: float, high: Fraction | None) -> bool:
    slack = TOLERANCE * max(1.0, abs(value))
    return (low is None or value >= float(low) - slack) and (high is None or value <= float(high) + slack)


def _answer_of_highs(known_bug: KnownBug, engine: str) -> Said:
    from mlsched.solvers.backends.highs import check, import_highspy, new_highs, run

    highspy, solver = import_highspy(), new_highs(Limits(work=MOST[engine]))
    solver.setOptionValue("mip_abs_gap", 0.0)
    lp, names = highspy.HighsLp(), [v.name for v in known_bug.variables]
    lp.num_col_, lp.num_row_ = len(names), len(known_bug.rows)
    lp.sense_ = highspy.ObjSense.kMinimize if known_bug.sense == "min" else highspy.ObjSense.kMaximize
    lp.col_cost_ = np.array([float(known_bug.cost.get(name, 0)) for name in names])
    lp.col_lower_ = np.array([_lower_bound(v) for v in known_bug.variables])
    lp.col_upper_ = np.array([_upper_bound(v) for v in known_bug.variables])
    lp.row_lower_ = np.array([_lower_bound(row) for row in known_bug.rows])
    lp.row_upper_ = np.array([_upper_bound(row) for row in known_bug.rows])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    sizes = [len(row.terms) for row in known_bug.rows]
    lp.a_matrix_.start_ = np.cumsum([0, *sizes]).astype(np.int32)
    lp.a_matrix_.index_ = np.array([names.index(n) for row in known_bug.rows for n in row.terms], dtype=np.int32)
    lp.a_matrix_.value_ = np.array([float(f) for row in known_bug.rows for f in row.terms.values()])
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    lp.integrality_ = [kinds[v.integer] for v in known_bug.variables]
    check(solver.passModel(lp), "passModel")
    run(solver)
    status = solver.getModelStatus()
    known_answer = {
        highspy.HighsModelStatus.kOptimal: "optimal",
        highspy.HighsModelStatus.kInfeasible: "infeasible",
        highspy.HighsModelStatus.kUnbounded: "unbounded",
    }
    if known_answer.get(status) != "optimal":
        return Said(known_answer.get(status, status.name))
    return Said("optimal", solver.getInfo().objective_function_value, tuple(solver.getSolution().col_value))


def _answer_of_math_opt(known_bug: KnownBug, engine: str) -> Said:
    from ortools.math_opt.python import mathopt

    from mlsched.solvers.backends.math_opt import solve

    model = mathopt.Model()
    columns = {
        v.name: model.add_variable(lb=_lower_bound(v), ub=_upper_bound(v), is_integer=v.integer, name=v.name)
        for v in known_bug.variables
    }
    for row in known_bug.rows:
        built_model = model.add_linear_constraint(lb=_lower_bound(row), ub=_upper_bound(row))
        for name, factor in row.terms.items():
            built_model.set_coefficient(columns[name], float(factor))
    goal = mathopt.LinearSum(float(f) * columns[name] for name, f in known_bug.cost.items())
    if known_bug.sense == "min":
        model.minimize(goal)
    else:
        model.maximize(goal)
    result = solve(model, engine, Limits(work=MOST[engine]), gap=0.0)
    reasons = mathopt.TerminationReason
    known_answer = {reasons.OPTIMAL: "optimal", reasons.INFEASIBLE: "infeasible", reasons.UNBOUNDED: "unbounded"}
    status = known_answer.get(result.termination.reason, result.termination.reason.name)
    if status != "optimal":
        return Said(status)
    values = result.variable_values()
    return Said("optimal", result.objective_value(), tuple(values[columns[v.name]] for v in known_bug.variables))


def _answer_of_cp_sat(known_bug: KnownBug, engine: str) -> Said:
    from ortools.sat.python import cp_model

    from mlsched.solvers.backends.limits import within

    model = cp_model.CpModel()
    columns = {}
    for v in known_bug.variables:
        low = -FAR if v.low is None else math.ceil(v.low)
        columns[v.name] = model.new_int_var(low, FAR if v.high is None else math.floor(v.high), v.name)
    for row in known_bug.rows:
        scale = math.lcm(*(f.denominator for f in row.terms.values()))
        expression = cp_model.LinearExpr.sum([int(f * scale) * columns[n] for n, f in row.terms.items()])
        if row.low is not None:
            model.add(expression >= math.ceil(row.low * scale))
        if row.high is not None:
            model.add(expression <= math.floor(row.high * scale))
    scale = math.lcm(*(f.denominator for f in known_bug.cost.values()), 1)
    goal = cp_model.LinearExpr.sum([int(f * scale) * columns[n] for n, f in known_bug.cost.items()])
    if known_bug.sense == "min":
        model.minimize(goal)
    else:
        model.maximize(goal)
    solver = within(Limits(work=MOST[engine]))
    status = solver.solve(model)
    if status != cp_model.OPTIMAL:
        return Said({cp_model.INFEASIBLE: "infeasible"}.get(status, solver.status_name(status)))
    if known_bug.answer == "unbounded":
        # Within the bounds that CP-SAT needs, every model is bounded.
        return Said("not asked for a ray")
    solution = tuple(float(solver.value(columns[v.name])) for v in known_bug.variables)
    return Said("optimal", round(solver.objective_value) / scale, solution)


def _lower_bound(thing: Variable) -> float:
    return -math.inf if thing.low is None else float(thing.low)


def _upper_bound(thing: Variable) -> float:
    return math.inf if thing.high is None else float(thing.high)


_ASK = {
    "cp-sat": _answer_of_cp_sat,
    "highs": _answer_of_highs,
    "scip": _answer_of_math_opt,
    "ortools-highs": _answer_of_math_opt,
}
