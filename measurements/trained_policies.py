"""Trained policies compared with their baselines, paired over unseen sequences and training seeds.

    python measurements/trained_policies.py [--weights DIR] [--rates 1.8,2.7] [--sequences 30] [--small 6] [--json]

DIR holds POLICY-SEED.safetensors files as `mlsched train` writes them; without it, the weights of the package
are measured. Test sequences have the seeds 0, 1, ...: no training and no validation has seen them. For every policy:
the average completion time (ACT), and by how many percent it is below that of others on the same sequences: a policy's
ACT on a sequence is the mean over its training seeds, the interval (95 %, Student's t) is over sequences. "before
training": the same network as it was initialised. Chic and Chic-Pair run in the batched simulation (equal to the
clock's runs, see tests/plugins/training/workers), the others on the clock, each run checked by the independent replay.
--small N: gaps to the clairvoyant optimum on ten sequences of N jobs, at every rate. Last: CPU time of a decision.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import mlsched
from mlsched.core.gap import gap_between
from mlsched.learned.net import Mlp, sample
from mlsched.learned.weights import Weights, of, read
from mlsched.learned.workers.chic_plus import JobNetwork, weighted_plan
from mlsched.learned.workers.chic_policy import allowed_actions
from mlsched.simulation.workers.phase import Phase
from mlsched.simulation.workers.rollout import horizon_of
from mlsched_papers.claim import estimate
from mlsched_training import recipe
from mlsched_training.workers.batch import Batch

POLICIES = ("chic", "chic-pair", "chic-plus")
#: Label -> solver, wake, options.
OTHERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "Optimus-600": ("optimus", "interval:600", {}),
    "Optimus, events": ("optimus", "events", {}),
    "uniform-random": ("uniform-random:window=3", "events", {"window": 3}),
    "random pairs": ("uniform-random:window=3,pair=true", "events", {"window": 3}),
    "max-rate": ("max-rate", "events", {}),
    "LP-MPC": ("lp-mpc", "events", {}),
}
AGAINST = ("uniform-random", "Optimus-600", "Optimus, events", "max-rate", "LP-MPC")


def runs_of(policy: str, tensors: Any, recipe_: Any, works: list[Any], seed: int) -> Any:
    """ACT of a policy on every sequence."""
    rng = np.random.default_rng([seed, 99])
    if policy == "chic-plus":
        network = JobNetwork(Weights(tensors, {}))

        def answer(instance: Any, *, rng: np.random.Generator) -> Any:
            return weighted_plan(network, instance)

        return np.array([clock(answer, "events", {}, work) for work in works])
    phase = Phase(recipe_["window"], policy == "chic-pair", recipe_["limit"], recipe_["void"] != "waits")
    batch, mlp = Batch(works, phase), Mlp(tensors)
    while not batch.done.all():
        allowed = allowed_actions(batch.mask, recipe_["masked"], recipe_["void"])
        batch.step(sample(np.where(allowed, mlp(batch.features), -np.inf), rng))
    return batch.completion_s()


def untrained(weights: Weights) -> Any:
    """The network that a training with the same seed began with."""
    chosen = recipe(weights.card["policy"])
    small = {"share": 0.01} if chosen.policy == "chic-plus" else {"validation": 1}  # which weights do not depend on
    params = chosen.resolve({**weights.card["recipe"], **small})
    return {k: v.copy() for k, v in chosen.learner(params, weights.card["seed"], "cpu").weights().items()}


def found_weights(folder: Path | None) -> dict[str, list[Weights]]:
    if folder is None:
        return {p: [of(p, "workers")] for p in POLICIES}
    return {p: [read(f, p) for f in sorted(folder.glob(f"{p}-[0-9].safetensors"))] for p in POLICIES}


def number(values: Any) -> dict[str, float | None]:
    """Mean and half of the 95 % interval; nothing for None."""
    found = None if values is None else estimate(values)
    return {"measured": found and found.mean, "ci95": found and found.half}


def clock(text: Any, scheduling_events: str, options: dict[str, Any], work: Any) -> float:
    """ACT of a solver on a sequence."""
    run = mlsched.simulate(work, text, scheduling_events=scheduling_events, options=options)
    if wrong := run.violations():
        raise SystemExit(f"{text}: the replay check fails: {wrong[0]}")
    return float(run.jobs["completion_s"].mean())


def compare(found: dict[str, list[Weights]], rate: float, sequences: int) -> dict[str, Any]:
    """ACT of everybody, and cuts of the others'."""
    works = [mlsched.workload("synthetic:chic", seed=s, rate=rate) for s in range(sequences)]
    acts = {label: np.array([clock(*how, w) for w in works]) for label, how in OTHERS.items()}
    for policy, several in found.items():
        for name, tensors in (("", lambda w: w.tensors), (", before training", untrained)):
            each = [runs_of(policy, tensors(w), w.card["recipe"], works, w.card["seed"]) for w in several]
            if each:
                acts[policy + name] = np.mean(each, axis=0)
    rows = []
    for label, act in acts.items():
        before = acts.get(f"{label}, before training")
        cuts = [before, *(None if label == other else acts[other] for other in AGAINST)]
        numbers = [number(act), *(number(None if other is None else 100 * (1 - act / other)) for other in cuts)]
        rows.append({"label": label, "numbers": numbers})
    header = ["policy", "ACT [s]", "below itself before training [%]", *(f"below {a} [%]" for a in AGAINST)]
    return {"name": f"act-{rate:g}", "header": header, "rows": rows}


