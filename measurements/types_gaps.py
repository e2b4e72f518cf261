"""Gaps of rules on nodes of three GPU types, with and without knowledge of rates.

    python measurements/types_gaps.py [--jobs N] [--load X] [--seed N]

Jobs of Gavel's models (70 % of one GPU, 10 % of two, 15 % of four, 5 % of eight) that take between half a minute and
nearly three hours on a V100 (log-uniform), at random times, on 5 nodes of 8 GPUs of each type. Rates are Gavel's
(`simulation_throughputs.json.gz` in MLSCHED_DATA). Load: the work on V100s over all GPUs, those of other types counting
as they run these jobs in the mean. Prints one JSON document: a table where pauses cost 30 s, one where they are free.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import mlsched
from mlsched.core.registry import registry
from mlsched.instances.traces.throughputs import read_throughputs

TABLE = Path(os.environ.get("MLSCHED_DATA", "../shared")) / "data/gavel/simulation_throughputs.json.gz"
CLUSTER = "5x(8gpu:v100)+5x(8gpu:p100)+5x(8gpu:k80)"
SIZES, SHARES = (1, 2, 4, 8), (0.7, 0.1, 0.15, 0.05)
HEADER = ["policy", "sees rates", "mean completion, min", "total_jct above its bound, %", "makespan above its bound, %"]
RULES = (
    *("fifo", "best-effort-fifo", "easy-backfill", "srpt", "fastest-first:order=arrival", "fastest-first"),
    *("earliest-finish:depth=20", "earliest-finish:order=shortest,depth=20"),
    *("srpt:preempt=true", "fastest-first:preempt=true"),
    *("gavel:policy=max_min_perf,reset=0", "gavel:policy=fluid_mpc,reset=0,first=120", "round-by-round:rule=sia"),
)


def log_of(jobs: int, load: float, seed: int) -> str:
    """The rows of a log, as CSV."""
    rng, table = np.random.default_rng(seed), read_throughputs(TABLE)
    models = {g: [name for (name, gpus), rates in table.rates.items() if gpus == g and rates["v100"]] for g in SIZES}
    of_job = [(int(g), models[int(g)][rng.integers(len(models[int(g)]))]) for g in rng.choice(SIZES, jobs, p=SHARES)]
    seconds = np.maximum(30, 10 ** rng.uniform(1.5, 4, jobs)).astype(int)
    shares = np.mean([[table.of(name, g)[m] / table.of(name, g)["v100"] for m in table.types] for g, name in of_job])
    work = sum(g * s for (g, _), s in zip(of_job, seconds.tolist(), strict=True))
    submit = np.sort(rng.uniform(0, work / (120 * shares * load), jobs)).astype(int)
    rows = [f'{a},{s},{g},"{m}"' for a, s, (g, m) in zip(submit - submit[0], seconds, of_job, strict=True)]
    return "\n".join(["submit,duration,gpus,model", *rows]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=300)
    parser.add_argument("--load", type=float, default=1.2)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    tables = []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        path.write_text(log_of(given.jobs, given.load, given.seed))
        for name, cost in (("priced", 30), ("free", 0)):
            options = {"throughputs": str(TABLE), "measured_on": "v100", "pause_cost": cost}
            load = mlsched.workload(str(path), cluster=CLUSTER, **options)
            tables.append({"name": name, "header": HEADER, "rows": [row_of(load, rule) for rule in RULES]})
    print(json.dumps({"tables": tables}))


def row_of(load: Any, rule: str) -> list[Any]:
    """A rule's figures; its run passes the replay."""
    run = mlsched.simulate(load, rule)
    assert run.violations() == []
    sees = registry().solver("taskgraph", rule)[0].information == "profiled"
    gaps = {name: round(100 * float(share), 1) for name, share in run.gaps.items()}
    mean = round(float(run.summary()["mean_jct"]), 1)
    return [rule, "yes" if sees else "no", mean, gaps["total_jct"], gaps["makespan"]]


if __name__ == "__main__":
    main()
