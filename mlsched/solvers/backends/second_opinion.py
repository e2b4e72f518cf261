"""Second proof for models with continuous columns: two engines must agree on a claim.

Presolve of HiGHS 1.12 to 1.14 loses points of models with integer and continuous columns (HiGHS issues 3090, 2957 and
2173), and SCIP 10 has open reports of the same kind (SCIP issues 126 and 132). Pure integer models need only one
proof. A claim counts if another engine, or HiGHS without presolve, agrees and all points found are consistent with it.
"infeasible" counts only if a looser tolerance finds no point either. The cost is one or two more solves per proof.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from mlsched.core.aliases import Array, BackendModel, Variable
from mlsched.core.deadline import Deadline
from mlsched.core.errors import BackendError
from mlsched.core.fields import BoolArray, FloatArray
from mlsched.core.formulation import TOLERANCE, Limits

#: Integer feasibility tolerance of a proof, and the looser tolerance that must not find a point of an infeasible
#: model.
TIGHT, LOOSE = 1e-9, 1e-7
#: Allowed violation of a row or a bound by a solution, relative to the row's size.
ROW_TOLERANCE = 1e-6
#: HiGHS without presolve counts as another engine, because presolve is what loses points.
PLAIN = "highs without presolve"
#: Engine -> the engines for a second proof, in this order.
OTHERS = {"highs": ("scip", PLAIN), "scip": ("highs", PLAIN)}
#: The first of them has this multiple of the first proof's seconds, plus `PATIENCE` seconds; then the next one runs.
FACTOR, PATIENCE = 10.0, 5.0

Status = Literal["optimal", "infeasible", "unbounded", "limit", "failed"]


@dataclasses.dataclass(frozen=True)
class Mixed:
    """Minimise cost x + offset with row_lower <= A x <= row_upper, lower <= x <= upper; A in compressed columns."""

    cost: FloatArray
    offset: float
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    starts: Any
    indices: Any
    values: FloatArray
    row_lower: FloatArray
    row_upper: FloatArray

    def holds(self, x: FloatArray) -> bool:
        """Check whether a point satisfies rows, bounds and integrality, up to `ROW_TOLERANCE`."""
        activity = np.zeros(len(self.row_lower))
        column = np.repeat(np.arange(len(self.cost)), np.diff(self.starts))
        np.add.at(activity, self.indices, self.values * x[column])
        whole = abs(x - np.rint(x))[self.integer]
        return (
            not np.any(whole > ROW_TOLERANCE)
            and _satisfies_bounds(self.lower, x, self.upper)
            and _satisfies_bounds(self.row_lower, activity, self.row_upper)
        )


@dataclasses.dataclass(frozen=True)
class Claim:
    """An engine's claim: the value of its solution, and a lower bound on the optimum."""

    engine: str
    status: Status
    value: float | None = None
    bound: float | None = None
    solution: FloatArray | None = None
    note: str = ""
    nodes: int = 0

    @property
    def proof(self) -> bool:
        """Return whether the claim is a proof."""
        return self.status in ("optimal", "infeasible")

    def __str__(self) -> str:
        what = self.note or (self.status if self.value is None else f"{self.status} {self.value:.12g}")
        return f"{self.engine} says {what}"


@dataclasses.dataclass(frozen=True)
class Ruling:
    """The result of all engines: `claim` is proved twice, or else `doubt` explains why it is not.

    `out_of`: the limit that ended the engines before two of them agreed. The solution of a doubtful claim is a point
    of
    the model, if one is known.
    """

    claim: Claim
    doubt: str = ""
    out_of: Literal["", "time limit", "work limit"] = ""
    nodes: int = 0


