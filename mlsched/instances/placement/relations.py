"""Metamorphic relations: the optimum of a changed placement instance relative to the original's."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlsched.core.contract import MetamorphicRelation
from mlsched.instances.placement.instance import Instance

JOBS = ("job_type", "job_speed", "job_workers", "job_ps", "worker_demand", "ps_demand")
AMOUNTS = ("server_capacity", "server_free", "worker_demand", "ps_demand")
RATES = ("sigma_worker", "sigma_ps", "linear", "quadratic", "rho_ps", "rho_worker")


def _columns_of_jobs(instance: Instance, chosen: Any) -> dict[str, Any]:
    return {name: getattr(instance, name)[chosen] for name in JOBS}


def _relabelled(instance: Instance, rng: np.random.Generator) -> Instance:
    servers, runs = rng.permutation(len(instance.server_free)), rng.permutation(len(instance.run_type))
    return instance.replace(
        **_columns_of_jobs(instance, rng.permutation(len(instance.job_type))),
        server_capacity=instance.server_capacity[servers],
        server_free=instance.server_free[servers],
        run_type=instance.run_type[runs],
        run_speed=instance.run_speed[runs],
        run_workers=instance.run_workers[runs][:, servers],
        run_ps=instance.run_ps[runs][:, servers],
    )


def _another_server(instance: Instance, rng: np.random.Generator) -> Instance:
    row, nobody = instance.server_capacity[:1], np.zeros((len(instance.run_type), 1), dtype=np.int64)
    return instance.replace(
        server_capacity=np.vstack([instance.server_capacity, row]),
        server_free=np.vstack([instance.server_free, row]),
        run_workers=np.hstack([instance.run_workers, nobody]),
        run_ps=np.hstack([instance.run_ps, nobody]),
    )


def _without_last_job(instance: Instance, rng: np.random.Generator) -> Instance | None:
    return instance.replace(**_columns_of_jobs(instance, slice(-1))) if len(instance.job_type) > 1 else None


def _larger_units(instance: Instance, rng: np.random.Generator) -> Instance:
    return instance.replace(**{name: 3 * getattr(instance, name) for name in AMOUNTS})


def _undisturbed(instance: Instance, rng: np.random.Generator) -> Instance:
    return instance.replace(**{name: 0 * getattr(instance, name) for name in RATES})


RELATIONS = {
    "relabelled": MetamorphicRelation(
        "servers and jobs only change their numbers", _relabelled, {"total_speed": "equal"}
    ),
    "another server": MetamorphicRelation("an empty server is added", _another_server, {"total_speed": "no worse"}),
    "fewer jobs": MetamorphicRelation(
        "the last new job is taken away", _without_last_job, {"total_speed": "no better"}
    ),
    "larger units": MetamorphicRelation(
        "all amounts are three times as large", _larger_units, {"total_speed": "equal"}
    ),
    "undisturbed": MetamorphicRelation("nothing slows a job down", _undisturbed, {"total_speed": "no worse"}),
}
