"""Runs of the evaluation of MLFS, kept one by one, so that an interrupted measurement resumes."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _keep import Kept

from mlsched.learned.taskgraph.mlf_rl import trained_weights
from mlsched_papers.claim import estimate
from mlsched_papers.mlfs.grid import Case, Grid, Policy
from mlsched_papers.mlfs.measure import NAMES, Metrics, better, run_case
from mlsched_papers.report import Number, Table

#: Figures that a comparison of policies shows.
SHOWN = ("jct", "deadlines", "guarantee", "pauses", "overhead")


def options(doc: str | None, keep: str) -> argparse.ArgumentParser:
    """The options of such a measurement. keep: the file of the runs, by default."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=40)
    parser.add_argument("--keep", type=Path, default=Path(keep))
    parser.add_argument("--limit", type=float, default=float("inf"))
    return parser


def as_run(text: str) -> str:
    """The solver whose runs these are: before its weights are trained, MLFS is MLF-H + MLF-C to the bit."""
    name, colon, rest = text.partition(":")
    queueing = "iteration" if "queueing=" in rest else "held"
    if name != "mlfs" or trained_weights("", queueing).card.get("trained") is True:
        return text
    return f"mlfs-h{colon}{rest}"


def runs(cases: Sequence[Case], grid: Grid, keep: Path, limit: float) -> dict[Case, Metrics]:
    """Every run, a workload after the other. After `limit` CPU seconds it ends, and says how many runs are left."""
    kept, done = Kept(keep), dict[Case, Metrics]()
    harmful = (grid.usage, grid.overload_power) != (1.0, 1)
    overload = f" usage={grid.usage:g} power={grid.overload_power}" if harmful else ""
    for case in sorted(cases, key=lambda case: case.seed):
        if time.process_time() > limit:
            raise SystemExit(f"{len(cases) - len(done)} of {len(cases)} runs are left; the same command goes on")
        name = f"{as_run(case.policy.text)} x={case.x:g} seed={case.seed} jobs={grid.jobs}{overload}"
        done[case] = Metrics(kept.row(name, lambda case=case: run_case(case, grid).values))
        print(f"{len(done)}/{len(cases)} {name}", file=sys.stderr, flush=True)
    return {case: done[case] for case in cases}


def cases_of(rows: dict[str, list[Policy]], grid: Grid) -> list[Case]:
    """The runs of a table whose rows are means over policies."""
    everybody = dict.fromkeys(policy for each in rows.values() for policy in each)
    return [Case(policy, x, seed) for policy in everybody for x in grid.loads for seed in range(grid.seeds)]


def table(
    x: float, rows: dict[str, list[Policy]], done: dict[Case, Metrics], seeds: int, against: Sequence[str]
) -> Table:
    """What each row comes to at a load, and by how much its mean completion time is below those of other rows."""

    def values(label: str, metric: str) -> Any:
        found = [[done[Case(p, x, seed)].values.get(metric) for seed in range(seeds)] for p in rows[label]]
        return None if found[0][0] is None else np.array(found, dtype=float).mean(axis=0)

    body = []
    for label in rows:
        numbers = [Number(None if (v := values(label, metric)) is None else estimate(v)) for metric in SHOWN]
        for rival in against:
            gain = None if label == rival else better("jct", values(label, "jct"), values(rival, "jct"))
            numbers.append(Number(None if gain is None else estimate(gain)))
        body.append((label, tuple(numbers)))
    header = ("policy", *(NAMES[metric] for metric in SHOWN), *(f"below {rival} [%]" for rival in against))
    return Table(f"x = {x:g}", f"mean completion times at x = {x:g}", header, tuple(body))
