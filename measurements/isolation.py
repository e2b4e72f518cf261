"""Cost of calling a user's rule: copies of instances in a simulation, and one process per call.

    python measurements/isolation.py

Prints one JSON document. `copy`: CPU microseconds per decision of a whole run (world, rule, judge) of a rule of
mlsched, and of what guards a foreign rule, over the same instances: the copy, and a look at it afterwards. `call`:
milliseconds of one `solve` in this process and in its own process: the least and the median of many calls.
"""

from __future__ import annotations

import json
import statistics
import time
import warnings
from typing import Any

import mlsched
from mlsched.api.guard import Guarded

#: World, workload and rule of each line.
RUNS = (
    ("preemption", "synthetic:z:jobs=2000", "fitgpp"),
    ("quality", "synthetic:table1:jobs=40", "slaq"),
    ("workers", "synthetic:chic:jobs=200", "optimus"),
    ("placement", "synthetic:uniform:jobs=100", "load-balancing"),
    ("taskgraph", "synthetic:gangs:jobs=1000", "fifo"),
)
REPEATS, CALLS = 5, 50


def copying(problem: str, source: str, name: str) -> dict[str, Any]:
    """A run of a rule, and the guard around a rule that does nothing over all instances of the run; the least times."""
    load = mlsched.workload(source, problem)
    runs = [mlsched.simulate(load, name, record=1.0) for _ in range(REPEATS)]
    instances = [decision.instance for decision in runs[0].recorded]
    guard, copies = Guarded(name, lambda instance: None), []
    for _ in range(REPEATS):
        begun = time.process_time()
        for instance in instances:
            guard(instance)
        copies.append(time.process_time() - begun)
    own, more = (1e6 * least / len(instances) for least in (min(run.cpu_seconds for run in runs), min(copies)))
    return {
        "label": f"{problem}, {name}",
        "decisions": len(instances),
        "run_us": own,
        "copy_us": more,
        "share": more / own,
    }


def calling(isolate: bool) -> dict[str, float]:
    """Milliseconds of one call of a rule."""
    instance = mlsched.generate("preemption", "small", seed=1)
    took = []
    for _ in range(CALLS):
        begun = time.perf_counter()
        mlsched.solve(instance, "fifo", isolate=isolate)
        took.append(1e3 * (time.perf_counter() - begun))
    return {"least": min(took), "median": statistics.median(took)}


def main() -> None:
    warnings.simplefilter("ignore")
    runs = [copying(*line) for line in RUNS]
    calls = {"in this process": calling(False), "in one of its own": calling(True)}
    header = ["simulation", "decisions", "a decision [us]", "its copy [us]", "share [%]"]
    rows = [
        [r["label"], r["decisions"], f"{r['run_us']:.0f}", f"{r['copy_us']:.0f}", f"{100 * r['share']:.1f}"]
        for r in runs
    ]
    called = [[name, f"{found['least']:.1f}", f"{found['median']:.1f}"] for name, found in calls.items()]
    tables = {
        "copy": {"header": header, "rows": rows},
        "call": {"header": ["a call", "least [ms]", "median [ms]"], "rows": called},
    }
    print(json.dumps({"copy": runs, "call": calls, "tables": tables}))


if __name__ == "__main__":
    main()
