"""Hard features of a quality instance: named special cases, and relaxations that show the binding constraint."""

from __future__ import annotations

import numpy as np

from mlsched.instances.quality.instance import Instance, Plan


def cases(instance: Instance, plan: Plan) -> dict[str, bool]:
    """Return the named special cases of an instance and its optimal plan: True if the case occurs."""
    running = instance.running
    cores, caps = plan.cores[running], instance.most[running]
    steps = np.diff(instance.gain[running], axis=1)
    return {
        "a job is at its cap": bool((cores == caps).any()),
        "a job keeps its least": bool((cores == instance.least).any()),
        "a job waits": len(running) < len(instance.most),
        "a gain is not concave": bool((np.diff(steps, axis=1) > 0).any()),
        "a core brings nothing": bool((steps == 0).any()),
        "no core to spare": instance.least * len(running) == instance.available,
        "weights differ": bool((instance.weight != instance.weight[:1]).any()),
        "all caps fit": bool(caps.sum() <= instance.available),
    }


def relaxations(instance: Instance) -> dict[str, Instance]:
    """Return the instance without each constraint, by name. A constraint binds if the optimum improves without it."""
    widest = instance.gain.shape[1] - 1
    return {
        "core caps": instance.replace(most=np.full_like(instance.most, widest)),
        "reservation": instance.replace(reserved=0),
        "least": instance.replace(least=0),
        "capacity": instance.replace(cores=instance.cores + int(instance.most.sum())),
    }
