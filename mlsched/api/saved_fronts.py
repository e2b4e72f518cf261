"""Files of fronts: plans are judged again, and missing points are derived again from the certificate."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, get_args

import numpy as np

from mlsched.api.saved_fields import Fields
from mlsched.core.aliases import Data
from mlsched.core.contract import Instance, Plan
from mlsched.core.errors import InvalidInput, with_article
from mlsched.core.fields import IntArray
from mlsched.core.params import resolve
from mlsched.core.registry import registry
from mlsched.core.result import Evidence
from mlsched.core.scalar import Status
from mlsched.solvers.front.certificate import Certificate, Subproblem
from mlsched.solvers.front.planned import judge, replayer, with_judged
from mlsched.solvers.front.result import Box, Front, FrontStatus, boxes


def document(front: Front, name: str) -> Data:
    """Return the content of a front's file without kind and version; `name` is the file's, for messages."""
    if front.plans is not None and not all(isinstance(plan, Plan) for plan in front.plans):
        raise InvalidInput(
            f"{name}: the front's plans are {with_article(type(front.plans[0]).__name__)} each; save front.sort_keys"
        )
    return {
        "objectives": None if front.objectives is None else list(front.objectives),
        "solver": front.solver,
        "params": front.params,
        **front.to_json(),
        "solutions": None if front.instance is not None else [list(s) for s in front.solutions],
        "certificate": front.certificate.to_json(),
        "instance": None if front.instance is None else front.instance.to_json(),
    }


def read(fields: Fields) -> Front:
    """Return a Front, with plans if the file has its instance."""
    senses = fields.texts("senses")
    if len(senses) < 2 or not set(senses) <= {"min", "max"}:
        raise fields.wrong("senses", list(senses), "expected two or more of min and max")
    values = fields.matrix("sort_keys", len(senses))
    certificate = _certificate(Fields(fields.any("certificate"), "certificate"), len(senses))
    points = _points(values, senses)
    open_boxes = boxes(*certificate.open_zones(points), senses)
    front = Front(
        sort_keys=values,
        solutions=(),
        plans=None,
        senses=senses,
        status=_status(fields, points, open_boxes),
        open=open_boxes,
        solves=fields.integer("solves"),
        recalled=fields.integer("recalled"),
        failures=fields.texts("failures"),
        certificate=certificate,
        method=fields.text("method"),
        backend=fields.text("backend"),
        seconds=fields.number("seconds", low=0),
        _scalar=_raise_no_model,
        confirmed_by=fields.text("confirmed_by", none=True),
        solver=fields.text("solver", none=True),
        params=fields.mapping("params", int, float, bool, str),
        unproven=_unproven(fields, len(senses)),
    )
    if (evidence := fields.text("evidence", get_args(Evidence))) != front.evidence:
        raise fields.wrong("evidence", evidence, "does not follow from confirmed_by")
    return _with_solutions(fields, front) if fields.data.get("instance") is None else _with_plans(fields, front)


def _certificate(fields: Fields, width: int) -> Certificate:
    """Return the certificate: answered sub-problems of `width` objectives."""
    low, high = fields.integers("low", none=True), fields.integers("high", none=True)
    parts = []
    for number, entry in enumerate(fields.elements("subproblems")):
        entry_fields = Fields(entry, f"certificate: subproblems[{number}]")
        part = Subproblem(
            weights=entry_fields.integers("weights"),
            boxes=tuple(entry_fields.rows("boxes", width)),
            values=entry_fields.row("values", width),
            status=entry_fields.text("status", get_args(Status)),
            bound=entry_fields.integer("bound", none=True),
            note=entry_fields.text("note"),
        )
        entry_fields.end()
        if len(part.weights) != width or min(part.weights) < 0 or max(part.weights) < 1:
            raise entry_fields.wrong(
                "weights", list(part.weights), f"expected {width} integers >= 0, one of them above 0"
            )
        parts.append(part)
    fields.end()
    if len(low) != width or len(high) != width:
        raise fields.wrong("low", list(low), f"expected {width} entries, as high must")
    return Certificate(low, high, tuple(parts))


def _points(values: IntArray, senses: Sequence[str]) -> list[tuple[int, ...]]:
    """Return the points of a front in minimisation form: sorted, distinct, non-dominated."""
    signs = np.array([1 if sense == "min" else -1 for sense in senses], dtype=np.int64)
    points = [tuple(row) for row in (values * signs).tolist()]
    if points != sorted(set(points)):
        raise InvalidInput("values: expected distinct points, the best first objective first")
    if any(all(a <= b for a, b in zip(p, q, strict=True)) for p in points for q in points if p != q):
        raise InvalidInput("values: a point dominates another")
    return points


def _status(fields: Fields, points: Sequence[object], open_boxes: Sequence[Box]) -> FrontStatus:
    """Return the front's status, which must agree with the boxes that its certificate leaves open."""
    status: FrontStatus = fields.text("status", get_args(FrontStatus))
    if (not open_boxes) != (status in ("complete", "infeasible")) or (status == "infeasible" and points):
        raise fields.wrong("status", status, f"the certificate leaves {len(open_boxes)} boxes open")
    expected_boxes = [{name: list(bounds) for name, bounds in dataclasses.asdict(box).items()} for box in open_boxes]
    for name, expected in (("complete", not open_boxes), ("open", expected_boxes)):
        if (stated := fields.any(name)) != expected:
            raise fields.wrong(name, stated, "does not follow from the certificate")
    return status