def proved_twice(model: Mixed, first: Claim, limits: Limits, seconds: float) -> Ruling:
    """Return the ruling on a proof of `first.engine`.

    Args:
        model: The model.
        first: The claim with the proof.
        limits: Limits for all further solves together.
        seconds: Wall seconds that the first proof took.
    """
    deadline, nodes = Deadline(limits.seconds), 0
    claims = [_checked_claim(first, model)]
    second, third = OTHERS.get(first.engine, OTHERS["highs"])
    tries: list[tuple[str, float | None]] = [(second, FACTOR * seconds + PATIENCE), (third, None), (second, None)]
    for number, (engine, most) in enumerate(tries):
        if number == 2 and claims[1].status != "limit":
            break  # its share of the time is over
        remaining = deadline.remaining()
        if remaining is not None and remaining <= 0:
            break
        allowed_mask = [s for s in (most, remaining) if s is not None]
        claim = asked(engine, model, dataclasses.replace(limits, seconds=min(allowed_mask) if allowed_mask else None))
        nodes += claim.nodes
        claims.append(claim)
        for one in claims[:-1]:
            if (agreed := _agreed(one, claim)) is not None and not _is_refuted(agreed, claims):
                return _check_infeasible(model, agreed, deadline, limits, nodes)
    return _doubtful_ruling(claims, deadline, nodes)


def _agreed(one: Claim, other: Claim) -> Claim | None:
    """Return the claim that two proofs support; None if they disagree.

    Values are integers: a proof's bound must exclude the next better value, and neither proof may refute the other's
    point.
    """
    if not one.proof or one.status != other.status:
        return None
    if one.status == "infeasible":
        return one
    best = min(one, other, key=_claimed_value)
    whole = round(_claimed_value(best))
    # At large values bounds are less exact; at least half a unit remains.
    least = whole - 1 + min(0.5, TOLERANCE * max(1.0, abs(whole)))
    most = whole + 0.5
    proofs = [c.bound is not None and least <= c.bound <= most and _claimed_value(c) <= most for c in (one, other)]
    return best if all(proofs) else None


def _claimed_value(claim: Claim) -> float:
    """Return the value of a claim's point; infinite without a point."""
    return math.inf if claim.value is None else claim.value


def _is_refuted(claim: Claim, claims: Sequence[Claim]) -> bool:
    """Return whether a point that any engine found contradicts a proof: points are checked, proofs are not."""
    values = [c.value for c in claims if c.solution is not None and c.value is not None]
    if claim.status == "infeasible":
        return bool(values)
    return min(values, default=math.inf) < (claim.value or 0.0) - 0.5


def _check_infeasible(model: Mixed, claim: Claim, deadline: Deadline, limits: Limits, nodes: int) -> Ruling:
    """Return the ruling on two agreeing claims; for "infeasible", a looser tolerance must not find a point either."""
    if claim.status != "infeasible":
        return Ruling(claim, nodes=nodes)
    remaining = deadline.remaining()
    if remaining is not None and remaining <= 0:
        return Ruling(claim, _LATE, "time limit", nodes)
    free = dataclasses.replace(model, cost=np.zeros(len(model.cost)))
    loose = asked("highs", free, dataclasses.replace(limits, seconds=remaining), tolerance=LOOSE)
    if loose.solution is None:
        return Ruling(claim, nodes=nodes + loose.nodes)
    return Ruling(
        dataclasses.replace(claim, status="failed"),
        f"feasible only within {LOOSE:.0e}: not within {TIGHT:.0e}; scale the model, or round its coefficients",
        nodes=nodes + loose.nodes,
    )


_LATE = "the limit ended the second proof"


def _doubtful_ruling(claims: Sequence[Claim], deadline: Deadline, nodes: int) -> Ruling:
    """Return the ruling if all engines disagree: the best point that any of them found, and their claims."""
    points = [c for c in claims if c.solution is not None]
    best = min(points, key=_claimed_value, default=claims[0])
    best = dataclasses.replace(best, status="failed")
    if sum(c.proof for c in claims) > 1:
        return Ruling(best, "; ".join(str(c) for c in claims), nodes=nodes)
    if deadline.passed():
        return Ruling(best, _LATE, "time limit", nodes)
    if any(c.status == "limit" for c in claims):
        return Ruling(best, _LATE, "work limit", nodes)
    return Ruling(best, "; ".join(str(c) for c in claims), nodes=nodes)


