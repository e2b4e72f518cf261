"""MLF-RL, MLFS and the RL baseline compared with their baselines on unseen workloads.

    python measurements/mlf_rl.py [--weights DIR] [--workloads 10] [--jobs 12] [--servers 2] [--loads 1 3] [--others 0]
        [--rows LABEL ...] [--places loads sizes] [--joins NAME=TRACE ...]

DIR holds mlf-rl-SEED.safetensors files as `mlsched train` writes them; without it, the weights of the package are
measured. Workloads are those of `synthetic:mlfs-cluster` with seeds 0, 1, ..., in the simulator of `mlsched reproduce
mlfs`, and alike for all; every run is checked by the independent replay. Reward: Eq. 7 of MLFS as printed, over all
jobs, between 0 and 1 (`training/taskgraph/_reward.py`). Percentages are of the same workload; intervals are over
workloads (95 %, Student's t; of several training seeds, the mean over them counts). "before training": the same network
as it was initialised; "random": any choice that is allowed. Prints one JSON document.

--others N: MLF-RL elsewhere, on N workloads each: at x = 1/2, 1 and 2 on the cluster that it was trained for ("loads"),
on half and on double that cluster ("sizes"), and on the logs of --joins: those of their first 24 jobs that take at most
four GPUs, arriving 16 times as fast, on as many servers, with models drawn by seed (`synthetic:mlfs-join`).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import mlsched
from mlsched.heuristics.taskgraph.measures import stops_after
from mlsched.learned.weights import Weights, of, read, write
from mlsched.simulation.taskgraph.allocation import Allocation, chosen
from mlsched_papers.claim import estimate
from mlsched_training import recipe
from mlsched_training.taskgraph._episodes import LOAD, WAKE, WORLD
from mlsched_training.taskgraph._reward import Reward

HOUR = 3600.0
#: Of a log, what is joined with MLFS' jobs.
JOIN: dict[str, Any] = {"simulator": "iterations", "jobs": 24, "largest": 4, "arrivals": 16.0}
#: Places elsewhere -> loads, and factors on the sizes of workloads and cluster.
PLACES = {"loads": ((0.5, 1.0), (1.0, 1.0), (2.0, 1.0)), "sizes": ((2.0, 0.5), (2.0, 2.0))}
#: Figure of merit -> what it is called, and whether more is better.
FIGURES = {
    "reward": ("reward", True),
    "jct": ("mean JCT [h]", False),
    "deadlines": ("deadlines met [%]", True),
    "guarantee": ("accuracy requirements met [%]", True),
    "traffic": ("sent between servers [TB]", False),
    "moves": ("moves", False),
}
#: Figure of merit -> title of a comparison in it.
BETTER = {
    "reward": "reward better than {}",
    "jct": "JCT better than {} [%]",
    "deadlines": "deadlines better than {} [points]",
    "guarantee": "accuracy requirements better than {} [points]",
    "traffic": "volume below {} [%]",
}
#: Most rows of the table of learning curves.
CURVE = 11


def random_choices(snapshot: Any, *, rng: np.random.Generator) -> Any:
    """Any allowed choice."""
    due = Allocation(snapshot, stops_after(snapshot, "most"))
    return chosen(due, lambda now: int(rng.choice(np.flatnonzero(now.mask))))


def untrained(weights: Weights, folder: Path) -> Path:
    """A file with the network that a training with the same seed began with."""
    policy, seed = weights.card["policy"], weights.card["seed"]
    found = recipe(policy)
    params = found.resolve({**weights.card["recipe"], "validation": 1})
    path = folder / f"{policy}-{seed}-untrained.safetensors"
    write(path, Weights(found.learner(params, seed, "cpu").weights(), weights.card))
    return path


def run(load: Any, solver: Any, seed: int) -> dict[str, float]:
    """The figures of merit of a run."""
    done = mlsched.simulate(load, solver, seed=seed, scheduling_events=WAKE, options=WORLD)
    if wrong := done.violations():
        raise SystemExit(f"{solver}: the replay check fails: {wrong[0]}")
    jobs = done.jobs
    return {
        "reward": float(Reward().of_jobs(load, done.log).mean()),
        "jct": float(jobs["jct"].mean()) / HOUR,
        "deadlines": 100 * float(jobs["met"].mean()),
        "guarantee": 100 * float((jobs["accuracy"] >= load.required).mean()),
        "traffic": float(jobs["traffic"].sum()) / 10**6,
        "moves": float(jobs["migrations"].sum()),
    }


def workload(seed: int, jobs: int, servers: int, x: float) -> Any:
    return mlsched.workload(
        "synthetic:mlfs-cluster",
        "taskgraph",
        simulator="iterations",
        seed=seed,
        jobs=jobs,
        servers=servers,
        hours=1.0,
        load=LOAD * x,
    )


def measured(policies: dict[str, list[Any]], loads: list[Any]) -> dict[str, dict[str, Any]]:
    """Policy -> figure -> one value per workload."""
    found: dict[str, dict[str, Any]] = {}
    for label, solvers in policies.items():
        runs = [[run(load, solver, seed) for seed, load in enumerate(loads)] for solver in solvers]
        found[label] = {name: np.array([[r[name] for r in one] for one in runs]).mean(axis=0) for name in FIGURES}
    return found


def number(values: Any) -> dict[str, float | None]:
    """Mean and half of the 95 % interval; nothing for None."""
    found = None if values is None else estimate(values)
    return {"measured": found and found.mean, "ci95": found and found.half}


def cut(found: dict[str, dict[str, Any]], label: str, other: str, figure: str) -> Any:
    """By how much a policy is better: the difference of a share, else percent."""
    if label == other:
        return None
    new, old = found[label][figure], found[other][figure]
    return new - old if FIGURES[figure][1] else 100 * (1 - new / old)


def compared(name: str, found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Everybody's figures, and by how much each is better than MLF-H and than random choices."""
    pairs = [("MLF-H", figure) for figure in BETTER] + [("random", figure) for figure in ("reward", "jct")]
    rows = [
        {
            "label": label,
            "numbers": [number(values[figure]) for figure in FIGURES]
            + [number(cut(found, label, *pair)) for pair in pairs],
        }
        for label, values in found.items()
    ]
    header = ["policy", *(title for title, _ in FIGURES.values())]
    header += [BETTER[figure].format(other) for other, figure in pairs]
    return {"name": name, "header": header, "rows": rows}


