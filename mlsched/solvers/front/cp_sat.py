"""Scalar sub-problems of a CP-SAT model, on a clone of it."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mlsched.core.aliases import BackendModel, Expression, Variable
from mlsched.core.errors import InvalidInput
from mlsched.core.formulation import Limits
from mlsched.core.scalar import Answer, Bounds, Solution, Stages, Weigh
from mlsched.solvers.backends.cp_sat import features
from mlsched.solvers.backends.interruptible import interruptible
from mlsched.solvers.backends.known_bugs.trust import refuse
from mlsched.solvers.backends.limits import CORE_FIRST, within
from mlsched.solvers.front.boxes import inside
from mlsched.solvers.front.linear import Linear, enclose, signs_of

#: Linear models with at most this many non-zeros are solved without presolve and cuts, which cost more than they save.
#: CPU time of fronts with both, relative to neither: knapsacks of 30, 50, 200 items: 3.9, 4.0, 4.5; assignments of 9,
#: 12, 20: 4.3, 3.6, 8.4; ILPs of 20, 30 variables: 2.0, 1.1. The largest of these has 800 non-zeros.
SMALL = 1000


class CpSatScalar:
    """A clone with a row f_k <= end_k for each objective. Between solves, only those ends and the costs change."""

    name = "cp-sat"
    #: Sums of a model are 64-bit integers.
    largest = 2**60
    #: Solves and CPU seconds of the front of KP_p-4_n-30 (Kirlik, Sayin) by this number: 1: 2869, 9.0; 4: 1278, 6.8;
    #: 8: 1022, 7.8; 16: 921, 10.7; 32: 873, 13.5.
    most_boxes = 8
    stages: Stages | None = None
    ties: Weigh | None = None
    favourite: int | None = None

    def __init__(
        self,
        model: BackendModel,
        objectives: Sequence[Expression],
        senses: Sequence[str],
        *,
        threads: int = 1,
        seed: int = 0,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        if model.has_objective():
            raise InvalidInput(
                "the model already has an objective; give it as one of the objectives, clear_objective()"
            )
        refuse("cp-sat", lambda: features(model))
        signs = signs_of(senses, len(objectives))
        self.work: float | None = None
        self._made = functools.partial(
            CpSatScalar, model, objectives, senses, threads=threads, seed=seed, parameters=parameters
        )
        self._given, self._model = model, model.clone()
        proto = self._model.proto
        count = len(proto.variables)
        self.objectives = [
            _linear_terms(e, sign, k, count) for k, (e, sign) in enumerate(zip(objectives, signs, strict=True))
        ]
        domains = [list(v.domain) for v in proto.variables]
        low = np.array([d[0] for d in domains], dtype=np.float64)
        high = np.array([d[-1] for d in domains], dtype=np.float64)
        self.low, self.high = enclose(self.objectives, low, high)
        text = str(proto) + "\n".join(o.text() for o in self.objectives)
        self.fingerprint = hashlib.sha256(text.encode()).hexdigest()
        self._variables = [self._model.get_int_var_from_proto_index(i) for i in range(count)]
        # CP-SAT's variables are always bounded, so the objectives are too.
        self._low, self._high = [int(v or 0) for v in self.low], [int(v or 0) for v in self.high]
        self._first = len(proto.constraints)
        small = _is_small_linear(proto)
        self._rows = self._add_objective_rows()
        #: A second model for unions of boxes, since CP-SAT cannot remove constraints.
        self._joint: BackendModel = None
        self._solver = within(Limits(threads=threads, seed=seed))
        if threads > 1:
            self._solver.parameters.subsolvers.extend(CORE_FIRST)
        if small:
            self._solver.parameters.cp_model_presolve = False
            self._solver.parameters.cut_level = 0
        for name, value in (parameters or {}).items():
            setattr(self._solver.parameters, name, value)

    def _add_objective_rows(self) -> list[Expression]:
        """Add the rows that bound the objectives, and return their domains."""
        from ortools.sat.python import cp_model

        for objective, low, high in zip(self.objectives, self._low, self._high, strict=True):
            terms = [self._variables[i] for i in objective.index]
            expression = cp_model.LinearExpr.weighted_sum(terms, objective.coefficient.tolist()) if terms else 0
            ends = cp_model.Domain(low - objective.constant, high - objective.constant)
            self._model.add_linear_expression_in_domain(expression, ends)
        return [row.linear.domain for row in list(self._model.proto.constraints)[self._first :]]

    def minimise(
        self, weights: Sequence[int], boxes: Sequence[Bounds], hint: Solution | None, limit: float | None
    ) -> Answer:
        """Solve one sub-problem. The bound is CP-SAT's own integer, never a float."""
        inner = [box for box in map(self._clip_box, boxes) if box is not None]
        if not inner:
            return Answer("infeasible")
        constant = self._set_weighted_sum(weights)
        for objective, row, low, *ends in zip(self.objectives, self._rows, self._low, *inner, strict=True):
            row.clear()
            row.extend([low - objective.constant, max(ends) - objective.constant])
        self._set_solution_hint(hint)
        if limit is not None:
            self._solver.parameters.max_time_in_seconds = max(0.001, limit)
        else:
            self._solver.parameters.clear_max_time_in_seconds()
        if self.work is not None:
            self._solver.parameters.max_deterministic_time = self.work
        else:
            self._solver.parameters.clear_max_deterministic_time()
        question = self._model if len(inner) == 1 else self._model_of_boxes(inner, hint)
        status = interruptible(lambda: self._solver.solve(question), self.stop)
        return self._read(status.name, weights, constant)

    def _clip_box(self, box: Bounds) -> tuple[int, ...] | None:
        """Return a box within the objectives' ranges; None if it is empty."""
        ends = tuple(h if u is None else min(u, h) for u, h in zip(box, self._high, strict=True))
        return ends if all(e >= low for e, low in zip(ends, self._low, strict=True)) else None

    def _model_of_boxes(self, boxes: Sequence[tuple[int, ...]], hint: Solution | None) -> BackendModel:
        """Return the model with a literal y_b per box, exactly one of them true: f_k <= sum_b box_bk y_b.

        It has one row per objective for any number of boxes. The rows are linear, so cuts and bounds can use them.
        (A row for each objective and box, enforced by the box's literal, takes 1.4 to 1.7 times the CPU time on
        knapsacks.)
        """
        from ortools.sat.python import cp_model

        if self._joint is None:
            self._joint = cp_model.CpModel()
        proto = self._joint.proto
        proto.copy_from(self._model.proto)
        literals = [self._joint.new_bool_var("") for _ in boxes]
        self._joint.add_exactly_one(literals)
        for k, ends in enumerate(zip(*boxes, strict=True)):
            row = proto.constraints[self._first + k].linear
            for literal, end in zip(literals, ends, strict=True):
                if end < max(ends):
                    row.vars.append(literal.index)
                    row.coeffs.append(max(ends) - end)
        if hint is not None:
            values = [o.value(np.array(hint, dtype=np.int64)) for o in self.objectives]
            chosen_box = next((b for b, box in enumerate(boxes) if inside(values, [box])), None)
            proto.solution_hint.vars.extend(literal.index for literal in literals)
            proto.solution_hint.values.extend(int(b == chosen_box) for b in range(len(boxes)))
        return self._joint

    def _read(self, status: str, weights: Sequence[int], constant: int) -> Answer:
        response = self._solver.response_proto
        if status == "INFEASIBLE":
            return Answer("infeasible")
        if status not in ("OPTIMAL", "FEASIBLE", "UNKNOWN"):
            return Answer("failed", note=f"cp-sat: {status}: {self._model.validate().strip()}")
        bound = self._trivial_lower_bound(weights)
        # A search that a limit ends before it begins leaves a meaningless 0 there.
        if (proof := int(response.inner_objective_lower_bound)) or status == "OPTIMAL":
            bound = max(bound, proof + constant)
        if status == "UNKNOWN":
            return Answer("unknown", bound=bound)
        x = np.array(response.solution, dtype=np.int64)[: len(self._variables)]
        values = tuple(o.value(x) for o in self.objectives)
        if status == "FEASIBLE":
            return Answer("feasible", values, bound, tuple(x.tolist()))
        return Answer("optimal", values, sum(w * v for w, v in zip(weights, values, strict=True)), tuple(x.tolist()))

    def _set_weighted_sum(self, weights: Sequence[int]) -> int:
        """Set the weighted sum as the objective; return its constant, which is left out so that bounds are integers."""
        from ortools.sat.python import cp_model

        total = np.zeros(len(self._variables), dtype=np.int64)
        for weight, objective in zip(weights, self.objectives, strict=True):
            total[objective.index] += weight * objective.coefficient
        used_literals = np.flatnonzero(total)
        terms = [self._variables[i] for i in used_literals]
        self._model.minimize(cp_model.LinearExpr.weighted_sum(terms, total[used_literals].tolist()) if terms else 0)
        return sum(w * o.constant for w, o in zip(weights, self.objectives, strict=True))

    def _trivial_lower_bound(self, weights: Sequence[int]) -> int:
        """Return the lower bound of the weighted sum that follows from the variables' bounds."""
        return sum(w * low for w, low in zip(weights, self._low, strict=True))

    def _set_solution_hint(self, hint: Solution | None) -> None:
        self._model.clear_hints()
        if hint is not None:
            proto = self._model.proto.solution_hint
            proto.vars.extend(range(len(hint)))
            proto.values.extend(int(v) for v in hint)

    def another(self) -> CpSatScalar:
        """Return a copy for the same question, for another thread."""
        return self._made()

    def stop(self) -> None:
        """End the running solve, from any thread; a solve that has not begun still begins."""
        self._solver.stop_search()

    def solution_of(self, pairs: Sequence[tuple[Variable, int]]) -> Solution | None:
        """Return a solution in which variables of the caller's model have these values; None if it does not exist."""
        from ortools.sat.python import cp_model

        model, solver = self._given.clone(), within(Limits())
        for variable, value in pairs:
            model.add_hint(model.get_int_var_from_proto_index(variable.index), value)
        solver.parameters.fix_variables_to_their_hinted_value = True
        if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return None
        return tuple(solver.response_proto.solution)

    def value_of(self, solution: Solution) -> Callable[[Variable], int]:
        """Return the function that evaluates a variable, literal or integer linear expression."""
        from ortools.sat.python import cp_model

        values = np.array(solution, dtype=np.int64)

        def value(expression: Expression) -> int:
            if type(expression) is cp_model.IntVar and 0 <= expression.index < len(solution):
                return int(solution[expression.index])
            return _linear_terms(expression, 1, 0, len(solution)).value(values)

        return value

    def values_of(self, solution: Solution, variables: Sequence[Variable] | None) -> Solution:
        """Return the values of `variables`, by default of all in the model's order."""
        return solution if variables is None else tuple(map(self.value_of(solution), variables))


def _linear_terms(expression: Expression, sign: int, number: int, count: int) -> Linear:
    """Convert an expression of the caller's model to indices and integer coefficients."""
    from ortools.sat.python import cp_model

    if isinstance(expression, (int, np.integer)) and not isinstance(expression, bool):
        return Linear.of([], [], int(expression), sign)
    try:
        flat = cp_model.FlatIntExpr(expression)
    except TypeError:
        raise InvalidInput(
            f"objective {number}: {expression}, expected linear with integer coefficients; scale it to integers"
        ) from None
    index = [v.index for v in flat.vars]
    if any(not 0 <= i < count for i in index):
        raise InvalidInput(f"objective {number}: names a variable of another model")
    return Linear.of(index, list(flat.coeffs), flat.offset, sign)


def _is_small_linear(proto: BackendModel) -> bool:
    """Return whether the model is linear and has at most SMALL non-zeros."""
    total = 0
    for row in proto.constraints:
        if not row.has_linear() or len(row.enforcement_literal):
            return False
        total += len(row.linear.vars)
    return total <= SMALL
