"""The evaluation of MLFS at loads with queues, run by run: a resumable `mlsched reproduce mlfs`.

    python measurements/mlfs_evaluation.py [--seeds N] [--few N] [--jobs N] [--loads X ...] [--keep FILE]
                                           [--limit SECONDS]

FILE keeps every run; the same command resumes. After --limit CPU seconds it ends. Prints the report's JSON
document, which is that of `mlsched reproduce mlfs --seeds N --jobs N --load X ... --json`. With --few, lower loads and
schedulers outside the main comparison have only so many workloads, and the latter run at the highest load only.
"""

from __future__ import annotations

import dataclasses
import json

from _mlfs_runs import options, runs

from mlsched_papers import mlfs
from mlsched_papers.mlfs import grid as g


def main() -> None:
    parser = options(__doc__, "mlfs-evaluation.jsonl")
    parser.add_argument("--loads", type=float, nargs="+", default=[1.0, 2.0, 3.0])
    parser.add_argument("--few", type=int)
    given = parser.parse_args()
    full = dataclasses.replace(g.FULL, seeds=given.seeds, jobs=given.jobs, few=given.few)
    grid = g.at_loads(full, tuple(given.loads))
    print(json.dumps(mlfs.report(grid, runs(g.cases(grid), grid, given.keep, given.limit)).to_json()))


if __name__ == "__main__":
    main()
