"""Measured interference: Gavel's throughputs of pairs of jobs that share a GPU (Narayanan et al., OSDI 2020).

File: {gpu: {"('ResNet-18 (batch size 16)', 1)": {"null": steps/s alone, other key: [steps/s of this, of the other]}}};
the second item of a key is the number of GPUs that the job spans. Another job's worker slows a job down by alone /
together - 1. A throughput of 0 means that the pair does not fit into memory: such types are `apart`. A "server" here is
one GPU with slots for two workers; jobs are all-reduce (without PSs). The network cost between GPUs comes from Gavel's
measurements on one machine and on two (`<gpu>_unconsolidated`), if present.
"""

from __future__ import annotations

import dataclasses
import os
from typing import Annotated, Any, Literal

import numpy as np

from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidFile, InvalidInput, shorten
from mlsched.core.fields import IntArray, ints
from mlsched.core.params import Number, Range
from mlsched.core.safe_open import gunzipped, read_bytes
from mlsched.instances.placement.generate import isolated_speed
from mlsched.instances.placement.instance import MOST_SLOWDOWN, Instance
from mlsched.instances.traces.throughputs import key_of, rate_of, throughputs_of

#: Workers that one GPU hosts (Gavel measured only pairs).
SLOTS = 2


@dataclasses.dataclass(frozen=True)
class Measured:
    """Types with measured interference.

    coverage: numbers of types and of ordered pairs, by name: all, measured, and others.
    """

    types: tuple[str, ...]
    sigma: IntArray
    apart: IntArray
    rho_worker: IntArray
    coverage: dict[str, int]

    def fields(self, gpus: int) -> dict[str, Any]:
        """Return the type and server fields of an instance or workload, on `gpus` servers of SLOTS slots."""
        kinds = len(self.types)
        empty = np.zeros((kinds, 0), dtype=np.int64)
        return {
            "resources": ("slots",),
            "types": self.types,
            "pressures": (),
            "server_capacity": np.full((gpus, 1), SLOTS, dtype=np.int64),
            "sigma_worker": self.sigma,
            "sigma_ps": np.zeros_like(self.sigma),
            "apart": self.apart,
            "use_worker": empty,
            "use_ps": empty,
            "linear": empty,
            "quadratic": np.zeros((kinds, 0, 0), dtype=np.int64),
            "rho_ps": np.zeros(kinds, dtype=np.int64),
            "rho_worker": self.rho_worker,
        }


@validate_arguments
def read_gavel(
    path: str | os.PathLike[str],
    *,
    gpu: str = "v100",
    scale_factor: int = 1,
    missing: Literal["apart", "mean"] = "apart",
) -> Measured:
    """Read the interference in a throughputs file of Gavel (plain or gzip).

    Types without a throughput of their own are left out. A job that ran faster in company (noise) counts as not slowed
    down.

    Args:
        path: The file.
        gpu: "k80", "p100" or "v100".
        scale_factor: GPUs that a job spans in the measurements.
        missing: Pairs without a measurement are kept "apart", or take the "mean" of the measured pairs.
    """
    data = throughputs_of(path, gunzipped(path, read_bytes(path)))
    if gpu not in data:
        raise InvalidInput(f"gpu: {gpu!r}, expected one of {', '.join(data)}")
    table = {key_of(path, text): entry for text, entry in data[gpu].items()}
    alone = {name: rate_of(path, entry.get("null", 0)) for (name, n), entry in table.items() if n == scale_factor}
    types = tuple(sorted(name for name, rate in alone.items() if rate > 0))
    if not types:
        raise InvalidInput(f"scale_factor = {scale_factor}: such job types are missing in {path} for {gpu}")
    position = {name: t for t, name in enumerate(types)}
    sigma = np.full((len(types), len(types)), -1, dtype=np.int64)
    apart = np.zeros_like(sigma)
    faster = 0
    for (name, n), entry in table.items():
        if n != scale_factor or name not in position:
            continue
        for text, rates in entry.items():
            if text == "null":
                continue
            other, m = key_of(path, text)
            if m != scale_factor or other not in position:
                continue
            if not isinstance(rates, list) or len(rates) != 2:
                raise InvalidFile(f"{path}: {shorten(text)}: expected a list of two rates")
            mine, theirs = (rate_of(path, rate) for rate in rates)
            if min(mine, theirs) <= 0:
                apart[position[name], position[other]] = apart[position[other], position[name]] = 1
                sigma[position[name], position[other]] = 0
                continue
            slower = alone[name] / mine - 1
            faster += slower < 0
            sigma[position[name], position[other]] = round(min(MOST_SLOWDOWN, 1e6 * max(0.0, slower)))
    is_measured = sigma >= 0
    coverage = {
        "types": len(types),
        "pairs": sigma.size,
        "measured": int(is_measured.sum()),
        "does not fit": int((is_measured & (apart == 1)).sum()),
        "faster in company": int(faster),
    }
    if missing == "apart":
        apart = np.maximum(apart, (~is_measured | ~is_measured.T).astype(np.int64))
        sigma[~is_measured] = 0
    else:
        fits = is_measured & (apart == 0)
        sigma[~is_measured] = round(float(sigma[fits].mean())) if fits.any() else 0
    return Measured(types, sigma, apart, _network_slowdown(path, data, gpu, types), coverage)


