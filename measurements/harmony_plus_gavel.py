"""Harmony-plus with arriving jobs under interference measured by Gavel on GPUs shared by two jobs.

    python measurements/harmony_plus_gavel.py --gavel FILE [--gpu v100] [--workloads 4] [--jobs 60] [--load 0.6]

FILE is Gavel's oracle_throughputs.json.gz. Ten GPUs with two slots each; jobs of 1 to 3 workers of any measured type,
0 to 6 of them in an interval; lengths as in `synthetic:uniform`, for an offered load of `--load`. Types that do not fit
into memory together never share a GPU. harmony-plus has the network that comes with mlsched and a speed model of a
history of such GPUs (as an operator would have); it reads no coefficient.

Prints one JSON document with a table: average completion time in intervals; by how many percent harmony-plus is below
each policy (paired by workload); and of what exact placement at every interval takes off that policy's time, the share
that harmony-plus takes off (a ratio of sums). 95 % intervals by bootstrap over workloads. Every run passes its replay
check.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from harmony_plus import gavel_draw, with_history
from harmony_plus_online import bootstrap

import mlsched
from mlsched.instances.placement.gavel import SLOTS, Measured, read_gavel
from mlsched.instances.placement.generate import isolated_speed
from mlsched.simulation.placement.synthetic import LONGEST, SHORTEST, mean_length
from mlsched.simulation.placement.workload import INTERVAL, Workload
from mlsched_papers.harmony.grid import FULL
from mlsched_papers.harmony.measure import Exact

GPUS, RATE, MOST_WORKERS = 10, 3.0, 3
RULES = ("uniform-random", "load-balancing", "tetris", "bin-packing", "standalone")
EXACT = "exact"
#: Policies over which exact placement has a gain to be shared; standalone waits rather than share a GPU.
GAINED = RULES[:-1]
#: Work of a job, in the unit of `isolated_speed`.
EPOCHS = 100


def workload(measured: Measured, seed: int, jobs: int, load: float) -> Workload:
    """Jobs of measured types on GPUs with two slots."""
    rng, kinds = np.random.default_rng([seed, jobs]), len(measured.types)
    sizes = rng.integers(0, round(2 * RATE) + 1, 4 * jobs)
    interval = np.repeat(np.arange(len(sizes)), sizes)[:jobs]
    mean = mean_length(load, GPUS * SLOTS, RATE, (1 + MOST_WORKERS) / 2)
    lengths = mean * rng.uniform(SHORTEST, LONGEST, jobs)
    return Workload(
        **measured.fields(GPUS),
        submit=(interval - interval[0]) * INTERVAL,
        job_type=rng.integers(0, kinds, jobs),
        job_speed=np.array([isolated_speed(EPOCHS, float(length)) for length in lengths]),
        job_workers=rng.integers(1, MOST_WORKERS + 1, jobs),
        job_ps=np.zeros(jobs, dtype=np.int64),
        worker_demand=np.ones((jobs, 1), dtype=np.int64),
        ps_demand=np.zeros((jobs, 1), dtype=np.int64),
        source=f"Gavel's measured pairs, seed={seed} jobs={jobs} load={load:g}",
    )


def completions(policy: str, loads: list[Workload]) -> Any:
    """Average completion time on each workload, intervals."""
    started, found = time.process_time(), []
    for seed, load in enumerate(loads):
        run = mlsched.simulate(load, Exact("cp-sat", FULL.work) if policy == EXACT else policy, seed=seed)
        if wrong := run.violations():
            raise SystemExit(f"{policy}: {wrong[0]}")
        found.append(float(run.summary()["average_completion"]))
    print(f"{policy}: {time.process_time() - started:.0f} CPU s", file=sys.stderr, flush=True)
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gavel", required=True)
    parser.add_argument("--gpu", default="v100")
    parser.add_argument("--workloads", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=60)
    parser.add_argument("--load", type=float, default=0.6)
    given = parser.parse_args()
    measured = read_gavel(given.gavel, gpu=given.gpu)
    loads = [workload(measured, seed, given.jobs, given.load) for seed in range(given.workloads)]
    with tempfile.TemporaryDirectory() as folder:
        weights, error = with_history(gavel_draw(given.gavel, given.gpu), Path(folder) / "gavel.safetensors")
        plus = completions(f"harmony-plus:weights={weights}", loads)
    found = {rule: completions(rule, loads) for rule in (*RULES, EXACT)}
    rows = [["harmony-plus", bootstrap(plus[:, None], lambda m: m[0]), "", ""]]
    for rule, times in found.items():
        below = bootstrap((100 * (1 - plus / times))[:, None], lambda m: m[0])
        columns = np.stack([times, plus, found[EXACT]], axis=1)
        share = "" if rule not in GAINED else bootstrap(columns, lambda m: 100 * (m[0] - m[1]) / (m[0] - m[2]))
        rows.append([rule, bootstrap(times[:, None], lambda m: m[0]), below, share])
    header = [
        "policy",
        "completion [intervals]",
        "harmony-plus below it [%]",
        "share of exact placement's gain over it [%]",
    ]
    table = {"name": "gavel", "header": header, "rows": rows}
    print(json.dumps({"tables": [table], "speed_model_error": error, "coverage": measured.coverage}, indent=1))


if __name__ == "__main__":
    main()
