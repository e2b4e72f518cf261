"""Components of the reward during Chic's trainings, and the result of each training.

    python measurements/chic_training.py DIR [--json]

DIR holds NAME.checkpoint files and weights as `mlsched train chic` and `mlsched train chic-pair` write them. NAME is
POLICY-SEED for the trainings whose curves are averaged, POLICY-VARIANT-SEED for those with another I or W or arrival
rate (named as in choose_weights.py), anything else for trials. Tables:

- `chic` and `chic-pair`: means over seeds, with 95 % intervals by Student's t, of what was measured on the validation
  sequences, by iteration; the policy before it is trained is not validated so. The last row is where each ended.
- `seeds`: where each training stood at its end; `trials`: the same for other files.
- `variants`: of each variant, how many trainings ended as their protocol says, and the least ACT among those.
- `trained`: ACT, on 30 test sequences of the rate of the training, of the policy that each training that ended so
  comes to, one by one: against uniform-random actions of the same kind and against the same network before training,
  and the last policy of the training against uniform-random actions, paired by sequence; intervals are over sequences.
  In the rows that name a number of seeds, three or more, they are over training seeds, where these are one cluster.
- `rates`: the weights of the package for an arrival rate, and those trained once at 1.8 jobs per hour, on 30
  test sequences of that rate (Figure 4(c)).
- `cost`: CPU time of an iteration, with its share of a validation, as the networks are at the beginning and at the end.
"""

from __future__ import annotations

import argparse
import functools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from trained_policies import OTHERS, clock, runs_of, untrained

import mlsched
from mlsched.learned.weights import Weights, read
from mlsched.learned.workers.chic_policy import USUAL, VARIANTS, shipped_weights
from mlsched_papers.claim import estimate
from mlsched_papers.trainings import over_trainings
from mlsched_papers.view import change
from mlsched_training import recipe
from mlsched_training._torch import repeatable_numbers
from mlsched_training.trainer import CHECKPOINT

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
#: Policy -> its actions drawn alike.
RANDOM = {"chic": "uniform-random", "chic-pair": "random pairs"}
#: Rows of a policy's table, at most.
ROWS = 8


def validated(weights: Weights) -> dict[int, dict[str, float]]:
    """Iteration -> entry of the curve."""
    return {int(e["iteration"]): e for e in weights.card["curve"] if "validation" in e}


def value(entry: dict[str, float], column: str) -> float:
    """A column's number; shares in percent."""
    return entry[COLUMNS[column]] * (100 if "%" in column else 1)


def number(values: list[float], *, trainings: bool = False) -> dict[str, float | None]:
    """Mean and half of the interval; of trainings, none where they fall into two clusters."""
    found = (over_trainings if trainings else estimate)(values)
    return {"measured": found and found.mean, "ci95": found and found.half}


def parts(policy: str, several: list[Weights]) -> dict[str, Any]:
    """The parts of the reward by iteration, over the seeds that have come so far."""
    curves = [validated(one) for one in several]
    common = sorted(set.intersection(*(set(curve) for curve in curves)))
    chosen = [common[round(k)] for k in np.linspace(0, len(common) - 1, min(ROWS, len(common)))]
    rows = []
    places = [(f"{n} ({len(curves)} seeds)", [curve[n] for curve in curves]) for n in dict.fromkeys(chosen)]
    for label, entries in [*places, ("the end of each", [curve[max(curve)] for curve in curves])]:
        rows.append(
            {
                "label": label,
                "numbers": [number([value(entry, c) for entry in entries], trainings=True) for c in COLUMNS],
            }
        )
    return {"name": policy, "header": ["iteration", *COLUMNS], "rows": rows}


def ends(name: str, files: dict[str, Weights]) -> dict[str, Any]:
    """Where each training stood at its end."""
    header = ["training", "iterations", "ended", "ACT [s]", "punished [%]", "reward", "change in reward [%]"]
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
        moved = f"{100 * (np.mean(now) - np.mean(before)) / abs(np.mean(now)):+.0f}" if before else ""
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
                moved,
                f"{curve[least]['validation']:.0f} ({least})",
                f"{np.corrcoef(*pair)[0, 1]:+.2f}" if len(curve) > 2 else "",
            ]
        )
    return {"name": name, "header": header, "rows": rows}


def variants(files: dict[str, Weights]) -> dict[str, Any]:
    """What the trainings of every variant came to."""
    rows = []
    for policy, several in VARIANTS.items():
        for variant in several:
            every = [w for n, w in files.items() if _kind(n) == policy + variant.suffix]
            acts = [w.card["scores"]["validation"] for w in every if met(w)]
            if every:
                iterations = sorted(len(w.card["curve"]) for w in every)
                cells = [policy, variant.window, variant.episode, f"{variant.rate:g}", f"{len(acts)} of {len(every)}"]
                cells += [
                    f"{iterations[0]} to {iterations[-1]}",
                    *(f"{f(acts):.0f}" if acts else "" for f in (min, max)),
                ]
                rows.append([str(cell) for cell in cells])
    header = ["policy", "I", "W", "jobs per hour", "ended", "iterations", "least ACT [s]", "largest ACT [s]"]
    return {"name": "variants", "header": header, "rows": rows}


