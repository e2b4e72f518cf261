"""Figure 4 of MLFS at the paper's size, run by run, so that an interrupted measurement resumes.

    python measurements/mlfs_papers_size.py [--loads 2 3] [--only POLICY ...] [--keep DIR] [--limit SECONDS] [--report]

What `mlsched reproduce mlfs --papers-size --seeds 1 --load 2 --load 3` runs where a placed job holds its nodes, a
scheduler at a load at a time; of other interpretations, and of preemptive SRPT and the lower bound, nothing is run. DIR
keeps a file for each: a run that is there is not run again. POLICY: solvers as that experiment names them (mlf-h,
slaq:epoch=600, ...; default: all, of which those that ran quickest at lower loads come first). A run that takes more
than --limit CPU seconds is ended, which its file records. Prints one JSON document with the report of finished runs;
--report runs nothing before it. Schedulers that are not there, or were given up, are named among its interpretations.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import resource
import signal
import sys
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from mlsched_papers import mlfs
from mlsched_papers.mlfs import grid as g
from mlsched_papers.mlfs.measure import Metrics, run_case

#: Order of the runs, from those that take least.
QUICK_FIRST = (
    *("fifo", "srtf", "fair", "mlf-h", "gandiva", "graphene", "mirhoseini-rl", "mlf-rl", "tiresias"),
    *("mlfs-h", "mlfs", "optimus", "slaq", "drf", "hypersched"),
)


def file(case: g.Case, keep: Path) -> Path:
    """Where a run is kept."""
    return keep / f"{rule_of(case)}-{case.x:g}.json"


def rule_of(case: g.Case) -> str:
    """Which rule, or policy, it is."""
    return case.policy.text.partition(":")[0]


def carry_out(case: g.Case, grid: g.Grid, path: Path) -> None:
    """One run, in a process of its own."""
    began = time.process_time()
    values = run_case(case, grid).values
    path.write_text(json.dumps({"values": values, "cpu": time.process_time() - began}), encoding="utf-8")


def limited(case: g.Case, grid: g.Grid, path: Path, limit: int) -> None:
    """A run that the operating system ends after `limit` CPU seconds."""
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    carry_out(case, grid, path)


def run(case: g.Case, grid: g.Grid, path: Path, limit: int) -> None:
    """Carry a run out, or note that it took too long."""
    process = get_context("spawn").Process(target=limited, args=(case, grid, path, limit))
    process.start()
    process.join()
    if process.exitcode in (-signal.SIGXCPU, -signal.SIGKILL):
        path.write_text(json.dumps({"values": None, "cpu": limit}), encoding="utf-8")
    elif process.exitcode:
        raise SystemExit(f"{case.policy.text} at x = {case.x:g}: the run failed")


def document(cases: list[g.Case], grid: g.Grid, keep: Path) -> dict[str, Any]:
    """The experiment's report of what is there, and what is not."""
    found = {}
    for case in cases:
        if file(case, keep).exists():
            found[case] = json.loads(file(case, keep).read_text(encoding="utf-8"))
    metrics = {case: Metrics(kept["values"]) for case, kept in found.items() if kept["values"] is not None}
    if not metrics:
        raise SystemExit(f"{keep}: no run is there")
    report = mlfs.report(grid, metrics, f"{mlfs.TITLE} (Figure 4 at its size)")
    readings = list(report.interpretations)
    for case in cases:
        name = f"{case.policy.label} at x = {case.x:g}"
        if case not in found:
            readings.append(f"Not run: {name}.")
        elif case not in metrics:
            readings.append(f"Given up after {found[case]['cpu']:.0f} CPU seconds: {name}.")
    seconds = {f"{c.policy.text}, x = {c.x:g}": kept["cpu"] for c, kept in found.items() if kept["cpu"]}
    return dataclasses.replace(report, interpretations=tuple(readings)).to_json() | {"cpu_seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loads", type=float, nargs="+", default=[2.0, 3.0])
    parser.add_argument("--only", nargs="+", choices=QUICK_FIRST, default=list(QUICK_FIRST), metavar="POLICY")
    parser.add_argument("--keep", type=Path, default=Path("mlfs-papers-size"))
    parser.add_argument("--limit", type=int, default=3600)
    parser.add_argument("--report", action="store_true")
    arguments = parser.parse_args()
    grid = g.at_loads(dataclasses.replace(g.PAPERS_SIZE, seeds=1), tuple(arguments.loads))
    cases = [case for case in g.cases(grid) if case.policy.under in ("", g.HELD) and rule_of(case) in QUICK_FIRST]
    arguments.keep.mkdir(parents=True, exist_ok=True)
    order = {text: position for position, text in enumerate(QUICK_FIRST)}
    asked = [case for case in cases if rule_of(case) in arguments.only]
    for case in [] if arguments.report else sorted(asked, key=lambda c: (c.x, order[rule_of(c)])):
        path = file(case, arguments.keep)
        if not path.exists():
            run(case, grid, path, arguments.limit)
        print(f"{case.policy.text} at x = {case.x:g}: {path.read_text(encoding='utf-8')}", file=sys.stderr, flush=True)
    print(json.dumps(document(cases, grid, arguments.keep)))


if __name__ == "__main__":
    main()
