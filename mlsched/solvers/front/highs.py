"""Scalar sub-problems of a linear integer program in HiGHS: the matrix is built once.

HiGHS computes in floats. Relative gap 0 and absolute gap 0.999 prove an optimum to the last integer, and right-hand
sides are u + 0.5. Every solution is rounded, checked against every row and evaluated again in integers. An answer that
fails this check is "failed", never "infeasible".
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence

import numpy as np

from mlsched.core.aliases import Array, BackendModel, Variable
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import FloatArray
from mlsched.core.formulation import Limits, safe_bound
from mlsched.core.scalar import Answer, Bounds, Scalar, Solution, Stages, Weigh
from mlsched.solvers.backends.highs import check, import_highspy, new_highs, run
from mlsched.solvers.backends.known_bugs.models import features_of
from mlsched.solvers.backends.known_bugs.trust import refuse
from mlsched.solvers.backends.second_opinion import Claim, Ruling, asked, claim_of, of_highs, proved_twice
from mlsched.solvers.front.boxes import inside, loosest, shown
from mlsched.solvers.front.linear import enclose
from mlsched.solvers.front.program import Program

#: Allowed violation of a row by a rounded solution, relative to the row's size.
ROW_TOLERANCE = 1e-6


class HighsScalar:
    """One HiGHS instance. Between solves, costs and the bounds of the objectives' rows change."""

    name = "highs"
    #: A weighted sum beyond this would drown a unit in the feasibility tolerance.
    largest = 10**9
    stages: Stages | None = None
    ties: Weigh | None = None
    favourite: int | None = None

    def __init__(self, program: Program, *, threads: int = 1, seed: int = 0) -> None:
        numbers = (program.values, program.row_lower, program.row_upper)
        refuse(
            "highs",
            lambda: features_of(program.lower, program.upper, program.integer, np.concatenate(numbers).tolist()),
        )
        self._program = program
        self._objectives = program.objectives
        self.low, self.high = enclose(self._objectives, program.lower, program.upper)
        self.fingerprint = program.fingerprint
        self._columns = np.arange(len(program.lower), dtype=np.int32)
        self._whole = Limits(threads=threads, seed=seed)
        self._highs = new_highs(self._whole)
        if len(self._columns):
            check(self._highs.passModel(self._highs_program()), "passModel")
        # Unions have a weaker relaxation, and with three objectives a union rarely has two boxes. CPU time of complete
        # fronts relative to single boxes: p = 3, assignment of 9 2.2, knapsack of 20 1.3; p = 4, up to 4 boxes,
        # knapsack of 20 1.3, ILP of 10 0.76; p = 5, knapsack of 10 0.65.
        self.most_boxes = 4 if len(self._objectives) > 3 else 1
        self._first = len(program.row_lower)
        # Literals in the model, each for a box of a union, and the row that sums them.
        self._literals, self._last = 0, self._first + len(self._objectives)
        for objective in self._objectives if len(self._columns) else ():
            size, index = len(objective.index), objective.index.astype(np.int32)
            added_part = self._highs.addRow(-np.inf, np.inf, size, index, objective.coefficient.astype(np.float64))
            check(added_part, "addRow")

    def _highs_program(self) -> BackendModel:
        highspy, program = import_highspy(), self._program
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(program.lower), len(program.row_lower)
        lp.col_cost_ = np.zeros(lp.num_col_)
        lp.col_lower_, lp.col_upper_ = program.lower, program.upper
        lp.row_lower_, lp.row_upper_ = program.row_lower, program.row_upper
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_ = program.starts, program.indices
        lp.a_matrix_.value_ = program.values
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[int(i)] for i in program.integer]
        return lp

    def minimise(
        self, weights: Sequence[int], boxes: Sequence[Bounds], hint: Solution | None, limit: float | None
    ) -> Answer:
        """Solve one sub-problem. The bound is rounded to the integer that HiGHS' float proves."""
        boxes = [box for box in boxes if self._holds_constants(box)]
        if not boxes:
            return Answer("infeasible")
        if not len(self._columns):
            return self._answer_constant_model(weights, boxes)
        if len(boxes) > 1:
            # A row ends at the end of its loosest box: so each box must have an end, its own or the objective's.
            boxes = [tuple(h if u is None else u for u, h in zip(box, self.high, strict=True)) for box in boxes]
        self._bound(boxes)
        cost, constant = self._weighted_cost(weights)
        check(self._highs.changeColsCost(len(cost), self._columns, cost), "changeColsCost")
        self._highs.clearSolver()
        if hint is not None:
            self._highs.setSolution(*self._hint_columns(hint, boxes))
        ruling = self._confirmed_ruling(limit)
        if ruling.claim.status == "unbounded":
            return self._unbounded_or_not(limit)
        return self._read(ruling, weights, boxes, constant)

    def _confirmed_ruling(self, limit: float | None) -> Ruling:
        """Return the result of HiGHS, for a model with continuous columns checked by another engine."""
        start_time = time.perf_counter()
        # HiGHS counts its run time from the first solve of an instance on.
        stop = np.inf if limit is None else self._highs.getRunTime() + max(0.001, limit)
        check(self._highs.setOptionValue("time_limit", stop), "time_limit")
        run(self._highs)
        claim, seconds = claim_of(self._highs), time.perf_counter() - start_time
        if not claim.proof or self._program.integer.all():
            return Ruling(claim)
        return proved_twice(of_highs(self._highs), claim, self._limits_of_solve(limit, seconds), seconds)

    def _limits_of_solve(self, limit: float | None, work_spent: float) -> Limits:
        """Return the limits of one solve, after some seconds."""
        return dataclasses.replace(self._whole, seconds=None if limit is None else max(0.001, limit - work_spent))

    def _holds_constants(self, box: Bounds) -> bool:
        """Return whether the constant objectives, which are not rows, are in a box."""
        ends = zip(self._objectives, box, strict=True)
        return all(u is None or len(o.index) or o.constant <= u for o, u in ends)

    def _bound(self, boxes: Sequence[Bounds]) -> None:
        """Require f in one of the boxes: f_k <= sum_b box_bk y_b with binary y_b that sum to one.

        This takes one row per objective, for any number of boxes, without large numbers.
        """
        count = len(boxes) if len(boxes) > 1 else 0
        self._ensure_literals(count)
        if self._literals:
            check(self._highs.changeRowBounds(self._last, float(count > 0), 1.0), "changeRowBounds")
        for b in range(self._literals):
            check(self._highs.changeColBounds(len(self._columns) + b, 0.0, float(b < count)), "changeColBounds")
        for k, (objective, end) in enumerate(zip(self._objectives, loosest(boxes), strict=True)):
            if not len(objective.index):
                continue
            for b in range(self._literals):
                u = self.high[k] if b >= count or boxes[b][k] is None else boxes[b][k]
                slack = 0.0 if b >= count or end is None or u is None else float(end - u)
                check(self._highs.changeCoeff(self._first + k, len(self._columns) + b, slack), "changeCoeff")
            top = np.inf if end is None else end + 0.5 - objective.constant
            check(self._highs.changeRowBounds(self._first + k, -np.inf, top), "changeRowBounds")

    def _ensure_literals(self, count: int) -> None:
        """Add literals until there are `count`, and the row that sums them."""
        if count and not self._literals:
            check(self._highs.addRow(0.0, 1.0, 0, np.zeros(0, dtype=np.int32), np.zeros(0)), "addRow")
        row = np.array([self._last], dtype=np.int32)
        while self._literals < count:
            check(self._highs.addCol(0.0, 0.0, 1.0, 1, row, np.ones(1)), "addCol")
            column = len(self._columns) + self._literals
            check(
                self._highs.changeColIntegrality(column, import_highspy().HighsVarType.kInteger), "changeColIntegrality"
            )
            self._literals += 1

    def _hint_columns(self, hint: Solution, boxes: Sequence[Bounds]) -> tuple[int, Array, Array]:
        """Return a hint, with the literal of a box that contains it, in the form of `setSolution`."""
        whole = np.zeros(len(hint) + self._literals)
        whole[: len(hint)] = hint
        values = [o.value(np.rint(whole[: len(hint)]).astype(np.int64)) for o in self._objectives]
        for b, box in enumerate(boxes if len(boxes) > 1 else ()):
            if inside(values, [box]):
                whole[len(hint) + b] = 1.0
                break
        return len(whole), np.arange(len(whole), dtype=np.int32), whole

    def _answer_constant_model(self, weights: Sequence[int], boxes: Sequence[Bounds]) -> Answer:
        """Return the answer for a model without variables, which HiGHS refuses: it has at most one solution."""
        values = tuple(o.constant for o in self._objectives)
        fits = np.all(self._program.row_lower <= 0) and np.all(self._program.row_upper >= 0)
        if not fits or not inside(values, boxes):
            return Answer("infeasible")
        return Answer("optimal", values, sum(w * v for w, v in zip(weights, values, strict=True)), ())

    def _weighted_cost(self, weights: Sequence[int]) -> tuple[FloatArray, int]:
        cost = np.zeros(len(self._columns))
        for weight, objective in zip(weights, self._objectives, strict=True):
            cost[objective.index] += float(weight) * objective.coefficient
        return cost, sum(w * o.constant for w, o in zip(weights, self._objectives, strict=True))

    def _read(self, ruling: Ruling, weights: Sequence[int], boxes: Sequence[Bounds], constant: int) -> Answer:
        """Return the answer that HiGHS' claim allows: the bound is safe, the solution is rounded and checked."""
        claim = ruling.claim
        if ruling.doubt and not ruling.out_of:
            return Answer("failed", note=f"not proved: {ruling.doubt}")
        if claim.status == "infeasible" and not ruling.doubt:
            return Answer("infeasible")
        if claim.status == "failed" and not ruling.doubt:
            return Answer("failed", note=f"{self.name} ended with {claim.note}")
        proof = claim.status == "optimal" and not ruling.doubt
        safe = None if claim.bound is None or ruling.doubt else safe_bound(claim.bound)
        bound = None if safe is None else safe + constant
        if claim.solution is None:
            if proof:
                return Answer("failed", note=f"{self.name}: a proof without a solution")
            return Answer("unknown", bound=bound)
        solution = self._rounded_solution(np.asarray(claim.solution)[: len(self._columns)])
        if solution is None:
            return Answer("failed", note=f"{self.name}: the rounded solution breaks a row; scale the model down")
        x = np.array(solution)
        values = tuple(o.value(np.rint(x).astype(np.int64)) for o in self._objectives)
        total = sum(w * v for w, v in zip(weights, values, strict=True))
        if not inside(values, boxes):
            return Answer("failed", note=f"{self.name}: the rounded solution {values} is outside {shown(boxes)}")
        if not proof:
            return Answer("feasible", values, bound, solution)
        if claim.value is None or abs(total - constant - claim.value) > 0.5:
            return Answer("failed", note=f"{self.name}: claims {(claim.value or 0.0) + constant}, is {total}")
        return Answer("optimal", values, total, solution)

    def _unbounded_or_not(self, limit: float | None) -> Answer:
        """Determine whether the model is unbounded or infeasible, by a solve without costs."""
        zero = np.zeros(len(self._columns))
        check(self._highs.changeColsCost(len(zero), self._columns, zero), "changeColsCost")
        self._highs.clearSolver()
        ruling = self._confirmed_ruling(limit)
        if ruling.doubt:
            return Answer("failed", note=f"not proved: {ruling.doubt}")
        if ruling.claim.status == "infeasible":
            return Answer("infeasible")
        if ruling.claim.status == "optimal":
            return Answer("unbounded")
        return Answer("failed", note=f"{self.name} ended with {ruling.claim}")

    def _rounded_solution(self, x: FloatArray) -> Solution | None:
        """Return the solution with rounded integer columns; None if that violates a row or a column's bound."""
        program = self._program
        exact = np.where(program.integer, np.rint(x), x)
        slack = ROW_TOLERANCE * np.maximum(1.0, np.abs(exact))
        if np.any(exact < program.lower - slack) or np.any(exact > program.upper + slack):
            return None
        activity = program.activity(exact)
        slack = ROW_TOLERANCE * np.maximum(1.0, np.abs(activity))
        if np.any(activity < program.row_lower - slack) or np.any(activity > program.row_upper + slack):
            return None
        return tuple(int(v) if whole else float(v) for v, whole in zip(exact, program.integer, strict=True))

    def value_of(self, solution: Solution) -> Callable[[Variable], int | float]:
        """Return the function that evaluates a variable of the caller's model."""

        def value(variable: Variable) -> int | float:
            try:
                return solution[self._program.position(variable)]
            except KeyError:
                raise InvalidInput(f"{variable} is not a variable of the model") from None

        return value

    def values_of(self, solution: Solution, variables: Sequence[Variable] | None) -> Solution:
        """Return the values of `variables`, by default of all in the model's order."""
        return solution if variables is None else tuple(map(self.value_of(solution), variables))


class ScipScalar(HighsScalar):
    """The same sub-problems, answered by SCIP: a second engine for models that CP-SAT does not accept."""

    name = "scip"

    @classmethod
    def like(cls, scalar: Scalar) -> ScipScalar:
        """Return the same sub-problems as in a `HighsScalar`."""
        if not isinstance(scalar, HighsScalar):
            raise InvalidInput("backend = 'scip': needs a linear model of integer and continuous columns")
        return cls(scalar._program, threads=scalar._whole.threads, seed=scalar._whole.seed)

    def _confirmed_ruling(self, limit: float | None) -> Ruling:
        claim: Claim = asked("scip", of_highs(self._highs), self._limits_of_solve(limit, 0.0))
        return Ruling(claim)
