"""Fixed cost of a call: CPU of processes that read a file, print help, or call a rule or a solver.

    python measurements/fixed_costs.py [--before CHECKOUT] [--repeat 5] [--seed 81]

Prints one JSON document: per call, the CPU seconds (user and system) of its own process, the least of `--repeat`,
and as multiples of the calibration load, taken in between. `--before`: another checkout of mlsched, measured in
alternation with this one; the ratio is then this one's time by its.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from _calibration import cpu_seconds, load

import mlsched

HERE = Path(__file__).resolve().parents[1]
RULES = {"placement": "tetris", "preemption": "fitgpp", "quality": "slaq", "taskgraph": "mlf-h", "workers": "optimus"}
#: Problem -> who solves its small instances in milliseconds, once Pyomo and HiGHS, or OR-Tools, are imported.
SOLVERS = {"quality": "highs", "preemption": "cp-sat"}


def calls(folder: Path, seed: int) -> dict[str, list[str]]:
    """Name -> the arguments of an interpreter. The instances are fresh."""
    found = {"import numpy": ["-c", "import numpy"], "mlsched --help": ["-m", "mlsched", "--help"]}
    for problem, rule in RULES.items():
        file = folder / f"{problem}.json"
        mlsched.save(mlsched.generate(problem, preset="small", seed=seed), file)
        found[f"load, {problem}"] = ["-c", f"import mlsched; mlsched.load({str(file)!r})"]
        found[f"mlsched solve, {problem} by {rule}"] = ["-m", "mlsched", "solve", str(file), "--solver", rule]
        if (solver := SOLVERS.get(problem)) is not None:
            found[f"mlsched solve, {problem} by {solver}"] = ["-m", "mlsched", "solve", str(file), "--solver", solver]
    return found


def children() -> float:
    """CPU seconds of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cost(arguments: list[str], checkout: Path) -> float:
    """CPU seconds of one process that imports the mlsched of a checkout."""
    begun = children()
    # Whoever installs a package compiles it; only where bytecode may be written is every call after the first so.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = str(checkout)
    subprocess.run([sys.executable, *arguments], env=environment, cwd=checkout, stdout=subprocess.DEVNULL, check=True)
    return children() - begun


def measured(arguments: list[str], checkouts: list[Path], repeat: int) -> list[float]:
    """The least CPU seconds in each checkout, asked in alternation after one call that compiles."""
    for checkout in checkouts:
        cost(arguments, checkout)
    rounds = [[cost(arguments, checkout) for checkout in checkouts] for _ in range(repeat)]
    return [min(times) for times in zip(*rounds, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--seed", type=int, default=81)
    given = parser.parse_args()
    checkouts = [HERE] if given.before is None else [HERE, given.before.resolve()]
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, arguments in calls(Path(folder), given.seed).items():
            unit = cpu_seconds(load, repeat=3)
            now, *before = measured(arguments, checkouts, given.repeat)
            ratio = now / before[0] if before else None
            found.append(
                {
                    "label": name,
                    "seconds": now,
                    "calibrations": now / unit,
                    "before": before[0] if before else None,
                    "ratio": ratio,
                }
            )
    header = ["a process", "CPU [s]", "calibrations", "before [s]", "ratio"]
    rows = [
        [
            one["label"],
            f"{one['seconds']:.2f}",
            f"{one['calibrations']:.1f}",
            "-" if one["before"] is None else f"{one['before']:.2f}",
            "-" if one["ratio"] is None else f"{one['ratio']:.2f}",
        ]
        for one in found
    ]
    print(json.dumps({"calls": found, "tables": {"calls": {"header": header, "rows": rows}}}))


if __name__ == "__main__":
    main()
