"""A job shop by `cp-sat` and by a plain CP-SAT model for several seeds: chance or cause.

    python measurements/search_seeds.py ft20.txt [--seeds 0-14]

Prints one JSON document. The file is in the usual format: jobs and machines, then one line of machines and durations
per job. The plain model has an interval per operation, a no-overlap per machine and the last end. Both have one thread
and the same seed of CP-SAT. Equal deterministic times mean equal searches.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from ortools.sat.python import cp_model

import mlsched
from mlsched.core.clock import cpu_time


def plain(path: Path, seed: int) -> tuple[int, float]:
    """The proven makespan of the plain model, and its deterministic time."""
    lines = [list(map(int, line.split())) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    jobs = [list(zip(line[::2], line[1::2], strict=True)) for line in lines[1:]]
    model, horizon = cp_model.CpModel(), sum(duration for job in jobs for _, duration in job)
    machines: dict[int, list[Any]] = {}
    ends = []
    for job in jobs:
        previous: Any = 0
        for machine, duration in job:
            start, end = model.new_int_var(0, horizon, ""), model.new_int_var(0, horizon, "")
            machines.setdefault(machine, []).append(model.new_interval_var(start, duration, end, ""))
            model.add(start >= previous)
            previous = end
        ends.append(previous)
    for intervals in machines.values():
        model.add_no_overlap(intervals)
    last = model.new_int_var(0, horizon, "")
    model.add_max_equality(last, ends)
    model.minimize(last)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers, solver.parameters.random_seed = 1, seed
    assert solver.solve(model) == cp_model.OPTIMAL
    return round(solver.objective_value), float(solver.response_proto.deterministic_time)


def default(path: Path, seed: int) -> tuple[int, float]:
    """The proven makespan of `cp-sat`, and its deterministic time."""
    result = mlsched.solve(mlsched.load(path), "cp-sat", objective="makespan", seed=seed)
    assert result.status == "optimal"
    return int(result.sort_key or 0), float(result.work["deterministic_time"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--seeds", default="0-14", help="first and last")
    given = parser.parse_args()
    first, last = map(int, given.seeds.split("-"))
    rows, values = [], set()
    default(given.file, first)  # the first call imports
    for seed in range(first, last + 1):
        row = [str(seed)]
        for ask in (plain, default):
            begun = cpu_time()
            value, work = ask(given.file, seed)
            values.add(value)
            row += [f"{cpu_time() - begun:.2f}", f"{work:.2f}"]
        rows.append(row)
    assert len(values) == 1, f"makespans {values}"
    header = ["seed", "plain, CPU s", "deterministic time", "cp-sat, CPU s", "deterministic time of cp-sat"]
    print(json.dumps({"makespan": values.pop(), "tables": {"seeds": {"header": header, "rows": rows}}}))


if __name__ == "__main__":
    main()
