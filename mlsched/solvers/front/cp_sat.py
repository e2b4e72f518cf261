"""Scalar sub-problems of a CP-SAT model, on a clone of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlsched.core.errors import InvalidInput
from mlsched.solvers.front.scalar import Answer, Linear, Solution, enclose, signs_of

#: Linear models with at most this many non-zeros are solved without presolve and cuts, which would cost more than they
#: save (CPU time of whole fronts with both, relative to neither: knapsack of 30 items 3.5, ILP of 20 variables 2.0).
SMALL = 400


class CpSatScalar:
    """The clone carries one row f_k <= upper_k an objective; rows and costs change between solves, nothing else."""

    name = "cp-sat"
    #: Activities are 64-bit integers.
    largest = 2**60

    def __init__(
        self, model: Any, objectives: Sequence[Any], senses: Sequence[str], *, threads: int = 1, seed: int = 0
    ) -> None:
        from ortools.sat.python import cp_model

        if model.has_objective():
            raise InvalidInput(
                "the model already has an objective; give it as one of the objectives, clear_objective()"
            )
        signs = signs_of(senses, len(objectives))
        self._model = model.clone()
        proto = self._model.proto
        count = len(proto.variables)
        self.objectives = [
            _flatten(e, sign, k, count) for k, (e, sign) in enumerate(zip(objectives, signs, strict=True))
        ]
        domains = [list(v.domain) for v in proto.variables]
        low = np.array([d[0] for d in domains], dtype=np.float64)
        high = np.array([d[-1] for d in domains], dtype=np.float64)
        self.low, self.high = enclose(self.objectives, low, high)
        text = str(proto) + "\n".join(o.text() for o in self.objectives)
        self.fingerprint = hashlib.sha256(text.encode()).hexdigest()
        self._variables = [self._model.get_int_var_from_proto_index(i) for i in range(count)]
        self._rows = self._add_rows()
        self._solver = cp_model.CpSolver()
        self._solver.parameters.num_workers = threads
        self._solver.parameters.random_seed = seed
        if _small(proto):
            self._solver.parameters.cp_model_presolve = False
            self._solver.parameters.cut_level = 0

    def _add_rows(self) -> list[Any]:
        """The domains of the rows that bound the objectives."""
        from ortools.sat.python import cp_model

        first = len(self._model.proto.constraints)
        for objective in self.objectives:
            terms = [self._variables[i] for i in objective.index]
            expression = cp_model.LinearExpr.weighted_sum(terms, objective.coefficient.tolist()) if terms else 0
            self._model.add_linear_expression_in_domain(expression, cp_model.Domain(*self._ends(objective, None)))
        return [self._model.proto.constraints[first + k].linear.domain for k in range(len(self.objectives))]

    def _ends(self, objective: Linear, upper: int | None) -> list[int]:
        """The row's domain for f <= upper, less the constant; CP-SAT's variables are always bounded."""
        k = next(i for i, o in enumerate(self.objectives) if o is objective)
        low, high = self.low[k], self.high[k]
        assert low is not None
        assert high is not None
        top = high if upper is None else min(high, upper)
        return [low - objective.constant, top - objective.constant]

    def minimise(
        self, weights: Sequence[int], upper: Sequence[int | None], hint: Solution | None, limit: float | None
    ) -> Answer:
        """One solve; `bound` is CP-SAT's own integer bound, never a float."""
        from ortools.sat.python import cp_model

        for objective, row, u in zip(self.objectives, self._rows, upper, strict=True):
            ends = self._ends(objective, u)
            if ends[0] > ends[1]:
                return Answer("infeasible")
            row.clear()
            row.extend(ends)
        constant = self._set_cost(weights)
        self._set_hint(hint)
        if limit is not None:
            self._solver.parameters.max_time_in_seconds = max(0.001, limit)
        else:
            self._solver.parameters.clear_max_time_in_seconds()
        status = self._solver.solve(self._model)
        response = self._solver.response_proto
        if status == cp_model.INFEASIBLE:
            return Answer("infeasible")
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE, cp_model.UNKNOWN):
            return Answer("failed", note=f"cp-sat: {status.name}: {self._model.validate().strip()}")
        bound = self._bound(weights, response.inner_objective_lower_bound, constant)
        if status == cp_model.UNKNOWN:
            return Answer("unknown", bound=bound)
        x = np.array(response.solution, dtype=np.int64)
        values = tuple(o.value(x) for o in self.objectives)
        if status == cp_model.OPTIMAL:
            bound = sum(w * v for w, v in zip(weights, values, strict=True))
        return Answer("optimal" if status == cp_model.OPTIMAL else "feasible", values, bound, tuple(x.tolist()))

    def _set_cost(self, weights: Sequence[int]) -> int:
        """The weighted sum as the model's objective; its constant is returned, so that bounds stay integers."""
        from ortools.sat.python import cp_model

        total = np.zeros(len(self._variables), dtype=np.int64)
        for weight, objective in zip(weights, self.objectives, strict=True):
            total[objective.index] += weight * objective.coefficient
        used = np.flatnonzero(total)
        terms = [self._variables[i] for i in used]
        self._model.minimize(cp_model.LinearExpr.weighted_sum(terms, total[used].tolist()) if terms else 0)
        return sum(w * o.constant for w, o in zip(weights, self.objectives, strict=True))

    def _bound(self, weights: Sequence[int], inner: int, constant: int) -> int:
        """What CP-SAT proved, or what the variables' bounds say where that is more."""
        trivial = sum(w * low for w, low in zip(weights, self.low, strict=True) if low is not None)
        return max(int(inner) + constant, trivial)

    def _set_hint(self, hint: Solution | None) -> None:
        self._model.clear_hints()
        if hint is not None:
            proto = self._model.proto.solution_hint
            proto.vars.extend(range(len(hint)))
            proto.values.extend(int(v) for v in hint)

    def value_of(self, solution: Solution) -> Callable[[Any], int]:
        """The value of a variable, literal or integer linear expression."""

        def value(expression: Any) -> int:
            return _flatten(expression, 1, 0, len(solution)).value(np.array(solution, dtype=np.int64))

        return value

    def values_of(self, solution: Solution, variables: Sequence[Any] | None) -> Solution:
        """The values of `variables`, by default of all in the model's order."""
        return solution if variables is None else tuple(map(self.value_of(solution), variables))


def _flatten(expression: Any, sign: int, number: int, count: int) -> Linear:
    """An expression of the caller's model as indices and integer coefficients."""
    from ortools.sat.python import cp_model

    if isinstance(expression, (int, np.integer)) and not isinstance(expression, bool):
        return Linear.of([], [], int(expression), sign)
    try:
        flat = cp_model.FlatIntExpr(expression)
    except TypeError:
        raise InvalidInput(
            f"objective {number} = {expression}: must be linear with integer coefficients; scale it to integers"
        ) from None
    index = [v.index for v in flat.vars]
    if any(not 0 <= i < count for i in index):
        raise InvalidInput(f"objective {number}: names a variable of another model")
    return Linear.of(index, list(flat.coeffs), flat.offset, sign)


def _small(proto: Any) -> bool:
    """Whether the model is linear and has at most SMALL non-zeros."""
    total = 0
    for row in proto.constraints:
        if not row.has_linear() or len(row.enforcement_literal):
            return False
        total += len(row.linear.vars)
    return total <= SMALL
