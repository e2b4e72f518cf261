"""Share of optima certified by formulas, and the cost of checking a certificate.

    python measurements/certificates.py [--seeds N] [--seconds S] [--cases PROBLEM:PRESET[:OBJECTIVE] ...]

Prints one JSON document. A row is a preset and an objective (all of the problem if none is named): N instances
(seeds 0, 1, ...; default 10), each certified with at most S wall seconds (default 60) for the plan and for each proof.
"check" is the CPU time of `mlsched check` in a process that has loaded what it needs: judge, translation and proof.
Uncertified cases are listed with their reason.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import mlsched
from mlsched import api
from mlsched.core.errors import MlschedError
from mlsched.core.registry import registry

CASES = ("preemption:small", "quality:small", "workers:small", "placement:small", "taskgraph:small")
CASES += ("preemption:single", "preemption:surge", "preemption:paper")


def certified(problem: str, preset: str, seed: int, objective: str, seconds: float) -> dict[str, Any]:
    """Return the seconds and sizes of one certificate, or the reason why it is missing."""
    instance = mlsched.generate(problem, preset=preset, seed=seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "certificate"
        started = time.perf_counter()
        try:
            api.certify(instance, folder, objective=objective, time_limit=seconds, proof="logic")
        except MlschedError as error:
            return {"reason": str(error)}
        made = time.perf_counter() - started
        before = time.process_time()
        found = api.check_certificate(folder)
        spent = time.process_time() - before
        assert found.evidence == "certified"
        texts = [path.read_text(encoding="utf-8") for path in folder.glob("*.opb")]
        size = sum(path.stat().st_size for path in folder.glob("*.log"))
        variables = max(text.count("\n* x") for text in texts)
    return {"made": made, "check": spent, "variables": variables, "proof": size}


def row(problem: str, preset: str, objective: str, seeds: int, seconds: float) -> tuple[list[str], list[float]]:
    """A row of the table, and the seconds of its checks."""
    results = []
    for seed in range(seeds):
        results.append(certified(problem, preset, seed, objective, seconds))
        print(f"{problem} {preset} {objective} {seed}: {results[-1]}", file=sys.stderr)
    good = [r for r in results if "reason" not in r]
    why = Counter(r["reason"] for r in results if "reason" in r)
    cells = ["-"] * 4
    checks = [r["check"] for r in good]
    if good:
        cells = [
            f"{statistics.median(r['variables'] for r in good):.0f}",
            f"{statistics.median(r['proof'] for r in good) / 1000:.1f}",
            f"{statistics.median(checks):.3f}",
            f"{max(checks):.3f}",
        ]
    reasons = "; ".join(f"{n} times: {reason}" for reason, n in why.items())
    return [problem, preset, objective, f"{len(good)} of {seeds}", *cells, reasons], checks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--cases", nargs="+", default=CASES)
    given = parser.parse_args()
    rows, done, asked, checks = [], 0, 0, []
    for case in given.cases:
        problem, preset, *one = case.split(":")
        for objective in one or [goal.name for goal in registry().problem(problem).instance_type.objectives]:
            cells, seconds = row(problem, preset, objective, given.seeds, given.seconds)
            rows.append(cells)
            done, asked = done + len(seconds), asked + given.seeds
            checks += seconds
    header = [
        "problem",
        "preset",
        "objective",
        "certified",
        "variables",
        "proof, kB",
        "check, CPU s",
        "at most",
        "else",
    ]
    table = {"name": "certificates", "header": header, "rows": rows}
    longest = max(checks, default=0.0)
    print(json.dumps({"tables": [table], "certified": done, "asked": asked, "longest_check": longest}))


if __name__ == "__main__":
    main()
