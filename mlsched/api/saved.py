"""Files of results and fronts: what they hold, and how they are judged again when they are read.

A file is a JSON object {"kind", "version", ...}. It holds the instance beside the answer, so that a reader believes
nothing: plans are judged, gaps and senses follow from the instance, and the boxes in which points of a front may be
missing follow from its certificate. Files of runs are in `saved_runs`.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable
from typing import Any, get_args

import numpy as np

from mlsched.api import saved_runs
from mlsched.api.answers import aim
from mlsched.core.contract import Instance, Plan
from mlsched.core.errors import InvalidFile, InvalidInput, MlschedError, shortened
from mlsched.core.files import check_header
from mlsched.core.formulation import Status, StoppedBy
from mlsched.core.opening import shown_path
from mlsched.core.params import resolve
from mlsched.core.record import Record
from mlsched.core.registry import registry
from mlsched.core.result import Backing, Result, relative_gap
from mlsched.simulation import Run

#: Kind of a file -> its version.
VERSIONS = {"result": 1, "front": 1, "run": 1}


def document(thing: Any, name: str, instance: Instance | None) -> dict[str, Any]:
    """The JSON object of anything that can be saved; `name` is the file's, for messages."""
    from mlsched.solvers.front import Front

    if isinstance(thing, Result):
        asked = thing.instance if thing.instance is not None else instance
        if asked is None or asked.hash != thing.instance_hash:
            raise InvalidInput(f"{name}: the result does not hold its instance; give instance= as well")
        found = {"kind": "result", "version": VERSIONS["result"], **thing.to_json(), "instance": asked.to_json()}
    elif isinstance(thing, Front):
        found = _front_document(thing, name)
    elif isinstance(thing, Run):
        found = {"kind": "run", "version": VERSIONS["run"], **saved_runs.document(thing)}
    elif isinstance(thing, Record):
        found = thing.to_json()
        if isinstance(thing, Plan) and instance is not None:
            found["instance_hash"] = instance.hash
    else:
        kinds = "an instance, plan, workload, result, front or run"
        raise InvalidInput(f"{name}: a {type(thing).__name__} cannot be saved; give {kinds}")
    return found


def read(path: str | os.PathLike[str], data: dict[str, Any]) -> Any:
    """The result, front or run in a JSON object that was read from `path`."""
    kind = check_header(path, data, VERSIONS)
    body = {key: value for key, value in data.items() if key not in ("kind", "version")}
    readers: dict[str, Callable[[Fields], Any]] = {"result": _result, "front": _front, "run": saved_runs.read}
    try:
        fields = Fields(body)
        found = readers[kind](fields)
        fields.end()
    except MlschedError as error:
        raise InvalidFile(f"{shown_path(path)}: {error}") from None
    return found


