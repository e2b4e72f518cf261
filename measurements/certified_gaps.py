"""Gaps of task graphs certified by prices, next to CP-SAT's own gaps.

    python measurements/certified_gaps.py [--seeds N] [--seconds S] [--presets NAME ...] [--objectives NAME ...]

Prints one JSON document. A row is an objective and a preset: N instances (seeds 0, 1, ...; default 10). The plan is
that of CP-SAT after at most S wall seconds (default 10), and so is its bound ("CP-SAT says": the gap between the two,
in the mean and at most). "certified": the gap that prices certify for the same plan, in the mean and at most; "no gap":
how often it is 0, so that the plan is certified to be the best. "prove" and "check": CPU seconds at most, of the
prover and of `mlsched check` without the start of Python. "kB zipped": of the prices, at most.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

import mlsched
from mlsched import api
from mlsched.certificates.bundle import certify_dual
from mlsched.certificates.by_prices import Dual
from mlsched.certificates.taskgraph.prices import CLAIMS
from mlsched.core.deadline import Deadline
from mlsched.core.registry import registry
from mlsched.solvers import prices


def certified(preset: str, seed: int, objective: str, seconds: float) -> dict[str, float]:
    """Gaps, CPU seconds and sizes of one instance."""
    instance = mlsched.generate("taskgraph", preset=preset, seed=seed)
    found = mlsched.solve(instance, "cp-sat", objective=objective, time_limit=seconds)
    started = time.process_time()
    trees, bound = prices.trees(instance, objective, found.sort_key, Deadline())
    proved = time.process_time() - started
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "certificate"
        certify_dual(Dual.of(instance, [found.plan], [objective]), folder, [(trees, bound)])
        before = time.process_time()
        checked = api.check_certificate(folder)
        spent = time.process_time() - before
        size = len(zlib.compress((folder / "tree.json").read_bytes(), 9))
    assert not checked.wrong, checked.wrong
    own = abs(found.sort_key - found.sort_bound) / max(1, abs(found.sort_bound))
    mine = abs(found.sort_key - bound) / max(1, abs(bound))
    return {"own": own, "certified": mine, "prove": proved, "check": spent, "zipped": size / 1000}


def row(objective: str, preset: str, seeds: int, seconds: float) -> list[str]:
    """A row of the table."""
    made: list[dict[str, float]] = []
    for seed in range(seeds):
        made.append(certified(preset, seed, objective, seconds))
        print(objective, preset, seed, made[-1], file=sys.stderr, flush=True)

    def shares(name: str) -> list[str]:
        values = [one[name] for one in made]
        return [f"{100 * statistics.mean(values):.1f} %", f"{100 * max(values):.1f} %"]

    none = sum(one["certified"] == 0 for one in made)
    most = [f"{max(one[name] for one in made):.2f}" for name in ("prove", "check", "zipped")]
    return [objective, preset, f"{none} of {seeds}", *shares("certified"), *shares("own"), *most]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--presets", nargs="+", default=list(registry().problem("taskgraph").presets))
    parser.add_argument("--objectives", nargs="+", default=list(CLAIMS))
    given = parser.parse_args()
    rows: list[list[Any]] = []
    for objective in given.objectives:
        rows += [row(objective, preset, given.seeds, given.seconds) for preset in given.presets]
    header = ["objective", "preset", "no gap", "certified", "at most", "CP-SAT says", "at most"]
    header += ["prove, CPU s", "check, CPU s", "kB zipped"]
    print(json.dumps({"tables": [{"name": "certified gaps", "header": header, "rows": rows}]}))


if __name__ == "__main__":
    main()
