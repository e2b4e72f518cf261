"""Harmony's workloads (Section VI-B): random job variants of the six models, arriving in batches by three patterns.

A batch is submitted at the beginning of its interval and decided at once. The paper prints no lengths of jobs. Here the
isolated length of a job is uniform in [0.5, 1.5] of a mean that `load` sets: the share of all CPUs that the jobs would
use without any slowdown. The real load is that times the slowdown, which depends on the policy, plus the rest of the
interval in which a job is done. With the default it stays below 1, at nine tenths for load balancing. (At 3 jobs per
interval of 4 tasks each, the testbed's 24 task slots have room for a job during 2 intervals at most.) All patterns and
interpretations of one seed draw the same jobs; only the scale of their lengths differs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import numpy as np

from mlsched.core.aliases import Array
from mlsched.core.arguments import ValidatedFields, validate_arguments
from mlsched.core.fields import FloatArray, IntArray
from mlsched.core.params import Count, Positive, Range, Share, flatten_groups
from mlsched.instances.placement.generate import EPOCHS, isolated_speed, worker_demand
from mlsched.instances.placement.models import KINDS, MODELS, PS, RESOURCES, SERVER, WORKER, interference
from mlsched.simulation.placement.workload import INTERVAL, Workload

#: Intervals of a day.
DAY = 72
#: Spread of the isolated lengths, around their mean.
SHORTEST, LONGEST = 0.5, 1.5
#: Default offered load.
LOAD = 0.3


@dataclasses.dataclass(frozen=True)
class Jobs(ValidatedFields):
    """Parameters of all patterns.

    Attributes:
        load: Offered load, see the module.
        model: "pairwise", "linear" or "quadratic" interference, times `sigma_scale`.
        most_tasks: Most workers and most PSs of a job.
        all_reduce: Share of jobs without PSs.
    """

    jobs: Count = 150
    seed: int = 0
    servers: Annotated[int, Range(1, 10**5)] = 6
    load: Positive = LOAD
    model: Annotated[str, KINDS] = "pairwise"
    sigma_scale: Annotated[float, Range(0, 100)] = 1.0
    most_tasks: Annotated[int, Range(1, 1000)] = 3
    all_reduce: Share = 0.0


@flatten_groups
@validate_arguments
def uniform(*, given: Jobs, mean: Annotated[float, Range(0.5)] = 3.0) -> Workload:
    """Draw the paper's default pattern: a uniform random number of jobs in every interval, 0 to twice the mean.

    Args:
        given: Parameters of `Jobs`.
        mean: Jobs per interval (the paper's 3).
    """
    sizes = _arrival_stream(given).integers(0, round(2 * mean) + 1, 1 + 4 * given.jobs)
    return _build_workload(given, _submission_times(sizes, given.jobs), mean, f"synthetic:uniform mean={mean:g}")


@flatten_groups
@validate_arguments
def poisson(*, given: Jobs, mean: Positive = 2.0) -> Workload:
    """Draw pattern (2) of Fig. 8: a Poisson number of jobs in every interval. Parameters as of `uniform`."""
    submit = _submission_counts(_arrival_stream(given), np.full(DAY, mean), given.jobs, 0.0)
    return _build_workload(given, submit, mean, f"synthetic:poisson mean={mean:g}")


@flatten_groups
@validate_arguments
def google(
    *, given: Jobs, mean: Positive = 2.0, daily: Share = 0.5, burst: Annotated[float, Range(0, 100)] = 1.0
) -> Workload:
    """Draw a substitute for pattern (3) of Fig. 8, Google's cluster trace downscaled.

    That trace is unavailable, and the substitute is not fitted to it. Such arrivals have a daily cycle and bursts: the
    rate is mean x (1 + daily x sine of the time of day) x a gamma variable of mean 1 and variance `burst`, drawn in
    every interval. Other parameters as of `uniform`.
    """
    rng = _arrival_stream(given)
    rates = mean * (1 + daily * np.sin(2 * np.pi * (np.arange(DAY) / DAY + rng.uniform())))
    submit = _submission_counts(rng, rates, given.jobs, burst)
    return _build_workload(
        given, submit, mean, f"synthetic:google (a stand-in) mean={mean:g} daily={daily:g} burst={burst:g}"
    )


#: Name -> maker of a workload.
SOURCES: Mapping[str, Callable[..., Workload]] = {"uniform": uniform, "poisson": poisson, "google": google}


@validate_arguments
def variants(
    rng: np.random.Generator, count: int, *, most_tasks: Annotated[int, Range(1, 1000)] = 3, all_reduce: Share = 0.0
) -> tuple[IntArray, IntArray, IntArray, Array]:
    """Draw type, workers, PSs and relative length (mean 1) of `count` random job variants."""
    kind = rng.integers(len(MODELS), size=count)
    workers, ps = rng.integers(1, most_tasks + 1, size=(2, count))
    ps[rng.uniform(size=count) < all_reduce] = 0
    return kind, workers, ps, rng.uniform(SHORTEST, LONGEST, count)


def jobs_of(kind: IntArray, workers: IntArray, ps: IntArray, lengths: FloatArray) -> dict[str, Any]:
    """Return the workload fields of jobs with these isolated lengths in intervals.

    Epochs are integers (see `generate`).
    """
    epochs = (EPOCHS * workers).tolist()
    return {
        "job_type": kind,
        "job_speed": np.array([isolated_speed(c, float(x)) for c, x in zip(epochs, lengths, strict=True)]),
        "job_workers": workers,
        "job_ps": ps,
        "worker_demand": np.array([worker_demand(k) for k in kind.tolist()], dtype=np.int64).reshape(-1, len(SERVER)),
        "ps_demand": np.tile(np.array(PS, dtype=np.int64), (len(kind), 1)),
    }


def mean_length(load: float, capacity: float, rate: float, cores: float) -> float:
    """Return the isolated intervals of a job at an offered load, for `rate` jobs of `cores` each per interval."""
    return load * capacity / (rate * cores)


def _build_workload(params: Jobs, submit: IntArray, rate: float, settings: str) -> Workload:
    """Draw the jobs for these submission times, `rate` per interval; `settings` describes the arrivals."""
    rng = np.random.default_rng([params.seed, params.jobs])
    kind, workers, ps, relative = variants(rng, params.jobs, most_tasks=params.most_tasks, all_reduce=params.all_reduce)
    cores = (params.most_tasks + 1) / 2 * (WORKER[0] + PS[0] * (1 - params.all_reduce))
    mean = mean_length(params.load, params.servers * SERVER[0], rate, cores)
    return Workload(
        resources=RESOURCES,
        server_capacity=np.tile(np.array(SERVER, dtype=np.int64), (params.servers, 1)),
        **interference(params.model, params.sigma_scale),
        submit=submit,
        **jobs_of(kind, workers, ps, relative * mean),
        source=f"{settings} jobs={params.jobs} seed={params.seed} servers={params.servers} load={params.load:g} "
        f"model={params.model} sigma_scale={params.sigma_scale:g} most_tasks={params.most_tasks} "
        f"all_reduce={params.all_reduce:g}; mean isolated length {mean:.3g} intervals",
    )


def _arrival_stream(params: Jobs) -> np.random.Generator:
    """Return the random stream of the arrivals, separate from that of the jobs."""
    return np.random.default_rng([params.seed, params.jobs, 1])


def _submission_counts(rng: np.random.Generator, rates: FloatArray, jobs: int, burst: float) -> IntArray:
    """Draw submissions: a Poisson number of jobs per interval, at rates that repeat daily, times gamma bursts."""
    sizes: list[IntArray] = []
    while sum(int(s.sum()) for s in sizes) < jobs:
        factor = rng.gamma(1 / burst, burst, len(rates)) if burst else 1.0
        sizes.append(rng.poisson(rates * factor))
    return _submission_times(np.concatenate(sizes), jobs)


def _submission_times(sizes: IntArray, jobs: int) -> IntArray:
    """Return the first `jobs` submission times, s, of batches of these sizes, one per interval; the first at 0."""
    interval = np.repeat(np.arange(len(sizes)), sizes)[:jobs]
    return np.asarray((interval - interval[0]) * INTERVAL, dtype=np.int64)
