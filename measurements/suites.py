"""Content and cost of the shipped suites: calls, proven optima and CPU seconds.

    python measurements/suites.py exact scale [--folder FOLDER] [--json]

--folder: the published instances of `outside`. Every suite runs once, in this process, as `mlsched bench SUITE` does.
CPU seconds are also given as a multiple of a calibration load, which depends less on the machine.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from mlsched.benchmark.calibration import calibrated
from mlsched.benchmark.outside import outside
from mlsched.benchmark.reference import failures
from mlsched.benchmark.row import Row
from mlsched.benchmark.runner import run_suite
from mlsched.benchmark.suites import SUITES
from mlsched.benchmark.table import verification_of
from mlsched.core.clock import cpu_time

HEADER = ["suite", "instances", "questions", "proven optima", "by two engines", "calls", "CPU s", "calibration loads"]


def one(name: str, folder: Path | None) -> dict[str, float]:
    """The numbers of one suite; `wrong` counts failed calls and contradictions.

    beyond_ms: CPU milliseconds per call beyond the solvers' own: drawing and judging, storing, first calls of a
    process, which load solvers, and what second engines confirm.
    """
    begun = cpu_time()
    rows = run_suite(outside(folder) if name == "outside" and folder is not None else SUITES[name])
    spent = cpu_time() - begun
    found = verification_of(rows)
    calls = {_call(row): row.cpu_seconds or 0.0 for row in rows}
    return {
        "instances": found.instances,
        "questions": found.questions,
        "optima": found.optima,
        "confirmed": found.confirmed + found.certified,
        "calls": len(calls),
        "beyond_ms": 1000 * (spent - sum(calls.values())) / len(calls),
        "cut_by_wall": found.wall_limited,
        "wrong": len(failures(rows)),
        "cpu_seconds": spent,
        "loads": spent / calibrated(),
    }


def _call(row: Row) -> tuple[str, str, str]:
    """An exact solver is called for each objective, a rule once for all."""
    return (row.instance_hash, row.solver, row.objective if row.kind == "exact" else "")


def line(name: str, found: dict[str, float]) -> list[str]:
    """A suite's line of the table."""
    counts = [f"{found[key]:.0f}" for key in ("instances", "questions", "optima", "confirmed", "calls")]
    return [f"`{name}`", *counts, f"{found['cpu_seconds']:.0f}", f"{found['loads']:.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="+", choices=["gaps", "exact", "scale", "speed", "outside"])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    given = parser.parse_args()
    found = {}
    for name in given.suites:
        found[name] = one(name, given.folder)
        print(name, found[name], file=sys.stderr, flush=True)
    if given.json:
        table = {"header": HEADER, "rows": [line(name, numbers) for name, numbers in found.items()]}
        print(json.dumps({"suites": found, "tables": {"suites": table}}))


if __name__ == "__main__":
    main()
