"""Preemption at scale: columns per node beside CP-SAT's joint model.

    python measurements/preemption_columns.py [--draws N] [--tes N ...] [--seconds S] [--nodes N] [--jobs N]
                                              [--without-cp-sat]

Prints one JSON document. Draws (seeds 0, 1, ...; default 3) of NODES (840) with JOBS (3,000) BE jobs and 10, 30 and 100
TE jobs, by the generator's defaults, for total_score. Each answerer has at most S wall seconds (default 60). "proven":
optima. "gap": of the value to the answerer's own bound, in the mean and at most. "CP-SAT dearer": by how much its value
is above that of columns, in the mean; "behind": how many draws in which it leaves more TE jobs waiting, which are in no
mean. "certified": the largest gap that a certificate by prices has for the plan of columns after at most S wall
seconds, with the CPU seconds of the prover and of the check, at most. CPU seconds are of the process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from typing import Any

import mlsched
from mlsched.certificates.by_prices import unproved
from mlsched.core.deadline import Deadline
from mlsched.solvers import prices


def answered(instance: Any, answerer: str, seconds: float) -> tuple[Any, float]:
    """What an answerer says, and its CPU seconds."""
    before = time.process_time()
    found = mlsched.solve(instance, answerer, objective="total_score", time_limit=seconds)
    return found, time.process_time() - before


def certified(instance: Any, value: int, seconds: float) -> tuple[float, float, float]:
    """The gap that prices certify, and CPU seconds: of the prover, of the check."""
    started = time.process_time()
    trees, bound = prices.trees(instance, "total_score", value, Deadline(seconds))
    made = time.process_time()
    wrong = list(unproved(instance, "total_score", bound, trees, Deadline()))
    assert not wrong, wrong
    return (value - bound) / abs(bound), made - started, time.process_time() - made


def row(nodes: int, jobs: int, tes: int, draws: int, seconds: float, beside: bool) -> list[str]:
    """A row of the table."""
    gaps, cpu, dearer, proofs = [], [], [], []
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
        proofs.append(certified(instance, mine.value, seconds))
        print(f"{line}; certified: {proofs[-1]}", file=sys.stderr, flush=True)
    cells = [str(nodes), str(jobs), str(tes), f"{proven} of {draws}"]
    cells += [f"{100 * statistics.mean(gaps):.2f} %", f"{100 * max(gaps):.2f} %", f"{statistics.mean(cpu):.1f}"]
    cells += [f"{100 * statistics.mean(dearer):.1f} %" if dearer else "-", str(behind) if beside else "-"]
    proved, made, checked = zip(*proofs, strict=True)
    return [*cells, f"{100 * max(proved):.2f} %", f"{max(made):.1f}", f"{max(checked):.1f}"]


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
    header += ["certified", "prove, CPU s", "check, CPU s"]
    print(json.dumps({"tables": [{"name": "columns", "header": header, "rows": rows}]}))


if __name__ == "__main__":
    main()
