"""Metamorphic relations: the optimum of a changed preemption instance relative to the original's."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.contract import MetamorphicRelation
from mlsched.core.fields import UNLIMITED
from mlsched.instances.preemption.instance import Instance

#: Every objective.
ALL = tuple(o.name for o in Instance.objectives)
JOBS = ("job_node", "job_demand", "job_grace", "job_preemptions", "job_remaining")
AMOUNTS = ("node_capacity", "node_free", "node_draining", "job_demand", "te_demand")


def _relabelled(instance: Instance, rng: np.random.Generator) -> Instance:
    nodes, jobs, tes = (rng.permutation(len(x)) for x in (instance.node_free, instance.job_node, instance.te_demand))
    fields: dict[str, Any] = {name: getattr(instance, name)[jobs] for name in JOBS}
    fields |= {name: getattr(instance, name)[nodes] for name in ("node_capacity", "node_free", "node_draining")}
    return instance.replace(
        **fields | {"job_node": np.argsort(nodes)[fields["job_node"]], "te_demand": instance.te_demand[tes]}
    )


def _another_node(instance: Instance, rng: np.random.Generator) -> Instance:
    row = instance.node_capacity[:1]
    return instance.replace(
        node_capacity=np.vstack([instance.node_capacity, row]),
        node_free=np.vstack([instance.node_free, row]),
        node_draining=np.vstack([instance.node_draining, 0 * row]),
    )


def _without_last_te_job(instance: Instance, rng: np.random.Generator) -> Instance:
    return instance.replace(te_demand=instance.te_demand[:-1])


def _larger_units(instance: Instance, rng: np.random.Generator) -> Instance:
    return instance.replace(**{name: 3 * getattr(instance, name) for name in AMOUNTS})


def _slower_clock(instance: Instance, rng: np.random.Generator) -> Instance:
    return instance.replace(job_grace=3 * instance.job_grace, max_grace=3 * instance.max_grace)


def _no_limit(instance: Instance, rng: np.random.Generator) -> Instance:
    return instance.replace(preemption_limit=UNLIMITED)


RELATIONS = {
    "relabelled": MetamorphicRelation(
        "nodes and jobs only change their numbers", _relabelled, dict.fromkeys(ALL, "equal")
    ),
    "another node": MetamorphicRelation("an empty node is added", _another_node, dict.fromkeys(ALL, "no worse")),
    "fewer jobs": MetamorphicRelation(
        "the last TE job is taken away", _without_last_te_job, dict.fromkeys(ALL, "no worse")
    ),
    "larger units": MetamorphicRelation(
        "all amounts are three times as large", _larger_units, dict.fromkeys(ALL, "equal")
    ),
    "slower clock": MetamorphicRelation(
        "all grace periods are three times as long", _slower_clock, dict.fromkeys(ALL[:2], "equal")
    ),
    "no limit": MetamorphicRelation("every BE job may be preempted", _no_limit, dict.fromkeys(ALL, "no worse")),
}
