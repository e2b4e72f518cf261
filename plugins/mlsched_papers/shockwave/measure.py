"""Shockwave and the schedulers of its comparison, on its own trace and on similar drawn workloads."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path

import numpy as np

from mlsched.core.fields import ints
from mlsched.instances.traces.throughputs import Throughputs, read_throughputs
from mlsched_papers.folder import folder_with
from mlsched_papers.runs import simulated
from mlsched_papers.shockwave.paper import GPUS, TABLE, TRACE, WORLD
from mlsched_rounds.simulation import batch_sizes
from mlsched_rounds.simulation.bound import bound
from mlsched_rounds.simulation.files import read_jobs
from mlsched_rounds.simulation.workload import MICRO, PPM, Workload, in_digits

#: GPUs of a job -> its probability (its generator's mix; jobs on eight are left out, as they are on its 32 GPUs).
SIZES = {1: 0.6, 2: 0.3, 4: 0.1}
#: Modes of batch-size changes, equally often.
MODES = ("accordion", "gns")


@dataclasses.dataclass(frozen=True)
class Grid:
    """The size of the experiment.

    Attributes:
        jobs, gpus: Jobs and GPUs of the drawn workloads.
        gap: Mean seconds between their arrivals.
        seeds: Their number.
        solves: Solver seeds on Shockwave's own trace.
    """

    jobs: int = 60
    seeds: int = 8
    solves: int = 8
    gpus: int = 16
    gap: float = 40.0
    folder: str = ""


@dataclasses.dataclass(frozen=True)
class Case:
    """A run: of its trace (drawn: None) or of the drawn workload of that seed. policy "": only the bounds."""

    policy: str
    drawn: int | None = None
    solve: int = 0


@dataclasses.dataclass(frozen=True)
class Metrics:
    """Mean completion time and makespan, s; the worst finish-time ratio, and the percentage of jobs that exceed 1."""

    values: dict[str, float]


def folder_of(given: str | None) -> str:
    """Return the folder of Shockwave's files: as given, or that of $MLSCHED_DATA."""
    return folder_with((TRACE, TABLE), "shockwave", given)


def run_case(case: Case, grid: Grid) -> Metrics:
    """Simulate and check a run; or compute the bounds."""
    workload = traced(grid.folder) if case.drawn is None else drawn(case.drawn, grid)
    if not case.policy:
        return Metrics(bound(workload))
    name = case.policy if case.policy == "shockwave" else f"gavel:policy={case.policy}"
    run, _ = simulated(workload, name, options={**WORLD, "seed": case.solve})
    summary, ratio = run.summary(), finish_time_ratios(workload, run.jobs["completion"])
    return Metrics(
        {
            "mean_completion_s": float(summary["mean_completion_s"]),
            "makespan_s": float(summary["makespan_s"]),
            "worst_ratio": float(ratio.max()),
            "unfair": 100 * float((ratio > 1).mean()),
        }
    )


def finish_time_ratios(workload: Workload, completion: np.ndarray) -> np.ndarray:
    """Return completion time over that with an equal part of the cluster, all jobs of the workload counted.

    This is the static contention of its program, at least 1.
    """
    result = workload.adaptation
    assert result is not None, "these workloads have epochs"
    steps = result.epochs(workload.steps)
    alone = [
        sum(
            int(result.samples[job]) / int(result.batch[job, regime]) / float(result.rates[job, regime, 0])
            for regime in result.beliefs(job, epochs)
        )
        for job, epochs in enumerate(steps)
    ]
    crowd = max(1.0, len(steps) / int(workload.capacity.sum()))
    return np.asarray(completion / (np.array(alone) * crowd))


@functools.cache
def _table(folder: str) -> Throughputs:
    return read_throughputs(Path(folder) / TABLE)


@functools.cache
def traced(folder: str) -> Workload:
    """Return its own trace on its own cluster."""
    return read_jobs(Path(folder) / TRACE, throughputs=_table(folder), cluster={"v100": GPUS})


@functools.lru_cache(maxsize=4)
def drawn(seed: int, grid: Grid) -> Workload:
    """Draw jobs like those of its trace: measured models with Poisson arrivals.

    A job has any model that was measured on its number of GPUs. It runs for .2 to 5 hours at its first batch size (as
    in the trace's name; even in the logarithm, which is ours).
    """
    rng = np.random.default_rng(seed)
    table = _table(grid.folder)
    jobs, rates = [], []
    for gpus in rng.choice(list(SIZES), grid.jobs, p=list(SIZES.values())).tolist():
        able = sorted(
            model
            for (model, size), rate in table.rates.items()
            if size == gpus and rate["v100"] > 0 and batch_sizes.named(model)
        )
        model = able[int(rng.integers(len(able)))]
        rate = table.of(model, gpus)["v100"]
        hours = float(np.exp(rng.uniform(np.log(0.2), np.log(5))))
        mode = MODES[int(rng.integers(len(MODES)))]
        jobs.append(batch_sizes.Job(model, gpus, max(1, round(3600 * hours * rate)), mode))
        rates.append([in_digits(rate)])
    submit = np.cumsum(rng.exponential(grid.gap, grid.jobs))
    digits = np.array(rates, dtype=np.int64)
    return Workload(
        types=("v100",),
        capacity=ints([grid.gpus]),
        submit=np.rint((submit - submit[0]) * MICRO).astype(np.int64),
        steps=ints(job.steps for job in jobs),
        gpus=ints(job.gpus for job in jobs),
        rate=digits[:, :, 0],
        fine=digits[:, :, 1],
        weight=np.full(grid.jobs, PPM),
        models=tuple(job.model for job in jobs),
        source=f"drawn like Shockwave's trace: seed {seed}",
        adaptation=batch_sizes.adaptation(jobs, table, ("v100",)),
    )
