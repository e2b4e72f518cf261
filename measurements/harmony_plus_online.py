"""Harmony-plus with arriving jobs: the share of exact placement's gain that it recovers.

    python measurements/harmony_plus_online.py [--seeds SEEDS ...] [--runs FILE]

The workloads of `measurements/placement_online.py` (six servers, 120 jobs, pairwise interference, three arrival
patterns; --seeds and --runs as there, and its file of runs may be given). Prints one JSON document with tables:

- "completion": average completion time in intervals, mean and 95 % interval (bootstrap over workloads, as all);
- "recovered": of what exact placement at every interval takes off the average completion time of load balancing and of
  Tetris, the share that harmony-plus takes off, in percent (a ratio of sums over the workloads); and by how many
  percent harmony-plus is below each interpretation of LIF and the exact placement (negative: above), paired by
  workload.

Interference as Gavel measured it: `harmony_plus_gavel.py`.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
from placement_online import measured, workloads

from mlsched_papers.harmony import grid as g

PLUS = tuple(g.Policy(text, text, "rule") for text in ("harmony-plus", "harmony-plus:samples=1"))
LIF = (*g.BASELINES[2:], *(p for p in g.READINGS if p.variant == "LIF by the increase"))
SEARCH = g.Policy("local-search (ours)", g.SEARCH, "rule")
POLICIES = (*g.BASELINES, *(p for p in LIF if p not in g.BASELINES), SEARCH, *PLUS, g.EXACT)
DRAWS = 10000


def bootstrap(rows: Any, figure: Any) -> str:
    """`figure` of the mean of the rows (workloads x columns), and its 95 % interval, as a cell."""
    rng = np.random.default_rng(0)
    means = rows[rng.integers(0, len(rows), (DRAWS, len(rows)))].mean(axis=1)
    low, high = np.quantile(figure(means.T), [0.025, 0.975])
    return f"{float(figure(rows.mean(axis=0))):.3g} [{low:.3g}, {high:.3g}]"


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs="+", default=["0,1,2,3,4"])
    parser.add_argument("--runs", default="", help="file that keeps the runs")
    given = parser.parse_args()
    seeds = workloads(given.seeds)
    grid = dataclasses.replace(g.FULL, readings=(g.BASE,), rack=None)
    cases = [g.Case(g.BASE, pattern, s, p) for pattern in seeds for s in sorted(seeds[pattern]) for p in POLICIES]
    found = measured(grid, cases, Path(given.runs) if given.runs else None)

    def times(policy: g.Policy, pattern: str) -> Any:
        each = [found[g.Case(g.BASE, pattern, s, policy)].values for s in sorted(seeds[pattern])]
        return np.array([v["average_completion"] for v in each], dtype=float)

    header = [f"{pattern} ({len(seeds[pattern])} workloads)" for pattern in seeds]
    completion = [
        [p.label, *(bootstrap(times(p, pattern)[:, None], lambda m: m[0]) for pattern in seeds)] for p in POLICIES
    ]
    rows = []
    for plus in PLUS:
        for base in g.BASELINES[:2]:
            cells = []
            for pattern in seeds:
                columns = np.stack([times(p, pattern) for p in (base, plus, g.EXACT)], axis=1)
                cells.append(bootstrap(columns, lambda m: 100 * (m[0] - m[1]) / (m[0] - m[2])))
            rows.append([f"{plus.label}: share of exact placement's gain over {base.label}", *cells])
        for other in (*LIF, g.EXACT):
            cells = []
            for pattern in seeds:
                cut = 100 * (1 - times(plus, pattern) / times(other, pattern))
                cells.append(bootstrap(cut[:, None], lambda m: m[0]))
            rows.append([f"{plus.label}: below {other.label}", *cells])
    tables = [
        {"name": "completion", "header": ["policy", *header], "rows": completion},
        {"name": "recovered", "header": ["percent", *header], "rows": rows},
    ]
    print(json.dumps({"tables": tables}, indent=1))


if __name__ == "__main__":
    main()
