"""The bound on completion time compared with brute force on small horizons with node shape and pause costs.

    python measurements/bound_exhausted.py [--horizons 2000] [--hard 200] [--keep FILE]

Three or four gangs on two nodes of 2 or 3 GPUs, drawn by `tests/gangs_exhausted.py`, whose brute force tries every
round at every tick. Prints one JSON document: on how many horizons the bound on total completion time is above the
optimum (which must be none) and on how many equal to it; how far below it is in the mean and at most; where jobs may
move, the same of the schedule by ranks, which must never be below the optimum; and, of the first `--hard` horizons, how
many have another optimum without the price, without the shape (all GPUs on one node), and how many are solved by none
of the rules.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from _keep import Kept

import mlsched
from mlsched.simulation.taskgraph.iterations import Options, bound, replay
from mlsched.simulation.taskgraph.iterations.reference import folder as files
from mlsched.simulation.taskgraph.iterations.reference import ranks
from mlsched.simulation.taskgraph.iterations.reference.by_rank import ByRank
from mlsched.simulation.taskgraph.iterations.reference.question import log_of, question
from mlsched.simulation.wake import Wake

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from gangs_exhausted import drawn, optimum, workload

RULES = ["fifo", "best-effort-fifo", "srpt", "srpt:preempt=true", "srpt:size=time,preempt=true"]
#: Horizons a row.
ROW = 50


def compared(first: int, hard: int) -> list[dict[str, Any]]:
    """The horizons from one on; of those before `hard`, also what makes them hard."""
    found = []
    for seed in range(first, first + ROW):
        nodes, jobs, cost, moves = drawn(np.random.default_rng(seed))
        load = workload(nodes, jobs, cost, moves)
        best = optimum(nodes, jobs, cost, moves)
        row: dict[str, Any] = {"bound": int(bound.bound(load)["total_jct"]), "optimum": best}
        if moves:
            row["ranked"] = ranked(load)
        if seed < hard:
            pooled = [(arrival, ticks, (sum(tasks),)) for arrival, ticks, tasks in jobs]
            row["free"] = optimum(nodes, jobs, 0, moves)
            row["pooled"] = optimum((sum(nodes),), pooled, cost, moves)
            row["rules"] = min(int(mlsched.simulate(load, rule).summary()["total_jct"]) for rule in RULES)
        found.append(row)
    return found


def ranked(load: Any) -> int:
    """The total of the best schedule by ranks after 20 changes of them, judged."""
    asked, found = question(load, np.ones(len(load.arrival), dtype=np.int64)), list[ByRank]()
    ranks.search(asked, 20, 0, lambda *_: False, lambda schedule, _: found.append(schedule))
    log = log_of(asked, found[-1].rows)
    if wrong := replay.violations(load, Options(pausing="keep"), Wake.parse("events"), log):
        raise SystemExit(f"by rank: {wrong[0]}")
    return files.total(load, log, "jobs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--horizons", type=int, default=2000)
    parser.add_argument("--hard", type=int, default=200)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    kept, rows = Kept(given.keep), []
    for first in range(0, given.horizons, ROW):
        rows += kept.row(f"from {first}", lambda: compared(first, given.hard))  # noqa: B023  # called at once
    hard = [row for row in rows if "rules" in row]
    with_ranks = [row for row in rows if "ranked" in row]
    above = [row["ranked"] / row["optimum"] - 1 for row in with_ranks]
    below = [1 - row["bound"] / row["optimum"] for row in rows]
    document = {
        "horizons": len(rows),
        "bound_above_the_optimum": sum(row["bound"] > row["optimum"] for row in rows),
        "bound_is_the_optimum": sum(row["bound"] == row["optimum"] for row in rows),
        "mean_share_below": float(np.mean(below)),
        "largest_share_below": float(np.max(below)),
        "with_ranks": len(with_ranks),
        "ranked_below_the_optimum": sum(share < 0 for share in above),
        "ranked_is_the_optimum": sum(share == 0 for share in above),
        "mean_share_above": float(np.mean(above)),
        "largest_share_above": float(np.max(above)),
        "looked_at_closely": len(hard),
        "price_changes_the_optimum": sum(row["free"] < row["optimum"] for row in hard),
        "shape_changes_the_optimum": sum(row["pooled"] < row["optimum"] for row in hard),
        "no_rule_is_optimal": sum(row["rules"] > row["optimum"] for row in hard),
        "a_rule_is_below_the_optimum": sum(row["rules"] < row["optimum"] for row in hard),
    }
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
