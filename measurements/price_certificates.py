"""Share of optima certified by prices, and the cost of the proof and of its check.

    python measurements/price_certificates.py [--seeds N] [--seconds S] [--cases PROBLEM:PRESET[:OBJECTIVE] ...]

Prints one JSON document. A row is a preset and an objective (all of the problem if none is named; the cases are all
presets of quality, workers, preemption and placement if none is named): N instances (seeds 0, 1, ...; default 10).
The plan is that of the problem's default solver, with at most S wall seconds (default 120), which also is the limit
of the proof. "prove" and "check" are CPU seconds: of the prover, given the plan; and of `mlsched check` in a process
that has loaded what it needs, the interpretation of the files and the judge included. "nodes": of the tree. "kB
zipped": of tree.json, by zlib. "gap": what is certified where optimality is not; the
largest of the row. Uncertified cases are listed with their reason.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import mlsched
from mlsched import api
from mlsched.certificates.bundle import certify_dual
from mlsched.certificates.by_prices import Dual
from mlsched.certificates.prices.statement import statements
from mlsched.core.deadline import Deadline
from mlsched.core.errors import MlschedError
from mlsched.core.registry import registry
from mlsched.solvers import prices

PROBLEMS = ("quality", "workers", "preemption", "placement")


def certified(problem: str, preset: str, seed: int, objective: str, seconds: float) -> dict[str, Any]:
    """Return the CPU seconds and sizes of one certificate, or the reason why it is missing."""
    instance = mlsched.generate(problem, preset=preset, seed=seed)
    found = mlsched.solve(instance, registry().problem(problem).default, objective=objective, time_limit=seconds)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "certificate"
        started = time.process_time()
        try:
            trees, bound = prices.trees(instance, objective, found.sort_key, Deadline(seconds))
        except MlschedError as error:
            return {"reason": str(error)}
        proved = time.process_time() - started
        certify_dual(Dual.of(instance, [found.plan], [objective]), folder, [(trees, bound)])
        before = time.process_time()
        checked = api.check_certificate(folder)
        spent = time.process_time() - before
        assert not checked.wrong, checked.wrong
        text = (folder / "tree.json").read_bytes()
    gap = checked.gap
    made = {"prove": proved, "check": spent, "nodes": sum(map(len, trees)), "size": len(text)}
    return {**made, "zipped": len(zlib.compress(text, 9)), "gap": gap.share or 0.0, "optimal": bound == found.sort_key}


def row(
    problem: str, preset: str, objective: str, seeds: int, seconds: float
) -> tuple[list[str], list[dict[str, Any]]]:
    """A row of the table, and what it is made of."""
    results = []
    for seed in range(seeds):
        results.append(certified(problem, preset, seed, objective, seconds))
        print(f"{problem} {preset} {objective} {seed}: {results[-1]}", file=sys.stderr, flush=True)
    good = [r for r in results if "reason" not in r]
    optimal = sum(r["optimal"] for r in good)
    why = Counter(r["reason"] for r in results if "reason" in r)
    cells = ["-"] * 8
    if good:

        def both(name: str, digits: int, unit: float = 1.0) -> list[str]:
            values = [r[name] / unit for r in good]
            return [f"{statistics.median(values):.{digits}f}", f"{max(values):.{digits}f}"]

        cells = [*both("prove", 2), *both("check", 3), *both("nodes", 0), *both("zipped", 2, 1000)]
    short = [r["gap"] for r in good if not r["optimal"]]
    gap = f"{100 * max(short):.2g} %" if short else ""
    reasons = "; ".join(f"{n} times: {reason}" for reason, n in why.items())
    return [problem, preset, objective, f"{optimal} of {seeds}", *cells, gap, reasons], results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--cases", nargs="+")
    given = parser.parse_args()
    cases = given.cases or [f"{p}:{preset}" for p in PROBLEMS for preset in registry().problem(p).presets]
    rows: list[list[str]] = []
    results: list[dict[str, Any]] = []
    for case in cases:
        problem, preset, *one = case.split(":")
        for objective in one or list(statements()[f"{problem}.instance"].module.CLAIMS):
            cells, some = row(problem, preset, objective, given.seeds, given.seconds)
            rows.append(cells)
            results += some
    header = ["problem", "preset", "objective", "optimal", "prove, CPU s", "at most", "check, CPU s", "at most"]
    header += ["nodes", "at most", "kB zipped", "at most", "gap at most", "else"]
    table = {"name": "dual certificates", "header": header, "rows": rows}
    good = [r for r in results if "reason" not in r]
    sums = {name: max((r[name] for r in good), default=0) for name in ("prove", "check", "size", "zipped")}
    print(
        json.dumps(
            {
                "tables": [table],
                "asked": len(results),
                "optimal": sum(r["optimal"] for r in good),
                "with a gap": sum(not r["optimal"] for r in good),
                "largest": sums,
            }
        )
    )


if __name__ == "__main__":
    main()
