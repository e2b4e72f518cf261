"""The front of an instance: `enumerate_front` on the formulation of a registered solver, with judged plans."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mlsched.core.aliases import Data, Expression
from mlsched.core.contract import Instance
from mlsched.core.errors import InvalidInput, SolverError
from mlsched.core.formulation import NO_LIMITS, Formulation
from mlsched.core.params import resolve
from mlsched.core.registry import registry
from mlsched.core.scalar import Limited, Scalar
from mlsched.core.solver import ENGINE, Solver
from mlsched.solvers.front.boxes import undominated
from mlsched.solvers.front.enumerate import check_number, method_of, run, scalar_of, workers_of
from mlsched.solvers.front.result import Front


def front_of(
    solver: Solver,
    instance: Instance,
    objectives: Sequence[str],
    params: Data,
    *,
    threads: int,
    seed: int,
    **settings: Any,
) -> Front:
    """Run `enumerate_front` on the formulation of a registered solver; decode and judge the plans.

    The judge recomputes every plan's values; an infeasible plan, or values other than the model's, raise
    SolverError. `Front.verify` replays on the other backend's own formulation of the instance.

    Args:
        solver: Registered solver with the formulation.
        instance: Instance to solve.
        objectives: Names of the objectives.
        params: Parameters of the solver.
        threads: Number of threads.
        seed: Seed of the backend.
        settings: Further arguments of `enumerate_front`.
    """
    if ENGINE in params:
        raise InvalidInput(f"{ENGINE} = {params[ENGINE]!r}: fronts are enumerated by highs itself; leave it out")
    check_number(objectives)
    senses = {o.name: o.sense for o in instance.objectives}
    formulation_terms = [senses[name] for name in objectives]
    assert solver.fronts_by is not None
    workers = workers_of(method_of(settings.get("method"), len(objectives)), solver.fronts_by, threads)
    question, scalar, close = _scalar_backend(solver, instance, objectives, params, threads // workers, seed)
    again = replayer(solver, instance, objectives, params, threads=threads, seed=seed)
    try:
        front = run(scalar, formulation_terms, again, decode=question.decode, workers=workers, **settings)
    finally:
        close()
    judge(solver.name, instance, objectives, front)
    front = with_judged(solver.name, instance, objectives, front)
    return dataclasses.replace(
        front, objectives=tuple(objectives), instance=instance, solver=solver.name, params=params
    )


def replayer(
    solver: Solver, instance: Instance, objectives: Sequence[str], params: Data, *, threads: int, seed: int
) -> Callable[[str], Scalar]:
    """Return the object with which `Front.verify` replays: backend -> the backend's own formulation of the instance."""
    return _Again(instance, solver.name, tuple(objectives), params, threads, seed)


@dataclasses.dataclass(frozen=True)
class _Again:
    """A picklable function that answers the sub-problems of a front again, on the model of any backend."""

    instance: Instance
    name: str
    objectives: tuple[str, ...]
    params: Data
    threads: int
    seed: int

    def __call__(self, backend: str) -> Scalar:
        if backend == "scip":
            from mlsched.solvers.front.highs import ScipScalar

            return ScipScalar.like(self("highs"))
        for other in registry().available(self.instance.problem, "exact"):
            if other.fronts_by == backend:
                values = self.params if other.name == self.name else resolve(other.name, other.parameters, {})
                return _scalar_backend(other, self.instance, self.objectives, values, self.threads, self.seed)[1]
        raise InvalidInput(f"backend: {backend!r}, expected a formulation of {self.instance.problem}")


def _scalar_backend(
    solver: Solver, instance: Instance, names: Sequence[str], params: Data, threads: int, seed: int
) -> tuple[Formulation, Scalar, Callable[[], None]]:
    """Return the solver's formulation, the backend for its sub-problems, and the function that closes it."""
    assert solver.model is not None
    question = solver.model(instance.shown(solver.information), objectives=tuple(names), limits=NO_LIMITS, **params)
    if not isinstance(question, Formulation):
        raise InvalidInput(f"{solver.name} does not have a single model of {instance.problem} for {', '.join(names)}")
    senses = {o.name: o.sense for o in instance.objectives}
    formulation_terms = [senses[name] for name in names]
    if question.assisted is None and question.parameters:
        from mlsched.solvers.front.cp_sat import CpSatScalar

        sums = _objective_sums(question, names)
        scalar = CpSatScalar(
            question.model, sums, formulation_terms, threads=threads, seed=seed, parameters=question.parameters
        )
        return question, scalar, _close_nothing
    if question.assisted is None:
        return (
            question,
            scalar_of(question.model, _objective_sums(question, names), formulation_terms, threads=threads, seed=seed),
            _close_nothing,
        )

    def make(part: Formulation, workers: int, parameters: Mapping[str, Any]) -> Limited:
        from mlsched.solvers.front.cp_sat import CpSatScalar

        sums = _objective_sums(part, names)
        return CpSatScalar(part.model, sums, formulation_terms, threads=workers, seed=seed, parameters=parameters)

    assistant = question.assisted(make, threads, seed)
    return question, assistant, assistant.close


def _close_nothing() -> None:
    """Close a backend that only uses memory."""


def _objective_sums(question: Formulation, names: Sequence[str]) -> list[Expression]:
    """Return each objective as one integer expression, the weighted sum of its terms, because fronts compare totals."""
    return [
        sum(t.weight * t.expression for t in question.objectives[name]) + question.constant.get(name, 0)
        for name in names
    ]


def with_judged(name: str, instance: Instance, objectives: Sequence[str], front: Front) -> Front:
    """Return the front with the judge's values of the unproven plans, for which the model may report worse values."""
    signs = [1 if sense == "min" else -1 for sense in front.senses]
    result = {}
    for plan in front.unproven_plans or ():
        if wrong := instance.violations(plan):
            raise SolverError(f"{name} returned an infeasible plan in a front: {wrong[0]}")
        values = instance.evaluate(plan)
        result[tuple(sign * values[goal] for sign, goal in zip(signs, objectives, strict=True))] = plan
    kept_plans = undominated(result, [tuple(row) for row in (front.sort_keys * signs).tolist()])
    unproven = np.array(list(kept_plans), dtype=np.int64).reshape(len(kept_plans), len(signs)) * signs
    return dataclasses.replace(front, unproven=unproven, unproven_plans=tuple(kept_plans.values()))


def judge(name: str, instance: Instance, objectives: Sequence[str], front: Front) -> None:
    """Raise SolverError unless every plan is feasible and has the front's values according to the judge."""
    for plan, row in zip(front.plans or (), front.sort_keys.tolist(), strict=True):
        if wrong := instance.violations(plan):
            raise SolverError(f"{name} returned an infeasible plan in a front: {wrong[0]}")
        values = instance.evaluate(plan)
        for objective, value in zip(objectives, row, strict=True):
            if values[objective] != value:
                raise SolverError(f"{name}: its {objective} = {value} contradicts the judge's {values[objective]}")