def reached(folder: Path, files: dict[str, Weights], sequences: int = 30) -> dict[str, Any]:
    """What trained policies reach on sequences that no training has seen."""
    sequences_of = functools.cache(
        lambda rate: [mlsched.workload("synthetic:chic", seed=seed, rate=rate) for seed in range(sequences)]
    )
    random = functools.cache(
        lambda policy, rate, window: np.array([_random(policy, window, work) for work in sequences_of(rate)])
    )
    rows, kinds = [], {}  # type: ignore[var-annotated]
    for name, checkpoint in files.items():
        weights = read(folder / f"{name}.safetensors")
        policy, recipe_, seed = (weights.card[field] for field in ("policy", "recipe", "seed"))
        works = sequences_of(recipe_["rate"])
        other = random(policy, recipe_["rate"], recipe_["window"])
        state = {k.removeprefix("state/"): v for k, v in checkpoint.tensors.items() if k.startswith("state/")}
        act, before, last = (
            runs_of(policy, tensors, recipe_, works, seed) for tensors in (weights.tensors, untrained(weights), state)
        )
        columns = [act, -change(act, other), -change(act, before), -change(last, other)]
        rows.append({"label": name, "numbers": [number(list(column)) for column in columns]})
        kinds.setdefault(_kind(name), []).append([column.mean() for column in columns])
    for kind, seeds in kinds.items():
        if kind and len(seeds) > 2:
            numbers = [number(list(column), trainings=True) for column in np.array(seeds).T]
            rows.append({"label": f"{kind}, {len(seeds)} seeds", "numbers": numbers})
    header = ["training", "ACT [s]", "below random actions [%]", "below itself before training [%]"]
    return {"name": "trained", "header": [*header, "its last policy below random actions [%]"], "rows": rows}


def _random(policy: str, window: int, work: Any) -> float:
    """ACT of a policy's actions drawn alike."""
    pair = ",pair=true" if policy == "chic-pair" else ""
    return clock(f"uniform-random:window={window}{pair}", "events", {"window": window}, work)


def rates(sequences: int = 30) -> dict[str, Any]:
    """Policies trained for an arrival rate against themselves trained once and against random actions."""
    rows = []
    for policy, label in RANDOM.items():
        for variant in (v for v in VARIANTS[policy] if v._replace(rate=USUAL.rate) == USUAL):
            works = [mlsched.workload("synthetic:chic", seed=seed, rate=variant.rate) for seed in range(sequences)]
            both = [shipped_weights(policy, v) for v in (variant, USUAL)]
            anew, once = (runs_of(policy, w.tensors, w.card["recipe"], works, w.card["seed"]) for w in both)
            random = np.array([clock(*OTHERS[label], work) for work in works])
            columns = [anew, once, change(once, anew), -change(anew, random), -change(once, random)]
            rows.append({"label": f"{policy}, {variant.rate:g}/h", "numbers": [number(list(c)) for c in columns]})
    header = ["policy, rate", "ACT, trained for the rate [s]", "ACT, trained once [s]", "trained once above it [%]"]
    header += ["trained for the rate below random [%]", "trained once below random [%]"]
    return {"name": "rates", "header": header, "rows": rows}


def cost(policy: str, several: list[Weights], iterations: int = 3) -> list[str]:
    """CPU time of a policy's trainings: of an iteration at either end, and of a whole training."""
    chosen, ends_ = recipe(policy), []
    for weights, at in ((several[0], 0), (several[0], 1)):
        params = chosen.resolve(weights.card["recipe"])
        with repeatable_numbers():
            learner = chosen.learner(params, weights.card["seed"], "cpu")
            if at:
                state = {k.removeprefix("state/"): v for k, v in weights.tensors.items() if k.startswith("state/")}
                learner.restore(state)
            improving = _seconds(lambda k: learner.improve(k), iterations)  # noqa: B023 - called at once
            ends_.append(improving + _seconds(lambda _: learner.validate(learner.weights()), 1) / params.every)  # noqa: B023
    minutes = np.mean([len(w.card["curve"]) for w in several]) * np.mean(ends_) / 60
    return [policy, *(f"{seconds:.2g}" for seconds in ends_), f"{minutes:.2g}"]


def _seconds(call: Callable[[int], Any], times: int) -> float:
    """CPU seconds of a call."""
    started = time.process_time()
    for k in range(1, times + 1):
        call(k)
    return (time.process_time() - started) / times


def met(weights: Weights) -> bool:
    """Whether the training met its recipe's criterion."""
    chosen = recipe(weights.card["policy"])
    return chosen.trained is not None and chosen.trained(chosen.resolve(weights.card["recipe"]), weights.card["curve"])


def _kind(name: str) -> str:
    """A training's name without its seed; "" for a trial's, which has none."""
    kind, _, seed = name.rpartition("-")
    return kind if seed.isdigit() else ""


def measured(folder: Path) -> dict[str, Any]:
    """The document."""
    files = {p.stem: read(p, kind=CHECKPOINT) for p in sorted(folder.glob("*.checkpoint"))}
    by_policy = {policy: {n: w for n, w in files.items() if _kind(n) == policy} for policy in VARIANTS}
    seeds = {n: w for several in by_policy.values() for n, w in several.items()}
    named = {p + v.suffix for p, several in VARIANTS.items() for v in several}
    trials = {n: w for n, w in files.items() if _kind(n) not in named}
    tables = [parts(policy, list(several.values())) for policy, several in by_policy.items() if several]
    tables += [ends("seeds", seeds), ends("trials", trials), variants(files)]
    tables.append(reached(folder, {n: w for n, w in files.items() if met(w)}))
    tables.append(rates())
    header = ["policy", "first iterations [CPU s]", "last iterations [CPU s]", "a training [CPU min]"]
    rows = [cost(policy, list(several.values())) for policy, several in by_policy.items() if several]
    tables.append({"name": "cost", "header": header, "rows": rows})
    correlations = {}
    for policy, several in by_policy.items():
        pairs = [
            np.array([(e["validation_reward"], e["validation"]) for e in validated(w).values()]).T
            for w in several.values()
        ]
        correlations[policy] = number([float(np.corrcoef(*pair)[0, 1]) for pair in pairs], trainings=True)
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