class Fields:
    """The fields of a JSON object, each taken once and checked; what nobody took is refused in the end."""

    def __init__(self, data: Any, where: str = "") -> None:
        if not isinstance(data, dict):
            raise InvalidInput(f"{where or 'the document'}: must be a JSON object")
        self.data, self.where = dict(data), f"{where}: " if where else ""

    def wrong(self, name: str, value: Any, rule: str) -> InvalidInput:
        return InvalidInput(f"{self.where}{name} = {shortened(repr(value))}: {rule}")

    def any(self, name: str) -> Any:
        if name not in self.data:
            raise InvalidInput(f"{self.where}{name}: is missing")
        return self.data.pop(name)

    def text(self, name: str, choices: tuple[str, ...] = (), none: bool = False) -> Any:
        value = self.any(name)
        if (value is None and none) or (isinstance(value, str) and (not choices or value in choices)):
            return value
        raise self.wrong(name, value, f"must be {'one of ' + ', '.join(choices) if choices else 'text'}")

    def integer(self, name: str, none: bool = False) -> Any:
        value = self.any(name)
        if (value is None and none) or (type(value) is int and abs(value) < 2**62):
            return value
        raise self.wrong(name, value, "must be an integer")

    def number(self, name: str, none: bool = False, low: float = -math.inf) -> Any:
        value = self.any(name)
        if (value is None and none) or (type(value) in (int, float) and low <= value and abs(value) < 2.0**1000):
            return value
        raise self.wrong(name, value, "must be a number" + (f" >= {low:g}" if low > -math.inf else ""))

    def integers(self, name: str, none: bool = False) -> Any:
        """A tuple of integers below 2^62 in magnitude; with `none`, of some that may be null."""
        value = self.any(name)
        fine = isinstance(value, list) and all(
            (v is None and none) or (type(v) is int and abs(v) < 2**62) for v in value
        )
        if not fine:
            raise self.wrong(name, value, "must be a list of integers")
        return tuple(value)

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.any(name)
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise self.wrong(name, value, "must be a list of texts")
        return tuple(value)

    def mapping(self, name: str, *kinds: type) -> dict[str, Any]:
        """A JSON object whose values are of these types."""
        value = self.any(name)
        if not isinstance(value, dict) or not all(type(v) in kinds for v in value.values()):
            raise self.wrong(name, value, f"must be an object of {' or '.join(k.__name__ for k in kinds)}")
        return value

    def record(self, name: str, types: dict[str, type[Record]]) -> Any:
        """An instance, plan or workload of one of these kinds."""
        value = self.any(name)
        if not isinstance(value, dict):
            raise self.wrong(name, value, "must be a JSON object")
        try:
            kind = check_header(f"{self.where}{name}", value, {k: t.version for k, t in types.items()})
            return types[kind].from_json(value)
        except InvalidInput as error:
            text = str(error)
            raise InvalidInput(text if text.startswith(name) else f"{self.where}{name}: {text}") from None

    def end(self) -> None:
        if self.data:
            raise InvalidInput(f"{self.where}{next(iter(self.data))}: unknown field")


def _instance(fields: Fields) -> Instance:
    types = [t for p in registry().problems.values() for t in p.instance_types]
    found: Instance = fields.record("instance", {t.kind: t for t in types})
    return found


def _result(fields: Fields) -> Result:
    """A Result whose every figure that can be recomputed is."""
    instance = _instance(fields)
    goal = aim(instance, fields.text("objective"))
    plan = fields.any("plan")
    if plan is not None:
        fields.data["plan"] = plan
        plan = fields.record("plan", {instance.plan_type.kind: instance.plan_type})
    status = fields.text("status", get_args(Status))
    if (plan is None) != (status in ("infeasible", "unknown")):
        raise fields.wrong("status", status, f"does not fit {'no' if plan is None else 'a'} plan")
    if plan is not None and (wrong := instance.violations(plan)):
        raise InvalidInput(f"plan: is infeasible: {wrong[0]}")
    values = None if plan is None else instance.evaluate(plan)
    value = None if values is None else values.get(goal.name)
    bound = fields.number("bound", none=True)
    gap = None if value is None or bound is None else relative_gap(value, bound)
    rank = instance.rank(goal.name)
    follows: dict[str, Any] = {
        "instance_hash": instance.hash,
        "problem": instance.problem,
        "sense": goal.sense,
        "unit": goal.unit,
        "values": values,
        "value": value,
        "gap": gap,
    }
    for name, right in [*follows.items(), ("rank", None if rank is None else dataclasses.asdict(rank))]:
        if (said := fields.any(name)) != right:
            raise fields.wrong(name, said, f"the judge says {shortened(repr(right))}")
    if value is not None and bound is not None:
        better = bound - value if goal.sense == "min" else value - bound
        slack = instance.tolerance * max(1, abs(value), abs(bound))
        if better > slack or (status == "optimal" and -better > slack):
            raise fields.wrong("bound", bound, f"contradicts {goal.name} = {value}, which is {status}")
    elif status == "optimal":
        raise fields.wrong("status", status, "has no bound")
    return Result(
        **follows,
        rank=rank,
        instance=instance,
        objective=goal.name,
        plan=plan,
        status=status,
        bound=bound,
        answerer=fields.text("answerer"),
        params=fields.mapping("params", int, float, bool, str),
        seed=fields.integer("seed"),
        stopped_by=fields.text("stopped_by", get_args(StoppedBy), none=True),
        seconds=fields.number("seconds", low=0),
        work=fields.mapping("work", int, float),
        versions=fields.mapping("versions", str),
        backing=fields.text("backing", get_args(Backing), none=True),
        confirmed_by=fields.text("confirmed_by", none=True),
        confirm_seconds=fields.number("confirm_seconds", none=True, low=0),
        doubt=fields.text("doubt", none=True),
    )


