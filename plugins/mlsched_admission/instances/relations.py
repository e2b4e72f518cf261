"""Known relations between the optima of an admission instance and of a changed copy."""

from __future__ import annotations

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.contract import MetamorphicRelation
from mlsched_admission.instances.instance import Instance

#: Every objective.
ALL = tuple(o.name for o in Instance.objectives)
AMOUNTS = ("node_free", "node_draining", "pod_demand", "shape_demand")


def _nodes_relabelled(instance: Instance, rng: np.random.Generator) -> Instance:
    order = rng.permutation(len(instance.node_free))
    return instance.replace(
        node_free=instance.node_free[order],
        node_draining=instance.node_draining[order],
        node_domain=instance.node_domain[:, order],
        shape_nodes=instance.shape_nodes[:, order],
        node_sets=instance.node_sets[:, order],
        pod_node=np.argsort(order)[instance.pod_node],
        node_names=(),
    )


def _units_relabelled(instance: Instance, rng: np.random.Generator) -> Instance:
    order = rng.permutation(len(instance.unit_group))
    rows = ("group", "priority", "lost", "grace", "preempted", "movable", "level", "age", "ends", "queue", "use")
    changed: Data = {f"unit_{name}": getattr(instance, f"unit_{name}")[order] for name in rows}
    changed |= {"may": instance.may[:, order], "limit_unit": instance.limit_unit[:, order], "unit_names": ()}
    return instance.replace(**changed, pod_unit=np.argsort(order)[instance.pod_unit])


def _another_node(instance: Instance, rng: np.random.Generator) -> Instance | None:
    """Return the instance with a copy of a node, without its pods."""
    if not len(instance.node_free):
        return None
    n = int(rng.integers(len(instance.node_free)))
    return instance.replace(
        node_free=np.vstack([instance.node_free, instance.node_free[n : n + 1]]),
        node_draining=np.vstack([instance.node_draining, instance.node_draining[n : n + 1]]),
        node_domain=np.hstack([instance.node_domain, instance.node_domain[:, n : n + 1]]),
        shape_nodes=np.hstack([instance.shape_nodes, instance.shape_nodes[:, n : n + 1]]),
        node_sets=np.hstack([instance.node_sets, instance.node_sets[:, n : n + 1]]),
        node_names=(),
    )


def _larger_units(instance: Instance, rng: np.random.Generator) -> Instance:
    return instance.replace(**{name: 3 * getattr(instance, name) for name in AMOUNTS})


def _make_evictions_cheaper(instance: Instance, rng: np.random.Generator) -> Instance:
    return instance.replace(unit_lost=3 * instance.unit_lost)


def _nobody_moves(instance: Instance, rng: np.random.Generator) -> Instance:
    return instance.replace(unit_movable=0 * instance.unit_movable)


RELATIONS = {
    "nodes relabelled": MetamorphicRelation(
        "nodes only change their numbers", _nodes_relabelled, dict.fromkeys(ALL, "equal")
    ),
    "units relabelled": MetamorphicRelation(
        "units only change their numbers", _units_relabelled, dict.fromkeys(ALL, "equal")
    ),
    "another node": MetamorphicRelation(
        "a node is added, as free as one there is", _another_node, dict.fromkeys(ALL, "no worse")
    ),
    "larger units": MetamorphicRelation(
        "all amounts are three times as large", _larger_units, dict.fromkeys(ALL, "equal")
    ),
    "more is lost": MetamorphicRelation(
        "three times as much work is lost", _make_evictions_cheaper, {name: "equal" for name in ALL if name != "lost"}
    ),
    "nobody moves": MetamorphicRelation(
        "no unit may be moved",
        _nobody_moves,
        {name: "no better" for name in ALL if name not in ("moves", "budget_violations")},
    ),
}
