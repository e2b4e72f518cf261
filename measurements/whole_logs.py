"""CPU seconds and memory of complete logs, one process per run: load, run, summary and replay.

    python measurements/whole_logs.py [--limit N] [--only TEXT] [--root CHECKOUT] [--spare]

Prints one JSON document with a row for each log, cluster and rule; every run passes the replay check. `rows` is a hash
of the log of the run: with `--root`, another checkout of mlsched runs the same, and the hashes must be equal. `--only`
keeps the rows whose label contains a text. Times are also given as multiples of the calibration load, since CPU seconds
drift with the load of the machine. `--spare` leaves out the rules that take minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from _calibration import cpu_seconds, load

DATA = Path(os.environ.get("MLSCHED_DATA", "../shared")) / "data"
#: Label, file, and the cluster.
LOGS = (
    ("Philly, 50 nodes", "philly/philly.csv.gz", "50x(8gpu)"),
    ("Philly, 309 nodes", "philly/philly.csv.gz", "309x(8gpu)"),
    ("Helios Venus", "helios/helios_venus_gpu_jobs.csv.gz", "133x(8gpu)"),
    ("Alibaba 2023", "alibaba_gpu_v2023/openb_pod_list_default.csv.gz", "openb_node_list_gpu_node.csv"),
)
RULES = ("fifo", "best-effort-fifo", "srpt", "easy-backfill", "srpt:preempt=true", "las")
#: On a crowded cluster it takes minutes: it pauses jobs a million times.
SLOW = ("tiresias",)
#: What a process of its own does; it is told the root of a checkout, a file, a cluster, a rule and a limit.
PROGRAM = """
import hashlib, json, resource, sys, time, warnings
root, file, cluster, rule, limit = sys.argv[1:]
sys.path.insert(0, root)
warnings.simplefilter("ignore")
import mlsched
mlsched.simulate(mlsched.workload(file, cluster=cluster, limit=20), rule).summary()  # modules are imported
times = [time.process_time()]
def lap():
    times.append(time.process_time())
jobs = mlsched.workload(file, cluster=cluster, **({"limit": int(limit)} if int(limit) else {}))
lap()
run = mlsched.simulate(jobs, rule)
lap()
run.summary()
lap()
assert run.violations() == []
lap()
names = ("load", "run", "summary", "replay")
found = {name: round(end - begin, 3) for name, begin, end in zip(names, times, times[1:])}
rows = hashlib.sha256(repr((run.log.rows, run.log.places, run.decisions)).encode()).hexdigest()[:12]
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print(json.dumps({**found, "jobs": len(jobs.arrival), "decisions": run.decisions, "MB": memory, "rows": rows}))
"""


def measured(root: str, label: str, file: str, cluster: str, rule: str, limit: int, unit: float) -> dict[str, Any]:
    """One run."""
    path = DATA / file
    nodes = str(path.parent / cluster) if cluster.endswith(".csv") else cluster
    command = [sys.executable, "-c", PROGRAM, root, str(path), nodes, rule, str(limit)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    whole = found["load"] + found["run"] + found["replay"]
    return {"label": label, "rule": rule, **found, "whole": round(whole, 2), "x load": round(whole / unit, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int, default=0, help="only so many jobs")
    parser.add_argument("--only", default="", help="rows whose label and rule contain this")
    parser.add_argument("--root", default=str(Path(__file__).parent.parent), help="the checkout that runs")
    parser.add_argument("--spare", action="store_true", help="leave out rules that take minutes")
    arguments = parser.parse_args()
    unit = cpu_seconds(load, 3)
    rows = []
    for label, file, cluster in LOGS:
        for rule in RULES + (() if arguments.spare else SLOW):
            if arguments.only in f"{label} {rule}":
                rows.append(measured(arguments.root, label, file, cluster, rule, arguments.limit, unit))
                print(json.dumps(rows[-1]), file=sys.stderr)
    header = ["log, cluster and rule", "load", "run", "replay", "together", "peak MiB"]
    columns = ("load", "run", "replay", "whole", "MB")
    lines = [[f"{row['label']}, {row['rule']}", *(f"{row[name]:.3g}" for name in columns)] for row in rows]
    table = {"name": "cpu", "header": header, "rows": lines}
    print(json.dumps({"calibration": round(unit, 3), "runs": rows, "tables": [table]}, indent=1))


if __name__ == "__main__":
    main()
