"""The clairvoyant optimum of the frozen horizons: number proven within a CPU limit, and the effort.

    python measurements/workers_clairvoyant.py [--jobs 6 8 10] [--seeds N] [--seconds S] [--rules NAME ...]

One line per horizon size: proven within --seconds of CPU time on one thread, CPU seconds (median, largest) and their
ratio to the calibration load, nodes, and the gap of what was not proven. --rules adds the mean gap of rolled-out rules
to the proven bound. Sizes other than 6, 8 and 10 are drawn as the presets are.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from _calibration import cpu_seconds, load

import mlsched
from mlsched.instances.workers.horizons import HORIZONS, generate_horizon, horizon


def question(jobs: int, rate: float, seed: int):
    name = f"poisson-{jobs}"
    if name in HORIZONS and HORIZONS[name].sizes["rate"] == rate:
        return horizon(name, seed)
    return generate_horizon(np.random.default_rng(seed), jobs=jobs, rate=rate)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, nargs="*", default=[6, 8, 10])
    parser.add_argument("--rate", type=float, default=2.7, help="arrivals per hour")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=60.0, help="CPU seconds within which a proof counts")
    parser.add_argument("--wall", type=float, default=300.0, help="wall seconds after which a run is given up")
    parser.add_argument("--rules", nargs="*", default=[])
    a = parser.parse_args()
    unit = cpu_seconds(load)
    print(f"calibration load: {unit:.3f} CPU s;  {a.rate} arrivals per hour, proofs within {a.seconds:g} CPU s")
    print(
        f"{'jobs':>4} {'proven':>7} {'median s':>9} {'x load':>7} {'most s':>7} {'median nodes':>13} {'most':>6}  gaps"
    )
    for jobs in a.jobs:
        seconds, nodes, left, proven = [], [], [], 0
        gaps: dict[str, list[float]] = {rule: [] for rule in a.rules}
        for seed in range(a.seeds):
            asked = question(jobs, a.rate, seed)
            started = time.process_time()
            found = mlsched.solve(asked, "clairvoyant", time_limit=a.wall)
            seconds.append(time.process_time() - started)
            nodes.append(found.work["nodes"])
            if found.status == "optimal" and seconds[-1] <= a.seconds:
                proven += 1
            else:
                left.append(f"{100 * found.gap:.2f} % ({found.status})")
            for rule in a.rules:
                gaps[rule].append(mlsched.solve(asked, rule).sort_key / found.sort_bound - 1)
        median = float(np.median(seconds))
        print(
            f"{jobs:4d} {proven:3d}/{a.seeds:<3d} {median:9.2f} {median / unit:7.1f} {max(seconds):7.2f} "
            f"{np.median(nodes):13.0f} {max(nodes):6.0f}  {', '.join(left) or '-'}",
            flush=True,
        )
        for rule, above in gaps.items():
            half = 1.96 * np.std(above, ddof=1) / np.sqrt(len(above)) if len(above) > 1 else 0.0
            print(f"       {rule:30} {100 * np.mean(above):6.2f} +- {100 * half:.2f} % above the bound", flush=True)


if __name__ == "__main__":
    main()
