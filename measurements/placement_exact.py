"""Exact placement on the frozen presets: proofs, wall, CPU and deterministic time.

    python measurements/placement_exact.py [--seeds N] [--threads N] [--only NAME,...] [--slack F]

Wall seconds and time limits include the warm start by the rules and the local search. The load average tells how much
else was running; on a busy machine --slack F multiplies the time limits, and what was proven within the limit is
counted in CPU seconds as well (two threads share them, so that count is on the safe side).
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np

import mlsched

#: preset, solver, seconds, how many of 20 seeds the project asks to be proven (0: only the gap is reported), seeds.
CASES = (
    ("6x3", "highs", 10, 20, 20),
    ("6x5", "cp-sat", 2, 20, 20),
    ("6x5-contended", "cp-sat", 2, 20, 20),
    ("10x5", "cp-sat", 2, 19, 20),
    ("10x8-contended", "cp-sat", 60, 14, 20),
    ("rack-30x10", "cp-sat", 10, 18, 20),
    ("rack-30x20-contended", "cp-sat", 60, 0, 5),
)


def measure(preset: str, solver: str, seconds: float, wanted: int, seeds: int, threads: int, slack: float) -> None:
    walls, cpus, work, gaps, proven, in_wall, in_cpu = [], [], [], [], 0, 0, 0
    for seed in range(seeds):
        instance = mlsched.generate("placement", preset, seed=seed)
        wall, cpu = time.perf_counter(), time.process_time()
        result = mlsched.solve(instance, solver, time_limit=seconds * slack, threads=threads)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        work.append(result.work.get("deterministic_time", 0.0))
        gaps.append(result.gap or 0.0)
        done = result.status == "optimal"
        proven, in_wall = proven + done, in_wall + (done and walls[-1] <= seconds)
        in_cpu += done and cpus[-1] <= seconds
        if result.status != "optimal":
            print(f"    seed {seed}: {result.sort_key} <= {result.sort_bound}, gap {gaps[-1]:.2%}", flush=True)
    print(
        f"{preset:22} {solver:7} {seconds:4g} s  proven {proven:2}/{seeds:2}, within the limit by wall "
        f"{in_wall:2}, by CPU "
        f"{in_cpu:2} (asked {wanted:2})  wall "
        f"{np.median(walls):6.2f} / {max(walls):6.2f}  CPU {np.median(cpus):6.2f} / {max(cpus):6.2f}  det "
        f"{np.median(work):6.2f} / {max(work):6.2f}  worst gap {max(gaps):.2%}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="comma list of presets")
    parser.add_argument("--slack", type=float, default=1.0)
    arguments = parser.parse_args()
    only = [name for name in arguments.only.split(",") if name]
    load = os.getloadavg()[0]
    print(f"{arguments.threads} threads, load average {load:.1f} on {os.cpu_count()} cores; median / worst")
    for preset, solver, seconds, wanted, seeds in CASES:
        if not only or preset in only:
            seeds = min(seeds, arguments.seeds)
            measure(preset, solver, seconds, wanted, seeds, arguments.threads, arguments.slack)
    print(f"load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
