"""Equality of two checkouts of mlsched on random logs, row by row.

    python measurements/same_rows.py OTHER [--first SEED] [--count LOGS] [--rules PER_LOG] [--only RULE]

OTHER is the root of a checkout, the oracle. Each checkout runs the same logs in its own process. Logs have several
nodes and resources, gangs of equal and different tasks, partitions, types of nodes, GPU parts, graphs, priorities,
pause costs, failures, time limits, estimates that are wrong, users and deadlines. A run is compared by its rows, nodes,
GPUs, scheduling events and decisions, by the figures of a window of time, or by the error that it ends with. Prints one
JSON document.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import random
import resource
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

RULES: list[tuple[str, dict[str, Any]]] = [
    ("fifo", {}),
    ("fifo", {"strict": False}),
    ("best-effort-fifo", {}),
    ("best-effort-fifo", {"nodes": "few"}),
    ("srpt", {}),
    ("srpt", {"size": "time"}),
    ("srpt", {"size": "area", "nodes": "least-work"}),
    ("srpt", {"preempt": True}),
    ("srpt", {"preempt": True, "size": "time", "hysteresis": 0.0}),
    ("las", {"quantum": 4.0}),
    ("las", {"quantum": 6.0, "growth": 0.0, "by": "time"}),
    ("tiresias", {"first": 6.0, "second": 20.0}),
    ("tiresias", {"first": 5.0, "second": 30.0, "knob": 2.0, "keep": True}),
    ("tiresias", {"first": 5.0, "second": 12.0, "knob": 0.0}),
    ("tiresias-gittins", {}),
    ("hypersched", {}),
    ("fair", {}),
    ("fair", {"per": "user"}),
    ("fair", {"queueing": "iteration", "quantum": 3.0}),
    ("drf", {}),
    ("drf", {"per": "user"}),
    ("easy-backfill", {}),
    ("easy-backfill", {"reserve": "nodes"}),
    ("conservative-backfill", {}),
    ("conservative-backfill", {"reserve": "nodes", "depth": 3}),
]
UNLIMITED = 2**31 - 1
#: CPU seconds after which a run is given up; the two outcomes of a run in which jobs pause each other forever.
PATIENCE = 2.0
ENDLESS = ("endless", "")
GIVEN_UP: list[bool] = []  # whether the run at hand has been given up


def log_of(seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The columns of a random log, and options of the simulator."""
    rng = random.Random(seed)

    def some(share: float) -> bool:
        return rng.random() < share

    def need() -> list[int]:
        return [rng.choice([250, 500, 1000, 2000]) if unit else rng.randint(1, 4) for _ in resources]

    unit = 1000 if some(0.2) else 0
    resources = ("gpu_milli",) if unit else ("gpu", "cpu", "mem")[: rng.choice([1, 1, 2, 3])]
    count = rng.randint(1, 7)
    large = rng.choice([4, 8])
    nodes = [[rng.choice([2, 4, large]) * (unit or 1) for _ in resources] for _ in range(count)]
    graph = some(0.15)
    types = 2 if some(0.2) and not graph and count > 1 else 1
    classes = rng.choice([1, 1, 2, 3])  # partitions
    eligible = [[1] * count for _ in range(classes)]
    for row in eligible[1:]:
        row[:] = [int(some(0.6)) for _ in row]
        row[rng.randrange(count)] = 1
    templates, edges, tasks = rng.randint(3, 8), [], []
    gang = [1 if types > 1 or some(0.9) else 0 for _ in range(templates)]
    equal = some(0.6)
    for template in range(templates):
        length, kind = rng.randint(1, 9), rng.randrange(classes)
        rows = [need() for _ in range(rng.choice([1, 1, 1, 2, 3, 4]))]
        first = len(tasks)
        for number, row in enumerate(rows):
            ticks = rng.randint(1, 9) if graph else length
            tasks.append((template, ticks, rows[0] if equal else row, kind))
            if graph and number and some(0.7):
                lag = int(some(0.3))
                edges.append((first + number - 1, first + number, lag, rng.randint(1, 5), rng.randint(0, 2)))
    whole = [[sum(row[2][r] for row in tasks if row[0] == t) for r in range(len(resources))] for t in range(templates)]
    host = rng.randrange(count)  # all jobs fit on it
    nodes[host] = [-(-max(column) // (unit or 1)) * (unit or 1) for column in zip(*whole, strict=True)]
    for row in eligible:
        row[host] = 1
    many = rng.randint(5, 30)
    span = rng.choice([10, 40, 120])
    arrival = sorted(rng.randint(0, span) for _ in range(many))
    iterations = [rng.choice([1, 1, 2, 4, 7]) for _ in range(many)]
    scale = [rng.choice([10**6, 10**6, 1_300_001, 700_000]) for _ in range(many)]
    wrong = rng.choice([1.0, 1.0, 0.8, 1.5])
    jobs: dict[str, Any] = {
        "resources": resources,
        "node_capacity": nodes,
        "eligible": eligible,
        "accuracy": [[min(10**6, 150_000 * i) for i in range(8)]],
        "gang": gang,
        "accuracy_table": [0] * templates,
        "task_template": [row[0] for row in tasks],
        "duration": [row[1] for row in tasks],
        "estimate": [row[1] for row in tasks],
        "demand": [row[2] for row in tasks],
        "task_class": [row[3] for row in tasks],
        "parameters": [rng.choice([1, 1, 5]) for _ in tasks],
        **{
            name: [edge[k] for edge in edges]
            for k, name in enumerate(("edge_from", "edge_to", "edge_lag", "edge_volume", "edge_delay"))
        },
        "template": [rng.randrange(templates) for _ in range(many)],
        "arrival": arrival,
        "scale": scale,
        "told": [max(1, round(s * wrong)) for s in scale],
        "deadline": [a + rng.randint(5, 60) if some(0.5) else UNLIMITED for a in arrival],
        "urgency": [0] * many,
        "required": [500_000] * many,
        "min_iterations": iterations,
        "max_iterations": iterations,
        "movement": "between_iterations" if some(0.1) else "none" if some(0.1) else "anytime",
        "tick_ms": 1000,
        "gpu_unit": unit,
    }
    if some(0.6):
        jobs["pause_cost"] = [rng.choice([0, 1_000_000, 1_500_000])] * many
    if some(0.3):
        jobs["priority"] = [rng.choice([0, 0, 1, 2]) for _ in range(many)]
    if some(0.3):
        jobs["user"] = [rng.randrange(3) for _ in range(many)]
    if some(0.3):
        jobs["time_limit"] = [rng.choice([0, rng.randint(1, 60)]) for _ in range(many)]
    if types > 1:
        jobs["node_type"] = [node % 2 for node in range(count)]
        jobs["slowness"] = [[10**6, rng.choice([1_500_000, 700_000])]] * classes
        jobs["type_names"] = ("a", "b")
    if some(0.25):
        begins = sorted(rng.randint(0, span) for _ in range(rng.randint(1, 3)))
        jobs["failure_node"] = [rng.randrange(count) for _ in begins]
        jobs["failure_from"] = begins
        jobs["failure_to"] = [begin + rng.randint(1, 20) for begin in begins]
    options: dict[str, Any] = {"restart": rng.choice(["checkpoint", "scratch"])}
    if some(0.1):
        options["pausing"] = "restart"
    if some(0.1):
        options["information"] = "oracle"
    return jobs, options


def outcome(mlsched: Any, jobs: Any, rule: str, params: dict[str, Any], options: dict[str, Any], window: float) -> Any:
    """What a run is compared by."""
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
    try:
        run = mlsched.simulate(jobs, rule, options=options, **params)
    except Exception as error:
        if GIVEN_UP:
            GIVEN_UP.clear()
            return ENDLESS
        return type(error).__name__.replace("Answerer", "Solver"), str(error)[:40]
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    log = run.log
    found = [log.rows, log.places, log.gpus, log.wakes, log.stops, run.decisions, run.violations()]
    windows = run.windows()
    figures = windows.figures(sys.modules[type(windows).__module__].Window(window / 4, window))
    rest = sorted((name, None if value is None else round(value, 6)) for name, value in figures.items())
    return hashlib.sha256(repr((found, rest)).encode()).hexdigest()[:16], len(log.rows)


def _give_up(*_: Any) -> None:
    GIVEN_UP.append(True)
    raise TimeoutError


def child(root: str, first: int, count: int, rules: int, only: str) -> None:
    """Run logs in a checkout, one line each."""
    sys.path.insert(0, root)
    sys.path.insert(1, str(Path(root) / "plugins"))
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGVTALRM, _give_up)
    import mlsched
    from mlsched.simulation.taskgraph.iterations import Jobs
    from mlsched.simulation.taskgraph.iterations.fits import never_start

    assert Path(mlsched.__file__).parent.parent == Path(root), mlsched.__file__
    for seed in range(first, first + count):
        columns, options = log_of(seed)
        try:
            jobs = Jobs(**columns)
            if never_start(jobs):
                continue
        except Exception as error:
            print(json.dumps([seed, "refused", str(error)[:40]]), flush=True)
            continue
        able = [number for number, (rule, _) in enumerate(RULES) if only in ("", rule)]
        chosen = random.Random(-seed).sample(able, min(rules, len(able)))
        found = {}
        for number in sorted(chosen):
            rule, params = RULES[number]
            found[number] = outcome(mlsched, jobs, rule, params, options, 60.0)
        print(json.dumps([seed, found]), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--rules", type=int, default=4, help="rules per log")
    parser.add_argument("--only", default="", help="the name of a rule; all others are left out")
    parser.add_argument("--child", action="store_true", help="run the logs in OTHER alone")
    arguments = parser.parse_args()
    numbers = (arguments.first, arguments.count, arguments.rules)
    if arguments.child:
        child(arguments.other, *numbers, arguments.only)
        return
    roots = [str(Path(root).resolve()) for root in (Path(__file__).parent.parent, arguments.other)]
    names = ("--first", "--count", "--rules")
    options = list(itertools.chain.from_iterable((name, str(n)) for name, n in zip(names, numbers, strict=True)))
    options += ["--only", arguments.only]
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    runs = [
        subprocess.run(
            [sys.executable, __file__, root, "--child", *options], check=True, capture_output=True, text=True, env=plain
        ).stdout.splitlines()
        for root in roots
    ]
    logs = [{row[0]: row[1:] for row in map(json.loads, lines)} for lines in runs]
    different, compared, stopped, segments = [], 0, 0, 0
    for seed in sorted(logs[0].keys() | logs[1].keys()):
        here, there = logs[0].get(seed), logs[1].get(seed)
        if not here or not there or not isinstance(here[0], dict):
            if here != there:
                different.append([seed, here, there])
            continue
        for number, result in here[0].items():
            compared += 1
            stopped += not isinstance(result[1], int)
            segments += result[1] if isinstance(result[1], int) else 0
            if result != there[0][number] and {"Stuck", "endless"} != {result[0], there[0][number][0]}:
                different.append([seed, *RULES[int(number)], result, there[0][number]])
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        json.dumps(
            {
                "logs": len(logs[0]),
                "runs": compared,
                "of these stopped by an error": stopped,
                "rows": segments,
                "different": len(different),
                "first differences": different[:20],
                "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
