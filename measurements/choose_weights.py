"""Choose the weights that come with mlsched from trainings with several seeds, and write them into the package.

    python measurements/choose_weights.py DIR [POLICY ...]

DIR holds POLICY-SEED.safetensors files and their checkpoints, as `mlsched train` writes them. Of the trainings that met
the recipe's criterion, the one whose weights have the lowest average completion time on the validation sequences is
chosen; if none met it, of all, and its card says that it is not trained. The card gets the validated part of every
training's curve (`seeds`), from which Figure 6 is made.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from mlsched.learned.weights import Weights, read, write

TARGET = Path(__file__).parents[1] / "mlsched" / "learned" / "workers" / "weights"
#: What is kept of a curve of the other seeds.
KEPT = ("iteration", "bound", "reward", "punished_share", "useless_share", "validation", "validation_punished_share")
#: Most points of such a curve; every second one goes until no more are left.
POINTS = 40


def order(weights: Weights) -> tuple[bool, float]:
    """Trained before not trained, then the faster."""
    return weights.card["trained"] is not True, weights.card["scores"]["validation"]


def summary(weights: Weights) -> dict[str, Any]:
    """A training in short."""
    card = weights.card
    curve = card["curve"]
    while len(curve) > POINTS:
        curve = curve[1::2]
    kept = [{name: entry[name] for name in KEPT if name in entry} for entry in curve]
    return {name: card[name] for name in ("seed", "trained", "iterations", "scores")} | {"curve": kept}


def choose(folder: Path, policy: str) -> None:
    """Write the chosen weights of a policy."""
    several = [read(path, policy) for path in sorted(folder.glob(f"{policy}-[0-9].safetensors"))]
    if not several:
        raise SystemExit(f"{folder}: has no {policy}-SEED.safetensors; `mlsched train {policy} -o` writes one")
    best = min(several, key=order)
    seeds = [summary(one) for one in several]
    write(TARGET / f"{policy}.safetensors", Weights(best.tensors, {**best.card, "seeds": seeds}))
    for one in several:
        scores = one.card["scores"]
        print(
            f"{policy} seed {one.card['seed']}{' <- chosen' if one is best else ''}: trained {one.card['trained']}, "
            f"{one.card['iterations']} iterations, validation {scores['validation']:.1f} s at iteration "
            f"{scores['best_iteration']}"
        )


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("policies", nargs="*", default=["chic", "chic-pair"])
    arguments = parser.parse_args()
    for policy in arguments.policies:
        choose(arguments.folder, policy)


if __name__ == "__main__":
    main()
