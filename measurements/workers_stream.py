"""Share of a gap due to the unknown future and to poor decisions: rules, the best policy, and the best run.

    python measurements/workers_stream.py [--preset NAME] [--short N] [--long N] [--cases N] [--brute N] [--slow N]
        [--courses N]

Prints one JSON document. `agreement`: tiny streams on which backward induction and the enumeration of all policies were
asked, and disagreements. `proof`: optimal policies of the preset, and CPU seconds of one. Two tables, in percent of
sums over all streams. `deciding`, for each rule: its expected total completion time above that of the best policy
(deciding badly), exact, and in how many streams it is itself optimal. `knowing`: how far the best policy is above the
best run of whole workers with all arrivals known (not knowing), over --courses drawn courses of arrivals per stream;
and how far such runs are above the fluid optimum (`clairvoyant`), which no whole workers reach, over one course each.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np
from _ratios import above, mean, row

import mlsched
from mlsched.core.deadline import Deadline
from mlsched.core.errors import TooLarge
from mlsched.instances.workers import Stream
from mlsched.instances.workers.stream_judge import realised
from mlsched.simulation.workers.rollout import horizon_of
from mlsched.simulation.workers.tabulate import workload_of
from mlsched.solvers.workers._events import Kinds
from mlsched.solvers.workers.best_run import Coming, Runs

#: Relative difference below which two expectations are the same.
SAME = 1e-9


RULES: dict[str, Any] = {
    "Optimus": "optimus",
    "Optimus, stops as Chic prints it": "optimus:stop=used-up",
    "SRPT": "srpt",
    "DRF, fair shares": "drf",
}
#: Solvers that take seconds for the table of a stream: asked about the first --slow streams alone.
SLOW: dict[str, Any] = {"max-rate": "max-rate", "chic-plus (trained)": "chic-plus"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100, help="streams")
    parser.add_argument("--brute", type=int, default=100, help="tiny streams on which all policies are judged as well")
    parser.add_argument("--slow", type=int, default=30, help="streams that slow solvers are asked about")
    parser.add_argument("--courses", type=int, default=10, help="courses of arrivals per stream")
    parser.add_argument("--preset", default="stream-3", help="stream-2 or stream-3")
    parser.add_argument("--short", type=int, default=4, help="fewest iterations of a job")
    parser.add_argument("--long", type=int, default=8, help="most iterations of a job")
    a = parser.parse_args()
    sizes = {"short": a.short, "long": a.long}
    streams = [mlsched.generate("workers", a.preset, seed=seed, **sizes) for seed in range(a.cases)]
    started = time.process_time()
    best = [mlsched.solve(stream, "backward-induction") for stream in streams]
    seconds = (time.process_time() - started) / len(best)
    proven = sum(found.status == "optimal" for found in best)
    states = float(np.median([found.work["states"] for found in best]))
    proof = {"streams": len(streams), "proven": proven, "seconds": seconds, "states": states}
    tables = [deciding(a.preset, streams, best, a.slow), knowing(a.preset, streams, best, a.courses)]
    print(json.dumps({"agreement": agreement(a.brute), "proof": proof, "tables": tables}, indent=1))


def agreement(cases: int) -> dict[str, int]:
    """Backward induction against all policies; and how often Optimus is not optimal there."""
    found = {"cases": 0, "too_large": 0, "optimus_not_optimal": 0, "disagreements": 0}
    for seed in range(cases):
        long = 2 if seed % 4 == 0 else 1  # with two iterations there are some 10,000 policies
        sizes = {
            "types": 1,
            "short": long,
            "long": long,
            "gpus": 2 if long == 2 else 3,
            "most_workers": 2,
            "most_ps": 1,
        }
        stream = mlsched.generate("workers", "stream-2", seed=seed, **sizes)
        try:
            brute = mlsched.solve(stream, "every-policy")
        except TooLarge:
            found["too_large"] += 1
            continue
        best = mlsched.solve(stream, "backward-induction").sort_key
        found["cases"] += 1
        found["optimus_not_optimal"] += mlsched.solve(stream, "optimus").sort_key > brute.sort_key * (1 + SAME)
        found["disagreements"] += abs(best - brute.sort_key) > SAME * brute.sort_key
    return found


def deciding(preset: str, streams: list[Stream], best: list[Any], slow: int) -> dict[str, Any]:
    """Every rule above the best policy, exact expectations."""
    rows, optimum = [], [found.sort_key for found in best]
    asked = [(label, rule, len(streams)) for label, rule in RULES.items()]
    asked += [(f"{label}, first {slow}", rule, slow) for label, rule in SLOW.items()]
    for label, rule, count in asked:
        values = [mlsched.solve(stream, rule).sort_key for stream in streams[:count]]
        same = [value <= least * (1 + SAME) for value, least in zip(values, optimum, strict=False)]
        rows.append(row(label, [above(values, optimum[:count]), mean([float(s) for s in same], 100)]))
    return {
        "name": f"deciding, {preset}",
        "header": [f"{preset}", "above the best policy [%]", "optimal in [%]"],
        "rows": rows,
    }


def knowing(preset: str, streams: list[Stream], best: list[Any], courses: int) -> dict[str, Any]:
    """The best policy above the best run known, and that above the fluid optimum."""
    policies, runs, first, fluid = [], [], [], []
    for seed, (stream, found) in enumerate(zip(streams, best, strict=True)):
        rng = np.random.default_rng(seed)
        kinds = Kinds(stream.time, stream.worker_demand, stream.ps_demand, stream.capacity)
        known, policy, least = Runs(kinds, Deadline()), 0, 0
        for course in range(courses):
            submit = np.cumsum([0, *rng.geometric(1 / stream.gap, stream.jobs - 1)]).tolist()
            kind = rng.choice(len(stream.chance), stream.jobs, p=stream.chance / stream.chance.sum()).tolist()
            jobs = [
                Coming(int(stream.type_model[k]), int(stream.type_iterations[k]), arrival)
                for k, arrival in zip(kind, submit, strict=True)
            ]
            value = known.best(jobs)[0]
            policy, least = policy + realised(stream, found.plan, submit, kind), least + value
            if not course:
                horizon = horizon_of(workload_of(stream, submit, kind))
                first.append(value)
                fluid.append(mlsched.solve(horizon, "clairvoyant").sort_bound)
        policies.append(policy)
        runs.append(least)
    rows = [
        row("best policy above the best run known: not knowing", [above(policies, runs)]),
        row("best run known above the fluid optimum: whole workers, lost iterations", [above(first, fluid)]),
    ]
    return {"name": "knowing", "header": [preset, "above [%]"], "rows": rows}


if __name__ == "__main__":
    main()
