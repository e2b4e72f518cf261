"""Fronts of task graphs (total_jct, traffic) within a time limit, next to a plain epsilon loop with CP-SAT.

    python measurements/fronts_any_time.py [--limits 10 60] [--only TEXT] [--json]

The loop takes the complete CP-SAT model of `mlsched.model`, minimises total_jct, then the traffic at that value, and
asks for less traffic next; whatever is not proved ends it. Both have one thread and the same wall seconds. The area is
dominated by the proven points, up to the worst point of both; "of all plans" also counts plans without a proof.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

import mlsched
from mlsched.core.clock import cpu_time

NAMES = ("total_jct", "traffic")
#: Wall seconds -> presets and seeds.
CASES = {
    10: ["six-replicas:0", "six-replicas:2", "six-replicas:12", "six-tight:5", "eight-loose:0", "eight-loose:1",
         "eight-tight:2", "eight-replicas:0", "eight-replicas:1", "eight-replicas:2", "ten-loose:0", "ten-loose:1"],
    60: ["six-replicas:12", "eight-replicas:0", "eight-loose:0", "ten-loose:1"],
    300: ["eight-replicas:0", "eight-replicas:2"],
}  # fmt: skip
HEADER = ["limit and instance", "loop: points", "pareto: points", "loop: area", "pareto: area", "area of all plans",
          "status", "loop: CPU s", "pareto: CPU s"]  # fmt: skip
Point = tuple[int, ...]


def loop(instance: Any, seconds: float) -> list[Point]:
    """The proven points of the plain epsilon loop."""
    model = mlsched.model(instance, NAMES[0], also=[NAMES[1]])
    problem, first, second = model.cp_sat, *(model.cp_sat_names[f"value[{name}]"] for name in NAMES)
    end = time.monotonic() + seconds
    points: list[Point] = []

    def best(of: cp_model.CpModel, goal: Any) -> int | None:
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.max_time_in_seconds = max(0.001, end - time.monotonic())
        of.minimize(goal)
        return round(solver.objective_value) if solver.solve(of) == cp_model.OPTIMAL else None

    while (value := best(problem, first)) is not None:
        fixed = problem.clone()
        fixed.add(first <= value)
        if (other := best(fixed, second)) is None:
            break
        points.append((value, other))
        problem.add(second <= other - 1)
    return points


def area(points: list[Point], ref: Point) -> int:
    """The area dominated by points up to a reference point; both objectives are minimised."""
    total, last = 0, ref[1]
    for x, y in sorted(points):
        if x < ref[0] and y < last:
            total += (ref[0] - x) * (last - y)
            last = y
    return total


def row(case: str, seconds: int) -> list[str]:
    """One instance within one limit."""
    preset, seed = case.split(":")
    instance = mlsched.generate("taskgraph", preset, int(seed))
    started = cpu_time()
    plain = loop(instance, seconds)
    between = cpu_time()
    front = mlsched.pareto(instance, NAMES, "cp-sat", time_limit=seconds)
    used = cpu_time() - between
    points = [tuple(point) for point in front.sort_keys.tolist()]
    plans = points + [tuple(point) for point in np.asarray(front.unproven).tolist()]
    every = plain + plans
    ref = tuple(max(point[k] for point in every) + 1 for k in range(2)) if every else (0, 0)
    counts = [f"{len(plain)}", f"{len(points)}"]
    areas = [f"{area(found, ref)}" for found in (plain, points, plans)]
    seconds_used = [f"{between - started:.1f}", f"{used:.1f}"]
    return [f"{seconds} s, {preset} seed {seed}", *counts, *areas, front.status, *seconds_used]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limits", type=int, nargs="+", default=[10, 60], choices=list(CASES), help="wall seconds")
    parser.add_argument("--only", default="", help="instances whose name contains this")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    given = parser.parse_args()
    rows: list[Any] = []
    for seconds in given.limits:
        for case in [case for case in CASES[seconds] if given.only in case]:
            rows.append(row(case, seconds))
            print("  ".join(rows[-1]), file=sys.stderr, flush=True)
    if given.json:
        print(json.dumps({"kind": "fronts", "tables": [{"name": "any-time", "header": HEADER, "rows": rows}]}))


if __name__ == "__main__":
    main()
