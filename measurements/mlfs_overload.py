"""The condition under which MLF-H has the paper's place: how much tasks use, and how much overload slows them down.

    python measurements/mlfs_overload.py [--usages F ...] [--powers P ...] [--seeds N] [--jobs N] [--keep FILE]

Workloads, pause cost and load (x = 3) are those of `mlsched reproduce mlfs`, with the mean usage of all tasks times F
and a slowdown of (usage / capacity)^P. MLF-H runs with both interpretations of its queue, with migration and without
it; the others run as the paper describes them. HyperSched is left out: while jobs are slower than estimated, it decides
at every tick, which takes minutes per run. FILE keeps every run, so that the same command resumes. Prints one JSON
document with a table per interpretation: a row for every F and P; a cell is the mean over workloads, with half of its
95 % interval. "Below" and "more" compare workload by workload; "the best other" has the best mean over the workloads.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
from _mlfs_runs import options, runs

from mlsched_papers.claim import estimate
from mlsched_papers.mlfs import grid as g
from mlsched_papers.mlfs.measure import Metrics, better
from mlsched_papers.report import Number, Report, Table

X = 3.0
OTHERS = tuple(policy for policy in g.PAPERS if policy != g.HYPERSCHED)
#: Interpretation -> MLF-H, and MLF-H without migration.
MLF_H = {way: (g.as_read(g.MLF_H, way), g.as_read(g.WITHOUT[3], way)) for way in (g.PRINTED, g.HELD)}
Values = dict[g.Policy, dict[str, Any]]
#: In the paper Graphene does not preempt.
PREEMPTING = g.STRONGER[0]
HEADER = (
    "condition",
    "mean JCT [h]",
    *(f"below {policy.label} [%]" for policy in OTHERS),
    "below the best other [%]",
    f"below {PREEMPTING.label} [%]",
    "more deadlines met than the best other [%]",
    "slowed down by [%]",
    "Graphene slowed down by [%]",
    "migration: JCT below [%]",
    "migration: overload below [%]",
)


def cases(seeds: int) -> list[g.Case]:
    policies = (*(policy for pair in MLF_H.values() for policy in pair), *OTHERS, PREEMPTING)
    return [g.Case(policy, X, seed) for seed in range(seeds) for policy in policies]


def by_policy(done: dict[g.Case, Metrics]) -> Values:
    """Policy -> metric -> one value per workload."""
    found: dict[g.Policy, dict[str, list[Any]]] = {}
    for case, metrics in done.items():
        for name, value in metrics.values.items():
            found.setdefault(case.policy, {}).setdefault(name, []).append(value)
    return {policy: {name: np.array(v, dtype=float) for name, v in each.items()} for policy, each in found.items()}


def row(values: Values, policy: g.Policy, without: g.Policy) -> tuple[Number, ...]:
    def gain(metric: str, other: g.Policy) -> Number:
        return Number(estimate(better(metric, values[policy][metric], values[other][metric])))

    return (
        Number(estimate(values[policy]["jct"])),
        *(gain("jct", other) for other in OTHERS),
        gain("jct", min(OTHERS, key=lambda other: values[other]["jct"].mean())),
        gain("jct", PREEMPTING),
        gain("deadlines", max(OTHERS, key=lambda other: values[other]["deadlines"].mean())),
        Number(estimate(values[policy]["slowdown"])),
        Number(estimate(values[g.GRAPHENE]["slowdown"])),
        gain("jct", without),
        gain("overload", without),
    )


def main() -> None:
    parser = options(__doc__, "mlfs-overload.jsonl")
    parser.add_argument("--usages", type=float, nargs="+", default=[1.0, 1.3, 1.5])
    parser.add_argument("--powers", type=int, nargs="+", default=[1, 2, 3])
    given = parser.parse_args()
    rows: dict[str, list[Any]] = {name: [] for name in MLF_H}
    for usage in given.usages:
        for power in given.powers:
            grid = dataclasses.replace(g.FULL, jobs=given.jobs, usage=usage, overload_power=power)
            values = by_policy(runs(cases(given.seeds), grid, given.keep, given.limit))
            for name, pair in MLF_H.items():
                rows[name].append((f"usage x {usage:g}, p = {power}", row(values, *pair)))
    tables = tuple(Table(name, f"MLF-H, {name}", HEADER, tuple(body)) for name, body in rows.items())
    print(json.dumps(Report("The cost of overload", (), tables, (), ()).to_json()))


if __name__ == "__main__":
    main()
