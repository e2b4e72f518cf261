"""Choice of a solver for runs of workers: completion times over mixed loads, and cost of decisions.

    python measurements/workers_runs.py [--share 1]

Sequences of the Chic paper's jobs (seeds 0, 1, ..., which no training has seen) on its cluster and on clusters of 4
and 16 times its size, with a scheduling event at each arrival and completion. A rate is in arrivals per hour and per
cluster of the paper's size. Under floor = "always" every scheduling event costs each job its started iteration (Eq. 7).
Under "changed" only jobs with other workers or PSs lose it. Each run passes the independent replay.

Prints one JSON document with tables: "optimum", by how many percent complete runs of the presets `poisson-6` and
`burst-4` are above the clairvoyant optimum; "runs", by how many percent the mean completion time is above that of
max-rate (negative: below); "lp-mpc", above that of LP-MPC; "floor", the iterations lost and the completion time of both
floors; "cpu", CPU ms per decision, the simulator included. 95 % intervals, Student's t over sequences. Solvers that
take too long on a load are left out of it. --share: of the sequences of each load, at least two.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from typing import Any, NamedTuple

os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")

import numpy as np

import mlsched
from mlsched_papers.claim import estimate


class Load(NamedTuple):
    """A kind of sequence and the number of them; `without`: solvers that take too long on it."""

    scale: int
    rate: float
    sequences: int
    floor: str = "always"
    without: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The load in words."""
        floor = "" if self.floor == "always" else f", floor {self.floor}"
        return f"x{self.scale}, {self.rate:g}/h{floor}"


SOLVERS = {
    "rank-rate": "rank-rate",
    "LP-MPC": "lp-mpc",
    "chic-plus": "chic-plus",
    "exact optimum at each decision": "dp",
}
#: Label -> solver, on presets of runs whose optimum is known, and the seeds of each preset.
ON_OPTIMUM = {
    **{name: name for name in ("optimus", "marginal-gain", "hull-greedy")},
    "exact optimum at each decision": "dp",
    **{name: name for name in ("drf", "srpt", "max-rate", "rank-rate", "lp-mpc", "chic-plus")},
}
PRESETS, SEEDS = ("poisson-6", "burst-4"), 8
#: Jobs of a sequence by the size of the cluster.
JOBS = {1: 30, 4: 80, 16: 120}
SLOW = ("lp-mpc", "dp")
LOADS = (
    *(Load(1, rate, 16) for rate in (1.8, 2.7, 4.5, 5.4)),
    Load(4, 2.7, 6, "always", SLOW),
    Load(4, 4.5, 20),
    Load(4, 4.5, 6, "changed", SLOW),
    Load(16, 2.7, 6, "always", SLOW),
    Load(16, 2.7, 6, "changed", SLOW),
    Load(16, 4.5, 6, "always", SLOW),
)
BASE = "max-rate"


def measured(load: Load, solver: str, sequences: int) -> Any:
    """Rows of mean completion time (s), lost share of iterations, CPU seconds and decisions, one per sequence."""
    rows = []
    for seed in range(sequences):
        work = mlsched.workload(
            "synthetic:chic", jobs=JOBS[load.scale], seed=seed, rate=load.rate * load.scale, scale=load.scale
        )
        started = time.process_time()
        run = mlsched.simulate(work, solver, options={"floor": load.floor})
        spent = time.process_time() - started
        if wrong := run.violations():
            raise SystemExit(f"{solver}: the replay check fails: {wrong[0]}")
        shown = run.summary()
        rows.append((shown["average_completion_s"], shown["lost_iterations_share"], spent, run.decisions))
    print(load.label, solver, file=sys.stderr, flush=True)
    return np.array(rows, dtype=float)


def number(values: Any) -> dict[str, float | None]:
    """Mean and half of the 95 % interval; nothing for None."""
    found = None if values is None else estimate(values)
    return {"measured": found and found.mean, "ci95": found and found.half}


