"""Preemption at scale: columns per node, next to CP-SAT's joint model.

    python measurements/preemption_columns.py [--draws N] [--tes N ...] [--seconds S] [--nodes N] [--jobs N]
                                              [--without-cp-sat] [--keep FILE]

Prints one JSON document. Draws (seeds 0, 1, ...; default 3) of NODES (840) with JOBS (3,000) BE jobs and 10, 30 and 100
TE jobs, by the generator's defaults, for total_score. Each solver has at most S wall seconds (default 60). "proven":
optima. "gap": of the value to the solver's own bound, in the mean and at most. "CP-SAT dearer": by how much its value
is above that of columns, in the mean; "behind": how many draws in which it leaves more TE jobs waiting, which are in no
mean. "certified": the largest gap that a dual certificate has for the plan of columns after at most S wall
seconds, rounded up, with the CPU seconds of the prover and of the check, at most. CPU seconds are of the process.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import mlsched
from mlsched.certificates.by_prices import reasons_unproved
from mlsched.core.deadline import Deadline
from mlsched.solvers import prices

#: Of a draw: the gap that prices certify, and CPU seconds of prover and check.
CERTIFIED = ("certified", "prove", "check")


def answered(instance: Any, solver: str, seconds: float) -> tuple[Any, float]:
    """What a solver says, and its CPU seconds."""
    before = time.process_time()
    found = mlsched.solve(instance, solver, objective="total_score", time_limit=seconds)
    return found, time.process_time() - before


def certified(instance: Any, value: int, seconds: float) -> tuple[float, float, float]:
    """The gap that prices certify, and CPU seconds: of the prover, of the check."""
    started = time.process_time()
    trees, bound = prices.trees(instance, "total_score", value, Deadline(seconds))
    made = time.process_time()
    wrong = list(reasons_unproved(instance, "total_score", bound, trees, Deadline()))
    assert not wrong, wrong
    return (value - bound) / abs(bound), made - started, time.process_time() - made


def draw(nodes: int, jobs: int, tes: int, seed: int, seconds: float, beside: bool) -> dict[str, Any]:
    """What is measured of a draw; CP-SAT's value, and how many more TE jobs wait there, where it is asked."""
    instance = mlsched.generate("preemption", seed=seed, nodes=nodes, jobs=jobs, tes=tes)
    mine, spent = answered(instance, "columns", seconds)
    found = {"value": mine.sort_key, "gap": (mine.sort_key - mine.sort_bound) / abs(mine.sort_bound), "cpu": spent}
    found["proven"] = mine.status == "optimal"
    if beside:
        other, _ = answered(instance, "cp-sat", seconds)
        waiting = [result.plan.te_node.tolist().count(-1) for result in (mine, other)]
        found |= {"cp-sat": other.sort_key, "behind": waiting[1] - waiting[0]}
    return found | dict(zip(CERTIFIED, certified(instance, mine.sort_key, seconds), strict=True))


def row(nodes: int, jobs: int, tes: int, draws: list[dict[str, Any]], beside: bool) -> list[str]:
    """A row of the table."""
    gaps = [one["gap"] for one in draws]
    cells = [str(nodes), str(jobs), str(tes), f"{sum(one['proven'] for one in draws)} of {len(draws)}"]
    cells += [f"{100 * statistics.mean(gaps):.2f} %", f"{100 * max(gaps):.2f} %"]
    cells.append(f"{statistics.mean(one['cpu'] for one in draws):.1f}")
    behind = [one for one in draws if beside and one["behind"] > 0]
    dearer = [(one["cp-sat"] - one["value"]) / one["value"] for one in draws if beside and one not in behind]
    cells += [f"{100 * statistics.mean(dearer):.1f} %" if dearer else "-", str(len(behind)) if beside else "-"]
    proved, made, checked = (max(one[name] for one in draws) for name in CERTIFIED)
    return [*cells, f"{math.ceil(10_000 * proved) / 100:.2f} %", f"{made:.1f}", f"{checked:.1f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--tes", type=int, nargs="+", default=[10, 30, 100])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--nodes", type=int, default=840)
    parser.add_argument("--jobs", type=int, default=3000)
    parser.add_argument("--without-cp-sat", action="store_true")
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    kept: dict[str, dict[str, Any]] = {}
    if given.keep is not None and given.keep.exists():
        kept = dict(json.loads(line) for line in given.keep.read_text().splitlines())
    rows = []
    for tes in given.tes:
        draws = []
        for seed in range(given.draws):
            asked = (given.nodes, given.jobs, tes, seed, given.seconds, not given.without_cp_sat)
            if (key := json.dumps(asked)) not in kept:
                kept[key] = draw(*asked)
                print(key, kept[key], file=sys.stderr, flush=True)
                if given.keep is not None:
                    with given.keep.open("a") as stream:
                        stream.write(json.dumps([key, kept[key]]) + "\n")
            draws.append(kept[key])
        rows.append(row(given.nodes, given.jobs, tes, draws, not given.without_cp_sat))
    header = ["nodes", "BE jobs", "TE jobs", "proven", "gap", "at most", "CPU s", "CP-SAT dearer", "behind"]
    header += ["certified", "prove, CPU s", "check, CPU s"]
    print(json.dumps({"tables": [{"name": "columns", "header": header, "rows": rows}]}))


if __name__ == "__main__":
    main()
