"""The log of an operator, written as a cluster would have: `python examples/logs/operators_log.py [FOLDER]`.

Eight weeks of jobs on 64 nodes of 8 GPUs in two partitions: sizes, running times, hours of the day and users as on GPU
clusters, time limits as users state them. When jobs started is what EASY backfilling by these limits does, so the log
is one that can have been. Writes jobs.csv, nodes.csv, and more_nodes.csv with eight nodes more.
"""

import csv
import datetime
import sys
from pathlib import Path

import numpy as np

import mlsched

WEEKS, SEED = 8, 7
PARTITIONS = {"a100": 40, "v100": 24}
SIZES = {1: 0.56, 2: 0.12, 4: 0.12, 8: 0.14, 16: 0.04, 32: 0.02}
MONDAY = datetime.datetime(2024, 1, 1)


def submits(rng: np.random.Generator, count: int) -> list[float]:
    """Seconds after the first Monday: few at night and at weekends."""
    hours = np.arange(WEEKS * 168)
    weight = (1 + 0.9 * np.sin((hours % 24 - 9) * np.pi / 12)) * np.where(hours // 24 % 7 < 5, 1.0, 0.55)
    hour = rng.choice(hours, count, p=weight / weight.sum())
    return sorted((3600 * (hour + rng.random(count))).tolist())


def jobs(rng: np.random.Generator, count: int) -> list[dict[str, object]]:
    """The jobs without their starts."""
    gpus = rng.choice(list(SIZES), count, p=list(SIZES.values()))
    hours = np.clip(4.7 * np.exp(1.5 * rng.standard_normal(count)), 0.01, 96)
    limit = np.minimum(np.ceil(hours * rng.uniform(1.1, 4, count)), 120)
    user = np.minimum(rng.zipf(1.5, count), 30)
    partition = rng.choice(list(PARTITIONS), count, p=[0.65, 0.35])
    rows = zip(
        submits(rng, count), hours.tolist(), limit.tolist(), gpus.tolist(), user.tolist(), partition, strict=True
    )
    return [
        {
            "job_id": 1000 + number,
            "user": f"user{who:02d}",
            "partition": part,
            "submit": MONDAY + datetime.timedelta(seconds=int(at)),
            "run_s": max(30, int(3600 * length)),
            "num_gpus": size,
            "time_limit_h": int(most),
        }
        for number, (at, length, most, size, who, part) in enumerate(rows)
    ]


def write(path: Path, rows: list[dict[str, object]]) -> None:
    with path.open("w", newline="") as out:
        table = csv.DictWriter(out, list(rows[0]))
        table.writeheader()
        table.writerows(rows)


def main(folder: Path) -> None:
    nodes = [
        {"name": f"{part}-{k:02d}", "gpus": 8, "partition": part} for part, n in PARTITIONS.items() for k in range(n)
    ]
    write(folder / "nodes.csv", nodes)
    more = [{"name": f"a100-{PARTITIONS['a100'] + k:02d}", "gpus": 8, "partition": "a100"} for k in range(8)]
    write(folder / "more_nodes.csv", nodes + more)
    rows = jobs(np.random.default_rng(SEED), 13_000)
    write(folder / "jobs.csv", rows)
    log = mlsched.workload(folder / "jobs.csv", cluster=str(folder / "nodes.csv"), tick=1)
    table = mlsched.simulate(log, "easy-backfill").table()
    first = rows[0]["submit"]
    for row, start, end in zip(rows, table["start_s"].tolist(), table["end_s"].tolist(), strict=True):
        del row["run_s"]
        row["start"] = first + datetime.timedelta(seconds=int(start))
        row["end"] = first + datetime.timedelta(seconds=int(end))
    write(folder / "jobs.csv", rows)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
