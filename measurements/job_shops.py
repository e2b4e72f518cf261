"""CPU seconds to the proven makespan of job shops: the default solver and a plain CP-SAT model.

    python measurements/job_shops.py [--sizes 8x8,10x5,15x5] [--seeds 11-13] [--limit 8] [--repeat 3]

Prints one JSON document. A shop of N jobs on M machines is drawn as Taillard's: the machines of a job in random order,
durations uniform from 1 to 99. Both have one thread and the same limit of wall seconds; times are the least of
`--repeat`, asked in alternation, model included. Missed: more than 1.3 times the plain model's time and .1 s.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from _calibration import cpu_seconds, load
from ortools.sat.python import cp_model

import mlsched
from mlsched.benchmark.plain._taskgraph import build
from mlsched.core.clock import cpu_time

FACTOR, SLACK = 1.3, 0.1


def shop(jobs: int, machines: int, seed: int) -> Any:
    """The instance, through a file of the usual format."""
    rng = np.random.default_rng([seed, jobs, machines])
    rows = [
        " ".join(f"{m} {d}" for m, d in zip(rng.permutation(machines), rng.integers(1, 100, machines), strict=True))
        for _ in range(jobs)
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "shop.txt"
        file.write_text("\n".join([f"{jobs} {machines}", *rows, ""]))
        return mlsched.load(file)


def plain(instance: Any, limit: float) -> tuple[int, bool]:
    """The makespan of the plain model, and whether it is proved."""
    solver = cp_model.CpSolver()
    solver.parameters.num_workers, solver.parameters.max_time_in_seconds = 1, limit
    status = solver.solve(build(instance, "makespan")[0])
    return round(solver.objective_value), status == cp_model.OPTIMAL


def default(instance: Any, limit: float) -> tuple[int, bool]:
    """The makespan of `cp-sat` without options, and whether it is proved."""
    found = mlsched.solve(instance, "cp-sat", objective="makespan", time_limit=limit)
    return int(found.sort_key or 0), found.status == "optimal"


def compared(label: str, instance: Any, limit: float, repeat: int) -> dict[str, Any]:
    """Both on one shop; a contradiction is an error."""
    seconds: dict[str, list[float]] = {"plain": [], "default": []}
    answers: dict[str, tuple[int, bool]] = {}
    for _ in range(repeat):
        for name, ask in (("plain", plain), ("default", default)):
            begun = cpu_time()
            answers[name] = ask(instance, limit)
            seconds[name].append(cpu_time() - begun)
    proved = {value for value, is_proved in answers.values() if is_proved}
    assert len(proved) < 2, f"{label}: {answers}"
    assert not proved or all(value >= min(proved) for value, _ in answers.values()), f"{label}: {answers}"
    ours, theirs = min(seconds["default"]), min(seconds["plain"])
    missed = (answers["plain"][1] and not answers["default"][1]) or ours > FACTOR * theirs + SLACK
    return {"label": label, "plain": theirs, "default": ours, "answers": answers, "missed": missed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="8x8,10x5,15x5")
    parser.add_argument("--seeds", default="11-13", help="first and last, or one")
    parser.add_argument("--limit", type=float, default=8.0)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    first, _, last = given.seeds.partition("-")
    compared("the first calls import", shop(3, 3, 0), given.limit, 1)
    found = []
    for size in given.sizes.split(","):
        jobs, machines = map(int, size.split("x"))
        for seed in range(int(first), int(last or first) + 1):
            found.append(compared(f"{size}, seed {seed}", shop(jobs, machines, seed), given.limit, given.repeat))
    header = ["job shop", "plain, CPU s", "default, CPU s", "proved by plain", "by default", "missed"]
    rows = [
        [
            one["label"],
            f"{one['plain']:.2f}",
            f"{one['default']:.2f}",
            *("yes" if one["answers"][name][1] else "no" for name in ("plain", "default")),
            "yes" if one["missed"] else "-",
        ]
        for one in found
    ]
    tables = {"shops": {"header": header, "rows": rows}}
    print(json.dumps({"calibration": cpu_seconds(load), "shops": found, "tables": tables}))


if __name__ == "__main__":
    main()
