"""Section II-B's case studies (Figures 1 to 5), computed from the presets by the judge of the placement problem.

The interference table is synthetic and was made to match the paper's text (`instances.placement.models`). The network
penalties are the same group's measured speeds. These figures therefore show the presets; they do not measure
interference. Tables, figures and claims share the results: each is computed once.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Sequence

import numpy as np

from mlsched import api
from mlsched.instances.placement import Instance, Plan, judge
from mlsched.instances.placement.generate import worker_demand
from mlsched.instances.placement.models import MODELS, PS, RESOURCES, SERVER, interference

NAMES = tuple(model.name for model in MODELS)
INDEX = {name: k for k, name in enumerate(NAMES)}
#: Speed of an isolated job: fine enough that rounding is invisible.
ALONE = 10**9
#: Case study 3: policies and the paper's names for them.
SCHEMES = {"load balancing": "load-balancing", "bin packing": "bin-packing", "standalone": "standalone"}
#: The first job trains CTC, the second one of these models.
FIRST, SECONDS = "ctc", ("vgg16", "resnext110")
#: Fig. 5: co-located CTC jobs.
MOST_MATES = 4


def jobs_on(names: Sequence[str], servers: int, kind: str, capacity: Sequence[int] = SERVER) -> Instance:
    """Return the problem of placing jobs of one worker and one PS each on empty servers."""
    types = [INDEX[name] for name in names]
    one = np.ones(len(names), dtype=np.int64)
    none, table = np.zeros(0, dtype=np.int64), np.zeros((0, servers), dtype=np.int64)
    room = np.tile(np.array(capacity, dtype=np.int64), (servers, 1))
    return Instance(
        resources=RESOURCES,
        server_capacity=room,
        server_free=room,
        **interference(kind),
        run_type=none,
        run_speed=none,
        run_workers=table,
        run_ps=table,
        job_type=np.array(types),
        job_speed=ALONE * one,
        job_workers=one,
        job_ps=one,
        worker_demand=np.array([worker_demand(t) for t in types]),
        ps_demand=np.array([PS] * len(types)),
    )


def speeds(instance: Instance, plan: Plan) -> list[float]:
    """Return the speed of every job relative to the isolated job with its PS beside it."""
    return [speed / ALONE for speed in judge.speeds(instance, plan)]


def together(names: Sequence[str], kind: str) -> list[float]:
    """Return relative speeds of jobs that share one server, whatever its capacity."""
    instance = jobs_on(names, 1, kind, tuple(100 * c for c in SERVER))
    here = np.ones((len(names), 1), dtype=np.int64)
    return speeds(instance, Plan(workers=here, ps=here))


@functools.cache
def packed(kind: str) -> dict[str, float]:
    """Return Fig. 1: slowdown in percent of six jobs that bin packing puts on three servers, in preset order."""
    instance = jobs_on(NAMES, len(NAMES), kind)
    plan = _placed(instance, "bin-packing")
    return dict(zip(NAMES, (100 * (1 - s) for s in speeds(instance, plan)), strict=True))


def _placed(instance: Instance, rule: str) -> Plan:
    """Return the plan of a heuristic."""
    plan = api.solve(instance, rule).plan
    assert isinstance(plan, Plan)
    return plan


@functools.cache
def mean_of_pairings(kind: str) -> dict[str, float]:
    """Return Fig. 1 for all packings: each job's mean slowdown in percent over the five others."""
    result: dict[str, list[float]] = {name: [] for name in NAMES}
    for pair in itertools.combinations(NAMES, 2):
        for name, speed in zip(pair, together(pair, kind), strict=True):
            result[name].append(100 * (1 - speed))
    return {name: float(np.mean(values)) for name, values in result.items()}


@functools.cache
def pair_levels(kind: str) -> dict[tuple[str, str], float]:
    """Return Fig. 2: interference level of two models, the sum of their slowdowns in percent; both orders."""
    result = {}
    for a, b in itertools.combinations(NAMES, 2):
        result[a, b] = result[b, a] = sum(100 * (1 - s) for s in together((a, b), kind))
    return result


@dataclasses.dataclass(frozen=True)
class Scheme:
    """Case study 3, one policy: tasks (worker and PS counts of each job by server), relative speeds of both jobs."""

    tasks: tuple[tuple[tuple[int, int], ...], ...]
    speeds: tuple[float, ...]


@functools.cache
def scheme(policy: str, second: str, kind: str) -> Scheme:
    """Return Figs. 3 and 4: CTC and a second job on two servers of four tasks each, placed by a policy."""
    instance = jobs_on((FIRST, second), 2, kind)
    plan = _placed(instance, policy)
    tasks = tuple(tuple((int(plan.workers[j, s]), int(plan.ps[j, s])) for s in range(2)) for j in range(2))
    return Scheme(tasks, tuple(speeds(instance, plan)))


@functools.cache
def with_mates(name: str, kind: str) -> list[float]:
    """Return Fig. 5: relative speed of a job beside 0, 1, ... CTC jobs on one server, whatever its capacity."""
    return [together((name, *[FIRST] * mates), kind)[0] for mates in range(MOST_MATES + 1)]
