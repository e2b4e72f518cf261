"""Gavel's policies on its own traces, and on drawn workloads from its generator."""

from __future__ import annotations

import dataclasses
import functools
import tarfile
import tempfile
from pathlib import Path
from typing import Literal

import numpy as np

from mlsched.core.aliases import Data
from mlsched.core.fields import ints
from mlsched.instances.traces.throughputs import Throughputs, read_throughputs
from mlsched_papers.folder import folder_with
from mlsched_papers.gavel.paper import CLUSTER
from mlsched_papers.runs import simulated
from mlsched_rounds.simulation.files import parse_types, read_jobs
from mlsched_rounds.simulation.workload import MICRO, PPM, Workload, in_digits

#: Gavel's files in the folder of the experiment.
TABLE, ARCHIVE = "simulation_throughputs.json.gz", "physical_cluster_traces.tar.gz"
#: GPUs of a job -> its probability, and decades of minutes of its duration on a V100 (its `utils.generate_job`).
GPUS = {1: 0.7, 2: 0.1, 4: 0.15, 8: 0.05}
SHORT, LONG, LONG_SHARE = (1.5, 3.0), (3.0, 4.0), 0.2

Kind = Literal["continuous", "static"]
INTERPRETATIONS: dict[str, Data] = {
    "as printed": {},
    "as meant": {"fifo": "drawn", "unaware": "average", "oversized": "excluded", "gaps": "idle", "remainder": "run"},
}


@dataclasses.dataclass(frozen=True)
class Grid:
    """The size of the experiment.

    Attributes:
        jobs, seeds: Jobs and seeds of the drawn workloads.
        gap: Mean seconds between arrivals of the continuous ones.
    """

    jobs: int = 60
    seeds: int = 8
    gap: float = 1500.0
    folder: str = ""


@dataclasses.dataclass(frozen=True)
class Case:
    """A run: of a drawn workload, or (trace) of one of Gavel's own. policy "": only the bounds."""

    policy: str
    interpretation: str = "as printed"
    kind: Kind = "continuous"
    seed: int = 0
    trace: str = ""


@dataclasses.dataclass(frozen=True)
class Metrics:
    """Mean completion time and makespan, s."""

    values: dict[str, float | None]


def folder_of(given: str | None) -> str:
    """Return the folder of Gavel's files: as given, or that of $MLSCHED_DATA."""
    return folder_with((TABLE, ARCHIVE), "gavel", given)


def run_case(case: Case, grid: Grid) -> Metrics:
    """Simulate and check a run; or compute the bounds."""
    workload = traced(case.trace, grid.folder) if case.trace else drawn(case.seed, case.kind, grid)
    if not case.policy:
        from mlsched_rounds.simulation.bound import bound

        return Metrics(dict(bound(workload)))
    run, _ = simulated(workload, f"gavel:policy={case.policy}", options=INTERPRETATIONS[case.interpretation])
    summary = run.summary()
    names = ("mean_completion_s", "makespan_s", "dropped", "utilisation")
    return Metrics({name: summary[name] for name in names})


@functools.cache
def _table(folder: str) -> Throughputs:
    return read_throughputs(Path(folder) / TABLE)


@functools.cache
def traced(name: str, folder: str) -> Workload:
    """Return one of Gavel's own traces on the paper's cluster."""
    with tempfile.TemporaryDirectory() as place, tarfile.open(Path(folder) / ARCHIVE) as archive:
        archive.extract(name, place, filter="data")
        return read_jobs(Path(place) / name, throughputs=_table(folder), cluster=CLUSTER)


@functools.lru_cache(maxsize=4)
def drawn(seed: int, kind: Kind, grid: Grid) -> Workload:
    """Draw a workload as Gavel's generator does: any model that runs on V100s, four fifths of the jobs short."""
    rng = np.random.default_rng([seed, kind == "static"])
    table, capacity = _table(grid.folder), parse_types(CLUSTER)
    gpus = rng.choice(list(GPUS), grid.jobs, p=list(GPUS.values())).tolist()
    rates, steps, models = [], [], []
    for count in gpus:
        able = sorted(model for (model, size), rate in table.rates.items() if size == count and rate["v100"] > 0)
        model = able[int(rng.integers(len(able)))]
        minutes = 10 ** rng.uniform(*(LONG if rng.random() < LONG_SHARE else SHORT))
        rate = table.of(model, count)
        models.append(model)
        rates.append([in_digits(rate[name]) for name in capacity])
        steps.append(max(1, int(60 * minutes * rate["v100"])))
    gaps = rng.exponential(grid.gap, grid.jobs) if kind == "continuous" else np.zeros(grid.jobs)
    submit = np.cumsum(gaps) - gaps[0]
    digits = np.array(rates, dtype=np.int64)
    return Workload(
        types=tuple(capacity),
        capacity=ints(capacity.values()),
        submit=np.rint(submit * MICRO).astype(np.int64),
        steps=ints(steps),
        gpus=ints(gpus),
        rate=digits[:, :, 0],
        fine=digits[:, :, 1],
        weight=np.full(grid.jobs, PPM),
        models=tuple(models),
        source=f"drawn as Gavel does: {kind}, seed {seed}",
    )
