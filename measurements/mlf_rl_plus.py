"""MLF-RL-plus compared with the best preemptive rules on unseen workloads.

    python measurements/mlf_rl_plus.py [--weights DIR] [--seeds N] [--jobs N] [--loads X ...] [--rows LABEL ...]
        [--against LABEL ...] [--keep FILE] [--limit SECONDS]

The world, the workloads and the pause cost are those of `mlsched reproduce mlfs`. DIR holds files
mlf-rl-plus-SEED.safetensors as `mlsched train mlf-rl-plus --seed SEED` writes them; each is a row, "MLF-RL-plus" is
their mean. Without it, the weights of the package are measured. "its order alone": on the hosts that the others have;
"few nodes": the others on its hosts. "by time left x size^e": MLF-RL-plus with the weights of that order in place of
learned ones, the size being the job's share of the cluster; e = 0 is "srpt by time", e = 1 "srpt by area". --rows:
these rows alone; --against: rows whose mean completion time all are compared with. FILE keeps every run; the same
command resumes. Prints one JSON document; a cell is the mean over workloads, with half of its 95 % interval (Student's
t; percentages are of the same workload).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
from _mlfs_runs import cases_of, options, runs, table

from mlsched.heuristics.taskgraph.measures import per_job, remaining_ticks, remaining_time, shares
from mlsched.learned.taskgraph.mlf_rl import trained_weights
from mlsched.learned.weights import Weights, of, read, write
from mlsched.simulation.taskgraph.iterations import IterationWorld, Options
from mlsched_papers.mlfs import grid as g
from mlsched_papers.mlfs.measure import workload
from mlsched_papers.report import Report
from mlsched_training.taskgraph._mlf_rl_plus import Evolution, MlfRlPlusParams, begin

NAME = "mlf-rl-plus"
PLUS, ORDER = "MLF-RL-plus", "MLF-RL-plus, its order alone"
SRPT, OPTIMUS = f"srpt:preempt=true,{g.SPREAD}", f"optimus:epoch=600,{g.SPREAD}"
#: MLF-RL where every iteration queues anew.
ANEW = "MLF-RL, anew"
BY_TIME = "srpt by time, preemptive"
#: Exponents of the size in the orders that are measured in the engine.
IN_ENGINE = (0.5,)
#: Label -> solver of the rules that it is compared with.
RULES = {
    "srpt, preemptive": SRPT,
    "Optimus": OPTIMUS,
    "srpt, preemptive, few nodes": SRPT.replace(g.SPREAD, "nodes=few"),
    "Optimus, few nodes": OPTIMUS.replace(g.SPREAD, "nodes=few"),
    BY_TIME: f"srpt:size=time,preempt=true,{g.SPREAD}",
    "srpt by area, preemptive": f"srpt:size=area,preempt=true,{g.SPREAD}",
    "srpt by area, preemptive, few nodes": "srpt:size=area,preempt=true,nodes=few",
    "MLF-H": "mlf-h",
    "MLF-H, anew": "mlf-h:queueing=iteration",
    "MLF-H, anew, as printed": "mlf-h:queueing=iteration,overdue=printed",
    ANEW: "mlf-rl:queueing=iteration",
    "MLF-RL-plus + MLF-C": "mlf-c:rule=mlf-rl-plus",
    "MLFS": "mlfs",
    "MLF-H + MLF-C, anew, as printed": "mlfs-h:queueing=iteration,overdue=printed",
}
#: Of the size, in fixed orders that the learned one is held against in the pool that it is trained on.
EXPONENTS = (0.25, 0.5, 0.75, 1.0)
RIVALS = tuple(RULES)[:4]


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
    found |= {label: [g.Policy(label, text)] for label, text in RULES.items()}
    for exponent in IN_ENGINE:
        label, file = f"by time left x size^{exponent:g}", given.keep.with_name(f"{NAME}-size-{exponent:g}.safetensors")
        if given.rows is None or label in given.rows:
            card = {**of(NAME, "taskgraph").card, "recipe": {"exponent": exponent}, "curve": []}
            write(file, Weights({"0.weight": begin(exponent)[None], "0.bias": np.zeros(1, dtype=np.float32)}, card))
        found[label] = [g.Policy(label, f"{NAME}:weights={file},{g.SPREAD}")]
    return found | {g.BOUND.label: [g.BOUND]}


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


def anew() -> dict[str, Any]:
    """Return the learning curve of MLF-RL with `queueing=iteration`: its scores on validation workloads."""
    curve = [entry for entry in trained_weights("", "iteration").card["curve"] if "validation_reward" in entry]
    rows = [
        [
            entry["iteration"],
            f"{entry['validation_reward']:.3f}",
            f"{entry['validation_mlf_h']:.3f}",
            f"{entry['validation_jct_hours']:.2f}",
        ]
        for entry in curve
    ]
    return {"name": "anew", "header": ["after iteration", "reward", "of MLF-H, anew", "mean JCT [h]"], "rows": rows}


def at_work(grid: g.Grid) -> dict[str, Any]:
    """By number of tasks: of the time in which a job holds its nodes, the share that its tasks work, by what they hold.

    Of the workloads of the highest load, by estimates, without transfers.
    """
    loads = [workload(grid, grid.loads[-1], seed) for seed in range(grid.seeds)]
    found: dict[int, list[float]] = {}
    for load in loads:
        world = IterationWorld(load, Options(pausing="keep"))
        world.advance(int(load.arrival.max()))
        seen = world.ask()
        assert seen is not None
        holds, most = shares(seen), seen.max_iterations
        whole = remaining_time(seen, most) * per_job(seen, holds)
        works = per_job(seen, remaining_ticks(seen, most) * holds)
        for tasks, share in zip(np.bincount(seen.task_job).tolist(), (works / whole).tolist(), strict=True):
            found.setdefault(tasks, []).append(share)
    rows = [[tasks, len(each), f"{np.mean(each):.2f}"] for tasks, each in sorted(found.items())]
    return {"name": "at work", "header": ["tasks of a job", "jobs", "share of the time at work"], "rows": rows}


def fixed() -> dict[str, Any]:
    """Orders by time left x size^e on the validation workloads, in percent below e = 0, with which training begins."""
    learner = Evolution(MlfRlPlusParams(), 0, "cpu")
    rows = []
    for exponent in EXPONENTS:
        learner.mean = begin(exponent)
        found = learner.validate(learner.weights()).figures
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
    parser.add_argument("--rows", nargs="+", metavar="LABEL")
    parser.add_argument("--against", nargs="+", metavar="LABEL", default=list(RIVALS))
    given = parser.parse_args()
    grid = g.at_loads(dataclasses.replace(g.FULL, seeds=given.seeds, jobs=given.jobs), tuple(given.loads))
    everything = policies(given)
    rows = {label: every for label, every in everything.items() if given.rows is None or label in given.rows}
    if strange := {*(given.rows or ()), *given.against} - rows.keys():
        parser.error(
            f"{', '.join(sorted(strange))}: no such row; there are {', '.join(everything)}, or those of --rows"
        )
    done = runs(cases_of(rows, grid), grid, given.keep, given.limit)
    tables = tuple(table(x, rows, done, grid.seeds, given.against) for x in grid.loads)
    document = Report("MLF-RL-plus against the best preemptive rules", (), tables, (), ()).to_json()
    learned = [] if given.rows else [cards(given.weights), curves(given.weights), fixed()]
    learned += [anew()] if ANEW in rows else []
    learned += [at_work(grid)] if BY_TIME in rows else []
    print(json.dumps({**document, "tables": [*learned, *document["tables"]]}))


if __name__ == "__main__":
    main()
