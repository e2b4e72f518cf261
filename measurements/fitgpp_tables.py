"""The tables of the FitGpp experiment and the claims on them, without the sweeps of its figures: a third of its runs.

    python measurements/fitgpp_tables.py [--seeds N] [--jobs N] [--workers N] [--trace FILE]

Prints the JSON document that `mlsched reproduce fitgpp --json` prints, with the claims of the tables alone. The
workloads and runs are the same.
"""

from __future__ import annotations

import argparse
import dataclasses
import json

from mlsched.benchmark.experiments.fitgpp import grid as g
from mlsched.benchmark.experiments.fitgpp import measure, report

#: No sweep over s, P, the share of TE jobs or the length of grace periods.
TABLES = dataclasses.replace(g.FULL, weights=(), limits=(), shares=(), scales=())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=g.FULL.seeds)
    parser.add_argument("--jobs", type=int, default=g.FULL.jobs)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--trace", help="public trace for Table 5")
    a = parser.parse_args()
    grid = dataclasses.replace(TABLES, seeds=a.seeds, jobs=a.jobs, trace=a.trace is not None)
    metrics = measure.measure(g.cases(grid), measure.Source(a.jobs, a.trace), workers=a.workers)
    print(json.dumps(report(grid, metrics).to_json(), indent=1, allow_nan=False))


if __name__ == "__main__":
    main()
