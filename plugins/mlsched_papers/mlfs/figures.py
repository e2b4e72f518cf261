"""Figures 4 and 5 of the MLFS paper, measured; the paper's are images with unreadable numbers."""

from __future__ import annotations

from mlsched_papers.mlfs.measure import NAMES
from mlsched_papers.mlfs.measured import Measured
from mlsched_papers.report import Figure

#: Panel letter of Figures 4 and 5 -> metric.
PANELS = {
    "a": "soon",
    "b": "jct",
    "c": "deadlines",
    "d": "waiting",
    "e": "accuracy",
    "f": "guarantee",
    "g": "bandwidth",
    "h": "overhead",
}


def figures(m: Measured) -> list[Figure]:
    """Return one figure per panel, with one line per scheduler over the loads."""
    display = [policy for policy in m.all if not policy.feature]
    xs = [float(x) for x in m.grid.loads]
    result = []
    for letter, metric in PANELS.items():
        lines = {}
        for policy in display:
            means = [m.estimate(policy, metric, x) for x in m.grid.loads]
            lines[policy.label] = (xs, [mean.mean if mean else float("nan") for mean in means])
        result.append(
            Figure(
                f"Figure 4({letter})",
                f"{NAMES[metric]} by load",
                {"": lines},
                f"x ({m.grid.jobs} jobs each)",
                NAMES[metric],
            )
        )
    return result
