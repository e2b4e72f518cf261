"""Write the validation scores in the cards of shipped weights again: `python tools/make_cards.py [FILE ...]`.

The tensors stay as they are. Use it after a change of the simulation, or train again; without a FILE it takes about two
CPU minutes.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

from mlsched.core.versions import versions
from mlsched.learned.weights import Weights, read, write
from mlsched_training import revalidate

ROOT = Path(__file__).resolve().parents[1] / "mlsched" / "learned"
#: Relative difference of scores between machines with other linear algebra.
PRECISION = 1e-6


def shipped() -> list[Path]:
    """Return the files of all weights that come with mlsched."""
    return sorted(ROOT.glob("*/weights/*.safetensors"))


def renewed(weights: Weights) -> Weights:
    """Return the weights with the scores of this version; equal ones are returned as they are."""
    scores, result = weights.card["scores"], revalidate(weights)
    if math.isclose(result.score, scores["validation"], rel_tol=PRECISION):
        return weights
    scores = {**scores, "validation": result.score, "meets_criterion": result.meets, **dict(result.figures)}
    trained = weights.card.get("trained") and result.meets
    return Weights(weights.tensors, {**weights.card, "scores": scores, "trained": trained, "validated_by": versions()})


if __name__ == "__main__":
    for file in [Path(name) for name in sys.argv[1:]] or shipped():
        weights = read(file)
        again = renewed(weights)
        if again is not weights:
            write(file, again)
            before, after = (one.card["scores"]["validation"] for one in (weights, again))
            print(f"{file.name}: {before:.6g} -> {after:.6g}")
