"""Effect of each part of MLF-H at a fixed order of jobs, and of each order at fixed hosts.

    python measurements/mlfs_parts.py [--seeds N] [--jobs N] [--loads X ...] [--keep FILE] [--limit SECONDS]

The world, the workloads and the pause cost are those of `mlsched reproduce mlfs`. "Parts": jobs in order of the least
work left, on hosts as list rules choose them; then with MLF-H's ideal hosts, its threshold and its relief, each alone
and all together. "Orders": the order changes, on hosts as list rules choose them. Both where a placed job holds its
nodes (held) and where every iteration queues again. FILE keeps every run; the same command resumes. Prints
one JSON document with the two tables; a cell is the mean over workloads, with half of its 95 % interval.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
from _mlfs_runs import options, runs

from mlsched_papers.claim import estimate
from mlsched_papers.mlfs import grid as g
from mlsched_papers.mlfs.measure import NAMES, Metrics
from mlsched_papers.report import Number, Report, Table

#: As list rules place: no part of MLF-H but the order.
LISTED = "hosts=least-work,threshold=false,migration=false"
PARTS = {
    "as list rules": LISTED,
    "ideal hosts": "threshold=false,migration=false",
    "threshold": "hosts=least-work,migration=false",
    "relief": "hosts=least-work,threshold=false",
    "ideal hosts and relief": "threshold=false",
    "all of MLF-H": "",
}
ORDERS = {
    "Eq. 6": "",
    "Eq. 6, what is overdue as printed": "overdue=printed",
    "Eq. 6, nothing for what is overdue": "overdue=none",
    "Eq. 6, minutes": "scale=60",
    "Eq. 6, hours": "scale=3600",
    "Eq. 6, no learning (alpha = 0)": "alpha=0",
    "Eq. 6, learning alone (alpha = 1)": "alpha=1",
    "arrival": "order=arrival",
    "least work left": "order=remaining",
}
SHOWN = ("jct", "deadlines", "guarantee", "bandwidth", "overload", "pauses", "moves")


def policies() -> dict[str, list[g.Policy]]:
    """Table -> its rows."""
    found: dict[str, list[g.Policy]] = {"Parts": [], "Orders": []}
    for how in ("held", "iteration"):
        for table, rows, fixed in (("Parts", PARTS, "order=remaining"), ("Orders", ORDERS, LISTED)):
            for label, given in rows.items():
                text = ",".join(filter(None, [f"queueing={how}", fixed, given]))
                found[table].append(g.Policy(f"{label} ({'held' if how == 'held' else 'anew'})", f"mlf-h:{text}"))
    return found


def table(name: str, rows: list[g.Policy], done: dict[g.Case, Metrics], grid: g.Grid) -> Table:
    """Return one row per variant, with each figure of merit at each load."""
    header = ("variant", *(f"{NAMES[metric]}, x = {x:g}" for x in grid.loads for metric in SHOWN))
    body = []
    for policy in rows:
        numbers = []
        for x in grid.loads:
            for metric in SHOWN:
                values: Any = [done[g.Case(policy, x, seed)].values[metric] for seed in range(grid.seeds)]
                numbers.append(Number(estimate(np.array(values, dtype=float))))
        body.append((policy.label, tuple(numbers)))
    return Table(name, f"MLF-H: {name.lower()}", header, tuple(body))


def main() -> None:
    parser = options(__doc__, "mlfs-parts.jsonl")
    parser.add_argument("--loads", type=float, nargs="+", default=[2.0, 3.0])
    given = parser.parse_args()
    grid = g.at_loads(dataclasses.replace(g.FULL, seeds=given.seeds, jobs=given.jobs), tuple(given.loads))
    rows = policies()
    cases = [
        g.Case(policy, x, seed)
        for policy in dict.fromkeys(p for each in rows.values() for p in each)
        for x in grid.loads
        for seed in range(grid.seeds)
    ]
    done = runs(cases, grid, given.keep, given.limit)
    tables = tuple(table(name, each, done, grid) for name, each in rows.items())
    print(json.dumps(Report("Parts and orders of MLF-H", (), tables, (), ()).to_json()))


if __name__ == "__main__":
    main()
