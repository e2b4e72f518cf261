"""Harmony trained with and without its techniques (Table II), and with other networks (Figure 10).

    python measurements/harmony_training.py [--variants NAME ...] [--seeds 0,1] [--iterations N] [--set KEY=VALUE ...]
        [--workloads N] [--jobs N] [--folder FOLDER]

Each variant is trained (`mlsched train harmony`, --set for all of them) and then runs unseen workloads with uniform
arrivals, beside its own untrained self, tasks on random servers and the paper's baselines. Prints one JSON document:
"policies", one row per training: average completion time, and by how many percent it is below each of the others,
paired by workload; "variants", a row each: completion time, and by how many percent it is above that of the full
recipe, paired by seed and workload; "claims", the paper's with their verdicts, on the first seed's trainings.
Intervals: 95 %, Student's t. --folder keeps weights and checkpoints, and trains only what is not there.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import mlsched
from mlsched.learned.weights import read
from mlsched_papers.claim import estimate
from mlsched_papers.harmony import claims_training
from mlsched_papers.harmony import grid as g
from mlsched_papers.harmony.measure import Metrics
from mlsched_papers.harmony.measured import COMPLETION, HarmonyView, Measured
from mlsched_papers.harmony.training import FULL, VARIANTS
from mlsched_papers.report import Number
from mlsched_training import train

OTHERS = {
    "random placement": "uniform-random",
    "load balancing": "load-balancing",
    "Tetris": "tetris",
    "LIF-Line": "lif-linear",
    "LIF-Line, by the increase": "lif-linear:score=increase",
    "standalone": "standalone",
}


def completion(text: str, workloads: list[Any]) -> Any:
    """Average completion time on each workload, intervals."""
    runs = [mlsched.simulate(load, text, seed=k) for k, load in enumerate(workloads)]
    return np.array([run.summary()["average_completion"] for run in runs])


def trained(name: str, seed: int, given: argparse.Namespace) -> Path:
    """The weights of a variant, trained now if they are not there."""
    path = Path(given.folder) / f"{name.replace(' ', '-')}-{seed}.safetensors"
    if not path.exists():
        settings = dict(pair.split("=", 1) for pair in given.set)
        print(f"training {name}, seed {seed}", file=sys.stderr, flush=True)
        train("harmony", seed=seed, output=path, iterations=given.iterations, **{**settings, **VARIANTS[name]})
    return path


def untrained(path: Path, folder: Path, given: argparse.Namespace) -> Path:
    """The network of a training before its first iteration."""
    before = folder / f"before-{path.name}"
    if not before.exists():
        card = read(path).card
        settings = {k: v for k, v in card["recipe"].items() if k != "learning_rate"}
        train("harmony", seed=card["seed"], output=before, iterations=1, **{**settings, "learning_rate": 1e-12})
    return before


def number(values: Any) -> dict[str, Any]:
    """A mean with its interval, as tables have it."""
    return Number(estimate(list(map(float, values)))).to_json()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=list(VARIANTS))
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--iterations", type=int, default=None)
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE")
    parser.add_argument("--workloads", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=120)
    parser.add_argument("--folder", default="build/harmony")
    given = parser.parse_args()
    folder = Path(given.folder)
    folder.mkdir(parents=True, exist_ok=True)
    loads = [
        mlsched.workload("synthetic:uniform", "placement", seed=seed, jobs=given.jobs)
        for seed in range(given.workloads)
    ]
    others = {label: completion(text, loads) for label, text in OTHERS.items()}
    rows = [
        {"label": label, "numbers": [number(values), *(number(100 * (1 - values / o)) for o in others.values())]}
        for label, values in others.items()
    ]
    found: dict[str, list[Any]] = {}
    metrics: dict[g.Case, Metrics] = {}
    for name in given.variants:
        for seed in map(int, given.seeds.split(",")):
            path = trained(name, seed, given)
            for label, text in (
                (f"{name}, seed {seed}", f"harmony:weights={path}"),
                (f"{name}, seed {seed}, drawn", f"harmony:weights={path},greedy=false"),
                (f"{name}, seed {seed}, before training", f"harmony:weights={untrained(path, folder, given)}"),
            ):
                values = completion(text, loads)
                below = [number(100 * (1 - values / o)) for o in others.values()]
                rows.append({"label": label, "numbers": [number(values), *below]})
                if label == f"{name}, seed {seed}":
                    if name not in found:
                        variant = g.Policy(name, text, "variant")
                        metrics |= {
                            g.Case(g.BASE, "uniform", k, variant): Metrics({COMPLETION: float(value)})
                            for k, value in enumerate(values)
                        }
                    found.setdefault(name, []).append(values)
    full = np.concatenate(found.get(FULL, next(iter(found.values()))))
    variants = [
        {"label": name, "numbers": [number(np.concatenate(v)), number(100 * (np.concatenate(v) / full - 1))]}
        for name, v in found.items()
    ]
    header = ["policy", "completion [intervals]", *(f"below {label} [%]" for label in others)]
    document = {
        "kind": "measurements.harmony-training",
        "tables": {
            "policies": {"header": header, "rows": rows},
            "variants": {
                "header": ["variant", "completion [intervals]", "above the full recipe [%]"],
                "rows": variants,
            },
        },
    }
    view = Measured(g.FULL, [HarmonyView(g.BASE, metrics)], None, {})
    document["claims"] = [statement.judge(view).to_json() for statement in claims_training.STATEMENTS]
    print(json.dumps(document, allow_nan=False))


if __name__ == "__main__":
    main()
