"""Weights of MLF-RL's reward by Bayesian optimisation, then by small changes (MLFS, Section 3.4).

    python measurements/mlf_rl_weights.py [--rounds 10] [--iterations 6] [--seed 0] [--set KEY=VALUE]...

Each round trains an MLF-RL with weights that Optuna's tree-structured Parzen estimator suggests; the first are the
paper's. Then each weight of the best combination is raised and lowered by a fifth, one after the other, and kept where
that is better. The paper keeps the combination with the highest reward; rewards under different weights cannot be
compared, so every policy is judged by the reward with the paper's weights on the validation workloads. Prints one JSON
document; every round also goes to standard error when it ends. Needs optuna: pip install 'mlsched[tune]'.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from mlsched.core.errors import InvalidInput
from mlsched_training._torch import repeatable_numbers
from mlsched_training.taskgraph._reward import Reward
from mlsched_training.taskgraph.mlf_rl import RECIPE

NAMES = tuple(f"beta{k}" for k in range(1, 6))
PAPER = {name: float(getattr(Reward(), name)) for name in NAMES}
#: By so much a weight is raised and lowered in the end.
FIFTH = 0.2


def judged(weights: dict[str, float], arguments: argparse.Namespace) -> float:
    """The best validation reward, by the paper's weights, of a training with these."""
    given = dict(text.split("=", 1) for text in arguments.set)
    params = RECIPE.resolve({**given, **weights})
    with repeatable_numbers():
        learner: Any = RECIPE.learner(params, arguments.seed, "cpu")
        learner.judge = Reward()
        best = learner.validate(learner.weights()).score
        for k in range(1, arguments.iterations + 1):
            learner.improve(k)
            if k % params.every == 0 or k == arguments.iterations:
                best = min(best, learner.validate(learner.weights()).score)
    return -best


def main() -> None:
    try:
        import optuna
    except ImportError:
        raise InvalidInput("the search needs optuna, which is not installed: pip install 'mlsched[tune]'") from None
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--iterations", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=arguments.seed))
    study.enqueue_trial(PAPER)
    trials: list[dict[str, Any]] = []

    def tried(weights: dict[str, float], how: str) -> float:
        value = judged(weights, arguments)
        trials.append({"how": how, "weights": weights, "reward": value})
        print(json.dumps(trials[-1]), file=sys.stderr, flush=True)
        return value

    study.optimize(
        lambda trial: tried({name: trial.suggest_float(name, 0.05, 1.0) for name in NAMES}, "Bayesian"),
        n_trials=arguments.rounds,
    )
    best, value = dict(study.best_params), study.best_value
    for name in NAMES:
        for factor in (1 + FIFTH, 1 - FIFTH):
            changed = best | {name: best[name] * factor}
            if (found := tried(changed, f"{name} x {factor:g}")) > value:
                best, value = changed, found
    rows = [
        [trial["how"], *(f"{trial['weights'][name]:.3g}" for name in NAMES), f"{trial['reward']:.4f}"]
        for trial in trials
    ]
    table = {"header": ["round", *NAMES, "reward by the paper's weights"], "rows": rows}
    print(json.dumps({"tables": {"rounds": table}, "best": best, "reward": value}))


if __name__ == "__main__":
    main()
