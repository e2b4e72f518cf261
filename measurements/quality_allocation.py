"""CPU time of one allocation at the size of SLAQ's Fig. 10(c): 4,000 jobs on 16,000 cores.

    python measurements/quality_allocation.py [--jobs N] [--cores N] [--widths 32 64 256] [--repeat N]

Target: `slaq` at most 30 ms of CPU (the paper reports hundreds of milliseconds to a few seconds, prediction
included; here the tables are made beforehand and their time is shown apart). Quote the ratio to the calibration load,
which drifts with the machine, rather than the seconds. Width: most cores a job can get (columns of the tables).
"""

from __future__ import annotations

import argparse

import numpy as np
from _calibration import cpu_seconds, load

import mlsched
from mlsched.core.formulation import Limits
from mlsched.core.registry import registry

RULES = ("slaq", "slaq-max-min", "fair", "envelope-greedy")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=4000)
    parser.add_argument("--cores", type=int, default=16000)
    parser.add_argument("--widths", type=int, nargs="+", default=[32, 64, 256])
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    unit = cpu_seconds(load, arguments.repeat)
    print(f"calibration load: {unit:.3f} CPU s;  {arguments.jobs} jobs, {arguments.cores} cores")
    print(f"{'width':>5} {'iterations':10} {'answerer':16} {'objective':22} {'CPU ms':>8} {'x load':>8} {'loss':>8}")
    for width in arguments.widths:
        for rounding in ("floor", "fluid"):
            compare(arguments, width, rounding, unit)


def compare(arguments: argparse.Namespace, width: int, rounding: str, unit: float) -> None:
    """Print a row an answerer for one instance."""
    sizes = {"jobs": arguments.jobs, "cores": arguments.cores, "width": width, "rounding": rounding}

    def line(name: str, objective: str, seconds: float, loss: str = "") -> None:
        print(f"{width:5} {rounding:10} {name:16} {objective:22} {1000 * seconds:8.1f} {seconds / unit:8.4f} {loss:>8}")

    line("(tables)", "", cpu_seconds(lambda: mlsched.generate("quality", **sizes), 2))
    instance = mlsched.generate("quality", **sizes)
    best = {}
    for objective in ("total_loss_reduction", "worst_loss"):
        entry, _ = registry().answerer("quality", "dp")
        outcome = entry.function(instance, objective=objective, limits=Limits())
        best[objective] = instance.evaluate(outcome.plan)[objective]
        seconds = cpu_seconds(
            lambda entry=entry, objective=objective: entry.function(instance, objective=objective, limits=Limits()),
            arguments.repeat,
        )
        line("dp", objective, seconds, "optimal")
    for name in RULES:
        entry, params = registry().answerer("quality", name)
        rng = np.random.default_rng(0)
        values = instance.evaluate(entry.function(instance, rng=rng, **params))
        objective = entry.objectives[0] if entry.objectives else "total_loss_reduction"
        lost = abs(values[objective] - best[objective]) / max(1, values[objective], best[objective])
        seconds = cpu_seconds(
            lambda entry=entry, rng=rng, params=params: entry.function(instance, rng=rng, **params), arguments.repeat
        )
        line(name, objective, seconds, f"{lost:.2%}")


if __name__ == "__main__":
    main()
