"""Gavel's traces, tables and prints for tests: small ones by hand, and those of $MLSCHED_DATA."""

from __future__ import annotations

import functools
import gzip
import json
import tarfile
from pathlib import Path

from mlsched_rounds.simulation.files import read_jobs
from mlsched_rounds.simulation.workload import Workload

#: Traces of the reference that are the single-GPU lines of another.
SINGLE = {"mmf_single59.trace": "max_min_fairness.trace", "mkspan_single71.trace": "minimize_makespan.trace"}
#: Names of policies in Gavel's program -> ours, where they differ.
OURS = {
    "max_min_fairness": "max_min",
    "max_min_fairness_perf": "max_min_perf",
    "max_min_fairness_water_filling_perf": "water_filling_perf",
    "max_sum_throughput_perf": "max_sum",
}
TABLE = "model,gpus,fast,slow\nvision,1,10,5\nvision,2,20,0\ntext,1,4,4\n"
LOG = "model,submit,gpus,steps\nvision,0,1,7200\ntext,10,1,1440\nvision,400,2,7201\n"


def small(folder: Path, *, log: str = LOG, table: str = TABLE, cluster: str = "fast=2,slow=1") -> Workload:
    """A workload by hand."""
    (folder / "log.csv").write_text(log)
    (folder / "table.csv").write_text(table)
    return read_jobs(folder / "log.csv", throughputs=folder / "table.csv", cluster=cluster)


@functools.cache
def prints(data: Path) -> list[dict]:
    """The runs of Gavel's own simulator that ended; to be read only."""
    runs = json.loads((data / "gavel/reference/gavel_reference.json").read_text())["runs"]
    return [run for run in runs if run["rc"] == 0]


def logged(data: Path, run: dict) -> list | None:
    """What the policy gave at each call: [time, {job: shares in order of the alphabet}]; None where it is not kept."""
    name = f"{run['trace'].removesuffix('.trace')}_{run['cluster'].replace(':', '-')}_{run['policy']}.json.gz"
    path = data / "gavel/reference/allocations" / name
    return json.loads(gzip.decompress(path.read_bytes())) if path.exists() and run["seed"] == 0 else None


def workload_of(data: Path, run: dict, folder: Path, packing: bool = False) -> Workload:
    """The workload of a run of the reference; its trace is unpacked to `folder`. packing: with the rates of pairs."""
    key = data, run["trace"], run["cluster"], packing
    if key not in _READ:
        _READ[key] = _workload(data, run, folder, packing)
    return _READ[key]


#: (data, trace, cluster, packing) -> what was read: many runs are of the same workload.
_READ: dict[tuple[Path, str, str, bool], Workload] = {}


def _workload(data: Path, run: dict, folder: Path, packing: bool) -> Workload:
    name = SINGLE.get(run["trace"], run["trace"])
    if not (folder / name).exists():
        with tarfile.open(data / "gavel/physical_cluster_traces.tar.gz") as archive:
            archive.extract(next(m for m in archive if m.name.endswith(name)), folder, filter="data")
    return read_jobs(
        folder / name,
        throughputs=data / "gavel/simulation_throughputs.json.gz",
        cluster=run["cluster"],
        gpus=1 if run["trace"] in SINGLE else 0,
        packing=packing,
    )