@validate_arguments
def generate_measured(
    rng: np.random.Generator,
    measured: Measured,
    *,
    servers: Number = 10,
    jobs: Annotated[int, Range(0)] = 6,
    contention: Annotated[float, Range(0, 100)] = 0.8,
    most_workers: Annotated[int, Range(1, 1000)] = 3,
    longest: int = 6,
) -> Instance:
    """Draw an instance on GPUs with two slots each.

    Args:
        rng: Source of randomness.
        measured: Types with measured interference, from `read_gavel`.
        servers: Number of GPUs.
        jobs: Number of new jobs.
        contention: Running jobs are drawn until running and new workers together demand this share of all slots. A
            drawn job without enough free GPUs is left out, but its demand counts.
        most_workers: Most workers of a job.
        longest: Longest job, in intervals.
    """
    kinds = len(measured.types)
    workers = rng.integers(1, most_workers + 1, jobs)
    job_type = rng.integers(0, kinds, jobs)
    free = np.full((servers, 1), SLOTS, dtype=np.int64)
    demand, rows, run_type = int(workers.sum()), [], []
    hosted: list[list[int]] = [[] for _ in range(servers)]
    while demand < contention * servers * SLOTS:
        kind, count = int(rng.integers(kinds)), int(rng.integers(1, most_workers + 1))
        able = [s for s in range(servers) if free[s, 0] and not any(measured.apart[kind, k] for k in hosted[s])]
        demand += count
        if len(able) < count:
            continue
        row = np.zeros(servers, dtype=np.int64)
        row[rng.choice(able, count, replace=False)] = 1
        for s in np.flatnonzero(row).tolist():
            hosted[s].append(kind)
        free[:, 0] -= row
        rows.append(row)
        run_type.append(kind)
    lengths = rng.uniform(1, longest, len(run_type) + jobs)
    speeds = [isolated_speed(100, float(length)) for length in lengths]
    runs = len(run_type)
    return Instance(
        **measured.fields(servers),
        server_free=free,
        run_type=ints(run_type),
        run_speed=ints(speeds[:runs]),
        run_workers=np.array(rows, dtype=np.int64).reshape(runs, servers),
        run_ps=np.zeros((runs, servers), dtype=np.int64),
        job_type=job_type.astype(np.int64),
        job_speed=ints(speeds[runs:]),
        job_workers=workers.astype(np.int64),
        job_ps=np.zeros(jobs, dtype=np.int64),
        worker_demand=np.ones((jobs, 1), dtype=np.int64),
        ps_demand=np.zeros((jobs, 1), dtype=np.int64),
    )


def _network_slowdown(path: Any, data: dict[str, Any], gpu: str, types: tuple[str, ...]) -> IntArray:
    """Return rho_worker of each type: GPUs of one machine against GPUs of two; 0 without a measurement."""
    near = {key_of(path, text): entry for text, entry in data[gpu].items()}
    far = {key_of(path, text): entry for text, entry in data.get(f"{gpu}_unconsolidated", {}).items()}
    slowdowns = []
    for name in types:
        rates = [rate_of(path, side.get((name, 2), {}).get("null", 0)) for side in (near, far)]
        slower = rates[0] / rates[1] - 1 if min(rates) > 0 else 0.0
        slowdowns.append(round(min(MOST_SLOWDOWN, 1e6 * max(0.0, slower))))
    return ints(slowdowns)
