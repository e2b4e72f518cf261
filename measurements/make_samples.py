"""Make the shipped sample traces: a few hundred random jobs in the format of each public trace.

    python measurements/make_samples.py

No job of a trace is in its sample trace. Gaps between arrivals and run times are drawn from quantiles of the trace
(rounded; up to the 99th percentile, so that no single job lasts a month), run times for jobs of one GPU and of more
apart; numbers of GPUs, virtual clusters and qualities of service by their shares. Nothing else is alike: no daily
rhythm, no dependence of one job on another.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[1] / "mlsched" / "instances" / "traces" / "samples"
JOBS = 400
LEVELS = (0, 0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)

#: Seconds at LEVELS: between arrivals, and run times of jobs without a GPU, of one and of more.
PHILLY = {
    "gap": (0, 0, 3, 8, 44, 360, 600, 600),
    "one": (1, 50, 120, 1100, 2700, 8500, 19000, 135000),
    "more": (1, 13, 40, 4600, 83000, 210000, 360000, 900000),
}
HELIOS = {
    "gap": (0, 0, 11, 44, 116, 250, 410, 1200),
    "one": (1, 6, 70, 190, 1200, 8400, 33000, 172800),
    "more": (1, 5, 80, 210, 1500, 36000, 91000, 172800),
}
ALIBABA = {
    "gap": (0, 2, 50, 185, 500, 1080, 1660, 3660),
    "none": (33, 94, 150, 490, 1950, 13000, 20000, 28000),
    "one": (4, 48, 180, 650, 2300, 7200, 16000, 136000),
    "more": (22, 36, 170, 660, 6100, 67000, 187000, 1070000),
}


def between(rng: np.random.Generator, quantiles: Sequence[float]) -> int:
    """A number drawn from quantiles at LEVELS, straight in the logarithm between two of them."""
    level = rng.random() * LEVELS[-1]
    return int(np.rint(np.expm1(np.interp(level, LEVELS, np.log1p(quantiles)))))


def of_shares(rng: np.random.Generator, shares: Mapping[str, float]) -> str:
    """A name drawn by its share."""
    level, total = rng.random() * sum(shares.values()), 0.0
    for name, share in shares.items():
        total += share
        if level < total:
            return name
    return name


def run(rng: np.random.Generator, quantiles: Mapping[str, Sequence[float]], gpus: int) -> int:
    """A run time of at least a second."""
    return max(1, between(rng, quantiles["none" if not gpus else "one" if gpus == 1 else "more"]))


def philly() -> str:
    """Philly's filtered CSV."""
    rng = np.random.default_rng([400, 1])
    lines = ["timestamp,duration,num_gpus,gpu_time,cluster"]
    now = datetime(2017, 10, 2, 9)
    gpus = {"1": 0.932, "2": 0.022, "4": 0.023, "8": 0.02, "16": 0.003}
    clusters = {"vc1": 0.5, "vc2": 0.2, "vc3": 0.12, "vc4": 0.09, "vc5": 0.05, "vc6": 0.04}
    for _ in range(JOBS):
        count = int(of_shares(rng, gpus))
        seconds = run(rng, PHILLY, count)
        lines.append(f"{now},{seconds}.0,{count},{seconds * count}.0,{of_shares(rng, clusters)}")
        now += timedelta(seconds=between(rng, PHILLY["gap"]))
    return "\n".join(lines) + "\n"


def helios() -> str:
    """Helios Venus, reduced."""
    rng = np.random.default_rng([400, 2])
    lines, now = ["job_id,arrival_s,service_sec,gpu_count"], 0
    gpus = {"1": 0.52, "2": 0.055, "4": 0.073, "8": 0.25, "16": 0.045, "24": 0.01, "32": 0.03, "64": 0.01}
    for job in range(JOBS):
        count = int(of_shares(rng, gpus))
        lines.append(f"twin-{job},{now}.0,{run(rng, HELIOS, count)}.0,{count}")
        now += between(rng, HELIOS["gap"])
    return "\n".join(lines) + "\n"


def alibaba() -> str:
    """Alibaba's pods of 2023, with shares of GPUs."""
    rng = np.random.default_rng([400, 3])
    columns = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time"
    lines, now = [f"{columns},scheduled_time"], 0
    gpus = {"0": 0.145, "1": 0.845, "2": 0.002, "4": 0.002, "8": 0.006}
    shares = {"1000": 0.58, "810": 0.17, "470": 0.1, "320": 0.05, "650": 0.05, "230": 0.03, "160": 0.02}
    kinds = {"LS": 0.58, "BE": 0.4, "Burstable": 0.02}
    sizes = {"4000,15360": 0.4, "12000,49152": 0.4, "8000,32768": 0.15, "24000,65536": 0.05}
    for job in range(JOBS):
        count = int(of_shares(rng, gpus))
        share = 0 if not count else 1000 if count > 1 else int(of_shares(rng, shares))
        kind, end = of_shares(rng, kinds), now + run(rng, ALIBABA, count)
        lines.append(f"twin-{job},{of_shares(rng, sizes)},{count},{share},,{kind},Succeeded,{now},{end},{now}")
        now += between(rng, ALIBABA["gap"])
    return "\n".join(lines) + "\n"


SAMPLES = {"philly": philly, "helios-venus": helios, "alibaba-v2023": alibaba}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, make in SAMPLES.items():
        path = FOLDER / f"{name}.csv.gz"
        path.write_bytes(gzip.compress(make().encode(), mtime=0))
        print(f"{path.name}: {JOBS} jobs, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
