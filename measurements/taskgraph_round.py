"""CPU time of a round of task-graph rules in a crowded cluster: 20 servers of four GPUs and 1,860 jobs.

    python measurements/taskgraph_round.py [--jobs 1860] [--rounds 200] [--rules fifo mlf-h ...]
        [--queues 500 2000 4000] [--asked]

The jobs are those of `synthetic:mlfs`, arrive at once and run by iterations as gangs; timed are the first rounds, in
all of which nearly all jobs are there. In rounds called "crowded", every task besides uses three times the CPUs that it
demands, and tasks may move and pause. `queues`: the median of half as many rounds with so many jobs, by rule. How fast
the machine is, in CPU seconds of a fixed load (`calibration_seconds`), is measured first. --asked: each rule in the
world that it asks for, such as one in which runs may pause. Prints one JSON document.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

import mlsched
from mlsched.api.adapters import as_rule
from mlsched.benchmark.calibration import calibrated
from mlsched.core.clock import cpu_time
from mlsched.core.params import resolve
from mlsched.core.registry import registry
from mlsched.core.request import Setup
from mlsched.instances.taskgraph import Snapshot
from mlsched.simulation.clock import run
from mlsched.simulation.taskgraph.iterations import IterationWorld, Options
from mlsched.simulation.taskgraph.iterations.sources import from_tasks
from mlsched.simulation.taskgraph.sources import generated
from mlsched.simulation.wake import Wake


class Enough(Exception):
    """The rounds asked for have been timed."""


def timed(load: Any, text: str, rounds: int, crowded: bool, asked: bool) -> list[float]:
    """Milliseconds of CPU of each round."""
    found, given = registry().solver("taskgraph", text)
    values = resolve(found.name, found.parameters, given)
    rule = as_rule(Setup(found, "total_jct", values))
    times: list[float] = []

    def call(snapshot: Any, memory: Any, rng: Any) -> Any:
        if crowded:
            usage = snapshot.usage.copy()
            usage[:, snapshot.resources.index("cpu")] *= 3
            columns = {name: getattr(snapshot, name) for name in snapshot.__dataclass_fields__}
            seen = Snapshot.trusted(**columns | {"usage": usage, "movement": "anytime", "pausing": "keep"})
            begun = cpu_time()
            rule.call(seen, memory, rng)
            times.append(1000 * (cpu_time() - begun))
        begun = cpu_time()
        answer = rule.call(snapshot, memory, rng)
        if not crowded:
            times.append(1000 * (cpu_time() - begun))
        if len(times) == rounds:
            raise Enough
        return answer

    try:
        world = Options(**found.world_options(values)) if asked else Options()
        run(IterationWorld(load, world), type(rule)(rule.name, call), scheduling_events=Wake.parse("events"), seed=0)
    except mlsched.SolverError as error:
        if not isinstance(error.__cause__, Enough):
            raise
    return times


def crowd(jobs: int) -> Any:
    """So many jobs of `synthetic:mlfs` that arrive at once, to run by iterations on 20 servers."""
    return from_tasks(generated(jobs=jobs, nodes=20, load=10.0**6, partitions=8, replicas=4, runs=100, error=0.0))


def queues(lengths: list[int], rules: list[str], rounds: int, asked: bool) -> dict[str, Any]:
    """The median cost of a round by the number of jobs, nearly all of which wait."""
    loads = [crowd(jobs) for jobs in lengths]
    medians = [[float(np.median(timed(load, text, rounds, False, asked))) for load in loads] for text in rules]
    rows = [[text, *(f"{median:.1f}" for median in found)] for text, found in zip(rules, medians, strict=True)]
    return {"header": ["rule, median ms", *(f"{jobs:,} jobs" for jobs in lengths)], "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1860)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--rules", nargs="+", default=["fifo", "srpt", "mlf-h", "mlfs-h:options=evaluation"])
    parser.add_argument("--queues", type=int, nargs="*", default=[500, 2000, 4000])
    parser.add_argument("--asked", action="store_true")
    arguments = parser.parse_args()
    machine, load = calibrated(), crowd(arguments.jobs)
    rows, numbers = [], []
    for crowded in (False, True):
        for text in arguments.rules:
            times = timed(load, text, arguments.rounds, crowded, arguments.asked)
            median, high = np.percentile(times, (50, 99)).tolist()
            label = f"{text}, crowded" if crowded else text
            rows.append([label, len(times), f"{median:.1f}", f"{high:.1f}"])
            numbers.append({"name": label, "median": median, "p99": high})
    table = {"header": ["rule", "rounds", "median, ms", "p99, ms"], "rows": rows, "numbers": numbers}
    tasks = int((load.task_template[None] == load.template[:, None]).sum()) if arguments.jobs < 5000 else -1
    fewer = max(1, arguments.rounds // 2)
    tables = {"round": table, "queues": queues(arguments.queues, arguments.rules, fewer, arguments.asked)}
    print(json.dumps({"calibration_seconds": machine, "tables": tables, "jobs": len(load.arrival), "tasks": tasks}))


if __name__ == "__main__":
    main()
