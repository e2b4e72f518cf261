"""Files of results: everything that follows from instance and plan is recomputed on reading."""

from __future__ import annotations

from typing import Any, get_args

from mlsched.api.saved_fields import Fields
from mlsched.core.aliases import Data
from mlsched.core.contract import Instance
from mlsched.core.errors import InvalidInput, shorten
from mlsched.core.formulation import Status, StoppedBy
from mlsched.core.request import resolve_objective
from mlsched.core.result import Evidence, Result, relative_gap


def document(result: Result, name: str, instance: Instance | None) -> Data:
    """Return the content of a result's file without kind and version; `name` is the file's, for messages."""
    own_instance = result.instance if result.instance is not None else instance
    if own_instance is None or own_instance.hash != result.instance_hash:
        raise InvalidInput(f"{name}: the result lacks its instance; give instance= as well")
    return {**result.to_json(), "instance": own_instance.to_json()}


def read(fields: Fields) -> Result:
    """Return a Result in which every derived value is recomputed."""
    instance = fields.instance()
    goal = resolve_objective(instance, fields.text("objective"))
    plan = fields.any("plan") if fields.data.get("plan") is None else fields.plan(instance)
    status = fields.text("status", get_args(Status))
    if (plan is None) != (status in ("infeasible", "unknown")):
        raise fields.wrong("status", status, f"does not fit {'no' if plan is None else 'a'} plan")
    if plan is not None and (faults := instance.violations(plan)):
        raise InvalidInput(f"plan: is infeasible: {faults[0]}")
    values = None if plan is None else instance.evaluate(plan)
    value = None if values is None else values.get(goal.name)
    key_fields = fields.inner("sort_keys")
    bound = key_fields.number("bound", none=True)
    derived: dict[str, Any] = {
        "instance_hash": instance.hash,
        "problem": instance.problem,
        "sense": goal.sense,
        "unit": goal.unit,
        "gap": None if value is None or bound is None else relative_gap(value, bound),
    }
    _check_derived(key_fields, {"values": values, "value": value})
    _check_derived(fields, derived)
    if value is not None and bound is not None:
        better = bound - value if goal.sense == "min" else value - bound
        slack = instance.tolerance * max(1, abs(value), abs(bound))
        if better > slack or (status == "optimal" and -better > slack):
            raise fields.wrong("bound", bound, f"contradicts {goal.name} = {value}, which is {status}")
    elif status == "optimal":
        raise fields.wrong("status", status, "expected a bound")
    result = Result(
        **derived,
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
    document_again = result.to_json()
    _check_derived(fields, {name: document_again[name] for name in ("values", "value", "bound", "primary")})
    key_fields.end()
    return result


def _check_derived(fields: Fields, expected: dict[str, Any]) -> None:
    """Take fields that follow from the plan; raise InvalidInput for a different value."""
    for name, value in expected.items():
        if (stated := fields.any(name)) != value:
            raise fields.wrong(name, stated, f"the judge computes {shorten(repr(value))}")