def _front_document(front: Any, name: str) -> dict[str, Any]:
    if front.plans is not None and not all(isinstance(plan, Plan) for plan in front.plans):
        raise InvalidInput(f"{name}: the front's plans are a {type(front.plans[0]).__name__} each; save front.values")
    return {
        "kind": "front",
        "version": VERSIONS["front"],
        "objectives": None if front.objectives is None else list(front.objectives),
        "answerer": front.answerer,
        "params": front.params,
        **front.to_json(),
        "solutions": None if front.instance is not None else [list(s) for s in front.solutions],
        "certificate": front.certificate.to_json(),
        "instance": None if front.instance is None else front.instance.to_json(),
    }


def _front(fields: Fields) -> Any:
    """A Front: plans judged again, and what may be missing derived again from the certificate."""
    from mlsched.core.scalar import Status as Said
    from mlsched.solvers.front.certificate import Certificate, Subproblem
    from mlsched.solvers.front.planned import judge, replayer
    from mlsched.solvers.front.result import Front, FrontStatus, boxes

    senses = fields.texts("senses")
    if len(senses) < 2 or not set(senses) <= {"min", "max"}:
        raise fields.wrong("senses", list(senses), "must be two or more of min and max")
    width = len(senses)
    values = _matrix(fields, "values", width)
    proof = Fields(fields.any("certificate"), "certificate")
    low, high = proof.integers("low", none=True), proof.integers("high", none=True)
    parts = []
    for number, given in enumerate(_list(proof, "subproblems")):
        one = Fields(given, f"certificate: subproblems[{number}]")
        weights = one.integers("weights")
        bounds = tuple(_row(one, box, width) for box in _list(one, "boxes"))
        reached = one.any("values")
        reached = None if reached is None else _row(one, reached, width)
        parts.append(
            Subproblem(
                weights, bounds, one.text("status", get_args(Said)), reached, one.integer("bound", none=True),
                one.text("note"),
            )
        )  # fmt: skip
        one.end()
        if len(weights) != width or min(weights) < 0 or max(weights) < 1:
            raise one.wrong("weights", list(weights), f"must be {width} integers >= 0, one of them above 0")
    proof.end()
    if len(low) != width or len(high) != width:
        raise proof.wrong("low", list(low), f"must have {width} entries, as high must")
    certificate = Certificate(low, high, tuple(parts))
    signs = np.array([1 if sense == "min" else -1 for sense in senses], dtype=np.int64)
    points = [tuple(row) for row in (values * signs).tolist()]
    if points != sorted(set(points)):
        raise InvalidInput("values: must be distinct points, the best first objective first")
    if any(all(a <= b for a, b in zip(p, q, strict=True)) for p in points for q in points if p != q):
        raise InvalidInput("values: a point dominates another")
    open_ = boxes(*certificate.open_zones(points), senses)
    status = fields.text("status", get_args(FrontStatus))
    if (not open_) != (status in ("complete", "infeasible")) or (status == "infeasible" and points):
        raise fields.wrong("status", status, f"the certificate leaves {len(open_)} boxes open")
    for name, right in (("complete", not open_), ("open", [dataclasses.asdict(box) for box in open_])):
        said = fields.any(name)
        if said != (right if isinstance(right, bool) else [{k: list(v) for k, v in box.items()} for box in right]):
            raise fields.wrong(name, said, "does not follow from the certificate")
    front = Front(
        values=values,
        solutions=(),
        plans=None,
        senses=senses,
        status=status,
        open=open_,
        solves=fields.integer("solves"),
        recalled=fields.integer("recalled"),
        failures=fields.texts("failures"),
        certificate=certificate,
        method=fields.text("method"),
        backend=fields.text("backend"),
        seconds=fields.number("seconds", low=0),
        _scalar=_no_model,
        confirmed_by=fields.text("confirmed_by", none=True),
        answerer=fields.text("answerer", none=True),
        params=fields.mapping("params", int, float, bool, str),
    )
    if (backing := fields.text("backing", get_args(Backing))) != front.backing:
        raise fields.wrong("backing", backing, "does not follow from confirmed_by")
    plans, solutions, objectives = fields.any("plans"), fields.any("solutions"), fields.any("objectives")
    if fields.data.get("instance") is None:
        fields.any("instance")
        if plans is not None or objectives is not None:
            raise InvalidInput("instance: is missing; plans and objectives need one")
        return dataclasses.replace(front, solutions=_solutions(fields, solutions, len(points)))
    instance = _instance(fields)
    named = isinstance(objectives, list) and all(isinstance(name, str) for name in objectives)
    if not named or len(objectives) != width:
        raise fields.wrong("objectives", objectives, f"must be {width} names")
    if [instance.objective(name).sense for name in objectives] != list(senses):
        raise fields.wrong("senses", list(senses), "are not those of the objectives")
    if not isinstance(plans, list) or len(plans) != len(points):
        raise InvalidInput(f"plans: must be {len(points)}, one for each point")
    kinds: dict[str, type[Record]] = {instance.plan_type.kind: instance.plan_type}
    read_plans = tuple(Fields({"plan": plan}, f"plans[{i}]").record("plan", kinds) for i, plan in enumerate(plans))
    found, _ = registry().answerer(instance.problem, str(front.answerer))
    front = dataclasses.replace(
        front,
        plans=read_plans,
        objectives=tuple(objectives),
        instance=instance,
        params=resolve(found.name, found.parameters, front.params),
    )
    judge("the file", instance, objectives, front)
    again = replayer(found, instance, objectives, front.params, threads=1, seed=0)
    return dataclasses.replace(front, _scalar=again)


def _no_model(backend: str) -> Any:
    raise InvalidInput("verify: the model is not in the file of a front; give verify an object that answers for it")


def _list(fields: Fields, name: str) -> list[Any]:
    value = fields.any(name)
    if not isinstance(value, list):
        raise fields.wrong(name, value, "must be a list")
    return value


def _row(fields: Fields, value: Any, width: int) -> tuple[Any, ...]:
    """`width` integers, some of which may be null."""
    found: tuple[Any, ...] = Fields({"row": value}, fields.where.removesuffix(": ")).integers("row", none=True)
    if len(found) != width:
        raise fields.wrong("row", value, f"must have {width} entries")
    return found


def _matrix(fields: Fields, name: str, width: int) -> Any:
    rows = [_row(fields, row, width) for row in _list(fields, name)]
    if any(v is None for row in rows for v in row):
        raise InvalidInput(f"{name}: must be integers")
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


def _solutions(fields: Fields, given: Any, count: int) -> tuple[Any, ...]:
    fine = isinstance(given, list) and len(given) == count
    if not fine or not all(isinstance(s, list) and all(type(v) in (int, float) for v in s) for s in given):
        raise fields.wrong("solutions", given, f"must be {count} lists of numbers")
    return tuple(tuple(s) for s in given)
