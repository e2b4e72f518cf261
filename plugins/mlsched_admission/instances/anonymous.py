"""An instance without names: for sharing the state of a cluster with those who may not know what runs there."""

from __future__ import annotations

from mlsched_admission.instances.instance import Instance

#: Field of names -> what they become, with a number.
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
    """`instance` with numbers for all names, those of resources included; every plan of one is a plan of the other.

    Nothing else in an instance is a name: its other fields are numbers of nodes, amounts, priorities and times.
    """
    changes: dict[str, tuple[str, ...]] = {
        field: tuple(f"{word}-{number}" for number in range(len(getattr(instance, field))))
        for field, word in _NAMES.items()
    }
    changes["resources"] = tuple(f"resource-{number}" for number in range(len(instance.resources)))
    return instance.replace(**changes)
