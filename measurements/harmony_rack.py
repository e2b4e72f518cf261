"""Harmony at 30 machines (Section VI-C) with a policy trained for them, next to the shipped harmony-plus.

    python measurements/harmony_rack.py [--seeds 5] [--folder FOLDER]

The part of `mlsched reproduce harmony` that is about 30 servers: the paper's baselines and their interpretations,
random placement, harmony-plus, and Harmony with a reward model and a policy that are trained for the size first (ten
CPU minutes; --folder keeps them, and trains only what is not there). Prints one JSON document: "policies", average
completion time and by how many percent Harmony and harmony-plus are below each policy, paired by workload (95 %,
Student's t); "curve", the training's validations; "claims", the paper's "at least 23 %" with its verdict.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from pathlib import Path
from typing import Any

from mlsched.learned.weights import read
from mlsched_papers.claim import estimate
from mlsched_papers.harmony import claims, training
from mlsched_papers.harmony import grid as g
from mlsched_papers.harmony.measure import run_case
from mlsched_papers.harmony.measured import HarmonyView, Measured
from mlsched_papers.report import Number


def number(values: Any) -> dict[str, Any]:
    return Number(None if values is None else estimate(values)).to_json()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=g.FULL.rack_seeds)
    parser.add_argument("--folder", type=Path, default=Path("build/harmony"))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    grid = dataclasses.replace(g.FULL, seeds=given.seeds, rack_seeds=given.seeds)
    rack, (large,) = g.FULL.rack, training.large(grid, given.folder)
    assert rack is not None
    cases = [case for case in [*g.cases(grid), *g.learned(grid, (), (large,))] if case.reading == rack]
    metrics = {}
    for case in cases:
        metrics[case] = run_case(case, grid)
        print(f"{case.policy.label}, {case.seed}: {time.process_time():.0f} CPU s so far", file=sys.stderr, flush=True)
    view = HarmonyView(rack, metrics)
    plus = next(policy for policy in view.policies if policy.text == g.PLUS)
    rows = []
    for policy in view.policies:
        below = [None if policy == one else view.cut(one, policy, view.metric) for one in (large, plus)]
        numbers = [number(view.values(policy, view.metric)), *map(number, below)]
        rows.append({"label": policy.label, "numbers": [*numbers, number(view.values(policy, "cpu_ms"))]})
    header = [
        "policy",
        "completion [intervals]",
        "Harmony below it [%]",
        "harmony-plus below it [%]",
        "CPU ms per decision",
    ]
    card = read(large.text.partition("=")[2], "harmony").card
    curve = [
        [str(e["iteration"]), f"{e['validation']:.2f}", f"{e['validation_random']:.2f}"]
        for e in card["curve"]
        if "validation" in e
    ]
    found = [claims.harmony_rack.judge(Measured(grid, [view], view, {}))]
    tables = {
        "policies": {"header": header, "rows": rows},
        "curve": {"header": ["iteration", "completion [intervals]", "random placement"], "rows": curve},
    }
    kept = {name: card[name] for name in ("trained", "iterations", "scores")}
    print(json.dumps({"tables": tables, "card": kept, "claims": [claim.to_json() for claim in found]}))


if __name__ == "__main__":
    main()
