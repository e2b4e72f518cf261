"""Metamorphic relations: the optimum of a changed workers instance relative to the original's."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.contract import MetamorphicRelation
from mlsched.instances.workers.instance import NEVER, Instance

JOBS = (
    "worker_demand",
    "ps_demand",
    "cost",
    "waiting",
    "remaining",
    "model",
    "current_workers",
    "current_ps",
    "waited",
)
AMOUNTS = ("capacity", "worker_demand", "ps_demand")


def _columns_of_jobs(instance: Instance, chosen: Any) -> dict[str, Any]:
    return {name: getattr(instance, name)[chosen] for name in JOBS}


def _relabelled(instance: Instance, rng: np.random.Generator) -> Instance:
    # Jobs are listed in arrival order, by `waited`, which does not affect the value.
    count = len(instance.waiting)
    return instance.replace(
        **_columns_of_jobs(instance, rng.permutation(count)) | {"waited": np.zeros(count, dtype=np.int64)}
    )


def _more_room(instance: Instance, rng: np.random.Generator) -> Instance:
    return instance.replace(capacity=instance.capacity + 1)


def _without_last_job(instance: Instance, rng: np.random.Generator) -> Instance | None:
    return instance.replace(**_columns_of_jobs(instance, slice(-1))) if len(instance.waiting) > 1 else None


def _larger_units(instance: Instance, rng: np.random.Generator) -> Instance:
    return instance.replace(**{name: 3 * getattr(instance, name) for name in AMOUNTS})


def _slower_clock(instance: Instance, rng: np.random.Generator) -> Instance:
    cost = np.where(instance.cost == NEVER, NEVER, 3 * np.minimum(instance.cost, NEVER // 4))
    return instance.replace(cost=cost, waiting=3 * instance.waiting)


RELATIONS = {
    "relabelled": MetamorphicRelation("jobs only change their numbers", _relabelled, {"total_jct": "equal"}),
    "more room": MetamorphicRelation("there is one more of every resource", _more_room, {"total_jct": "no worse"}),
    "fewer jobs": MetamorphicRelation("the last job is taken away", _without_last_job, {"total_jct": "no worse"}),
    "larger units": MetamorphicRelation("all amounts are three times as large", _larger_units, {"total_jct": "equal"}),
    "slower clock": MetamorphicRelation("all times are three times as long", _slower_clock, {"total_jct": 3}),
}
