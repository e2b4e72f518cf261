"""Figures 4 to 9 of the MLFS paper as tables: one row per scheduler, metrics in columns."""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched_papers.claim import estimate, exact
from mlsched_papers.mlfs import grid as g
from mlsched_papers.mlfs import paper
from mlsched_papers.mlfs.grid import MLF_H, MLF_H_C, WITHOUT, Policy
from mlsched_papers.mlfs.measure import MORE, NAMES
from mlsched_papers.mlfs.measured import Measured
from mlsched_papers.report import Number, Table


def tables(m: Measured, printed: Measured) -> list[Table]:
    """Return Figure 4 for each load, the spread of workloads, then the gain of every feature of MLF-H.

    Placed jobs keep their nodes, or queue again by Eq. 4 as printed.
    """
    display = [*(figure_4(m, x) for x in m.grid.loads), percentiles(m), *features(m)]
    again = [dataclasses.replace(t, name=f"{t.name}, anew", title=f"Anew: {t.title}") for t in features(printed)]
    return display + again


def figure_4(m: Measured, x: float) -> Table:
    """Return every metric at one load."""
    rows = []
    for policy in m.all:
        if (policy.feature and policy != g.BOUND) or not m.runs(policy, x):
            continue
        numbers = []
        for name in NAMES:
            numbers.append(Number(m.estimate(policy, name, x), _printed(m, policy, name, x)))
        rows.append((policy.label, tuple(numbers)))
    note = (
        "CPU per decision is of the whole run, with the snapshot and its judge; the paper's is of 1,860 jobs at once. "
        "The paper does not say at which load so many of the jobs are done in 100 min. The lower bound's shares are "
        "the most that any scheduler could reach, each job alone on the cluster."
    )
    return Table(
        f"Figures 4 and 5, x = {x:g}",
        f"{round(m.grid.jobs * x)} jobs (x = {x:g})",
        ("scheduler", *NAMES.values()),
        tuple(rows),
        note,
    )


def _printed(m: Measured, policy: Policy, name: str, x: float) -> float | None:
    """Return the paper's number of a policy at a load; times of jobs only for its own cluster and jobs."""
    if name == "overhead":
        return paper.OVERHEAD.get(policy.label) if x == g.HIGHEST else None
    if (m.grid.servers, m.grid.jobs) != (g.PAPERS_SIZE.servers, g.PAPERS_SIZE.jobs):
        return None
    if name == "makespan" and x in (g.LOADS[0], g.HIGHEST) and policy.label in paper.MAKESPAN_HOURS:
        return paper.MAKESPAN_HOURS[policy.label][x == g.HIGHEST]
    return paper.SOON.get(policy.label) if name == "soon" and x == 1 else None


#: The paper's error bars, and the metrics that are shown with them.
BARS, BARRED = (1, 50, 99), ("jct", "deadlines", "guarantee")


def percentiles(m: Measured) -> Table:
    """Return the 1st, 50th and 99th percentile over workloads at the highest load, as in the paper's error bars."""
    header = [f"{NAMES[name]}: {'median' if bar == 50 else f'p{bar}'}" for name in BARRED for bar in BARS]
    rows = []
    for policy in m.all:
        values = [m.values(policy, name) for name in BARRED]
        if not policy.feature and all(result.size for result in values):
            bars = [float(bar) for result in values for bar in np.percentile(result, BARS)]
            rows.append((policy.label, tuple(Number(exact(bar)) for bar in bars)))
    return Table("Percentiles", f"Over workloads, x = {m.here:g}", ("scheduler", *header), tuple(rows))


#: Figure -> compared policies, metrics, and the paper's numbers, from least to most.
FEATURES: tuple[tuple[str, Policy, Policy, dict[str, tuple[float, float] | None]], ...] = (
    ("Figure 6, urgency", MLF_H, WITHOUT[0], {"urgent_deadlines": paper.URGENT_DEADLINES}),
    ("Figure 6, deadline", MLF_H, WITHOUT[1], {"deadlines": paper.DEADLINES_BY_DEADLINE}),
    ("Figure 7", MLF_H, WITHOUT[2], {"jct": paper.JCT_BY_BANDWIDTH, "bandwidth": paper.BANDWIDTH_BY_BANDWIDTH}),
    (
        "Figure 8",
        MLF_H,
        WITHOUT[3],
        {
            "overload": paper.OVERLOAD_BY_MIGRATION,
            "bandwidth": None,
            "accuracy": paper.ACCURACY_BY_MIGRATION,
            "jct": paper.JCT_BY_MIGRATION,
        },
    ),
    ("Figure 9", MLF_H_C, MLF_H, {"guarantee": paper.GUARANTEE_BY_MLF_C, "jct": paper.JCT_BY_MLF_C}),
)


def features(m: Measured) -> list[Table]:
    """Return the percentages by which MLF-H is better than without a feature, by load."""
    result = []
    for figure, policy, other, metrics in FEATURES:
        if policy not in m.policies or other not in m.policies:
            continue
        rows = []
        for metric, printed in metrics.items():
            numbers = tuple(Number(estimate(m.better(policy, other, metric, x))) for x in m.grid.loads)
            direction = "more" if metric in MORE else "less"
            told = f" (paper: {printed[0]:g} to {printed[1]:g})" if printed else ""
            rows.append(
                (f"{NAMES.get(metric, 'deadlines of urgent jobs met [%]')}, {direction} is better{told}", numbers)
            )
        title = f"{policy.label} against {other.label}: better by [%]"
        result.append(Table(figure, title, ("figure of merit", *(f"x = {x:g}" for x in m.grid.loads)), tuple(rows)))
    return result
