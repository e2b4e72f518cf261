"""CPU time of one allocation at the size of SLAQ's Fig. 10(c): 4,000 jobs on 16,000 cores.

    python measurements/quality_allocation.py [--jobs N] [--cores N] [--widths 64 1024] [--rounding floor|fluid]
        [--repeat N]

Prints one JSON document. The tables are made beforehand: predicting is not included (quality_epoch.py has it). Times
are CPU milliseconds, the best of --repeat; the calibration load's beside them tells how fast the machine was. Width:
most cores a job can get (columns of the tables).
"""

from __future__ import annotations

import argparse
import functools
import json

import numpy as np
from _calibration import cpu_seconds, load

import mlsched
from mlsched.core.formulation import Limits
from mlsched.core.registry import registry
from mlsched.instances.quality import Instance

RULES = ("slaq", "slaq-max-min", "fair", "envelope-greedy")
OBJECTIVES = ("total_loss_reduction", "worst_loss")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=4000)
    parser.add_argument("--cores", type=int, default=16000)
    parser.add_argument("--widths", type=int, nargs="+", default=[64, 1024])
    parser.add_argument("--rounding", default="floor")
    parser.add_argument("--repeat", type=int, default=5)
    a = parser.parse_args()
    unit = cpu_seconds(load, a.repeat)
    rows: dict[tuple[str, str], list[float]] = {}
    for width in a.widths:
        instance = mlsched.generate("quality", jobs=a.jobs, cores=a.cores, width=width, rounding=a.rounding)
        for key, seconds in timed(instance, a.repeat).items():
            rows.setdefault(key, []).append(round(1000 * seconds, 1))
    header = ["solver", "objective", *(f"at most {width} cores per job [ms]" for width in a.widths)]
    table = {"name": "allocation", "header": header, "rows": [[*key, *times] for key, times in rows.items()]}
    print(json.dumps({"calibration_ms": 1000 * unit, "jobs": a.jobs, "cores": a.cores, "tables": [table]}))


def timed(instance: Instance, repeat: int) -> dict[tuple[str, str], float]:
    """(solver, objective) -> CPU seconds of one answer."""
    found = {}
    for name in RULES:
        entry, params = registry().solver("quality", name)
        rule = functools.partial(entry.function, instance, rng=np.random.default_rng(0), **params)
        found[f"`{name}`", ", ".join(entry.objectives) or "-"] = cpu_seconds(rule, repeat)
    entry, _ = registry().solver("quality", "dp")
    for objective in OBJECTIVES:
        exact = functools.partial(entry.function, instance, objective=objective, limits=Limits())
        found["`dp`", objective] = cpu_seconds(exact, repeat)
    return found


if __name__ == "__main__":
    main()
