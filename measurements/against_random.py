"""Every rule and trained policy compared with uniform-random valid actions on unseen workloads.

    python measurements/against_random.py [--problems placement workers ...] [--workloads 16]

Prints one JSON document with a table per problem: of each rule the measures of its paper and its paired difference from
random actions on the same workload, (rule - random) / the larger of the two, in percent, below 0 if the rule is better
(`mlsched/benchmark/paired.py`). Intervals and verdicts are corrected for all comparisons of a table. Exact solvers are
left out. Every run passes its replay check, or the script ends.

Random actions are: of `placement` and `workers`, `uniform-random`. Of `taskgraph`, any choice that MLF-RL has. Of
`quality`, one core after the other to any job that may have it. Of `preemption`, for each TE job any node on which it
can be made to fit, and any victims there until it does.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from mlf_rl import random_choices

import mlsched
from mlsched.benchmark.formats import interval_text, signed_text
from mlsched.benchmark.paired import compare_values
from mlsched.core.registry import registry
from mlsched.heuristics.preemption._room import Room
from mlsched.instances.preemption import Instance as Cluster
from mlsched.instances.preemption import Plan as Victims
from mlsched.instances.quality import Instance as Cores
from mlsched.instances.quality import Plan as Shares
from mlsched_training.taskgraph._episodes import LOAD, WAKE, WORLD
from mlsched_training.taskgraph._reward import Reward

#: Seed of the first workload; trainings draw theirs from other ranges.
FIRST = 5000


def random_victims(instance: Cluster, *, rng: np.random.Generator) -> Victims:
    """Any node on which a TE job can be made to fit, and any victims there until it does."""
    room = Room(instance, 0)
    for demand in instance.te_demand:
        most, able = room.free.copy(), np.flatnonzero(room.preemptible)
        np.add.at(most, instance.job_node[able], instance.job_demand[able])
        nodes = np.flatnonzero((most >= demand).all(axis=1))
        node = int(rng.choice(nodes)) if nodes.size else -1
        for job in rng.permutation(able[instance.job_node[able] == node]).tolist():
            if (room.free[node] >= demand).all():
                break
            room.suspend(job)
        room.place(demand, node)
    return room.plan()


def random_cores(instance: Cores, *, rng: np.random.Generator) -> Shares:
    """One core after the other to any job that may have it."""
    caps = instance.most[instance.running]
    shares = np.minimum(instance.least, caps)
    for _ in range(instance.available - int(shares.sum())):
        able = np.flatnonzero(shares < caps)
        if not able.size:
            break
        shares[rng.choice(able)] += 1
    return instance.plan(shares)


def percentile(kind: str, point: str) -> Callable[[Any], float]:
    """A percentile of the slowdowns of a kind of job."""
    return lambda run: float(run.summary()[kind][point])


def from_summary(name: str) -> Callable[[Any], float]:
    return lambda run: float(run.summary()[name])


@dataclasses.dataclass(frozen=True)
class Ground:
    """Where the rules of a problem are compared.

    source, settings: of the workloads. run: arguments of `simulate`. figures: title -> figure of merit of a run and
    whether more is better. random: the solver. texts: rule -> how it is called.
    """

    source: str
    settings: Mapping[str, Any]
    figures: Mapping[str, tuple[Callable[[Any], float], bool]]
    random: Any = "uniform-random"
    run: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    texts: Mapping[str, str] = dataclasses.field(default_factory=dict)


GROUNDS = {
    "placement": Ground(
        "synthetic:uniform", {"jobs": 60}, {"completion [intervals]": (from_summary("average_completion"), False)}
    ),
    "workers": Ground("synthetic:chic", {}, {"ACT [s]": (from_summary("average_completion_s"), False)}),
    "preemption": Ground(
        "synthetic:z",
        {"jobs": 1500, "nodes": 20},
        {
            "TE slowdown, p95": (percentile("te_slowdown", "p95"), False),
            "BE slowdown, p50": (percentile("be_slowdown", "p50"), False),
        },
        random_victims,
    ),
    "quality": Ground(
        "synthetic:table1",
        {"jobs": 40, "cores": 64},
        {
            "average loss": (from_summary("average_loss"), False),
            "time to 90 % [s]": (from_summary("time_to_90_s"), False),
        },
        random_cores,
    ),
    "taskgraph": Ground(
        "synthetic:mlfs-cluster",
        {"simulator": "iterations", "jobs": 12, "servers": 2, "hours": 1.0, "load": 3 * LOAD},
        {
            "mean JCT [h]": (lambda run: float(run.jobs["jct"].mean()) / 3600, False),
            "reward, Eq. 7": (lambda run: float(Reward().of_jobs(run.workload, run.log).mean()), True),
        },
        random_choices,
        {"scheduling_events": WAKE, "options": WORLD},
        {"mlfs": "mlfs:switch=always", "slaq": "slaq:epoch=600", "optimus": "optimus:epoch=600"},
    ),
}


def measured(ground: Ground, loads: list[Any], solver: Any) -> dict[str, Any]:
    """Title of a figure -> its value on every workload."""
    runs = []
    for seed, load in enumerate(loads):
        run = mlsched.simulate(load, solver, seed=seed, **ground.run)
        if wrong := run.violations():
            raise SystemExit(f"{solver}: the replay check fails: {wrong[0]}")
        runs.append([figure(run) for figure, _ in ground.figures.values()])
    return dict(zip(ground.figures, np.array(runs).T, strict=True))


def shown(value: float) -> str:
    """Three digits, and no exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def table(problem: str, ground: Ground, count: int) -> dict[str, Any]:
    """The rules of a problem, from the best to the worst by the first figure."""
    settings = {"problem": problem, **ground.settings}
    loads = [mlsched.workload(ground.source, seed=FIRST + k, **settings) for k in range(count)]
    rules = sorted(
        (solver.kind, name)
        for (of, name), solver in registry().solvers.items()
        if of == problem and solver.kind in ("heuristic", "trained") and name != ground.random
    )
    base, values = measured(ground, loads, ground.random), {}
    for kind, name in rules:
        started, text = time.process_time(), ground.texts.get(name, name)
        values[text, kind] = measured(ground, loads, text)
        print(f"{problem} {text}: {time.process_time() - started:.0f} CPU s", file=sys.stderr, flush=True)
    signs = {title: -1 if more else 1 for title, (_, more) in ground.figures.items()}
    changes = {
        (rule, title): compare_values(
            (sign * base[title]).tolist(), (sign * found[title]).tolist(), comparisons=len(values) * len(signs)
        )
        for rule, found in values.items()
        for title, sign in signs.items()
    }
    first = next(iter(signs))
    rows = [["random actions", "", *(cell for v in base.values() for cell in (shown(v.mean()), "", ""))]]
    for rule in sorted(values, key=lambda rule: changes[rule, first].mean):
        cells = []
        for title in signs:
            change = changes[rule, title]
            interval = interval_text(change.interval, lambda share: signed_text(100 * share))
            cells += [shown(values[rule][title].mean()), f"{signed_text(100 * change.mean)} {interval}", change.verdict]
        rows.append([*rule, *cells])
    header = ["rule", "kind"]
    for title in signs:
        header += [title, "against random [%]", "verdict"]
    return {"name": problem, "header": header, "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=list(GROUNDS), choices=list(GROUNDS))
    parser.add_argument("--workloads", type=int, default=16)
    given = parser.parse_args()
    warnings.filterwarnings("ignore", message="the offered load")
    print(json.dumps({"tables": [table(name, GROUNDS[name], given.workloads) for name in given.problems]}))


if __name__ == "__main__":
    main()
