"""What it costs to ask a foreign rule: its copy of the instance in a simulation, and a process of its own a call.

    python measurements/isolation.py

Prints one JSON document. `copy`: mlsched's own rules, asked as they are and as if they were foreign; CPU microseconds
a decision of the whole run (world, rule, judge), and how much more it is with the copy of the instance. `call`:
milliseconds of one `solve` in this process and in a process of its own: the least and the median of many calls.
"""

from __future__ import annotations

import json
import statistics
import time
import warnings
from typing import Any

import mlsched
from mlsched.core.registry import registry

#: World, workload and rule of each line.
RUNS = (
    ("preemption", "synthetic:z:jobs=2000", "fitgpp"),
    ("quality", "synthetic:table1:jobs=40", "slaq"),
    ("workers", "synthetic:chic:jobs=200", "optimus"),
    ("placement", "synthetic:uniform:jobs=100", "load-balancing"),
    ("taskgraph", "synthetic:gangs:jobs=1000", "fifo"),
)
REPEATS, CALLS = 7, 50


def copying(problem: str, source: str, name: str) -> dict[str, Any]:
    """A rule asked as mlsched's own are, and as a foreign one is: the least CPU time of a few runs, in turns."""
    answerer, values = registry().answerer(problem, name)

    def rule(instance: Any, *, rng: Any) -> Any:
        return answerer.function(instance, rng=rng, **values)

    load, options = mlsched.workload(source, problem), answerer.world(values)
    spent: dict[str, list[float]] = {"mlsched.own": [], "foreign": []}
    for _ in range(REPEATS):
        for module, seconds in spent.items():
            rule.__module__ = module  # by which a foreign rule is told
            run = mlsched.simulate(load, rule, options=options)
            seconds.append(run.cpu_seconds)
    own, foreign = (1e6 * min(seconds) / run.decisions for seconds in spent.values())
    return {
        "label": f"{problem}, {name}",
        "decisions": run.decisions,
        "run_us": own,
        "copy_us": foreign - own,
        "share": foreign / own - 1,
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
