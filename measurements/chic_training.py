"""What the reward of Chic's trainings is made of while they run, and whether they met the criterion.

    python measurements/chic_training.py DIR [--json]

DIR holds NAME.checkpoint files as `mlsched train chic` and `mlsched train chic-pair` write them; NAME is POLICY-SEED
for the trainings that are averaged, anything else for trials. Tables: `chic` and `chic-pair` (means over seeds, with
95 % intervals by Student's t, of what was measured on the validation sequences, by iteration: the policy before it is
trained is not validated so), `seeds` (where each training stood at its end), `trials` (the same for other files),
`trained` (ACT of the weights of those trainings that met the criterion on 30 test sequences, against uniform-random
actions of the same kind and against the same network before training, paired by sequence).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from trained_policies import OTHERS, clock, runs_of, untrained

import mlsched
from mlsched.benchmark.experiments.claim import estimate
from mlsched.learned.training import recipe
from mlsched.learned.training.trainer import CHECKPOINT
from mlsched.learned.weights import Weights, read

#: Column -> entry of a curve.
COLUMNS = {
    "ACT [s]": "validation",
    "reward": "validation_reward",
    "completion": "validation_reward_completion",
    "empty slots": "validation_reward_absent",
    "halves": "validation_reward_halves",
    "punished [%]": "validation_punished_share",
    "useless [%]": "validation_useless_share",
}
#: Rows of a policy's table, at most.
ROWS = 8


def validated(weights: Weights) -> dict[int, dict[str, float]]:
    """Iteration -> entry of the curve."""
    return {int(e["iteration"]): e for e in weights.card["curve"] if "validation" in e}


def value(entry: dict[str, float], column: str) -> float:
    """A column's number; shares in percent."""
    return entry[COLUMNS[column]] * (100 if "%" in column else 1)


def number(values: list[float]) -> dict[str, float | None]:
    """Mean and half of the interval."""
    found = estimate(values)
    return {"measured": found and found.mean, "ci95": found and found.half}


def parts(policy: str, several: list[Weights]) -> dict[str, Any]:
    """The parts of the reward by iteration, over the seeds that have come so far."""
    curves = [validated(one) for one in several]
    common = sorted(set.intersection(*(set(curve) for curve in curves)))
    longest = sorted(set.union(*(set(curve) for curve in curves)))
    chosen = [common[round(k)] for k in np.linspace(0, len(common) - 1, min(ROWS, len(common)))]
    rows = []
    for iteration in [*dict.fromkeys(chosen), *[n for n in longest[-1:] if n not in chosen]]:
        there = [curve[iteration] for curve in curves if iteration in curve]
        numbers = [number([value(entry, column) for entry in there]) for column in COLUMNS]
        rows.append({"label": f"{iteration} ({len(there)} seeds)", "numbers": numbers})
    return {"name": policy, "header": ["iteration", *COLUMNS], "rows": rows}


def ends(name: str, files: dict[str, Weights]) -> dict[str, Any]:
    """Where each training stood at its end."""
    header = ["training", "iterations", "criterion met", "ACT [s]", "punished [%]", "reward", "change in reward [%]"]
    header += ["least ACT [s] (iteration)", "correlation of reward and ACT"]
    rows = []
    for label, weights in files.items():
        curve, chosen = validated(weights), recipe(weights.card["policy"])
        params = chosen.resolve(weights.card["recipe"])
        last = curve[max(curve)]
        before = [
            e["validation_reward"]
            for n, e in curve.items()
            if max(curve) - 2 * params.span < n <= max(curve) - params.span
        ]
        now = [e["validation_reward"] for n, e in curve.items() if n > max(curve) - params.span]
        change = f"{100 * (np.mean(now) - np.mean(before)) / abs(np.mean(now)):+.0f}" if before else ""
        least = min(curve, key=lambda n: curve[n]["validation"])
        pair = np.array([(e["validation_reward"], e["validation"]) for e in curve.values()]).T
        rows.append(
            [
                label,
                str(len(weights.card["curve"])),
                "yes" if met(weights) else "no",
                f"{last['validation']:.0f}",
                f"{100 * last['validation_punished_share']:.2g}",
                f"{last['validation_reward']:.0f}",
                change,
                f"{curve[least]['validation']:.0f} ({least})",
                f"{np.corrcoef(*pair)[0, 1]:+.2f}" if len(curve) > 2 else "",
            ]
        )
    return {"name": name, "header": header, "rows": rows}


def reached(folder: Path, names: list[str], sequences: int = 30) -> dict[str, Any]:
    """What trained policies reach on sequences that no training has seen."""
    works = [mlsched.workload("synthetic:chic", seed=seed, rate=1.8) for seed in range(sequences)]
    random = {"chic": "uniform-random", "chic-pair": "random pairs"}
    rows = []
    for name in names:
        weights = read(folder / f"{name}.safetensors")
        policy, recipe_, seed = (weights.card[field] for field in ("policy", "recipe", "seed"))
        act = runs_of(policy, weights.tensors, recipe_, works, seed)
        others = (
            np.array([clock(*OTHERS[random[policy]], work) for work in works]),
            runs_of(policy, untrained(weights), recipe_, works, seed),
        )
        numbers = [number(list(act)), *(number(list(100 * (1 - act / other))) for other in others)]
        rows.append({"label": name, "numbers": numbers})
    header = ["training", "ACT [s]", "below random actions [%]", "below itself before training [%]"]
    return {"name": "trained", "header": header, "rows": rows}


def met(weights: Weights) -> bool:
    """Whether the training met its recipe's criterion."""
    chosen = recipe(weights.card["policy"])
    return chosen.trained is not None and chosen.trained(chosen.resolve(weights.card["recipe"]), weights.card["curve"])


def measured(folder: Path) -> dict[str, Any]:
    """The document."""
    files = {p.stem: read(p, kind=CHECKPOINT) for p in sorted(folder.glob("*.checkpoint"))}
    seeds = {n: w for n, w in files.items() if n in {f"{w.card['policy']}-{k}" for k in range(10)}}
    tables = []
    for policy in ("chic", "chic-pair"):
        several = [w for w in seeds.values() if w.card["policy"] == policy]
        tables += [parts(policy, several)] if several else []
    trials = {n: w for n, w in files.items() if n not in seeds}
    tables += [ends("seeds", seeds)] + ([ends("trials", trials)] if trials else [])
    tables.append(reached(folder, [name for name, weights in files.items() if met(weights)]))
    correlations = {}
    for policy in ("chic", "chic-pair"):
        each = [validated(w) for w in seeds.values() if w.card["policy"] == policy]
        pairs = [
            np.array([(e["validation_reward"], e["validation"]) for e in c.values()]).T for c in each if len(c) > 2
        ]
        correlations[policy] = number([float(np.corrcoef(*p)[0, 1]) for p in pairs])
    return {"correlations": correlations, "tables": tables}


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    document = measured(arguments.folder)
    if arguments.json:
        print(json.dumps(document))
        return
    for table in document["tables"]:
        print(f"\n{table['name']}: {' | '.join(table['header'])}")
        for row in table["rows"]:
            cells = row if isinstance(row, list) else [row["label"], *(_shown(n) for n in row["numbers"])]
            print(" | ".join(cells))


def _shown(found: dict[str, Any]) -> str:
    return f"{found['measured']:.4g}" + (f" ± {found['ci95']:.2g}" if found["ci95"] else "")


if __name__ == "__main__":
    main()
