"""Trained policies against what they must beat: paired over unseen sequences and training seeds.

    python measurements/trained_policies.py [--weights DIR] [--rates 1.8,2.7] [--sequences 30] [--small 6]

DIR holds POLICY-SEED.safetensors files as `mlsched train` writes them (docs/trained-policies.md has five seeds each);
without it, the weights that come with mlsched are measured. Test sequences have the seeds 0, 1, ...: no training and no
validation has seen them. For every policy: the average completion time (ACT), and by how many percent it is below that
of others on the same sequences: a policy's ACT on a sequence is the mean over its training seeds, the interval (95 %,
Student's t) is over sequences; the range beside it is over training seeds. "untrained": the same network before
training. Trained policies run in the batched simulation (equal to the clock's runs, see tests/learned/workers), the
others on the clock, each run checked by the independent replay. --small N: gaps to the clairvoyant optimum on ten
sequences of N jobs, at every rate. Last: CPU time of a decision.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t

import mlsched
from mlsched.learned._net import Mlp, sample
from mlsched.learned.training import recipe
from mlsched.learned.training.workers._plus_batch import Views, scores
from mlsched.learned.weights import Weights, of, read
from mlsched.learned.workers._chic import allowed_actions
from mlsched.learned.workers._plus import PlusNet
from mlsched.simulation.workers.batch import Batch
from mlsched.simulation.workers.phase import Phase
from mlsched.simulation.workers.rollout import horizon_of

POLICIES = ("chic", "chic-pair", "chic-plus")
#: Label -> answerer, wake, options.
OTHERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "Optimus-600": ("optimus", "interval:600", {}),
    "Optimus, events": ("optimus", "events", {}),
    "Optimus (full), events": ("optimus:stop=full", "events", {}),
    "uniform-random, I = 3": ("uniform-random:window=3", "events", {"window": 3}),
    "random pairs, I = 3": ("uniform-random:window=3,pair=true", "events", {"window": 3}),
    "max-rate": ("max-rate", "events", {}),
    "LP-MPC": ("lp-mpc", "events", {}),
}
AGAINST = ("uniform-random, I = 3", "Optimus, events", "Optimus (full), events", "max-rate", "LP-MPC")


def runs_of(policy: str, tensors: Any, recipe_: Any, works: list[Any], seed: int) -> Any:
    """ACT of a policy on every sequence."""
    rng = np.random.default_rng([seed, 99])
    if policy == "chic-plus":
        batch = Batch(works, Phase(10, limit=10**4))
        views, net = Views(batch, works[0]), PlusNet(tensors)
        choose: Callable[[], Any] = lambda: scores(net, *views.look()).argmax(axis=1)  # noqa: E731
    else:
        batch = Batch(works, Phase(recipe_["window"], policy == "chic-pair", recipe_["limit"]))
        mlp = Mlp(tensors)

        def choose() -> Any:
            allowed = allowed_actions(batch.mask, recipe_["masked"], recipe_["void"])
            return sample(np.where(allowed, mlp(batch.features), -np.inf), rng)

    while not batch.done.all():
        batch.step(choose())
    return batch.completion_s()


def untrained(weights: Weights) -> Any:
    """The network that a training with the same seed began with."""
    chosen = recipe(weights.card["policy"])
    params = chosen.resolve({**weights.card["recipe"], "validation": 1})
    return {k: v.copy() for k, v in chosen.learner(params, weights.card["seed"], "cpu").weights().items()}


def found_weights(folder: Path | None) -> dict[str, list[Weights]]:
    if folder is None:
        return {p: [of(p, "workers")] for p in POLICIES}
    return {p: [read(f, p) for f in sorted(folder.glob(f"{p}-[0-9].safetensors"))] for p in POLICIES}


def variants(folder: Path, rates: list[float], sequences: int) -> None:
    """ACT of the other files in the folder: other windows, other recipes."""
    rows = []
    for file in sorted(folder.glob("*.safetensors")):
        weights = read(file)
        if file.stem in {f"{weights.card['policy']}-{k}" for k in range(10)}:
            continue
        row = [file.stem]
        for rate in rates:
            works = [mlsched.workload("synthetic:chic", seed=s, rate=rate) for s in range(sequences)]
            act = runs_of(weights.card["policy"], weights.tensors, weights.card["recipe"], works, 0)
            row.append(f"{act.mean():.0f}")
        rows.append(row)
    table("Other weights, ACT [s]", ["file", *(f"{rate:g}/h" for rate in rates)], rows)


def cut(ours: Any, theirs: Any) -> str:
    """Percent below, of means over sequences, with the interval of the paired difference."""
    return interval(100 * (1 - ours / theirs))


def interval(values: Any) -> str:
    """Mean and half of the 95 % interval."""
    half = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5
    return f"{values.mean():+.1f} ± {half:.1f}"


def clock(text: str, wake: str, options: dict[str, Any], work: Any) -> float:
    run = mlsched.simulate(work, text, wake=wake, options=options)
    if wrong := run.violations():
        raise SystemExit(f"{text}: the replay check fails: {wrong[0]}")
    return float(run.jobs["completion_s"].mean())


def table(title: str, header: list[str], rows: list[list[str]]) -> None:
    print(f"\n{title}\n")
    for row in (header, ["---"] * len(header), *rows):
        print("| " + " | ".join(row) + " |", flush=True)


def compare(found: dict[str, list[Weights]], rate: float, sequences: int) -> None:
    works = [mlsched.workload("synthetic:chic", seed=s, rate=rate) for s in range(sequences)]
    acts = {label: np.array([clock(*how, w) for w in works]) for label, how in OTHERS.items()}
    spread: dict[str, str] = {}
    for policy, several in found.items():
        for name, tensors in (("", lambda w: w.tensors), (", untrained", untrained)):
            each = [runs_of(policy, tensors(w), w.card["recipe"], works, w.card["seed"]) for w in several]
            if each:
                means = [float(a.mean()) for a in each]
                acts[policy + name] = np.mean(each, axis=0)
                spread[policy + name] = f"{min(means):.0f} to {max(means):.0f}"
    rows = []
    for label, act in acts.items():
        itself = cut(act, acts[f"{label}, untrained"]) if f"{label}, untrained" in acts else "-"
        others = ["-" if label == other else cut(act, acts[other]) for other in AGAINST]
        rows.append([label, f"{act.mean():.0f}", spread.get(label, "-"), itself, *others])
    header = [
        "policy",
        "ACT [s]",
        "range over training seeds",
        "below untrained self [%]",
        *(f"below {a} [%]" for a in AGAINST),
    ]
    table(f"{rate:g} jobs an hour, {sequences} sequences of 30 jobs", header, rows)


def small(found: dict[str, list[Weights]], rate: float, jobs: int, count: int = 10) -> None:
    works = [mlsched.workload("synthetic:chic", seed=s, rate=rate, jobs=jobs) for s in range(count)]
    best = [mlsched.solve(horizon_of(w), "clairvoyant", time_limit=60) for w in works]
    bound = np.array([r.bound for r in best], dtype=float) / 1000 / jobs
    acts = {label: np.array([clock(*how, w) for w in works]) for label, how in OTHERS.items()}
    for policy, several in found.items():
        each = [runs_of(policy, w.tensors, w.card["recipe"], works, w.card["seed"]) for w in several]
        if each:
            acts[policy] = np.mean(each, axis=0)
    for label, act in acts.items():
        if (act < bound * (1 - 1e-6)).any():
            raise SystemExit(f"{label} is below the proven bound")
    rows = [[label, interval(100 * (act / bound - 1)).removeprefix("+")] for label, act in acts.items()]
    proven = sum(r.status == "optimal" for r in best)
    table(
        f"Gap to the clairvoyant optimum, {jobs} jobs, {rate:g}/h ({proven} of {count} "
        "optima proven, otherwise the bound)",
        ["policy", "[%]"],
        rows,
    )


def latency(found: dict[str, list[Weights]]) -> None:
    work = mlsched.workload("synthetic:chic", seed=0)
    rows = []
    for text in (*found, "uniform-random:window=3", "optimus", "max-rate", "lp-mpc"):
        run = mlsched.simulate(work, text, record=1.0)
        started = time.process_time()
        for decision in run.recorded:
            run.replay(decision)
        rows.append([text, f"{1000 * (time.process_time() - started) / len(run.recorded):.2f}"])
    table("CPU time of a decision (a whole allocation), 1.8 jobs an hour", ["answerer", "ms"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--rates", default="1.8,2.7")
    parser.add_argument("--sequences", type=int, default=30)
    parser.add_argument("--small", type=int, default=0)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", message="the offered load")
    found = found_weights(arguments.weights)
    print(", ".join(f"{p}: seeds {[w.card['seed'] for w in several]}" for p, several in found.items()))
    latency(found)
    for rate in (float(r) for r in arguments.rates.split(",")):
        compare(found, rate, arguments.sequences)
        if arguments.small:
            small(found, rate, arguments.small)
    if arguments.weights:
        variants(arguments.weights, [float(r) for r in arguments.rates.split(",")], arguments.sequences)


if __name__ == "__main__":
    main()
