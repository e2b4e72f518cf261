"""An instance without names: share the state of a cluster without revealing its workloads."""

from __future__ import annotations

from mlsched_admission.instances.instance import Instance

#: Field of names -> its replacement, with a number.
_NAMES = {
    "node_names": "node",
    "unit_names": "unit",
    "group_names": "gang",
    "job_names": "job",
    "shape_names": "shape",
    "queue_names": "queue",
    "flavor_names": "flavor",
    "budget_names": "budget",
    "limit_names": "limit",
}


def anonymous(instance: Instance) -> Instance:
    """Return `instance` with numbers for all names, those of resources included; both have the same plans.

    All other fields of an instance are numbers of nodes, amounts, priorities and times.
    """
    changes: dict[str, tuple[str, ...]] = {
        field: tuple(f"{word}-{number}" for number in range(len(getattr(instance, field))))
        for field, word in _NAMES.items()
    }
    changes["resources"] = tuple(f"resource-{number}" for number in range(len(instance.resources)))
    return instance.replace(**changes)
