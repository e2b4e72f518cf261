"""Random placement instances with a parameter for contention.

Jobs follow Section VI-B: a random model of Table I, 1 to 3 workers and PSs. Running jobs were placed task by task, half
of them by load balancing and half by packing (the two rules that Harmony explores with). The free resources are
therefore as fragmented as in a cluster that has run for a while. A job's isolated length is uniform in [1, `longest`]
intervals: with W workers it trains c = 4 W epochs per interval (data sets are downscaled, as in the paper) of e =
round(c * length).
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from mlsched.core.arguments import validate_arguments
from mlsched.core.fields import UNLIMITED, IntArray, ints
from mlsched.core.params import Count, CountOrNone, Range, Share, check_size
from mlsched.instances.placement.instance import Instance
from mlsched.instances.placement.models import KINDS, MODELS, PS, RESOURCES, SERVER, WORKER, interference

#: Epochs that a single worker trains in an interval.
EPOCHS = 4


@validate_arguments
def generate(
    rng: np.random.Generator,
    *,
    servers: Count = 6,
    jobs: CountOrNone = 5,
    contention: Annotated[float, Range(0, 100)] = 0.8,
    model: Annotated[str, KINDS] = "pairwise",
    sigma_scale: Annotated[float, Range(0, 100)] = 1.0,
    most_tasks: Annotated[int, Range(1, 1000)] = 3,
    all_reduce: Share = 0.0,
    longest: Count = 6,
    most_jobs: int = UNLIMITED,
    most_new: int = UNLIMITED,
) -> Instance:
    """Draw an instance on servers of the paper's testbed.

    Args:
        rng: Source of randomness.
        servers: Number of servers.
        jobs: Number of new jobs.
        contention: Running jobs are added until running and new tasks together demand this share of all CPUs. 1 is
            everything; above 1, some job must wait.
        model: "pairwise", "linear" or "quadratic" interference.
        sigma_scale: Factor on the interference.
        most_tasks: Most workers and most PSs of a job.
        all_reduce: Share of jobs without PSs.
        longest: Longest job, in intervals.
        most_jobs: The cap N.
        most_new: The cap N'.
    """
    check_size("jobs x servers", (jobs + contention * servers * SERVER[0] / WORKER[0]) * servers)
    draw = _Jobs(rng, most_tasks, all_reduce, longest)
    new = [draw.draw_job() for _ in range(jobs)]
    free = np.tile(np.array(SERVER, dtype=np.int64), (servers, 1))
    demand_cores = sum(WORKER[0] * job["workers"] + PS[0] * job["ps"] for job in new)
    running: list[dict[str, Any]] = []
    # A cap on concurrent jobs leaves room for at least one new job; otherwise the plan would be trivial.
    while demand_cores < contention * servers * SERVER[0] and len(running) + 1 < most_jobs:
        job = draw.draw_job()
        if not _place_running_job(rng, free, job):
            break
        demand_cores += WORKER[0] * job["workers"] + PS[0] * job["ps"]
        running.append(job)
    return Instance(
        resources=RESOURCES,
        server_capacity=np.tile(np.array(SERVER, dtype=np.int64), (servers, 1)),
        server_free=free,
        **interference(model, sigma_scale),
        run_type=ints(job["type"] for job in running),
        run_speed=ints(job["speed"] for job in running),
        run_workers=_integer_table([job["on"][0] for job in running], servers),
        run_ps=_integer_table([job["on"][1] for job in running], servers),
        job_type=ints(job["type"] for job in new),
        job_speed=ints(job["speed"] for job in new),
        job_workers=ints(job["workers"] for job in new),
        job_ps=ints(job["ps"] for job in new),
        worker_demand=_integer_table([worker_demand(job["type"]) for job in new], len(RESOURCES)),
        ps_demand=_integer_table([PS for _ in new], len(RESOURCES)),
        most_jobs=most_jobs,
        most_new=most_new,
    )


def worker_demand(kind: int) -> tuple[int, ...]:
    """Return the demand of one worker of a model: cores, GPUs, GB."""
    return (WORKER[0], MODELS[kind].gpus, WORKER[2])


def isolated_speed(epochs: int, length: float) -> int:
    """Return K = floor(10^6 c / e) of a job with `epochs` c per interval and an isolated `length` in intervals."""
    return 10**6 * epochs // max(1, round(epochs * length))


class _Jobs:
    """Draws job variants (Section VI-B)."""

    def __init__(self, rng: np.random.Generator, most: int, all_reduce: float, longest: int) -> None:
        self.rng, self.most, self.all_reduce, self.longest = rng, most, all_reduce, longest

    def draw_job(self) -> dict[str, Any]:
        kind = int(self.rng.integers(len(MODELS)))
        workers, ps = (int(n) for n in self.rng.integers(1, self.most + 1, 2))
        if self.rng.uniform() < self.all_reduce:
            ps = 0
        speed = isolated_speed(EPOCHS * workers, float(self.rng.uniform(1, self.longest)))
        return {"type": kind, "workers": workers, "ps": ps, "speed": speed}


def _place_running_job(rng: np.random.Generator, free: IntArray, job: dict[str, Any]) -> bool:
    """Place a running job task by task, packing or balancing, and reduce `free`; False if it does not fit."""
    remaining, packing = free.copy(), bool(rng.integers(2))
    on = np.zeros((2, len(free)), dtype=np.int64)
    demands = [(0, worker_demand(job["type"]))] * job["workers"] + [(1, PS)] * job["ps"]
    for kind, demand in demands:
        able = np.flatnonzero((remaining >= demand).all(axis=1))
        if able.size == 0:
            return False
        load = (remaining[able] / SERVER).sum(axis=1) * (1 if packing else -1)
        best = able[load <= load.min() + 1e-9]
        server = int(best[int(rng.integers(len(best)))])
        remaining[server] -= demand
        on[kind, server] += 1
    free[:] = remaining
    job["on"] = on
    return True


def _integer_table(rows: list[Any], width: int) -> IntArray:
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)
