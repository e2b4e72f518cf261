"""The nine algorithms of SLAQ's Table 1, as presets of synthetic loss curves.

Paper: SLAQ (Zhang et al., SoCC 2017), Table 1, Sections 4.1 and 4.2.2. Name, acronym, type, optimiser and data set are
as printed. The rest is ours, because the paper does not print it:

- `family`: gradient descent is sublinear and L-BFGS superlinear by 4.2.2, which also counts K-Means among gradient
descent's. Gradient boosting is taken as gradient descent in function space (sublinear), EM as linear.
- `initial`, `final`: K-Means falls from 300 to 0 and the SVM from 1 to 0.4 in 4.1; the others are plausible magnitudes,
chosen to span orders of magnitude as the paper stresses.
- `half_life`: iterations until half of the reducible loss is gone, such that every algorithm is close to converged at
iteration 100, the paper's convergence (6.2.1). `squared` is the share of the k^2 term, for optimisers between O(1/k)
and O(1/k^2).
- `core_seconds`: c * S of 4.2.1, CPU seconds per iteration. Synthetic: iterations take tenths of a second to seconds on
some ten cores (4.2.2), more for larger models.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mlsched.core.errors import UnknownName
from mlsched.core.fields import FloatArray


@dataclass(frozen=True)
class Algorithm:
    """One row of Table 1 and its curve.

    Attributes:
        name, acronym, type, optimiser, dataset: As Table 1 prints them.
        family: Curve family of 4.2.2 that the optimiser follows.
        convex: True if training minimises a convex function; the others may need a target hint (Section 7).
        initial, final: Loss before the first iteration and in the limit.
        half_life: Iterations until the reducible loss has halved.
        squared: Share of the k^2 term in the denominator at the half life (sublinear only), in [0, 1].
        core_seconds: CPU seconds per iteration.
    """

    name: str
    acronym: str
    type: str
    optimiser: str
    dataset: str
    family: Literal["sublinear", "superlinear"]
    convex: bool
    initial: float
    final: float
    half_life: float
    squared: float
    core_seconds: float

    def losses(self, k: FloatArray, *, stretch: float = 1.0) -> FloatArray:
        """Compute the noiseless losses at iterations `k` >= 0 with `stretch` times the preset's half life."""
        x = np.minimum(np.asarray(k, dtype=np.float64) / (self.half_life * stretch), 1e100)
        if self.family == "superlinear":
            share = np.exp2(-np.minimum(x, 1000.0))
        else:
            share = 1.0 / (1.0 + (1.0 - self.squared) * x + self.squared * x * x)
        return self.final + (self.initial - self.final) * share


_GD, _LBFGS, _BOOST = "Gradient Descent", "L-BFGS", "Gradient Boosting"
_CLASSIFY, _REGRESS, _CLUSTER = "Classification", "Regression", "Clustering"
_SONGS = "YearPredictionMSD"

TABLE_1: tuple[Algorithm, ...] = (
    Algorithm(
        "K-Means", "K-Means", _CLUSTER, "Lloyd Algorithm", "Synthetic", "sublinear", False, 300.0, 0.0, 2.0, 0.5, 6.0
    ),
    Algorithm("Logistic Regression", "LogReg", _CLASSIFY, _GD, "Epsilon", "sublinear", True, 0.69, 0.25, 4, 0.2, 8.0),
    Algorithm("Support Vector Machine", "SVM", _CLASSIFY, _GD, "Epsilon", "sublinear", True, 1.0, 0.4, 5, 0.1, 8.0),
    Algorithm("SVM (polynomial kernel)", "SVMPoly", _CLASSIFY, _GD, "MNIST", "sublinear", True, 1.0, 0.3, 6, 0.0, 20.0),
    Algorithm("Gradient Boosted Tree", "GBT", _CLASSIFY, _BOOST, "Epsilon", "sublinear", True, 1.4, 0.5, 7, 0.0, 30.0),
    Algorithm("GBT Regression", "GBTReg", _REGRESS, _BOOST, _SONGS, "sublinear", True, 120.0, 85.0, 7, 0.0, 25.0),
    Algorithm(
        "Multi-Layer Perceptron Classifier",
        "MLPC",
        _CLASSIFY,
        _LBFGS,
        "Epsilon",
        "superlinear",
        False,
        0.75,
        0.3,
        8,
        0,
        40.0,
    ),
    Algorithm(
        "Latent Dirichlet Allocation",
        "LDA",
        _CLUSTER,
        "EM / Online Algorithm",
        "Associated Press Corpus",
        "superlinear",
        False,
        9.5,
        7.4,
        10,
        0,
        15.0,
    ),
    Algorithm("Linear Regression", "LinReg", _REGRESS, _LBFGS, _SONGS, "superlinear", True, 900.0, 90.0, 3, 0, 4.0),
)


def algorithm(acronym: str) -> Algorithm:
    """Return the preset with this acronym."""
    for row in TABLE_1:
        if row.acronym == acronym:
            return row
    raise UnknownName(f"algorithm {acronym!r} is not in Table 1; it has {', '.join(r.acronym for r in TABLE_1)}")
