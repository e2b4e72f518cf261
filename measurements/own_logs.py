"""Operators' logs: the cost of reading a million rows, and the distance of the log's own cluster from the bound.

    python measurements/own_logs.py reading [--rows 1000000]
    python measurements/own_logs.py as-logged [--limit JOBS]

Prints one JSON document. `reading`: CPU seconds and megabytes of its own process that reads generated logs of so
many rows: an own CSV of 13 columns with dates, sacct's output of 14 columns, the Standard Workload Format, and an
original Philly log. Targets: 30 CPU s and 2 GB for a million rows. `as-logged`: Alibaba's pods of 2023 (`default` and
`gpushare100`, their `scheduled_time`) on all 1,523 nodes, in ticks of a second: the log itself beside eight rules, each
with its gap to the bound. Every run passes its replay check, and the log its lint.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import mlsched
from mlsched.core.clock import cpu_time

DATA = Path(os.environ.get("MLSCHED_DATA", "../shared")) / "data"
RULES = ("fifo", "best-effort-fifo", "easy-backfill", "srpt", "srpt:size=time", "drf", "fair", "gandiva")
READER = """
import resource, sys, time
from mlsched.instances.traces import read_trace
began = time.process_time()
trace = read_trace(sys.argv[1])
spent, memory = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(len(trace), trace.account.rows, spent, memory)
"""


def jobs(rows: int) -> Iterator[tuple[int, datetime, datetime, datetime, int, random.Random]]:
    """Number, submit, start and end, GPUs of generated jobs, and what further columns are drawn with."""
    rng, now = random.Random(0), datetime(2024, 1, 1)
    for number in range(rows):
        now += timedelta(seconds=rng.randrange(30))
        start = now + timedelta(seconds=rng.randrange(3600))
        yield number, now, start, start + timedelta(seconds=rng.randrange(1, 20_000)), rng.choice((1, 1, 2, 4, 8)), rng


def own(path: Path, rows: int) -> None:
    """A CSV of an operator."""
    with path.open("w") as out:
        out.write("job_id,user,account,partition,submit_time,start_time,end_time,num_gpus,num_cpus,mem_gib,")
        out.write("time_limit,priority,state\n")
        for number, submit, start, end, gpus, rng in jobs(rows):
            who = f"u{rng.randrange(300)},a{rng.randrange(30)},p{rng.randrange(5)}"
            size = f"{gpus},{rng.randrange(1, 64)},{rng.randrange(8, 512)}"
            out.write(f"{number},{who},{submit},{start},{end},{size},1-00:00:00,{rng.randrange(10)},COMPLETED\n")


def sacct(path: Path, rows: int) -> None:
    """What sacct prints, without steps."""
    with path.open("w") as out:
        out.write(
            "JobID|User|Account|Partition|QOS|Priority|Submit|Start|End|ElapsedRaw|Timelimit|AllocTRES|State|NodeList\n"
        )
        for number, submit, start, end, gpus, rng in jobs(rows):
            who = f"u{rng.randrange(300)}|a{rng.randrange(30)}|p{rng.randrange(5)}|normal|{rng.randrange(1000)}"
            tres = f"cpu={rng.randrange(1, 64)},gres/gpu={gpus},mem={rng.randrange(8, 512)}G,node=1"
            times = "|".join(moment.isoformat() for moment in (submit, start, end))
            length = int((end - start).total_seconds())
            out.write(f"{number}|{who}|{times}|{length}|1-00:00:00|{tres}|COMPLETED|n{rng.randrange(200)}\n")


def swf(path: Path, rows: int) -> None:
    """The Standard Workload Format."""
    first = datetime(2024, 1, 1)
    with path.open("w") as out:
        for number, submit, start, end, gpus, rng in jobs(rows):
            at, wait, run = ((b - a).total_seconds() for a, b in ((first, submit), (submit, start), (start, end)))
            out.write(f"{number} {at:.0f} {wait:.0f} {run:.0f} {gpus} -1 -1 {gpus} 86400 -1 1 {rng.randrange(300)} ")
            out.write(f"{rng.randrange(30)} -1 1 {rng.randrange(5)} -1 -1\n")


def philly(path: Path, rows: int) -> None:
    """An original Philly log."""
    with path.open("w") as out:
        out.write("[")
        for number, submit, start, end, gpus, rng in jobs(rows):
            detail = [{"ip": f"m{rng.randrange(400)}", "gpus": [f"gpu{k}" for k in range(gpus)]}]
            attempt = {"start_time": str(start), "end_time": str(end), "detail": detail}
            job = {"status": "Pass", "vc": f"v{rng.randrange(15)}", "jobid": f"application_{number}"}
            job |= {"attempts": [attempt], "submitted_time": str(submit), "user": f"u{rng.randrange(300)}"}
            out.write((",\n" if number else "") + json.dumps(job))
        out.write("]\n")


FORMATS: dict[str, Callable[[Path, int], None]] = {
    "own CSV, 13 columns": own,
    "sacct, 14 columns": sacct,
    "Standard Workload Format": swf,
    "Philly, original": philly,
}


def reading(rows: int) -> dict[str, Any]:
    """A row for each format."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name, write in FORMATS.items():
            path = Path(folder) / "log"
            write(path, rows)
            done = subprocess.run([sys.executable, "-c", READER, str(path)], capture_output=True, text=True, check=True)
            kept, read, seconds, megabytes = (float(word) for word in done.stdout.split())
            size = path.stat().st_size / 2**20
            found.append([name, int(read), int(kept), round(size), round(seconds, 1), round(megabytes)])
            print(found[-1], file=sys.stderr, flush=True)
    header = ["log", "rows", "jobs", "MB of the file", "CPU s", "MB of the process"]
    return {"tables": [{"name": "reading", "header": header, "rows": found}]}


def as_logged(limit: int | None) -> dict[str, Any]:
    """A table for each list of pods: a row for the log and each rule."""
    folder, found, tables = DATA / "alibaba_gpu_v2023", {}, []
    nodes = str(folder / "openb_node_list_all_node.csv")
    for name in ("default", "gpushare100"):
        log = folder / f"openb_pod_list_{name}.csv.gz"
        workload = mlsched.workload(log, cluster=nodes, tick=1, limit=limit)
        rows = []
        for policy in ("as-logged", *RULES):
            began = cpu_time()
            run = mlsched.simulate(workload, policy)
            assert not run.violations(), (policy, run.violations())
            assert not run.lint(), (policy, run.lint())
            whole = run.summary()
            rows.append(
                [
                    policy,
                    round(whole["mean_jct"], 1),
                    round(whole["mean_waiting"], 1),
                    round(100 * float(run.gaps["total_jct"]), 3),
                    round(cpu_time() - began, 1),
                ]
            )
            print(name, rows[-1], file=sys.stderr, flush=True)
        found[name] = {"jobs": len(workload.arrival), "bound": run.bound["total_jct"], "gap": rows[0][3]}
        header = ["policy", "mean JCT, s", "mean waiting, s", "total_jct above its bound, %", "CPU s"]
        tables.append({"name": name, "header": header, "rows": rows})
    return {"tables": tables, **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("reading", "as-logged"))
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--limit", type=int)
    given = parser.parse_args()
    print(json.dumps(reading(given.rows) if given.what == "reading" else as_logged(given.limit)))


if __name__ == "__main__":
    main()