def elsewhere(policies: dict[str, list[Any]], arguments: argparse.Namespace) -> dict[str, Any]:
    """MLF-RL against MLF-H and random choices at loads and on clusters that it may not have been trained for."""
    places: dict[str, list[Any]] = {}
    seeds = range(arguments.others)
    for x, factor in [pair for name in arguments.places for pair in PLACES[name]]:
        jobs, servers = round(arguments.jobs * factor), round(arguments.servers * factor)
        places[f"x = {x:g}, {jobs} jobs, {servers} servers"] = [workload(seed, jobs, servers, x) for seed in seeds]
    for text in arguments.joins:
        name, _, trace = text.partition("=")
        loads = [
            mlsched.workload(
                "synthetic:mlfs-join", "taskgraph", seed=seed, trace=trace, servers=arguments.servers, **JOIN
            )
            for seed in seeds
        ]
        places[f"{name}, {len(loads[0].arrival)} jobs, {len(loads[0].node_capacity)} servers"] = loads
    rows = []
    for place, loads in places.items():
        found = measured({label: policies[label] for label in ("MLF-RL", "MLF-H", "random")}, loads)
        values = [found["MLF-RL"]["reward"], found["MLF-RL"]["jct"]]
        values += [cut(found, "MLF-RL", other, f) for other in ("MLF-H", "random") for f in ("reward", "jct")]
        rows.append({"label": place, "numbers": [number(v) for v in values]})
        print(f"{place}: {time.process_time():.0f} CPU s so far", file=sys.stderr, flush=True)
    header = ["where", "reward", "mean JCT [h]", "reward better than MLF-H", "JCT better than MLF-H [%]"]
    header += ["reward better than random", "JCT better than random [%]"]
    return {"name": "elsewhere", "header": header, "rows": rows}


