"""Files of results: everything that follows from instance and plan is computed again when they are read."""

from __future__ import annotations

from typing import Any, get_args

from mlsched.api.saved_fields import Fields
from mlsched.core.contract import Instance
from mlsched.core.errors import InvalidInput, shorten
from mlsched.core.formulation import Status, StoppedBy
from mlsched.core.request import resolve_objective
from mlsched.core.result import Evidence, Result, relative_gap


def document(result: Result, name: str, instance: Instance | None) -> dict[str, Any]:
    """What the file of a result holds beside its kind and version; `name` is the file's, for messages."""
    asked = result.instance if result.instance is not None else instance
    if asked is None or asked.hash != result.instance_hash:
        raise InvalidInput(f"{name}: the result does not hold its instance; give instance= as well")
    return {**result.to_json(), "instance": asked.to_json()}


def read(fields: Fields) -> Result:
    """A Result whose every figure that can be recomputed is."""
    instance = fields.instance()
    goal = resolve_objective(instance, fields.text("objective"))
    plan = fields.any("plan") if fields.data.get("plan") is None else fields.plan(instance)
    status = fields.text("status", get_args(Status))
    if (plan is None) != (status in ("infeasible", "unknown")):
        raise fields.wrong("status", status, f"does not fit {'no' if plan is None else 'a'} plan")
    if plan is not None and (wrong := instance.violations(plan)):
        raise InvalidInput(f"plan: is infeasible: {wrong[0]}")
    values = None if plan is None else instance.evaluate(plan)
    value = None if values is None else values.get(goal.name)
    compared = fields.inner("sort_keys")
    bound = compared.number("bound", none=True)
    follows: dict[str, Any] = {
        "instance_hash": instance.hash,
        "problem": instance.problem,
        "sense": goal.sense,
        "unit": goal.unit,
        "gap": None if value is None or bound is None else relative_gap(value, bound),
    }
    _hold(compared, {"values": values, "value": value})
    _hold(fields, follows)
    if value is not None and bound is not None:
        better = bound - value if goal.sense == "min" else value - bound
        slack = instance.tolerance * max(1, abs(value), abs(bound))
        if better > slack or (status == "optimal" and -better > slack):
            raise fields.wrong("bound", bound, f"contradicts {goal.name} = {value}, which is {status}")
    elif status == "optimal":
        raise fields.wrong("status", status, "has no bound")
    result = Result(
        **follows,
        sort_keys=values,
        sort_key=value,
        values=None if values is None else instance.values(values),
        primary=instance.primary(goal.name),
        instance=instance,
        objective=goal.name,
        plan=plan,
        status=status,
        sort_bound=bound,
        solver=fields.text("solver"),
        params=fields.mapping("params", int, float, bool, str),
        seed=fields.integer("seed"),
        stopped_by=fields.text("stopped_by", get_args(StoppedBy), none=True),
        seconds=fields.number("seconds", low=0),
        work=fields.mapping("work", int, float),
        versions=fields.mapping("versions", str),
        evidence=fields.text("evidence", get_args(Evidence), none=True),
        confirmed_by=fields.text("confirmed_by", none=True),
        confirm_seconds=fields.number("confirm_seconds", none=True, low=0),
        doubt=fields.text("doubt", none=True),
    )
    said = result.to_json()
    _hold(fields, {name: said[name] for name in ("values", "value", "bound", "primary")})
    compared.end()
    return result


def _hold(fields: Fields, right: dict[str, Any]) -> None:
    """Take fields that follow from the plan; one that says something else is refused."""
    for name, value in right.items():
        if (said := fields.any(name)) != value:
            raise fields.wrong(name, said, f"the judge says {shorten(repr(value))}")
