"""Least Interference First: predict slowdown from the CPU and network use of other tasks (Harmony Section VI-B).

Harmony: "it builds a linear or non-linear interference model by assuming that task slowdown is a function of CPU and
bandwidth usage ... a least-square solver". It then "calculates an interference score (i.e., performance slowdown of
all workers/PSs on a server) for each server and selects the server with the least interference." Its sources are
TRACON (Chiang et al., TPDS 2014) and Bu et al. (HPDC 2013). Both do the same for virtual machines: fit a regression
to profiles, then place each task at the least predicted interference.

Profiling: each type runs beside random sets of tasks of random types on one server. The profile records the slowdown
(here the instance's own interference, without its network terms) and the CPU and network use of the other tasks.
Least squares then fits one model per type. LIF declares `information="profiled"`: it sees only these measurements
(`Instance.profile`) of the instance's interference.

The option `score` defines "slowdown of all workers/PSs on a server":

- "excess", the default: the sum over all tasks on the server, with the new task, of predicted time over isolated
  time, minus 1. Harmony measures slowdown against standalone execution (Section II-B: 0 for an isolated job, and "the
  sum of the slowdown percentages of the two jobs" for two). So a task without other jobs on its server must add 0;
- "increase": the growth of that sum through the new task. Existing interference then does not count against a server.
  This deviates from the paper's text, but seems to be its intention;
- "slowdown": the sum of predicted time over isolated time, 1 for a task without any interference. The score of a
  server then counts its tasks, and the rule is close to load balancing.

Servers often tie (all empty servers have excess 0), and the paper does not break ties. The option `tie` does:
"index", the default, takes the first server, which keeps the tasks of a job together while there is room; "random"
takes any; "least-loaded" takes the server with the least load, measured as in load balancing. The last two scatter a
job.

Simplifications:

- Jobs come in the order of the instance, tasks in the order of `_room`.
- The coefficients are fitted without an intercept (without other tasks, the slowdown is 0); predictions below 0 count
  as 0.
- A task is slowed down only by tasks of other jobs, as in the instance.
- The effects of a job's other servers and of a remote PS are not modelled, as in the paper.
- The summed slowdown is T / T_alone - 1; Section II-B prints 1 - T_alone / T.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from mlsched.core.arguments import ValidatedFields
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import FloatArray, IntArray
from mlsched.heuristics.placement._room import PS, WORKER, Choose, Room, place_all
from mlsched.heuristics.placement.load_balancing import least_loaded
from mlsched.instances.placement import Instance, Plan

Features = Callable[[Any], Any]

#: Features of the models, by the names that `Instance.pressures` returns.
CPU_AND_NETWORK = ("cpu", "bandwidth")
SCORES = ("excess", "increase", "slowdown")
TIES = ("index", "random", "least-loaded")
#: Scores are sums of fitted numbers, so smaller differences count as ties.
SAME = 1e-9
#: Co-locations per type to which the coefficients are fitted, and the most tasks beside the profiled task.
SAMPLES, MOST_TASKS = 200, 6


def linear(use: FloatArray) -> FloatArray:
    """Return the regressors of LIF-Line: the uses."""
    return use


def quadratic(use: FloatArray) -> FloatArray:
    """Return the regressors of LIF-Quad: the uses, their squares and products."""
    count = use.shape[-1]
    products = [use[..., d] * use[..., e] for d in range(count) for e in range(d, count)]
    return np.concatenate([use, np.stack(products, axis=-1)], axis=-1)


@dataclasses.dataclass(frozen=True)
class Settings(ValidatedFields):
    """The parameters of LIF.

    score: the sum of the slowdowns of a server's tasks: "excess" over isolated execution, the "increase" of that by
    the new task, or "slowdown", which counts 1 for every task.
    tie: choice among the servers with the least score: the first by "index", a "random" server, the "least-loaded".
    """

    score: Annotated[str, SCORES] = "excess"
    tie: Annotated[str, TIES] = "index"


def place(instance: Instance, rng: np.random.Generator, features: Features, given: Settings) -> Plan:
    """Return the plan of LIF whose models predict the slowdown from the regressors `features`.

    `given` has the score and the rule for ties.
    """
    models = fit(instance, rng, features, SAMPLES)
    return place_all(
        instance, least_interference(instance, features, models, score=given.score, tie=given.tie, rng=rng)
    )


def looked_at(instance: Instance) -> list[int]:
    """Return the positions of CPU and bandwidth in the instance's pressures; InvalidInput if either is missing."""
    missing = [name for name in CPU_AND_NETWORK if name not in instance.pressures]
    if missing:
        raise InvalidInput(
            f"pressures: {instance.pressures}, expected {' and '.join(CPU_AND_NETWORK)}; add {' and '.join(missing)} "
            "with use_worker and use_ps, or choose another rule"
        )
    return [instance.pressures.index(name) for name in CPU_AND_NETWORK]