def cards(weights: list[Weights]) -> dict[str, Any]:
    """What the trainings came to, as the cards of their weights say."""
    rows = []
    for one in weights:
        card, last = one.card, one.card["curve"][-1]
        scores = card["scores"]
        heuristic = last.get("validation_mlf_h")
        rows.append(
            [
                f"{card['policy']}, seed {card['seed']}",
                card["iterations"],
                scores["best_iteration"],
                f"{-scores['untrained_validation']:.3f}",
                f"{-scores['validation']:.3f}",
                f"{-last['validation']:.3f}",
                "" if heuristic is None else f"{heuristic:.3f}",
                {True: "yes", False: "no", None: "has none"}[card["trained"]],
            ]
        )
    header = ["weights", "iterations", "kept", "before training", "kept there", "the last", "MLF-H", "criterion met"]
    return {"name": "cards", "header": header, "rows": rows}


def curves(weights: list[Weights]) -> dict[str, Any]:
    """Return the reward of each training on its validation workloads, beside MLF-H's."""
    by_iteration = [{entry["iteration"]: entry for entry in one.card["curve"]} for one in weights]
    every = sorted(set().union(*by_iteration))
    shown = every[:: -(-len(every) // CURVE)]
    shown += [] if every[-1] in shown else [every[-1]]
    rows = [
        [str(n), *(f"{curve[n]['validation_reward']:.3f}" if n in curve else "" for curve in by_iteration)]
        for n in shown
    ]
    last = [one.card["curve"][-1]["validation_mlf_h"] for one in weights]
    rows.append(["MLF-H", *(f"{value:.3f}" for value in last)])
    return {"name": "curves", "header": ["after iteration", *(f"seed {w.card['seed']}" for w in weights)], "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--workloads", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=12)
    parser.add_argument("--servers", type=int, default=2)
    parser.add_argument("--loads", type=float, nargs="*", default=[1.0, 3.0])
    parser.add_argument("--rows", nargs="*", metavar="LABEL", help="only these rows, MLF-H and random")
    parser.add_argument("--others", type=int, default=0)
    parser.add_argument("--places", nargs="*", default=list(PLACES), choices=list(PLACES))
    parser.add_argument("--joins", nargs="*", default=[], metavar="NAME=TRACE")
    arguments = parser.parse_args()
    files = [] if arguments.weights is None else sorted(arguments.weights.glob("mlf-rl-[0-9].safetensors"))
    trained = [read(f, "mlf-rl") for f in files] or [of("mlf-rl", "taskgraph")]
    suffixes = [f":weights={f}" for f in files] or [""]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        before = [f":weights={untrained(w, place)}" for w in trained]
        policies: dict[str, list[Any]] = {
            "MLF-RL": [f"mlf-rl{s}" for s in suffixes],
            "MLF-RL, before training": [f"mlf-rl{s}" for s in before],
            "random": [random_choices],
            "MLF-H": ["mlf-h"],
            "MLFS: MLF-RL + MLF-C": [f"mlfs{s}{',' if s else ':'}switch=always" for s in suffixes],
            "MLF-H + MLF-C": ["mlfs-h"],
            "RL (Mirhoseini)": ["mirhoseini-rl"],
            "fifo": ["fifo:strict=false,nodes=least-work"],
        }
        if arguments.rows is not None:
            policies = {label: policies[label] for label in policies if label in {*arguments.rows, "MLF-H", "random"}}
        tables = [cards([*trained, of("mirhoseini-rl", "taskgraph")]), curves(trained)]
        for x in arguments.loads:
            loads = [workload(seed, arguments.jobs, arguments.servers, x) for seed in range(arguments.workloads)]
            tables.append(compared(f"x = {x:g}", measured(policies, loads)))
        if arguments.others:
            tables.append(elsewhere(policies, arguments))
    print(json.dumps({"tables": tables}))


if __name__ == "__main__":
    main()
