"""Certified distance of the points of task-graph fronts from the optimum.

    python measurements/front_gaps.py [--seeds N] [--seconds S] [--presets NAME ...] [--objectives FIRST SECOND]

Prints one JSON document. A row is a preset: N instances (seeds 0, 1, ...; default 3). The front is that of
`mlsched.pareto` after at most S wall seconds (default 20); "no point": of how many instances it had none by then, which
are in no other number. "whole": how many are certified to be the whole front, of how many CP-SAT calls complete.
"points": at most. "FIRST" and "SECOND": the largest gaps of points and of the last claim, in the mean and at most; a
gap to a bound of 0 has no percentage and is named beside them, in its unit.
"prove" and "check": CPU seconds at most, of all claims of a front. "kB zipped": of the prices, at most.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mlsched
from mlsched import api
from mlsched.core.gap import Gap, format_percentage

PRESETS = ["six-tight", "six-replicas", "eight-tight", "eight-replicas", "ten-loose", "fractional"]


def certified(preset: str, seed: int, objectives: Sequence[str], seconds: float) -> dict[str, Any] | None:
    """Return the certified gaps of an instance's front, with CPU seconds and size; None for a front without points."""
    instance = mlsched.generate("taskgraph", preset=preset, seed=seed)
    front = mlsched.pareto(instance, list(objectives), time_limit=seconds)
    if not front.plans:
        return None
    with tempfile.TemporaryDirectory() as place:
        folder, before = Path(place) / "points", time.process_time()
        made = api.certify_front(instance, front.plans, folder, objectives=objectives)
        proved = time.process_time()
        checked = api.check_certificate(folder)
        spent = time.process_time() - proved
        size = len(zlib.compress((folder / "tree.json").read_bytes(), 9))
    assert not checked.wrong, checked.wrong
    *points, last = made.gaps
    return {
        "points": len(points), "complete": front.complete, "whole": made.evidence is not None,
        "first": points, "second": [last],
        "prove": proved - before - spent, "check": spent, "zipped": size / 1000,
    }  # fmt: skip


def largest(fronts: Sequence[Sequence[Gap]]) -> list[str]:
    """Return the mean and the maximum of the fronts' largest gaps, rounded up; gaps without a share as differences."""
    shares = [max(gap.share or 0.0 for gap in gaps) for gaps in fronts]
    others = [gap for gaps in fronts for gap in gaps if gap.share is None and gap.difference]
    most = [format_percentage(max(shares), up=True)]
    most += [max(others, key=lambda gap: gap.difference).rounded_up] if others else []
    return [format_percentage(statistics.mean(shares), up=True), " or ".join(most)]


def row(preset: str, objectives: Sequence[str], seeds: int, seconds: float) -> list[str]:
    """A row of the table."""
    made: list[dict[str, Any]] = []
    for seed in range(seeds):
        found = certified(preset, seed, objectives, seconds)
        print(preset, seed, found, file=sys.stderr, flush=True)
        made += [] if found is None else [found]
    cells = [preset, str(seeds - len(made))]
    if not made:
        return [*cells, *["-"] * 9]
    cells += [f"{sum(one['whole'] for one in made)} of {sum(one['complete'] for one in made)}"]
    cells += [str(max(one["points"] for one in made))]
    for name in ("first", "second"):
        cells += largest([one[name] for one in made])
    return cells + [f"{max(one[name] for one in made):.2f}" for name in ("prove", "check", "zipped")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--presets", nargs="+", default=PRESETS)
    parser.add_argument("--objectives", nargs=2, default=["total_accuracy", "makespan"])
    given = parser.parse_args()
    rows = [row(preset, given.objectives, given.seeds, given.seconds) for preset in given.presets]
    first, second = given.objectives
    header = ["preset", "no point", "whole", "points", first, "at most", second, "at most"]
    header += ["prove, CPU s", "check, CPU s", "kB zipped"]
    print(json.dumps({"tables": [{"name": "points of fronts", "header": header, "rows": rows}]}))


if __name__ == "__main__":
    main()
