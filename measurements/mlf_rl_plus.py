"""MLF-RL-plus against the best preemptive rules, on workloads that no training has seen.

    python measurements/mlf_rl_plus.py [--weights DIR] [--seeds N] [--jobs N] [--loads X ...] [--keep FILE]
        [--limit SECONDS]

The world, the workloads and the pause cost are those of `mlsched reproduce mlfs`. DIR holds files
mlf-rl-plus-SEED.safetensors as `mlsched train mlf-rl-plus --seed SEED` writes them; each is a row, "MLF-RL-plus" is
their mean. Without it, the weights that come with mlsched are measured. "its order alone": on the hosts that the others
have; "few nodes": the others on its hosts. FILE keeps every run; the same command goes on where it was. Prints one JSON
document; a cell is the mean over workloads, with half of its 95 % interval (Student's t; percentages are of the same
workload).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
from _mlfs_runs import options, runs

from mlsched.learned.weights import Weights, of, read
from mlsched.papers.claim import estimate
from mlsched.papers.mlfs import grid as g
from mlsched.papers.mlfs.measure import NAMES, Metrics, better
from mlsched.papers.report import Number, Report, Table
from mlsched.training.taskgraph._mlf_rl_plus import Evolution, MlfRlPlusParams, begin

NAME = "mlf-rl-plus"
PLUS, ORDER = "MLF-RL-plus", "MLF-RL-plus, its order alone"
SRPT, OPTIMUS = f"srpt:preempt=true,{g.SPREAD}", f"optimus:epoch=600,{g.SPREAD}"
#: Label -> answerer of the rules that it is compared with.
RULES = {
    "srpt, preemptive": SRPT,
    "Optimus": OPTIMUS,
    "srpt, preemptive, few nodes": SRPT.replace(g.SPREAD, "nodes=few"),
    "Optimus, few nodes": OPTIMUS.replace(g.SPREAD, "nodes=few"),
    "MLF-H": "mlf-h",
    "MLF-H, anew": "mlf-h:queueing=iteration",
    "MLF-H, anew, as printed": "mlf-h:queueing=iteration,overdue=printed",
}
#: Of the size, in fixed orders that the learned one is held against in the pool that it is trained on.
EXPONENTS = (0.25, 0.5, 0.75, 1.0)
RIVALS = tuple(RULES)[:4]
SHOWN = ("jct", "deadlines", "guarantee", "pauses", "overhead")


def policies(given: argparse.Namespace) -> dict[str, list[g.Policy]]:
    """Row -> the policies of which it is the mean."""
    files = [] if given.weights is None else sorted(given.weights.glob(f"{NAME}-[0-9].safetensors"))
    weights = [f"weights={file}" for file in files] or ["weights="]
    found = {
        PLUS: [g.Policy(PLUS, f"{NAME}:{text}") for text in weights],
        ORDER: [g.Policy(ORDER, f"{NAME}:{text},{g.SPREAD}") for text in weights],
    }
    for file, policy in zip(files, found[PLUS], strict=False):
        found[f"{PLUS}, seed {read(file, NAME).card['seed']}"] = [policy]
    return found | {label: [g.Policy(label, text)] for label, text in RULES.items()} | {g.BOUND.label: [g.BOUND]}


def table(x: float, rows: dict[str, list[g.Policy]], done: dict[g.Case, Metrics], seeds: int) -> Table:
    """What each comes to at a load, and by how much its mean completion time is below those of the rivals."""

    def values(label: str, metric: str) -> Any:
        found = [[done[g.Case(p, x, seed)].values.get(metric) for seed in range(seeds)] for p in rows[label]]
        return None if found[0][0] is None else np.array(found, dtype=float).mean(axis=0)

    body = []
    for label in rows:
        numbers = [Number(None if (v := values(label, metric)) is None else estimate(v)) for metric in SHOWN]
        for rival in RIVALS:
            gain = None if label == rival else better("jct", values(label, "jct"), values(rival, "jct"))
            numbers.append(Number(None if gain is None else estimate(gain)))
        body.append((label, tuple(numbers)))
    header = ("policy", *(NAMES[metric] for metric in SHOWN), *(f"below {rival} [%]" for rival in RIVALS))
    return Table(f"x = {x:g}", f"MLF-RL-plus at x = {x:g}", header, tuple(body))


def trainings(folder: Path | None) -> list[Weights]:
    """The weights of each seed, or those that come along."""
    files = [] if folder is None else sorted(folder.glob(f"{NAME}-[0-9].safetensors"))
    return [read(file, NAME) for file in files] or [of(NAME, "taskgraph")]


def curves(folder: Path | None) -> dict[str, Any]:
    """The learning curves: percent below the order that they began with, after so many iterations."""
    cards = [weights.card for weights in trainings(folder)]
    rows = [
        [f"{NAME}, seed {card['seed']}", *(f"{entry['validation_gain_percent']:.2f}" for entry in card["curve"])]
        for card in cards
    ]
    return {"name": "curves", "header": ["after", *(str(e["iteration"]) for e in cards[0]["curve"])], "rows": rows}


def fixed() -> dict[str, Any]:
    """Orders by time left x size^e on the validation workloads, in percent below e = 0, with which training begins."""
    learner = Evolution(MlfRlPlusParams(), 0, "cpu")
    rows = []
    for exponent in EXPONENTS:
        learner.mean = begin(exponent)
        found = learner.validate().figures
        numbers = (found["gain_percent"], found["gain_ci95"], found["gain_percent_low"], found["gain_percent_high"])
        rows.append([f"{exponent:g}", f"{numbers[0]:.2f} ± {numbers[1]:.2f}", *(f"{n:.2f}" for n in numbers[2:])])
    return {"name": "fixed", "header": ["exponent of the size", "gain [%]", "at x = 2", "at x = 3"], "rows": rows}


def cards(folder: Path | None) -> dict[str, Any]:
    """What the trainings came to, as the cards of their weights say: percent below the order that they began with."""
    rows = []
    for weights in trainings(folder):
        card, scores = weights.card, weights.card["scores"]
        kept = next((e for e in card["curve"] if e["iteration"] == scores["best_iteration"]), card["curve"][-1])
        last = card["curve"][-1]
        rows.append(
            [
                f"{NAME}, seed {card['seed']}",
                card["iterations"],
                scores["best_iteration"],
                f"{kept['validation_gain_percent']:.2f} ± {kept['validation_gain_ci95']:.2f}",
                f"{kept['validation_gain_percent_low']:.2f}",
                f"{kept['validation_gain_percent_high']:.2f}",
                f"{last['validation_gain_percent']:.2f} ± {last['validation_gain_ci95']:.2f}",
                "yes" if card["trained"] else "no",
            ]
        )
    header = ["weights", "iterations", "kept", "gain there [%]", "at x = 2", "at x = 3"]
    return {"name": "cards", "header": [*header, "gain at the last [%]", "criterion met"], "rows": rows}


def main() -> None:
    parser = options(__doc__, f"{NAME}.jsonl")
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--loads", type=float, nargs="+", default=[2.0, 3.0])
    given = parser.parse_args()
    grid = g.at_loads(dataclasses.replace(g.FULL, seeds=given.seeds, jobs=given.jobs), tuple(given.loads))
    rows = policies(given)
    everybody = dict.fromkeys(policy for each in rows.values() for policy in each)
    cases = [g.Case(policy, x, seed) for policy in everybody for x in grid.loads for seed in range(grid.seeds)]
    done = runs(cases, grid, given.keep, given.limit)
    tables = tuple(table(x, rows, done, grid.seeds) for x in grid.loads)
    document = Report("MLF-RL-plus against the best preemptive rules", (), tables, (), ()).to_json()
    print(
        json.dumps({**document, "tables": [cards(given.weights), curves(given.weights), fixed(), *document["tables"]]})
    )


if __name__ == "__main__":
    main()
