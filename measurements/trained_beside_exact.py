"""Trained policies next to exact answers: CPU time of an answer, and the gap of the policy's value.

    python measurements/trained_beside_exact.py [--seeds 5] [--limit 20]

For chic-plus, harmony-plus and mlf-rl, on frozen presets with the seeds 0, 1, ..., by `mlsched.solve`, judge included:
CPU ms of an answer, the least of several calls; CPU ms of the default exact solver, once, within --limit seconds; how
many of its answers are proven; by how many percent the policy's value is worse than the best that is known (than the
exact solver's where it is not proven), mean and 95 % interval (Student's t); and the policy's time over the exact
solver's, as a percentage of sums. mlf-rl is rolled out: it decides at every event of the instance's horizon, and the
time is that of the whole plan. Either is asked once before, so that imports and weights are not counted. NumPy has one
thread. Prints one JSON document.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any

os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import mlsched
from mlsched_papers.claim import estimate

#: Policy -> problem, presets.
ASKED: dict[str, tuple[str, tuple[str, ...]]] = {
    "chic-plus": ("workers", ("paper", "paper-10", "crowded", "x16", "x40")),
    "harmony-plus": ("placement", ("6x3", "6x5", "10x8-contended", "rack-30x10")),
    "mlf-rl": ("taskgraph", ("small", "six-loose", "six-tight")),
}
CALLS = 5
HEADER = ["policy", "preset", "policy [CPU ms]", "exact [CPU ms]", "proven", "policy's value worse by [%]"]
HEADER += ["policy's time of the exact answer's [%]"]


def timed(instance: Any, solver: str, **options: Any) -> tuple[Any, float]:
    """A result and its CPU seconds."""
    started = time.process_time()
    result = mlsched.solve(instance, solver, **options)
    return result, time.process_time() - started


def row(policy: str, problem: str, preset: str, seeds: int, limit: float) -> list[Any]:
    """A policy on a preset."""
    for solver in (policy, "cp-sat"):
        mlsched.solve(mlsched.generate(problem, preset, seed=seeds), solver, time_limit=limit)
    ours, theirs, gaps, proven = 0.0, 0.0, [], 0
    for seed in range(seeds):
        instance = mlsched.generate(problem, preset, seed=seed)
        best, spent = timed(instance, "cp-sat", time_limit=limit)
        calls = [timed(instance, policy) for _ in range(CALLS)]
        share = calls[0][0].gap_to(best).share
        ours, theirs = ours + min(seconds for _, seconds in calls), theirs + spent
        proven += best.status == "optimal"
        if share is not None:
            gaps.append(100 * share)
        print(policy, preset, seed, f"{100 * ours / theirs:.1f} %", file=sys.stderr, flush=True)
    found = estimate(gaps)
    gap = f"{found.mean:.3g} ± {found.half:.2g}" if found and found.half is not None else ""
    times = [_short(1000 * seconds / seeds) for seconds in (ours, theirs)]
    return [policy, preset, *times, f"{proven} of {seeds}", gap, _short(100 * ours / theirs)]


def _short(value: float) -> str:
    """Two digits, or whole."""
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of an exact answer")
    given = parser.parse_args()
    rows = [
        row(policy, problem, preset, given.seeds, given.limit)
        for policy, (problem, presets) in ASKED.items()
        for preset in presets
    ]
    print(json.dumps({"tables": [{"name": "beside", "header": HEADER, "rows": rows}]}))


if __name__ == "__main__":
    main()