def profile(instance: Instance, rng: np.random.Generator, samples: int) -> tuple[FloatArray, FloatArray]:
    """Measure `samples` co-locations per type: (CPU and network use by others, slowdown - 1), types x samples (x 2)."""
    columns = looked_at(instance)
    types = len(instance.types)
    counts = np.zeros((2, types, samples, types), dtype=np.int64)
    for t in range(types):
        for k in range(samples):
            for _ in range(int(rng.integers(0, MOST_TASKS + 1))):
                counts[int(rng.integers(2)), t, k, int(rng.integers(types))] += 1
    use = (counts[WORKER] @ instance.use_worker + counts[PS] @ instance.use_ps) / 1000
    extra = instance.profile(counts[WORKER], counts[PS])
    return use[..., columns], extra


def fit(instance: Instance, rng: np.random.Generator, features: Features, samples: int) -> list[FloatArray]:
    """Fit the coefficients of each type's model of slowdown - 1 by least squares to `samples` measured co-locations."""
    use, slowdown = profile(instance, rng, samples)
    return [np.linalg.lstsq(features(use[t]), slowdown[t], rcond=None)[0] for t in range(len(instance.types))]


def least_interference(
    instance: Instance, features: Features, models: list[FloatArray], *, score: str, tie: str, rng: np.random.Generator
) -> Choose:
    """Return LIF's choice: the server with the least interference score by the fitted models (see the module)."""
    kinds = np.concatenate([instance.run_type, instance.job_type])
    columns = looked_at(instance)
    use_worker, use_ps = instance.use_worker[kinds][:, None, columns], instance.use_ps[kinds][:, None, columns]

    def interference(here: IntArray) -> FloatArray:
        """Sum the predicted slowdowns - 1 of the tasks of each server (kind x job x server)."""
        # Rounded to thousandths, so that the use by others is exactly 0 for an isolated job.
        use = here[WORKER][:, :, None] * use_worker + here[PS][:, :, None] * use_ps  # job x server x pressure
        others = (use.sum(axis=0)[None] - use) / 1000
        tasks = here.sum(axis=0)
        total = np.zeros(here.shape[2])
        for j in np.flatnonzero(tasks.any(axis=1)).tolist():
            total += tasks[j] * np.maximum(features(others[j]) @ models[int(kinds[j])], 0)
        return total

    def choose(room: Room, job: int, kind: int, able: IntArray) -> int:
        here = np.concatenate([room.running[:, :, able], room.tasks[:, :, able]], axis=1)  # kind x job x server
        before = interference(here) if score == "increase" else 0.0
        here[kind, len(instance.run_type) + job] += 1
        scores = interference(here) - before
        if score == "slowdown":
            scores = scores + here.sum(axis=(0, 1))
        tied = able[scores <= scores.min() + SAME]
        if tie == "random":
            return int(rng.choice(tied))
        return least_loaded(room, job, kind, tied) if tie == "least-loaded" else int(tied[0])

    return choose
