"""Gaps of task-graph rules to the proven optimum on small horizons, for each objective.

    python measurements/taskgraph_gaps.py [--seeds N] [--fronts N] [--tables loose tight front] [--rules NAME ...]

Every heuristic that answers snapshots, or each of --rules (trained policies, too, and `random-choices`: any choice that
MLF-RL has), is rolled out on `six-loose`, seeds 0 to N-1, and `six-tight`, seeds N to 2N-1. Prints
one JSON document. Tables `loose` and `tight`: gaps to CP-SAT's optimum, as a mean with its 95 % interval over instances
(of total_jct also the median and the 90th percentile); where the optimum may be 0, the mean difference. Rules that can
stop jobs do so after the least iterations for objectives that reward it, after the most for accuracy; MLF-C and what
contains it decide by themselves, options as in the paper's evaluation.

Table `front`: horizons of three jobs that arrive at once on two GPUs and may stop after any iteration, accuracy in
whole per cent, half of them with tight deadlines. Of each rule's plan (total_jct, total_accuracy): how much longer its
jobs take than those of the plan on the exact front that is as accurate, and how much less accurate they are, a job,
than those of the one that is as fast; and in how many horizons it is on the front.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

import mlsched
from mlsched.core.registry import registry, solver, solvers_in
from mlsched.heuristics.taskgraph.measures import stops_after
from mlsched.simulation.taskgraph.allocation import Allocation, chosen
from mlsched_papers.claim import Estimate, estimate

#: Objective -> how its gap is shown, and whether running less helps it.
SHOWN = {
    "total_jct": ("%", True),
    "makespan": ("%", True),
    "traffic": ("MB", True),
    "deadlines_met": ("jobs", True),
    "accuracy_met": ("jobs", False),
    "total_accuracy": ("%", False),
}
HEADER = ["rule", "total JCT, %", "median", "p90", "makespan, %", "traffic, MB", "deadlines missed"]
HEADER += ["accuracies missed", "total accuracy, %"]
#: What a rule is called with for objectives that reward running less, and for those that do not.
STOPS = ("stop=least", "stop=most")
FRONT_RULES = ("best-effort-fifo", "srpt", "mlf-h")
SMALL = {"jobs": 3, "runs": 24, "nodes": 1, "gpus": 2, "graph": "mlfs", "partitions": 2, "replicas": 2, "spread": 0.0}
FRONT_STOPS = ("least", "required", "most")


@solver("random-choices", problem="taskgraph", kind="heuristic", called="online", paper="none")
def any_choice(snapshot: Any, *, rng: np.random.Generator, stop: str = "most") -> Any:
    """Any allowed choice of MLF-RL's."""
    due = Allocation(snapshot, stops_after(snapshot, stop))
    return chosen(due, lambda now: int(rng.choice(np.flatnonzero(now.mask))))