def asked(engine: str, model: Mixed, limits: Limits, *, tolerance: float = TIGHT) -> Claim:
    """Return the claim of one engine; it is marked as failed if its solution violates the model."""
    try:
        claim = _scip_claim(model, limits) if engine == "scip" else _highs_claim(engine, model, limits, tolerance)
    except BackendError as error:
        return Claim(engine, "failed", note=str(error))
    return _checked_claim(claim, model)


def _checked_claim(claim: Claim, model: Mixed) -> Claim:
    """Return the claim, marked as failed if its solution violates the model or is missing."""
    if claim.solution is not None and not model.holds(claim.solution):
        return Claim(claim.engine, "failed", note="a solution that breaks the model", nodes=claim.nodes)
    if claim.status == "optimal" and claim.solution is None:
        return Claim(claim.engine, "failed", note="a proof without a solution", nodes=claim.nodes)
    return claim


def _highs_claim(engine: str, model: Mixed, limits: Limits, tolerance: float) -> Claim:
    from mlsched.solvers.backends.highs import check, new_highs, run

    highs = new_highs(limits)
    if engine == PLAIN:
        highs.setOptionValue("presolve", "off")
    if limits.seconds is not None:
        highs.setOptionValue("time_limit", max(0.001, limits.seconds))
    check(highs.setOptionValue("mip_feasibility_tolerance", tolerance), "mip_feasibility_tolerance")
    check(highs.passModel(_highs_program(model)), "passModel")
    run(highs)
    return claim_of(highs, engine)


def claim_of(highs: BackendModel, engine: str = "highs") -> Claim:
    """Return the claim of a HiGHS object after its run."""
    import highspy

    status, info = highs.getModelStatus(), highs.getInfo()
    kinds = highspy.HighsModelStatus
    known_point: dict[Any, Status] = {
        kinds.kOptimal: "optimal",
        kinds.kInfeasible: "infeasible",
        kinds.kUnbounded: "unbounded",
        kinds.kUnboundedOrInfeasible: "unbounded",
        kinds.kTimeLimit: "limit",
        kinds.kInterrupt: "limit",
        kinds.kSolutionLimit: "limit",
        kinds.kIterationLimit: "limit",
    }
    ending = known_point.get(status, "failed")
    note = f"{status.name}: neither a proof nor a limit" if ending == "failed" else ""
    nodes = max(0, info.mip_node_count)
    if ending == "infeasible" or info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return Claim(engine, ending, bound=info.mip_dual_bound, note=note, nodes=nodes)
    solution = np.asarray(highs.getSolution().col_value)
    return Claim(engine, ending, info.objective_function_value, info.mip_dual_bound, solution, note, nodes)


def _scip_claim(model: Mixed, limits: Limits) -> Claim:
    from ortools.math_opt.python import mathopt

    from mlsched.solvers.backends.math_opt import solve

    built_model, columns = _math_opt_model(model)
    result = solve(built_model, "scip", limits)
    why, reasons = result.termination, mathopt.TerminationReason
    known_point: dict[Any, Status] = {
        reasons.OPTIMAL: "optimal",
        reasons.INFEASIBLE: "infeasible",
        reasons.UNBOUNDED: "unbounded",
        reasons.FEASIBLE: "limit",
        reasons.NO_SOLUTION_FOUND: "limit",
    }
    ending = known_point.get(why.reason, "failed")
    note = f"{why.reason.name}: neither a proof nor a limit" if ending == "failed" else ""
    nodes, bound = max(0, result.solve_stats.node_count), why.objective_bounds.dual_bound
    if ending == "infeasible" or not result.has_primal_feasible_solution():
        return Claim("scip", ending, bound=bound, note=note, nodes=nodes)
    values = result.variable_values()
    solution = np.array([values[column] for column in columns])
    return Claim("scip", ending, result.objective_value(), bound, solution, note, nodes)