def above(ours: Any, theirs: Any) -> dict[str, float | None]:
    """By how many percent the completion times are above others, paired by sequence."""
    return number(None if ours is None or theirs is None else 100 * (ours[:, 0] / theirs[:, 0] - 1))


def optimum(seeds: int) -> dict[str, Any]:
    """Complete runs above the clairvoyant optimum."""
    columns: dict[str, list[Any]] = {label: [] for label in ON_OPTIMUM}
    for preset in PRESETS:
        horizons = [mlsched.generate("workers", preset, seed=seed) for seed in range(seeds)]
        best = [mlsched.solve(horizon, "clairvoyant") for horizon in horizons]
        assert all(one.status == "optimal" for one in best)
        for label, solver in ON_OPTIMUM.items():
            values = [mlsched.solve(horizon, solver).sort_key for horizon in horizons]
            gaps = [100 * (value / one.sort_key - 1) for value, one in zip(values, best, strict=True)]
            columns[label].append(number(gaps))
        print(preset, file=sys.stderr, flush=True)
    rows = [{"label": label, "numbers": numbers} for label, numbers in columns.items()]
    return {"name": "optimum", "header": ["solver", *(f"{preset} [%]" for preset in PRESETS)], "rows": rows}


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=1.0)
    given = parser.parse_args()
    warnings.filterwarnings("ignore", message="the offered load")
    found: dict[Load, dict[str, Any]] = {}
    for load in LOADS:
        count = max(2, round(given.share * load.sequences))
        asked = [BASE, *(solver for solver in SOLVERS.values() if solver not in load.without)]
        found[load] = {solver: measured(load, solver, count) for solver in asked}
    names = list(SOLVERS)
    rows = {table: list[Any]() for table in ("runs", "lp-mpc", "cpu")}
    for load, by in found.items():
        each = [by.get(solver) for solver in SOLVERS.values()]
        label = f"{load.label} ({len(by[BASE])})"
        rows["runs"].append({"label": label, "numbers": [above(one, by[BASE]) for one in each]})
        if "lp-mpc" in by:
            others = [by[BASE], by["rank-rate"], by["chic-plus"]]
            rows["lp-mpc"].append({"label": label, "numbers": [above(one, by["lp-mpc"]) for one in others]})
        cost = [None if one is None else 1000 * one[:, 2].sum() / one[:, 3].sum() for one in (by[BASE], *each)]
        rows["cpu"].append({"label": load.label, "numbers": [{"measured": value, "ci95": None} for value in cost]})
    tables = [
        optimum(max(2, round(given.share * SEEDS))),
        {"name": "runs", "header": ["load (sequences)", *(f"{name} [%]" for name in names)], "rows": rows["runs"]},
        {
            "name": "lp-mpc",
            "header": ["load (sequences)", "max-rate [%]", "rank-rate [%]", "chic-plus [%]"],
            "rows": rows["lp-mpc"],
        },
        floors(found),
        {"name": "cpu", "header": ["load", BASE, *names], "rows": rows["cpu"]},
    ]
    print(json.dumps({"tables": tables}))


def floors(found: dict[Load, dict[str, Any]]) -> dict[str, Any]:
    """Both floors of a load side by side."""
    rows = []
    for load, by in found.items():
        alike = load._replace(floor="changed", without=SLOW, sequences=0)
        other = next((rows for key, rows in found.items() if key._replace(sequences=0) == alike), None)
        if load.floor == "always" and other is not None:
            count = len(other[BASE])  # of the same sequences
            by = {solver: rows[:count] for solver, rows in by.items()}
            for solver in (BASE, "chic-plus"):
                numbers = [number(100 * one[:, 1]) for one in (by[solver], other[solver])]
                rows.append(
                    {"label": f"{load.label}, {solver}", "numbers": [*numbers, above(other[solver], by[solver])]}
                )
    header = [
        "load, solver",
        "lost, floor always [%]",
        "lost, floor changed [%]",
        "completion, changed over always [%]",
    ]
    return {"name": "floor", "header": header, "rows": rows}


if __name__ == "__main__":
    main()
