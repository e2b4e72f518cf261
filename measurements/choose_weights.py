"""Choose the shipped weights among trainings with several seeds, and write them into the package.

    python measurements/choose_weights.py DIR [POLICY ...]

DIR holds files POLICY-SEED.safetensors and POLICY-VARIANT-SEED.safetensors, as `mlsched train` writes them. The suffix
of a variant is that of the shipped file (`-w60`, `-i2`, `-r0.9`, `-settled`, see VARIANTS in
mlsched/learned/workers/chic_policy.py). A variant without trainings in DIR keeps its weights. Among the trainings that
ended as their protocol demands, the one with the best validation score is chosen. If none did, it is chosen among all,
and its card states that it is not trained. The card of a variant for the usual sizes gets some validated points of each
training's curve (`seeds`), from which Figure 6 is made. The other variants have no curve, so the package stays small.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from mlsched.learned.weights import Weights, read, write
from mlsched.learned.workers.chic_policy import USUAL, VARIANTS, Variant

TARGET = Path(__file__).parents[1] / "mlsched" / "learned" / "workers" / "weights"
#: The variants of each policy; Chic-plus has one.
POLICIES = {**VARIANTS, "chic-plus": (USUAL,)}
#: What is kept of a training's curve, and of the chosen one's: what the claims and Figure 6 of `reproduce chic` read.
KEPT = ("iteration", "bound", "reward", "validation")
SHOWN = (*KEPT, "reward_completion", "reward_absent", "reward_halves", "punished_share", "useless_share")
#: Most points of a curve; every second one goes until no more are left.
POINTS = 50


def order(weights: Weights) -> tuple[bool, float]:
    """Trained before not trained, then the faster."""
    return weights.card["trained"] is not True, weights.card["scores"]["validation"]


def thinned(weights: Weights, fields: tuple[str, ...]) -> list[dict[str, float]]:
    """Some points of a training's curve, its last among them."""
    curve = weights.card["curve"]
    while len(curve) > POINTS:
        curve = curve[::-1][::2][::-1]
    return [{name: entry[name] for name in fields if name in entry} for entry in curve]


def summary(weights: Weights, curves: bool) -> dict[str, Any]:
    """A training in short, with its curve or without."""
    found = {name: weights.card[name] for name in ("seed", "trained", "iterations", "scores")}
    return found | ({"curve": thinned(weights, KEPT)} if curves else {})


def choose(folder: Path, policy: str, variant: Variant) -> None:
    """Write the chosen weights of a variant of a policy."""
    name, usual = policy + variant.suffix, variant[:3] == USUAL[:3]
    several = [read(path, policy) for path in sorted(folder.glob(f"{name}-[0-9].safetensors"))]
    if not several:
        print(f"{name}: no trainings")
        return
    best = min(several, key=order)
    card = {**best.card, "seeds": [summary(one, usual) for one in several]}
    if usual:
        card["curve"] = thinned(best, SHOWN)
    else:
        card.pop("curve")
    write(TARGET / f"{name}.safetensors", Weights(best.tensors, card))
    for one in several:
        scores = one.card["scores"]
        print(
            f"{name} seed {one.card['seed']}{' <- chosen' if one is best else ''}: trained {one.card['trained']}, "
            f"{one.card['iterations']} iterations, validation {scores['validation']:.4g} at iteration "
            f"{scores['best_iteration']}"
        )


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("policies", nargs="*", default=list(POLICIES))
    arguments = parser.parse_args()
    for policy in arguments.policies:
        for variant in POLICIES[policy]:
            choose(arguments.folder, policy, variant)


if __name__ == "__main__":
    main()
