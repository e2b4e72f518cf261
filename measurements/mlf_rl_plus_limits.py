"""Causes of MLF-RL-plus' distance from the lower bound: transfers, overuse, node shape, or the order of jobs.

    python measurements/mlf_rl_plus_limits.py [--workloads 4] [--jobs 40] [--loads 2 3] [--rounds 200] [--weights FILE]

The workloads are those of `mlsched reproduce mlfs` (seeds 0, 1, ...). "as it is": their world. Then the same policy
where transfers between nodes take no time; where tasks use what they demand and so never slow each other down; where
both hold; and where besides all nodes are one pool (`training/taskgraph/_plus_world.py`), which leaves the order of
jobs. "order in hindsight": there, the best order that `rounds` random changes of single jobs' places find for each
workload by itself, which no policy could know. Then the lower bound. Mean completion times in hours, and by how many
percent they are below the first row of the same workload, with halves of 95 % intervals. Prints one JSON document.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from typing import Any

import numpy as np

from mlsched import api
from mlsched.learned.taskgraph.plus_order import HOUR, features
from mlsched.learned.weights import of
from mlsched_papers.claim import estimate
from mlsched_papers.mlfs import grid as g
from mlsched_papers.mlfs.measure import OPTIONS, WAKE, run_case, workload
from mlsched_papers.runs import refuse_unsound
from mlsched_training.taskgraph._plus_world import Clusters, clusters, mean_jct

DEMAND = {name: value for name, value in OPTIONS.items() if "usage" not in name}
WORLDS = {
    "as it is": (OPTIONS, True),
    "without delays of transfers": (OPTIONS, False),
    "without overuse": (DEMAND, True),
    "without either": (DEMAND, False),
}


def simulated(load: Any, text: str, seed: int, options: dict[str, Any], delays: bool) -> float:
    """The mean completion time in a world, hours."""
    if not delays:
        load = load.replace(edge_delay=np.zeros_like(load.edge_delay))
    run = api.simulate(load, text, seed=seed, scheduling_events=WAKE, options=options)
    refuse_unsound(run)
    return float(run.jobs["jct"].mean()) / HOUR


def pooled(batch: Clusters, weights: Any, pause: float, shift: Any) -> Any:
    """The mean completion times where all is one pool, with shifts of the jobs' places in the order.

    The pool's own order sees no urgency, so that its column carries the shifts.
    """
    shifted = dataclasses.replace(batch, urgency=shift.astype(np.float32))

    def order(at: Any) -> Any:
        rows = features(dataclasses.replace(at, urgency=np.zeros_like(at.urgency)))
        return np.tensordot(weights, rows, 1) + at.urgency

    return mean_jct(shifted, order, price=pause / HOUR, stretch=1.0, every=600 / HOUR)


def in_hindsight(batch: Clusters, weights: Any, pause: float, rounds: int) -> Any:
    """The best mean completion times that random changes of single places find."""
    rng, shape = np.random.default_rng(0), batch.arrival.shape
    shift = np.zeros(shape)
    best = pooled(batch, weights, pause, shift)
    for _ in range(rounds):
        size = rng.choice([0.1, 0.3, 1.0], size=(shape[0], 1))
        moved = rng.random(shape) < rng.choice([0.03, 0.1, 0.3], size=(shape[0], 1))
        tried = shift + size * moved * rng.standard_normal(shape)
        found = pooled(batch, weights, pause, tried)
        better = found < best
        best, shift = np.where(better, found, best), np.where(better[:, None], tried, shift)
    return best


def table(x: float, grid: g.Grid, text: str, weights: Any, rounds: int) -> dict[str, Any]:
    """Return one row per world."""
    seeds = range(grid.seeds)
    loads = [workload(grid, x, seed) for seed in seeds]
    found: dict[str, Any] = {
        label: np.array([simulated(load, text, seed, *world) for seed, load in zip(seeds, loads, strict=True)])
        for label, world in WORLDS.items()
    }
    batch = clusters(seeds, round(grid.jobs * x), grid.servers, grid.hours, x)
    found["without either, in one pool"] = pooled(batch, weights, grid.pause, np.zeros(batch.arrival.shape))
    found["there, order in hindsight"] = in_hindsight(batch, weights, grid.pause, rounds)
    found[g.BOUND.label] = np.array([run_case(g.Case(g.BOUND, x, seed), grid).values["jct"] for seed in seeds])
    rows = []
    for label, jct in found.items():
        below = None if label == "as it is" else estimate(100 * (1 - jct / found["as it is"]))
        shown = [estimate(jct), below]
        rows.append({"label": label, "numbers": [{"measured": e and e.mean, "ci95": e and e.half} for e in shown]})
    return {"name": f"x = {x:g}", "header": ["world", "mean JCT [h]", "below the first row [%]"], "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=40)
    parser.add_argument("--loads", type=float, nargs="+", default=[2.0, 3.0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--weights", default="")
    given = parser.parse_args()
    grid = dataclasses.replace(g.FULL, seeds=given.workloads, jobs=given.jobs)
    weights = of("mlf-rl-plus", "taskgraph", given.weights).tensors["0.weight"][0]
    text = f"mlf-rl-plus:weights={given.weights}"
    print(json.dumps({"tables": [table(x, grid, text, weights, given.rounds) for x in given.loads]}))


if __name__ == "__main__":
    main()
