"""Runs of the evaluation of MLFS, kept one by one, so that an interrupted measurement goes on where it was."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from _keep import Kept

from mlsched.learned.weights import of
from mlsched.papers.mlfs.grid import Case, Grid
from mlsched.papers.mlfs.measure import Metrics, run_case


def options(doc: str | None, keep: str) -> argparse.ArgumentParser:
    """The options of such a measurement. keep: the file of the runs, by default."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=40)
    parser.add_argument("--keep", type=Path, default=Path(keep))
    parser.add_argument("--limit", type=float, default=float("inf"))
    return parser


def as_run(text: str) -> str:
    """The answerer whose runs these are: before its weights are trained, MLFS is MLF-H + MLF-C to the bit."""
    name, colon, rest = text.partition(":")
    if name != "mlfs" or of("mlf-rl", "taskgraph").card.get("trained") is True:
        return text
    return f"mlfs-h{colon}{rest}"


def runs(cases: Sequence[Case], grid: Grid, keep: Path, limit: float) -> dict[Case, Metrics]:
    """Every run, a workload after the other. After `limit` CPU seconds it ends, and says how many runs are left."""
    kept, done = Kept(keep), dict[Case, Metrics]()
    for case in sorted(cases, key=lambda case: case.seed):
        if time.process_time() > limit:
            raise SystemExit(f"{len(cases) - len(done)} of {len(cases)} runs are left; the same command goes on")
        name = f"{as_run(case.policy.text)} x={case.x:g} seed={case.seed} jobs={grid.jobs}"
        done[case] = Metrics(kept.row(name, lambda case=case: run_case(case, grid).values))
        print(f"{len(done)}/{len(cases)} {name}", file=sys.stderr, flush=True)
    return {case: done[case] for case in cases}
