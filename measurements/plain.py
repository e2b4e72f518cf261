"""The defaults compared with plain CP-SAT models of forty lines.

    python measurements/plain.py [--problem P] [--preset NAME] [--seeds 1000-1009] [--limit SECONDS] [--objective O]
                               [--all] [--json]

Each solve has its own process, forked from one in which everything is imported and the instance is made, and
answers a small instance first. What counts are CPU seconds, those of its child processes included. Every plain plan is
judged, and two proven optima must agree. Three demands of a preset's instances together:

(a) where the plain model proves within the limit (of CPU seconds), the default, which then has none, takes at most 1.5
    times as long and 0.3 s per instance;
(b) on no single one of them does it take more than 2.5 times as long and 0.5 s;
(c) where it does not, the default proves or has a smaller gap when it is given the same wall clock.

A default that has used ten seconds more than four times what (b) allows is stopped, and fails.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import json
import math
import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import highspy  # noqa: F401  (here, so that no solve is charged for it)
import scipy.optimize
import scipy.sparse  # noqa: F401
from _calibration import cpu_seconds, load
from ortools.sat.python import cp_model

import mlsched
from mlsched.benchmark.plain import build
from mlsched.core.clock import cpu_time
from mlsched.core.contract import Instance
from mlsched.core.registry import registry
from mlsched.core.result import relative_gap

#: Presets of at most eight jobs (of preemption: waiting TE jobs), by problem; and larger ones, for --all.
SMALL = {
    "taskgraph": (
        *("small", "dags", "moving", "fractional", "six-loose", "six-tight", "six-replicas"),
        *("eight-loose", "eight-tight", "eight-replicas"),
    ),
    "placement": ("small", "6x3", "6x5", "6x5-contended", "10x5", "linear", "quadratic", "10x8-contended"),
    "workers": ("small", "paper"),
    "preemption": ("small", "single", "surge", "exhausted", "paper"),
    "quality": ("small",),
}
LARGE = {
    "taskgraph": ("ten-loose", "ten-tight", "ten-replicas"),
    "placement": ("rack-30x10", "rack-30x20-contended"),
    "workers": ("paper-10", "crowded", "x16", "x40", "cpu-bound", "asynchronous", "measured"),
    "preemption": ("paper-surge",),
    "quality": ("floored", "fluid", "contended", "paper", "large"),
}
#: The exact solver of a problem that has no CP-SAT of ours.
DEFAULT = {"quality": "dp"}


@dataclasses.dataclass(frozen=True)
class Side:
    """How one side did on one instance: CPU and wall seconds, whether it proved, value and bound where it has them."""

    cpu: float
    wall: float
    proven: bool
    value: int | None = None
    bound: int | None = None

    @property
    def gap(self) -> float:
        """As results have it; infinite without a plan or a bound."""
        return math.inf if self.value is None or self.bound is None else relative_gap(self.value, self.bound)


def plain(instance: Instance, objective: str, limit: float) -> Side:
    """One thread of CP-SAT on the plain model, for `limit` CPU seconds; the judge evaluates its plan."""
    started, wall = cpu_time(), time.perf_counter()
    model, plan = build(instance, objective)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.05):
            if cpu_time() - started > limit:
                solver.stop_search()

    watcher = threading.Thread(target=watch)
    watcher.start()
    status = solver.solve(model)
    found = plan(solver) if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else None
    used, wall = cpu_time() - started, time.perf_counter() - wall
    ended.set()
    watcher.join()
    assert status in (cp_model.OPTIMAL, cp_model.FEASIBLE, cp_model.UNKNOWN), solver.status_name(status)
    if found is None:
        return Side(used, wall, False)
    assert not instance.violations(found), instance.violations(found)
    value, proven = instance.evaluate(found)[objective], status == cp_model.OPTIMAL
    # Before the end the model may say less of a plan than the judge: a speed may be below what the slowdown allows.
    assert not proven or round(solver.objective_value) == value, (solver.objective_value, value)
    return Side(used, wall, proven, value, round(solver.best_objective_bound))


def default(instance: Instance, objective: str, limit: float | None) -> Side:
    """What the library does without options, or with a time limit alone."""
    started, wall = cpu_time(), time.perf_counter()
    solver = DEFAULT.get(instance.problem, "cp-sat")
    found = mlsched.solve(instance, solver, objective=objective, time_limit=limit)
    used, wall = cpu_time() - started, time.perf_counter() - wall
    return Side(used, wall, found.status == "optimal", found.sort_key, found.sort_bound)


def _work(pipe: Any, side: Callable[..., Side], instance: Instance, objective: str, limit: Any, most: float) -> None:
    """What the process of one solve does."""
    side(mlsched.generate(instance.problem, "small", seed=0), objective, 10.0)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(most + cpu_time()), resource.RLIM_INFINITY))
    pipe.send(side(instance, objective, limit))


def apart(side: Callable[..., Side], instance: Instance, objective: str, limit: float | None, most: float) -> Side:
    """`side` in a process of its own, which is ended when it has used `most` CPU seconds."""
    context: Any = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(theirs, side, instance, objective, limit, most))
    process.start()
    theirs.close()
    try:
        found: Side = mine.recv()
    except EOFError:
        found = Side(most, most, False)
    process.join()
    if process.exitcode not in (0, -signal.SIGXCPU):
        sys.exit(f"the {side.__name__} side failed: {objective} of {instance!r}")
    return found


def compare(problem: str, preset: str, objective: str, seeds: Iterable[int], limit: float) -> list[dict[str, Any]]:
    """Both sides on every seed of a preset: a row each."""
    rows = []
    for seed in seeds:
        instance = mlsched.generate(problem, preset, seed=seed)
        hand = apart(plain, instance, objective, limit, 2 * limit + 60)
        time_limit = None if hand.proven else hand.wall
        most = 4 * (2.5 * hand.cpu + 0.5) + 10
        ours = apart(default, instance, objective, time_limit, most)
        assert not (hand.proven and ours.proven) or hand.value == ours.value, (preset, seed, hand, ours)
        row = {"problem": problem, "preset": preset, "objective": objective, "seed": seed}
        rows.append({**row, "plain": hand, "default": ours})
    return rows


@dataclasses.dataclass(frozen=True)
class Summary:
    """What the instances of one preset and objective come to; CPU seconds are of those that the plain model proves."""

    problem: str
    preset: str
    objective: str
    instances: int
    proven: tuple[int, int]
    cpu: tuple[float, float]
    ratio: float
    slowest: int | None
    missed: dict[str, bool]
    named: tuple[int, ...]

    @classmethod
    def of(cls, rows: list[dict[str, Any]]) -> Summary:
        """Of the rows of one preset and objective."""
        pairs = [(row["plain"], row["default"], row["seed"]) for row in rows]
        proven = [pair for pair in pairs if pair[0].proven]
        hand, ours = sum(p.cpu for p, _, _ in proven), sum(d.cpu for _, d, _ in proven)
        late = [s for p, d, s in proven if d.cpu > 2.5 * p.cpu + 0.5 or not d.proven]
        worse = [s for p, d, s in pairs if not p.proven and not d.proven and not d.gap < p.gap]
        ratio, seed = max(((d.cpu / p.cpu, s) for p, d, s in proven), default=(0.0, None))
        missed = {"a": ours > 1.5 * hand + 0.3 * len(proven), "b": bool(late), "c": bool(worse)}
        about = (rows[0][name] for name in ("problem", "preset", "objective"))
        by_default = sum(d.proven for _, d, _ in pairs)
        return cls(*about, len(rows), (len(proven), by_default), (hand, ours), ratio, seed, missed, (*late, *worse))


def report(rows: list[dict[str, Any]], verbose: bool) -> Summary:
    """Print the verdict on the rows of one preset and objective."""
    found = Summary.of(rows)
    verdict = "  ".join(f"({k}) {'FAIL' if v else 'pass'}" for k, v in found.missed.items())
    say(
        f"{found.preset:20} {found.objective:20} {len(rows):3} proven by plain {found.proven[0]:2}, by default "
        f"{found.proven[1]:2}  CPU s plain {found.cpu[0]:8.3f} default {found.cpu[1]:8.3f}  "
        f"worst {found.ratio:5.1f}x (seed {found.slowest})  {verdict}"
    )
    for row in rows if verbose else [row for row in rows if row["seed"] in found.named]:
        p, d = row["plain"], row["default"]
        say(
            f"    seed {row['seed']}: plain {p.cpu:.3f} s, {p.value} bound {p.bound}; default {d.cpu:.3f} s, "
            f"{d.value} bound {d.bound}{'' if d.proven else ', not proven'}"
        )
    return found


def say(line: str) -> None:
    """What is told while it runs: beside the document."""
    print(line, file=sys.stderr, flush=True)


def document(summaries: list[Summary]) -> dict[str, Any]:
    """A table per problem and objective, a row per preset; and one of each problem's objectives, over all presets."""
    tables = []
    for problem in dict.fromkeys(s.problem for s in summaries):
        own = [s for s in summaries if s.problem == problem]
        objectives = list(dict.fromkeys(s.objective for s in own))
        for objective in objectives:
            rows = [line(s.preset, [s]) for s in own if s.objective == objective]
            tables.append({"name": f"{problem} {objective}", "header": ["preset", *COLUMNS], "rows": rows})
        rows = [line(o, [s for s in own if s.objective == o]) for o in objectives]
        tables.append({"name": problem, "header": ["objective", *COLUMNS], "rows": rows})
    return {"kind": "plain", "tables": tables}