def variants(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Name of each rule -> how it is called for objectives that reward running less, and for the others."""
    found = {}
    for name in names:
        rule, separator = registry().solver("taskgraph", name)[0], "," if ":" in name else ":"
        stops = STOPS if "stop" in rule.parameters else ("options=evaluation",) * 2
        found[name] = (f"{name}{separator}{stops[0]}", f"{name}{separator}{stops[1]}")
    if names:
        return found
    for rule in registry().available("taskgraph"):
        if rule.called == "online" and rule.kind == "heuristic":
            stops = STOPS if "stop" in rule.parameters else ("options=evaluation",) * 2
            found[rule.name] = (f"{rule.name}:{stops[0]}", f"{rule.name}:{stops[1]}")
    for part in ("h_r=1.0", "bandwidth=false", "urgency=false", "deadline=false"):
        found[f"mlf-h, {part}"] = (f"mlf-h:{part},{STOPS[0]}", f"mlf-h:{part},{STOPS[1]}")
    return found


def optima(instances: Sequence[Any]) -> dict[str, list[Any]]:
    """Objective -> CP-SAT's proven answer to each instance."""
    found: dict[str, list[Any]] = {}
    for name in SHOWN:
        found[name] = [mlsched.solve(instance, "cp-sat", objective=name) for instance in instances]
        if any(result.status != "optimal" for result in found[name]):
            raise SystemExit(f"{name}: an optimum is not proven")
    return found


def gaps(instances: Sequence[Any], names: Sequence[str]) -> list[dict[str, Any]]:
    """For each rule, the gaps by objective: estimates, and those of total_jct one by one."""
    best, rows = optima(instances), []
    for name, calls in variants(names).items():
        values = {
            call: [mlsched.solve(instance, call).sort_keys for instance in instances] for call in dict.fromkeys(calls)
        }
        row: dict[str, Any] = {"name": name}
        for objective, (unit, less) in SHOWN.items():
            pairs = zip(values[calls[0] if less else calls[1]], best[objective], strict=True)
            sign = 1 if objective in ("total_jct", "makespan", "traffic") else -1
            worse = [(sign * (v[objective] - b.sort_key), b.sort_key) for v, b in pairs]
            row[objective] = [100 * d / b for d, b in worse] if unit == "%" else [d for d, _ in worse]
        rows.append(row)
    return rows


def shown(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The gaps as a table of a page, with its numbers."""
    lines, numbers = [], []
    for row in rows:
        each = {objective: estimate(row[objective]) for objective in SHOWN}
        median, high = np.percentile(row["total_jct"], (50, 90)).tolist()
        cells = [worded(each[objective]) for objective in SHOWN]
        lines.append([row["name"], cells[0], f"{median:.1f}", f"{high:.1f}", *cells[1:]])
        numbers.append({"name": row["name"], "median": median, "p90": high} | {o: numeric(e) for o, e in each.items()})
    return {"header": HEADER, "rows": lines, "numbers": numbers}


def worded(found: Estimate | None) -> str:
    return "-" if found is None else f"{found.mean:.2f}" + ("" if found.half is None else f" ± {found.half:.2f}")


def numeric(found: Estimate | None) -> dict[str, float | None]:
    return {"measured": found and found.mean, "ci95": found and found.half}


def fronts(count: int, names: Sequence[str]) -> dict[str, Any]:
    """The distance of each rule's plans to the exact front of total_jct and total_accuracy."""
    questions = []
    for slack in (3.0, 1.2):
        for seed in range(count):
            drawn = mlsched.generate("taskgraph", seed=seed, slack=slack, **SMALL)
            questions.append(drawn.replace(min_iterations=[1] * 3, accuracy=drawn.accuracy // 10_000 * 10_000))
    exact = [mlsched.pareto(question, ["total_jct", "total_accuracy"]) for question in questions]
    if not all(front.complete for front in exact):
        raise SystemExit("a front is not complete")
    calls = [f"{rule}:stop={stop}" for rule in FRONT_RULES for stop in FRONT_STOPS]
    calls += [f"mlf-c:rule={rule},options=evaluation" for rule in ("best-effort-fifo", "srpt")] + [
        "mlfs-h:options=evaluation"
    ]
    if names:
        calls = sorted({call for pair in variants(names).values() for call in pair})
    rows, numbers = [], []
    for call in calls:
        longer, less, on = [], [], 0
        for question, front in zip(questions, exact, strict=True):
            values = mlsched.solve(question, call).sort_keys
            jct, accuracy = (np.array(column) for column in zip(*front.sort_keys.tolist(), strict=True))
            mine = values["total_jct"], values["total_accuracy"]
            longer.append(100 * (mine[0] / jct[accuracy >= mine[1]].min() - 1))
            fast = accuracy[jct <= mine[0]]
            less.append((fast.max() - mine[1]) / 3 / 10_000)
            on += mine in {(int(a), int(b)) for a, b in front.sort_keys}
        each = estimate(longer), estimate(less)
        rows.append([call, *(worded(e) for e in each), f"{on}/{len(questions)}"])
        numbers.append({"name": call, "longer": numeric(each[0]), "less_accurate": numeric(each[1])})
    header = ["rule", "longer at its accuracy, %", "less accurate at its JCT, points per job", "on the front"]
    sizes = [len(front) for front in exact]
    return {"header": header, "rows": rows, "numbers": numbers, "points": [min(sizes), max(sizes)]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100, help="of each preset")
    parser.add_argument("--fronts", type=int, default=20, help="horizons with loose and as many with tight deadlines")
    parser.add_argument("--tables", nargs="+", choices=("loose", "tight", "front"), default=["loose", "tight", "front"])
    parser.add_argument("--rules", nargs="*", default=[], metavar="NAME")
    arguments = parser.parse_args()
    if arguments.rules:
        for one in solvers_in(sys.modules[__name__]):
            registry().add(one)
    tables = {}
    for first, kind in ((0, "loose"), (arguments.seeds, "tight")):
        if kind in arguments.tables:
            seeds = range(first, first + arguments.seeds)
            instances = [mlsched.generate("taskgraph", f"six-{kind}", seed=seed) for seed in seeds]
            tables[kind] = shown(gaps(instances, arguments.rules))
    if "front" in arguments.tables:
        tables["front"] = fronts(arguments.fronts, arguments.rules)
    print(json.dumps({"tables": tables, "versions": mlsched.__version__}))


if __name__ == "__main__":
    main()
