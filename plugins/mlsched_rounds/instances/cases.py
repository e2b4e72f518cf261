"""Hard cases of rounds: named special cases, and relaxations that show which constraint binds."""

from __future__ import annotations

import numpy as np

from mlsched_rounds.instances.instance import Instance, Plan


def cases(instance: Instance, plan: Plan) -> dict[str, bool]:
    """Return the named special cases of an instance and its optimal plan; true if they occur."""
    runs = plan.config >= 0
    usage = np.zeros(len(instance.capacity), dtype=np.int64)
    np.add.at(usage, instance.config_type[plan.config[runs]], instance.config_gpus[plan.config[runs]])
    selection = instance.rate[np.flatnonzero(runs), plan.config[runs]]
    return {
        "a job waits": bool((~runs & (instance.rate > 0).any(axis=1)).any()),
        "a job can run nowhere": bool((instance.rate == 0).all(axis=1).any()),
        "a job changes its configuration": bool(
            (runs & (instance.current >= 0) & (plan.config != instance.current)).any()
        ),
        "a running job is stopped": bool((~runs & (instance.current >= 0)).any()),
        "a job is not on its fastest": bool((selection < instance.rate[runs].max(axis=1, initial=0)).any()),
        "a gang runs": bool((instance.config_gpus[plan.config[runs]] > 1).any()),
        "a type is full": bool((usage == instance.capacity).any()),
        "GPUs idle while a job waits": bool((usage < instance.capacity).any() and not runs.all()),
        "a change costs": instance.pause > 0,
        "weights differ": bool((instance.weight != instance.weight[:1]).any()),
    }


def relaxations(instance: Instance) -> dict[str, Instance]:
    """Return constraint name -> the instance without it. The constraint binds if the optimum improves without it."""
    return {
        "GPUs": instance.replace(
            capacity=instance.capacity + int(instance.config_gpus.sum()) * len(instance.remaining)
        ),
        "gangs": instance.replace(config_gpus=np.ones_like(instance.config_gpus)),
        "price of a change": instance.replace(pause=0),
    }
