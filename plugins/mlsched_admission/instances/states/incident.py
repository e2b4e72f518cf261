"""A reported incident: a state written by hand, with the scheduler's decision.

An object with "instance" and "scheduler_did". Its instance has the fields of `admission.Instance`, but for three: a
list `limits` of {"left", "job", "unit"}; `pod_nodes`, the allowed nodes of each pod as a row of 0 and 1 per pod; and
`node_domain`, which may be empty.
"""

from __future__ import annotations

from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidInput
from mlsched.core.record import specs
from mlsched_admission.instances.instance import Instance
from mlsched_admission.instances.states.entries import Entry

#: Fields that a report states in another form.
_OTHERWISE = ("limits", "pod_nodes", "node_domain")


def is_incident(value: Data) -> bool:
    """Return whether a JSON object is a report."""
    return "scheduler_did" in value and isinstance(value.get("instance"), dict)


def incident_instance(report: Entry) -> Instance:
    """Return the instance of a report; raise InvalidFile if it is invalid."""
    fields: Data = report.get("instance")
    known_names = [*specs(Instance), *_OTHERWISE]
    if unknown := [name for name in fields if name not in known_names]:
        report.fail(f"instance.{unknown[0]}: unknown field", f"there are {', '.join(known_names)}")
    arrays = {name: value for name, value in fields.items() if name not in _OTHERWISE}
    try:
        return Instance(**arrays, **_limit_arrays(fields), **_node_sets(fields), **_domain_array(fields))
    except (InvalidInput, KeyError, TypeError) as error:
        report.fail(f"instance: {error}", "a report has the fields of an admission.instance")


def _limit_arrays(fields: Data) -> Data:
    limits = fields.get("limits") or []
    return {f"limit_{of}": [limit[of] for limit in limits] for of in ("left", "job", "unit")} if limits else {}


def _node_sets(fields: Data) -> Data:
    """Return each allowed set of nodes once, and the set of each pod."""
    rows = [tuple(row) for row in fields.get("pod_nodes") or []]
    sets = sorted(set(rows))
    return {"node_sets": [list(one) for one in sets], "pod_set": [sets.index(row) for row in rows]} if rows else {}


def _domain_array(fields: Data) -> Data:
    domains = fields.get("node_domain")
    return {"node_domain": domains} if domains else {}
