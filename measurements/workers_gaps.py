"""Gap of every rule to the clairvoyant optimum: mean gap of total completion time in percent.

    python measurements/workers_gaps.py [--jobs N] [--sequences N] [--columns 1.8,2.7,5.4,1.8:never,2.7:never]
        [--time-limit S] [--json]

Sequences of a few jobs of the Chic paper (seeds 0, 1, ...), small enough for the fluid optimum over the horizon to be
proven; where it is not in time, the gap is to the bound that was proven, and the notes say how often. Every rule is
run by the clock on the same sequences and checked by the independent replay; its gap is (total - bound) / bound. A
column is a number of arrivals per hour, under Eq. 7's floor, or under another one that is named. Intervals: 95 %,
Student's t over sequences. The optimum may share time and loses no iterations: no scheduler of whole workers and PSs
reaches it. Trained policies: see trained_policies.py.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from typing import Any

import mlsched
from mlsched.core.gap import gap_between
from mlsched.simulation.workers.rollout import horizon_of
from mlsched_papers.chic.grid import Policy, everyone, known, once, optimus, trained
from mlsched_papers.claim import estimate

#: Optimus' ways to stop; the others do not depend on them.
STOPS = ("full", "misfit", "used-up")


def policies() -> list[Policy]:
    """The rules of `mlsched reproduce chic`, Optimus once for each way to stop."""
    found = [
        Policy(f"{optimus(i).label}, `stop={stop}`", f"optimus:stop={stop}", optimus(i).scheduling_events)
        for stop in STOPS
        for i in (600, 300, 0)
    ]
    found += [p for p in everyone() if not p.optimus and p not in (*trained(), *once())]
    return found + list(known(Policy("uniform-random", "uniform-random"), Policy("one-shot exact", "dp")))


def gap_of(policy: Policy, load: object, bound: float, seed: int, floor: str) -> float | None:
    """Return the percentage above the bound; None for a rule that leaves jobs waiting forever."""
    options = {**dict(policy.options), "floor": floor}
    try:
        run = mlsched.simulate(
            load, policy.text, seed=seed, scheduling_events=policy.scheduling_events, options=options
        )
    except mlsched.MlschedError as error:
        if "the run is stuck" in str(error):
            return None
        raise
    if wrong := run.violations():
        raise SystemExit(f"{policy.label}: the replay check fails: {wrong[0]}")
    total = 1000 * float(run.jobs["completion_s"].sum())
    if total < bound * (1 - 1e-6):
        raise SystemExit(f"{policy.label}: {total} ms is below the proven bound {bound}")
    return 100 * float(gap_between(total, bound, sense="min", unit="ms"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--sequences", type=int, default=30)
    parser.add_argument("--columns", default="1.8,2.7,5.4,1.8:never,2.7:never")
    parser.add_argument("--time-limit", type=float, default=60)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", message="the offered load")
    columns = [
        tuple(column.split(":")) if ":" in column else (column, "always") for column in arguments.columns.split(",")
    ]
    document = measured(columns, arguments.jobs, arguments.sequences, arguments.time_limit)
    print(json.dumps(document) if arguments.json else shown(document))


def measured(columns: list[Any], jobs: int, sequences: int, time_limit: float) -> dict[str, Any]:
    """The table and what was proven."""
    gaps: dict[str, list[list[float]]] = {p.label: [[] for _ in columns] for p in policies()}
    proven = []
    for rate in dict.fromkeys(rate for rate, _ in columns):
        started, optimal, slack = time.process_time(), 0, [0.0]
        for seed in range(sequences):
            load = mlsched.workload("synthetic:chic", jobs=jobs, seed=seed, rate=float(rate))
            best = mlsched.solve(horizon_of(load), "clairvoyant", time_limit=time_limit)
            optimal += best.status == "optimal"
            slack.append(best.gap)
            for policy in policies():
                for at, (where, floor) in enumerate(columns):
                    gap = gap_of(policy, load, best.sort_bound, seed, floor) if where == rate else None
                    if gap is not None:
                        gaps[policy.label][at].append(gap)
        spent = time.process_time() - started
        proven.append({"name": rate, "proven": optimal, "most_open_percent": 100 * max(slack), "cpu_s": spent})
    header = ["rule", *(f"{rate}/h" if floor == "always" else f"{rate}/h, floor {floor}" for rate, floor in columns)]
    rows = [{"label": label, "numbers": [number(values, sequences) for values in each]} for label, each in gaps.items()]
    table = {"name": "gaps", "header": header, "rows": rows}
    return {"jobs": jobs, "sequences": sequences, "proven": proven, "tables": [table]}


def number(values: list[float], sequences: int) -> dict[str, float | None]:
    """Mean and half of the interval; nothing where a rule was stuck on some sequence."""
    found = estimate(values) if len(values) == sequences else None
    return {"measured": found and found.mean, "ci95": found and found.half}


def shown(document: dict[str, Any]) -> str:
    """The document as text."""
    table = document["tables"][0]
    lines = [f"{table['header'][0]:40}" + "".join(f"{column:>20}" for column in table["header"][1:])]
    for row in table["rows"]:
        cells = [
            "-" if n["measured"] is None else f"{n['measured']:.1f} ± {n['ci95'] or 0:.1f}" for n in row["numbers"]
        ]
        lines.append(f"{row['label']:40}" + "".join(f"{cell:>20}" for cell in cells))
    lines += [
        f"{one['name']}/h: {one['proven']} of {document['sequences']} optima proven, the others within "
        f"{one['most_open_percent']:.2f} %; {one['cpu_s']:.0f} CPU s"
        for one in document["proven"]
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
