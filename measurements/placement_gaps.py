"""The gap of every placement rule to the proven optimum, over contention: synthetic interference and Gavel's.

    python measurements/placement_gaps.py [--seeds N] [--threads N] [--limit S] [--gavel FILE] [--only KIND,...]

Kinds: pairwise, linear, quadratic (synthetic, 6 servers x 5 jobs of the paper's testbed), v100, p100, k80 (measured, 10
GPUs x 6 jobs; they need --gavel oracle_throughputs.json.gz). Prints a Markdown table: mean gap in percent ± half of the
95 % interval (Student's t over the seeds), how many optima were proven within the limit, and on how many instances the
best published rule is not optimal. Where an optimum is not proven the gap is to the bound, so it is an upper estimate.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import t

import mlsched
from mlsched.core.registry import registry
from mlsched.instances.placement.gavel import generate_measured, read_gavel
from mlsched.instances.placement.models import KINDS

CONTENTION = (0.6, 0.8, 1.0, 1.2)
GPUS = ("v100", "p100", "k80")
#: Ours: it is no published rule.
SEARCH = "local-search"


def instances(kind: str, contention: float, seeds: int, gavel: str) -> Iterator[Any]:
    if kind in KINDS:
        for seed in range(seeds):
            yield mlsched.generate("placement", "6x5", seed=seed, contention=contention, model=kind)
        return
    table = read_gavel(gavel, gpu=kind)
    for seed in range(seeds):
        yield generate_measured(np.random.default_rng(seed), table, servers=10, jobs=6, contention=contention)


def row(kind: str, contention: float, drawn: Iterator[Any], rules: list[str], limit: float, threads: int) -> str:
    gaps: dict[str, list[float]] = {rule: [] for rule in rules}
    proven, missed, open_gap, start = 0, 0, 0.0, time.process_time()
    for instance in drawn:
        best = mlsched.solve(instance, "cp-sat", time_limit=limit, threads=threads)
        proven += best.status == "optimal"
        open_gap = max(open_gap, best.gap or 0.0)
        for rule in rules:
            gaps[rule].append(100 * mlsched.solve(instance, rule).gap_to(best).share)
        missed += min(gaps[rule][-1] for rule in rules if rule != SEARCH) > 0
    count = len(gaps[rules[0]])
    cells = []
    for rule in rules:
        half = float(t.ppf(0.975, count - 1)) * np.std(gaps[rule], ddof=1) / np.sqrt(count) if count > 1 else 0.0
        cells.append(f"{np.mean(gaps[rule]):.1f} ± {half:.1f}")
    ends = f"{proven}/{count}" + (f" (worst {open_gap:.1%})" if proven < count else "")
    return f"| {kind} {contention} | {' | '.join(cells)} | {ends} | {missed} | {time.process_time() - start:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--limit", type=float, default=30.0)
    parser.add_argument("--gavel", default="")
    parser.add_argument("--only", default="", help="comma list of kinds")
    arguments = parser.parse_args()
    kinds = [k for k in arguments.only.split(",") if k] or [*KINDS, *(GPUS if arguments.gavel else ())]
    rules = [a.name for a in registry().available("placement", "heuristic")]
    print(f"{arguments.seeds} seeds, {arguments.threads} threads, load average {os.getloadavg()[0]:.1f}\n")
    print(f"| interference, contention | {' | '.join(rules)} | proven | best rule misses | CPU s |")
    print("|---" * (len(rules) + 4) + "|")
    for kind in kinds:
        for contention in CONTENTION:
            drawn = instances(kind, contention, arguments.seeds, arguments.gavel)
            print(row(kind, contention, drawn, rules, arguments.limit, arguments.threads), flush=True)
    print(f"\nload average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
