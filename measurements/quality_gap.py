"""Gap of the rules to the proven optimum of the total loss reduction.

    python measurements/quality_gap.py [--count N]

Prints one JSON document. Each row is N instances (default 334) of 8 to 39 jobs on 2 to 6 cores per job, half of them
with caps, half with weights on 30 % of the jobs; T is the epoch. The gap is (optimum - value) / optimum, in percent.
"""

from __future__ import annotations

import argparse
import json

import numpy as np

import mlsched
from mlsched.instances.quality import PROBLEM, Instance

RULES = ("slaq", "envelope-greedy", "fair")
EPOCHS = (1.0, 3.0, 10.0)


def drawn(number: int, rounding: str, epoch: float) -> Instance:
    """The `number`-th instance; only the tables depend on `rounding` and `epoch`."""
    rng = np.random.default_rng([17, number])
    jobs = int(rng.integers(8, 40))
    return PROBLEM.generate(
        rng,
        jobs=jobs,
        cores=int(jobs * rng.integers(2, 7)),
        epoch=epoch,
        rounding=rounding,
        cap=int(rng.choice([0, 12])),
        important=float(rng.choice([0.0, 0.3])),
        width=64,
    )


def gaps(rounding: str, epoch: float, count: int) -> dict[str, list[float]]:
    """Rule -> its gap on each instance, percent."""
    found: dict[str, list[float]] = {rule: [] for rule in RULES}
    for number in range(count):
        instance = drawn(number, rounding, epoch)
        best = mlsched.solve(instance, "dp")
        for rule in RULES:
            share = mlsched.solve(instance, rule).gap_to(best).share
            found[rule].append(100 * (0.0 if share is None else share))  # None: nothing can be gained, and is not
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=334)
    count = parser.parse_args().count
    rows, floored = [], []
    for rounding in ("floor", "fluid"):
        for epoch in EPOCHS:
            found = gaps(rounding, epoch, count)
            cells = [f"{np.mean(g):.2f} / {np.quantile(g, 0.95):.2f} / {np.max(g):.1f}" for g in found.values()]
            rows.append([rounding, f"{epoch:g} s", *cells])
            floored += found["envelope-greedy"] if rounding == "floor" else []
    table = {"name": "gap", "header": ["iterations", "T", *(f"`{rule}`" for rule in RULES)], "rows": rows}
    within = 100 * float(np.mean(np.array(floored) <= 1))
    print(json.dumps({"tables": [table], "floored": len(floored), "envelope_greedy_within_1_percent": within}))


if __name__ == "__main__":
    main()
