"""Preemption at scale: columns per node beside CP-SAT's joint model.

    python measurements/preemption_columns.py [--draws N] [--tes N ...] [--seconds S] [--nodes N] [--jobs N]
                                              [--without-cp-sat]

Prints one JSON document. Draws (seeds 0, 1, ...; default 3) of NODES (840) with JOBS (3,000) BE jobs and 10, 30 and 100
TE jobs, by the generator's defaults, for total_score. Each answerer has at most S wall seconds (default 60). "proven":
optima. "gap": of the value to the answerer's own bound, in the mean and at most. "CP-SAT dearer": by how much its value
is above that of columns, in the mean; "behind": how many draws in which it leaves more TE jobs waiting, which are in no
mean. CPU seconds are of the process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from typing import Any

import mlsched


def answered(instance: Any, answerer: str, seconds: float) -> tuple[Any, float]:
    """What an answerer says, and its CPU seconds."""
    before = time.process_time()
    found = mlsched.solve(instance, answerer, objective="total_score", time_limit=seconds)
    return found, time.process_time() - before


def row(nodes: int, jobs: int, tes: int, draws: int, seconds: float, beside: bool) -> list[str]:
    """A row of the table."""
    gaps, cpu, dearer = [], [], []
    proven = behind = 0
    for seed in range(draws):
        instance = mlsched.generate("preemption", seed=seed, nodes=nodes, jobs=jobs, tes=tes)
        mine, spent = answered(instance, "columns", seconds)
        gaps.append((mine.value - mine.bound) / abs(mine.bound))
        cpu.append(spent)
        proven += mine.status == "optimal"
        line = f"{tes} {seed}: {mine.status} {mine.value} {mine.bound} {spent:.1f}"
        if beside:
            other, _ = answered(instance, "cp-sat", seconds)
            line += f"; cp-sat: {other.status} {other.value} {other.bound}"
            if other.plan.te_node.tolist().count(-1) > mine.plan.te_node.tolist().count(-1):
                behind += 1
            else:
                dearer.append((other.value - mine.value) / mine.value)
        print(line, file=sys.stderr, flush=True)
    cells = [str(nodes), str(jobs), str(tes), f"{proven} of {draws}"]
    cells += [f"{100 * statistics.mean(gaps):.2f} %", f"{100 * max(gaps):.2f} %", f"{statistics.mean(cpu):.1f}"]
    cells += [f"{100 * statistics.mean(dearer):.1f} %" if dearer else "-", str(behind) if beside else "-"]
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--tes", type=int, nargs="+", default=[10, 30, 100])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--nodes", type=int, default=840)
    parser.add_argument("--jobs", type=int, default=3000)
    parser.add_argument("--without-cp-sat", action="store_true")
    given = parser.parse_args()
    rows = [
        row(given.nodes, given.jobs, tes, given.draws, given.seconds, not given.without_cp_sat) for tes in given.tes
    ]
    header = ["nodes", "BE jobs", "TE jobs", "proven", "gap", "at most", "CPU s", "CP-SAT dearer", "behind"]
    print(json.dumps({"tables": [{"name": "columns", "header": header, "rows": rows}]}))


if __name__ == "__main__":
    main()
