"""Least Interference First: a regression of slowdown on the CPU and network use of others (Harmony Section VI-B).

Harmony's words: "it builds a linear or non-linear interference model by assuming that task slowdown is a function of
CPU and bandwidth usage ... a least-square solver ... When placing a worker/PS, the algorithm calculates an interference
score (i.e., performance slowdown of all workers/PSs on a server) for each server and selects the server with the least
interference." Its sources are TRACON (Chiang et al., TPDS 2014) and Bu et al. (HPDC 2013), which do the same for
virtual machines: fit a regression to profiles, then put each task where the least interference is predicted.

Profiling: each type is run beside random sets of tasks of random types on one server; the slowdown is measured (here:
the instance's own interference, without its network terms) and the others' use of CPU and network recorded. Least
squares then gives one model per type. LIF declares `information="profiled"`: these measurements (`Instance.profile`)
are all that it is handed of the instance's interference.

What "slowdown of all workers/PSs on a server" adds up to is the option `score`:

- "excess", the default: the sum over all tasks on the server, the new one among them, of the predicted time over the
  time alone, less 1. Harmony measures slowdown against standalone execution (Section II-B: 0 for a job alone, and "the
  sum of the slowdown percentages of the two jobs" for two), so a task that meets no other job must add nothing;
- "increase": by how much that sum grows through the new task, so that interference which is there anyway is no
  argument against a server. Not what the text says; it is what one would want it to say;
- "slowdown": the sum of predicted time over time alone, 1 for a task without any interference. The score of a server
  then counts its tasks, and the rule is close to load balancing.

Servers often tie (all empty ones have excess 0), and the paper does not say which of them is taken; that is the option
`tie`: "index", the default, takes the first, which keeps the tasks of a job together as long as there is room;
"random" any; "least-loaded" the one with the least load, as load balancing counts it. The last two scatter a job.

Simplifications: jobs in the order of the instance, tasks in that of `_room`; the coefficients are fitted without an
intercept (nobody there, no slowdown) and predictions below 0 count as 0; a task is slowed down by tasks of other jobs
alone, as in the instance; what a job's other servers and a remote PS do to it is not modelled, as in the paper; the
slowdown that is summed is T / T_alone - 1, where Section II-B prints 1 - T_alone / T.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from mlsched.core.arguments import ValidatedFields
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import IntArray
from mlsched.heuristics.placement._room import PS, WORKER, Choose, Room, place_all
from mlsched.heuristics.placement.load_balancing import least_loaded
from mlsched.instances.placement import Instance, Plan

Features = Callable[[Any], Any]

#: What the models look at, by the names that `Instance.pressures` gives.
CPU_AND_NETWORK = ("cpu", "bandwidth")
SCORES = ("excess", "increase", "slowdown")
TIES = ("index", "random", "least-loaded")
#: Scores are sums of fitted numbers: what differs by less is the same.
SAME = 1e-9
#: Co-locations per type from which the coefficients are fitted, and the most tasks beside the profiled one.
SAMPLES, MOST_TASKS = 200, 6


def linear(use: Any) -> Any:
    """Regressors of LIF-Line: the uses."""
    return use


def quadratic(use: Any) -> Any:
    """Regressors of LIF-Quad: the uses, their squares and products."""
    count = use.shape[-1]
    products = [use[..., d] * use[..., e] for d in range(count) for e in range(d, count)]
    return np.concatenate([use, np.stack(products, axis=-1)], axis=-1)


@dataclasses.dataclass(frozen=True)
class Settings(ValidatedFields):
    """The parameters of LIF.

    score: what the slowdowns of a server's tasks add up to: "excess" over running alone,
    the "increase" of that by the new task, or "slowdown", which counts 1 for every task. tie: which of the servers with
    the least score: the first by "index", a "random" one, the "least-loaded".
    """

    score: Annotated[str, SCORES] = "excess"
    tie: Annotated[str, TIES] = "index"


def place(instance: Instance, rng: np.random.Generator, features: Features, given: Settings) -> Plan:
    """The plan of LIF with a model of some regressors."""
    models = fit(instance, rng, features, SAMPLES)
    return place_all(
        instance, least_interference(instance, features, models, score=given.score, tie=given.tie, rng=rng)
    )


def looked_at(instance: Instance) -> list[int]:
    """Where CPU and bandwidth are among the instance's pressures; InvalidInput when one of them is missing."""
    missing = [name for name in CPU_AND_NETWORK if name not in instance.pressures]
    if missing:
        raise InvalidInput(
            f"pressures: {instance.pressures}, expected {' and '.join(CPU_AND_NETWORK)}; add {' and '.join(missing)} "
            "with use_worker and use_ps, or choose another rule"
        )
    return [instance.pressures.index(name) for name in CPU_AND_NETWORK]


def profile(instance: Instance, rng: np.random.Generator, samples: int) -> tuple[Any, Any]:
    """(CPU and network use by others, slowdown - 1) of `samples` co-locations per type: types x samples (x 2)."""
    chosen = looked_at(instance)
    types = len(instance.types)
    counts = np.zeros((2, types, samples, types), dtype=np.int64)
    for t in range(types):
        for k in range(samples):
            for _ in range(int(rng.integers(0, MOST_TASKS + 1))):
                counts[int(rng.integers(2)), t, k, int(rng.integers(types))] += 1
    use = (counts[WORKER] @ instance.use_worker + counts[PS] @ instance.use_ps) / 1000
    extra = instance.profile(counts[WORKER], counts[PS])
    return use[..., chosen], extra


def fit(instance: Instance, rng: np.random.Generator, features: Features, samples: int) -> list[Any]:
    """Coefficients of each type's model of slowdown - 1, by least squares."""
    use, measured = profile(instance, rng, samples)
    return [np.linalg.lstsq(features(use[t]), measured[t], rcond=None)[0] for t in range(len(instance.types))]


def least_interference(
    instance: Instance, features: Features, models: list[Any], *, score: str, tie: str, rng: np.random.Generator
) -> Choose:
    """LIF's choice: the server with the least interference score by the fitted models; see the module's docstring."""
    kinds = np.concatenate([instance.run_type, instance.job_type])
    chosen = looked_at(instance)
    use_worker, use_ps = instance.use_worker[kinds][:, None, chosen], instance.use_ps[kinds][:, None, chosen]

    def interference(here: IntArray) -> Any:
        """Sum of the predicted slowdowns - 1 of the tasks of each server (kind x job x server)."""
        # Whole thousandths, so that a job that is alone finds exactly nothing used by others.
        used = here[WORKER][:, :, None] * use_worker + here[PS][:, :, None] * use_ps  # job x server x pressure
        others = (used.sum(axis=0)[None] - used) / 1000
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