def _with_solutions(fields: Fields, front: Front) -> Front:
    """Return the front of a user's own model, whose solutions are lists of numbers."""
    plans, solutions, objectives = fields.any("plans"), fields.any("solutions"), fields.any("objectives")
    fields.any("instance")
    fields.any("unproven_plans")
    if plans is not None or objectives is not None:
        raise InvalidInput("instance: is missing; plans and objectives need one")
    valid = isinstance(solutions, list) and len(solutions) == len(front.sort_keys)
    if not valid or not all(isinstance(s, list) and all(type(v) in (int, float) for v in s) for s in solutions):
        raise fields.wrong("solutions", solutions, f"expected {len(front.sort_keys)} lists of numbers")
    return dataclasses.replace(front, solutions=tuple(tuple(s) for s in solutions))


def _with_plans(fields: Fields, front: Front) -> Front:
    """Return the front of an instance, whose plans must have the values of its points."""
    plans, objectives = fields.any("plans"), fields.any("objectives")
    fields.any("solutions")
    instance = fields.instance()
    _check_objectives(fields, instance, objectives, front)
    if not isinstance(plans, list) or len(plans) != len(front.sort_keys):
        raise InvalidInput(f"plans: expected {len(front.sort_keys)}, one for each point")
    solver, _ = registry().solver(instance.problem, str(front.solver))
    unproven = fields.any("unproven_plans")
    front = dataclasses.replace(
        front,
        unproven_plans=tuple(_plans("unproven_plans", unproven or [], instance)),
        plans=tuple(_plans("plans", plans, instance)),
        objectives=tuple(objectives),
        instance=instance,
        params=resolve(solver.name, solver.parameters, front.params),
    )
    judge("the file", instance, objectives, front)
    if front != with_judged("the file", instance, objectives, front):
        raise InvalidInput("unproven: expected the non-dominated values of its plans; write the file again")
    again = replayer(solver, instance, objectives, front.params, threads=1, seed=0)
    return dataclasses.replace(front, _scalar=again)


def _unproven(fields: Fields, width: int) -> IntArray:
    """Return the values of unproven plans; a file without any omits them."""
    if "unproven" in fields.data:
        return fields.matrix("unproven", width)
    return np.zeros((0, width), dtype=np.int64)


def _plans(name: str, plans: object, instance: Instance) -> Iterator[Plan]:
    """Yield the plans of a list in the file."""
    for i, plan in enumerate(plans if isinstance(plans, list) else ()):
        yield Fields({"plan": plan}, f"{name}[{i}]").plan(instance)


def _check_objectives(fields: Fields, instance: Instance, objectives: Any, front: Front) -> None:
    are_names = isinstance(objectives, list) and all(isinstance(name, str) for name in objectives)
    if not are_names or len(objectives) != len(front.senses):
        raise fields.wrong("objectives", objectives, f"expected {len(front.senses)} names")
    if [instance.objective(name).sense for name in objectives] != list(front.senses):
        raise fields.wrong("senses", list(front.senses), "are not those of the objectives")


def _raise_no_model(backend: str) -> Any:
    raise InvalidInput("verify: the model is not in the file of a front; give verify an object that answers for it")