COLUMNS = ("instances", "proved by plain", "by default", "plain, CPU s", "default, CPU s", "largest ratio", "missed")


def line(label: str, found: list[Summary]) -> list[str]:
    """A row of a table: sums over some presets, the largest ratio of an instance, and the demands that are missed."""
    proven, cpu = (
        tuple(map(sum, zip(*pairs, strict=True))) for pairs in ([s.proven for s in found], [s.cpu for s in found])
    )
    missed = [f"{s.preset} ({name})" for s in found for name, is_missed in s.missed.items() if is_missed]
    ratio = max(s.ratio for s in found)
    numbers = [str(sum(s.instances for s in found)), *map(str, proven), *(f"{c:.2f}" for c in cpu), f"{ratio:.1f}"]
    return [label, *numbers, ", ".join(missed) or "-"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", choices=SMALL)
    parser.add_argument("--preset", help="names, separated by commas")
    parser.add_argument("--seeds", default="1000-1009", help="first and last, or one")
    parser.add_argument("--limit", type=float, default=30.0, help="CPU seconds of the plain model")
    parser.add_argument("--objective", help="one of the problem's; all of them by default")
    parser.add_argument("--all", action="store_true", help="larger presets, too")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    parser.add_argument("--verbose", action="store_true", help="a line per instance")
    given = parser.parse_args()
    first, _, last = given.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    say(f"calibration load: {cpu_seconds(load):.3f} CPU s; load average {os.getloadavg()[0]:.1f}")
    gc.freeze()
    found = []
    for problem in SMALL:
        if given.problem not in (None, problem):
            continue
        wanted = given.preset.split(",") if given.preset else (*SMALL[problem], *(LARGE[problem] if given.all else ()))
        known = (*SMALL[problem], *LARGE[problem])
        objectives = registry().solver(problem, registry().problem(problem).default)[0].objectives
        say(problem)
        for preset in [name for name in wanted if name in known]:
            for objective in [o for o in objectives if given.objective in (None, o)]:
                found.append(report(compare(problem, preset, objective, seeds, given.limit), given.verbose))
    if given.json:
        print(json.dumps(document(found)))
    elif any(any(s.missed.values()) for s in found):
        sys.exit("a demand is not met")


if __name__ == "__main__":
    main()