def _highs_program(model: Mixed) -> BackendModel:
    import highspy

    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(model.cost), len(model.row_lower)
    lp.col_cost_, lp.offset_ = model.cost, model.offset
    lp.col_lower_, lp.col_upper_ = model.lower, model.upper
    lp.row_lower_, lp.row_upper_ = model.row_lower, model.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = model.starts, model.indices, model.values
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    lp.integrality_ = [kinds[whole] for whole in model.integer.tolist()]
    return lp


def of_highs(highs: BackendModel) -> Mixed:
    """Return the model of a HiGHS object, to be minimised."""
    import highspy

    lp = highs.getLp()
    starts, indices, values = _columns_of(lp)
    assert lp.sense_ == highspy.ObjSense.kMinimize
    return Mixed(
        np.array(lp.col_cost_),
        lp.offset_,
        np.array(lp.col_lower_),
        np.array(lp.col_upper_),
        np.array([kind == highspy.HighsVarType.kInteger for kind in lp.integrality_], dtype=bool),
        starts,
        indices,
        values,
        np.array(lp.row_lower_),
        np.array(lp.row_upper_),
    )


def _columns_of(lp: BackendModel) -> tuple[Array, Array, Array]:
    """Return the matrix in compressed columns; HiGHS stores it by rows after some solves."""
    import highspy

    matrix = lp.a_matrix_
    starts, indices = np.array(matrix.start_, dtype=np.int32), np.array(matrix.index_, dtype=np.int32)
    values = np.array(matrix.value_, dtype=np.float64)
    if matrix.format_ == highspy.MatrixFormat.kColwise:
        return starts, indices, values
    rows = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
    order = np.argsort(indices, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(indices, minlength=lp.num_col_))]).astype(np.int32)
    return starts, rows[order], values[order]


def with_rows(model: Mixed, rows: Sequence[tuple[Array, float]]) -> Mixed:
    """Return the model with rows `coefficients x <= most` appended."""
    starts, indices, values = [0], [], []
    dense = np.array([row for row, _ in rows]).reshape(len(rows), len(model.cost))
    first = len(model.row_lower)
    for j in range(len(model.cost)):
        old = slice(model.starts[j], model.starts[j + 1])
        new = np.flatnonzero(dense[:, j])
        indices += [model.indices[old], (new + first).astype(np.int32)]
        values += [model.values[old], dense[new, j]]
        starts.append(starts[-1] + (old.stop - old.start) + len(new))
    return dataclasses.replace(
        model,
        starts=np.array(starts, dtype=np.int32),
        indices=np.concatenate(indices).astype(np.int32) if indices else model.indices,
        values=np.concatenate(values) if values else model.values,
        row_lower=np.concatenate([model.row_lower, np.full(len(rows), -np.inf)]),
        row_upper=np.concatenate([model.row_upper, [most for _, most in rows]]),
    )


def _math_opt_model(model: Mixed) -> tuple[BackendModel, list[Variable]]:
    """Return a MathOpt model, and its variables."""
    from ortools.math_opt.python import mathopt

    from mlsched.solvers.backends.math_opt import model_of

    built_model, columns = model_of(model, model.lower, model.upper, model.integer)
    cost = mathopt.LinearSum(float(model.cost[j]) * columns[j] for j in np.flatnonzero(model.cost).tolist())
    built_model.minimize(cost + model.offset)
    return built_model, columns


def _satisfies_bounds(low: FloatArray, value: FloatArray, high: FloatArray) -> bool:
    slack = ROW_TOLERANCE * np.maximum(1.0, np.abs(value))
    return not (np.any(value < low - slack) or np.any(value > high + slack))
