"""FIFO on the jobs of Philly and Muri: jobs per CPU second, next to two published simulators.

    python measurements/other_simulators.py [--philly FILE] [--muri FILE] [--limit N]

Prints one JSON document. Philly's jobs run on one node that is large enough for all of them, on one that is not, so
that they queue, and on nodes of eight GPUs; the first 1,000 and 5,000 jobs of Muri's trace 2 run on 64 such nodes. CPU
seconds are those of the run, without reading, and every run passes the replay check. The others are Alibaba's simulator
of its PAI clusters (FIFO on one large node; its jobs wait or do not) and the event loop of Muri's simulator (on nodes):
jobs per CPU second as they were measured once, on jobs of their own and on another day, so factors of two mean nothing.
`--limit`: only so many of Philly's jobs.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from taskgraph_speed import measure

import mlsched

DATA = Path(os.environ.get("MLSCHED_DATA", "../shared")) / "data"
#: How Muri names its columns; times are in milliseconds.
MURI = {"submit": "submit_time:ms", "duration": "duration:ms", "gpus": "num_gpu"}
#: What was measured of others: what ran, jobs, jobs per CPU second.
OTHERS = (
    ("PAI's simulator, one node, no queue", None, 7350),
    ("PAI's simulator, one node, queues", None, 206),
    ("Muri's event loop, nodes", 1000, 1237),
    ("Muri's event loop, nodes", 5000, 569),
)


def runs(philly: Path, muri: Path, limit: int | None) -> list[dict[str, Any]]:
    """Ours, one after the other."""
    found = []
    for label, cluster in (
        ("Philly, one node of 2,472 GPUs", "1x(2472gpu)"),
        ("Philly, one node of 400 GPUs", "1x(400gpu)"),
        ("Philly, 309 nodes of 8", "309x(8gpu)"),
    ):
        load = mlsched.workload(str(philly), cluster=cluster, limit=limit)
        found.append({**measure(load, "fifo"), "label": label})
    for jobs in (1000, 5000):
        load = mlsched.workload(str(muri), read=MURI, cluster="64x(8gpu)", limit=jobs)
        found.append({**measure(load, "fifo"), "label": f"Muri, 64 nodes of 8, {jobs:,} jobs"})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--philly", type=Path, default=DATA / "philly" / "philly.csv.gz")
    parser.add_argument("--muri", type=Path, default=DATA / "muri" / "trace2.csv.gz")
    parser.add_argument("--limit", type=int)
    given = parser.parse_args()
    ours = runs(given.philly, given.muri, given.limit)
    rows = [
        [f"mlsched: {one['label']}", f"{one['jobs']:,}", f"{one['jobs_a_second']:,.0f}", f"{one['mean_waiting']:,.0f}"]
        for one in ours
    ]
    rows += [[label, "-" if jobs is None else f"{jobs:,}", f"{speed:,}", "-"] for label, jobs, speed in OTHERS]
    header = ["FIFO", "jobs", "jobs per CPU second", "mean waiting, minutes"]
    print(json.dumps({"runs": ours, "tables": {"fifo": {"header": header, "rows": rows}}}))


if __name__ == "__main__":
    main()
