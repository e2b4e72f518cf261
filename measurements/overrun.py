"""Overrun of a short time limit by every exact solver on the largest presets.

    python measurements/overrun.py [--limits S ...] [--cases PROBLEM:PRESET:OBJECTIVE ...] [--solvers NAME ...]

Prints one JSON document. A row is a preset, an objective and a solver, on the instance of seed 0; each of its three
pairs is wall seconds / CPU seconds of one `solve` with that limit, in a process that has loaded what it needs (a small
instance is solved first). The limit counts from the call: the search for a start, the model that is built and the
judge are in it. A row holds where every call took at most the limit, a tenth of it and half a second. On a busy machine
wall time says how busy it is; CPU seconds, of threads and child processes too, say what the call did.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Sequence

import mlsched
from mlsched.core.errors import MlschedError, TooLarge
from mlsched.core.registry import registry

#: The largest presets by what there is to build, and the objectives whose models differ most.
CASES = (
    "placement:rack-30x20-contended:total_speed",
    "placement:quadratic:total_speed",
    "preemption:paper-surge:total_score",
    "preemption:exhausted:max_grace_period",
    "quality:large:total_loss_reduction",
    "quality:large:worst_loss",
    "taskgraph:ten-replicas:total_jct",
    "taskgraph:ten-replicas:deadlines_met",
    "taskgraph:ten-replicas:traffic",
    "taskgraph:dags:makespan",
    "taskgraph:moving:total_accuracy",
    "workers:x40:total_jct",
    "workers:measured:total_jct",
)
#: What a call may take beyond its limit: a share of it, and seconds.
SHARE, MORE = 0.1, 0.5


def exact(problem: str, objective: str) -> list[str]:
    """The exact solvers that take the objective, HiGHS' second solver among them."""
    asked = registry().problem(problem).instance_type.called
    known = [
        a
        for a in registry().available(problem, "exact")
        if not a.restricted and objective in a.objectives and a.called == asked
    ]
    return [name for a in known for name in (a.name, *(["highs:engine=scip"] if a.solved_by == "highs" else []))]


def spent() -> float:
    """CPU seconds of this process, its threads and its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def call(case: str, solver: str, limit: float) -> tuple[float, float, str]:
    """Wall and CPU seconds of a call, and how it ended."""
    problem, preset, objective = case.split(":")
    instance = mlsched.generate(problem, preset=preset, seed=0)
    wall, cpu = time.perf_counter(), spent()
    try:
        status = mlsched.solve(instance, solver, objective=objective, time_limit=limit).status
    except TooLarge:
        status = "too large"
    except MlschedError as error:  # a limit is not the place where a solver may fail
        status = f"{type(error).__name__}: {error}"
    return time.perf_counter() - wall, spent() - cpu, status


def row(case: str, solver: str, limits: Sequence[float]) -> tuple[list[str], float]:
    """A row of the table, and how many seconds of wall time it is beyond what it may take."""
    problem, preset, objective = case.split(":")
    small = mlsched.generate(problem, preset="small", seed=0)
    mlsched.solve(small, solver, objective=objective, time_limit=1.0)
    calls = [call(case, solver, limit) for limit in limits]
    beyond = max(wall - limit - SHARE * limit - MORE for (wall, _, _), limit in zip(calls, limits, strict=True))
    cells = [f"{wall:.2f} / {cpu:.2f}" for wall, cpu, _ in calls]
    print(case, solver, cells, [status for *_, status in calls], file=sys.stderr)
    return [problem, preset, objective, solver, *cells, calls[-1][2], "yes" if beyond <= 0 else "no"], beyond


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limits", nargs="+", type=float, default=[0.1, 1.0, 5.0])
    parser.add_argument("--cases", nargs="+", default=CASES)
    parser.add_argument("--solvers", nargs="+", help="default: all that are exact")
    given = parser.parse_args()
    rows, beyond = [], []
    for case in given.cases:
        problem, _, objective = case.split(":")
        for solver in given.solvers or exact(problem, objective):
            cells, more = row(case, solver, given.limits)
            rows.append(cells)
            beyond.append(more)
    header = ["problem", "preset", "objective", "solver", *(f"{s:g} s" for s in given.limits), "ended", "holds"]
    held = sum(more <= 0 for more in beyond)
    print(
        json.dumps(
            {
                "tables": [{"name": "overrun", "header": header, "rows": rows}],
                "calls": len(rows) * len(given.limits),
                "rows_that_hold": held,
                "rows": len(rows),
                "most_beyond": max(beyond),
            }
        )
    )


if __name__ == "__main__":
    main()