def small(found: dict[str, list[Weights]], rates: list[float], jobs: int, count: int = 10) -> dict[str, Any]:
    """Gaps to the clairvoyant optimum."""
    columns: dict[str, list[dict[str, float | None]]] = {}
    proven = []
    for rate in rates:
        works = [mlsched.workload("synthetic:chic", seed=s, rate=rate, jobs=jobs) for s in range(count)]
        best = [mlsched.solve(horizon_of(w), "clairvoyant", time_limit=60) for w in works]
        proven.append(sum(r.status == "optimal" for r in best))
        bound = np.array([r.sort_bound for r in best], dtype=float) / 1000 / jobs
        acts = {label: np.array([clock(*how, w) for w in works]) for label, how in OTHERS.items()}
        for policy, several in found.items():
            each = [runs_of(policy, w.tensors, w.card["recipe"], works, w.card["seed"]) for w in several]
            if each:
                acts[policy] = np.mean(each, axis=0)
        for label, act in acts.items():
            if (act < bound * (1 - 1e-6)).any():
                raise SystemExit(f"{label} is below the proven bound")
            gaps = [100 * float(gap_between(*pair, sense="min", unit="s")) for pair in zip(act, bound, strict=True)]
            columns.setdefault(label, []).append(number(gaps))
    rows = [{"label": label, "numbers": numbers} for label, numbers in columns.items()]
    header = ["policy", *(f"{rate:g}/h ({n} of {count} proven)" for rate, n in zip(rates, proven, strict=True))]
    return {"name": "gaps", "header": header, "rows": rows}


def latency(found: dict[str, list[Weights]]) -> dict[str, Any]:
    """CPU time of a decision."""
    work = mlsched.workload("synthetic:chic", seed=0)
    rows = []
    for text in (*found, "uniform-random:window=3", "optimus", "max-rate", "lp-mpc"):
        run = mlsched.simulate(work, text, record=1.0)
        started = time.process_time()
        for decision in run.recorded:
            run.replay(decision)
        rows.append([text, f"{1000 * (time.process_time() - started) / len(run.recorded):.2g}"])
    return {"name": "latency", "header": ["solver", "CPU ms per decision (a whole allocation)"], "rows": rows}


def shown(tables: list[dict[str, Any]]) -> str:
    """The tables as text."""
    lines = []
    for table in tables:
        lines += ["", f"{table['name']}: {' | '.join(table['header'])}"]
        for row in table["rows"]:
            cells = row if isinstance(row, list) else [row["label"], *map(cell, row["numbers"])]
            lines.append(" | ".join(cells))
    return "\n".join(lines)


def cell(found: dict[str, Any]) -> str:
    """A number as text."""
    return "-" if found["measured"] is None else f"{found['measured']:.4g} ± {found['ci95'] or 0:.2g}"


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--rates", default="1.8,2.7")
    parser.add_argument("--sequences", type=int, default=30)
    parser.add_argument("--small", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", message="the offered load")
    found, rates = found_weights(arguments.weights), [float(r) for r in arguments.rates.split(",")]
    tables = [latency(found), *(compare(found, rate, arguments.sequences) for rate in rates)]
    if arguments.small:
        tables.append(small(found, rates, arguments.small))
    seeds = {policy: [w.card["seed"] for w in several] for policy, several in found.items()}
    trained = {policy: [w.card.get("trained") is True for w in several] for policy, several in found.items()}
    document = {"seeds": seeds, "trained": trained, "tables": tables}
    print(json.dumps(document) if arguments.json else f"training seeds: {seeds}\n{shown(tables)}")


if __name__ == "__main__":
    main()
