"""Figures 4, 5, 6 and 7 of the Chic paper, measured; the paper's are images with unreadable numbers."""

from __future__ import annotations

import numpy as np

from mlsched_papers.chic.grid import (
    EPISODES,
    INTERVALS,
    LP_MPC,
    MAX_RATE,
    OPTIMUS,
    OPTIMUS_600,
    RANDOM,
    WINDOWS,
    Policy,
    by_episode,
    everyone,
    figure_7a,
    known,
    optimus,
    trained,
    windows,
)
from mlsched_papers.chic.learning import figure_6
from mlsched_papers.chic.measured import At, ChicView, Measured
from mlsched_papers.report import Figure

#: Points of a distribution.
POINTS = 100


def figures(m: Measured) -> list[Figure]:
    """Return Fig. 4(a) and 5(b) for each interpretation, 4(b) and 7 for the first, 6 from the policies' trainings."""
    first = m.views[0]
    return [
        *(_figure_4a(m, v) for v in m.views),
        _figure_4b(m, first),
        *(_figure_5(m, v) for v in m.views),
        figure_6(),
        _figure_7a(m, first),
        _figure_7b(m, first),
    ]


def _figure_4a(m: Measured, view: ChicView) -> Figure:
    rates = list(m.grid.rates)
    policies = [p for p in everyone() if view.has(p, At(rates[0]))]
    panels = {"": {p.label: (rates, [float(view.values(p, "act", At(r)).mean()) for r in rates]) for p in policies}}
    return Figure("Figure 4(a)", f"average completion time, {view.name}", panels, "jobs per hour", "ACT, s")


def _figure_4b(m: Measured, view: ChicView) -> Figure:
    lines = {}
    for policy in (OPTIMUS_600, OPTIMUS, RANDOM, *known(MAX_RATE, LP_MPC), *trained()):
        times = view.completions(policy)
        shares = np.linspace(0, 1, POINTS)
        lines[policy.label] = (np.quantile(times, shares).tolist(), shares.tolist())
    caption = f"completion times of all jobs at {m.grid.at:g}/h, {view.name}"
    return Figure("Figure 4(b)", caption, {"completion time [s]": lines}, kind="cdf")


def _figure_5(m: Measured, view: ChicView) -> Figure:
    intervals = sorted(INTERVALS)
    runs = [optimus(i) for i in intervals]
    panels = {}
    for metric, name in (("runtime_s", "runtime [CPU s]"), ("act", "ACT [s]")):
        lines = {"Optimus": ([float(i) for i in intervals], [_mean(view, p, metric, m) for p in runs])}
        for policy in (OPTIMUS, *trained()):
            level = _mean(view, policy, metric, m)
            lines[policy.label] = ([float(intervals[0]), float(intervals[-1])], [level, level])
        panels[f"{name} by Optimus' interval [s]"] = lines
    return Figure("Figure 5", f"runtime and ACT at {m.grid.at:g}/h, {view.name}", panels)


def _mean(view: ChicView, policy: Policy, metric: str, m: Measured) -> float:
    return float(view.values(policy, metric).mean())


def _figure_7a(m: Measured, view: ChicView) -> Figure:
    panels = {}
    for length, jobs in m.grid.lengths.items():
        lines = {}
        for policy in figure_7a():
            result = [
                float(view.values(p, "act", At(m.grid.at, jobs)).mean()) for p in by_episode(policy) if p is not None
            ]
            # A policy without a second W is a level line.
            lines[policy.label] = ([float(w) for w in EPISODES], result if len(result) > 1 else result * len(EPISODES))
        panels[f"test sequences of {length} jobs"] = lines
    return Figure("Figure 7(a)", f"ACT by W at {m.grid.at:g}/h, {view.name}", panels, "W", "ACT, s")


def _figure_7b(m: Measured, view: ChicView) -> Figure:
    panels = {
        f"{rate:g} jobs per hour": {
            each[0].label.partition(",")[0]: (
                [float(w) for w in WINDOWS],
                [float(view.values(p, "act", At(rate)).mean()) for p in each],
            )
            for each in zip(*(windows(w) for w in WINDOWS), strict=True)
        }
        for rate in (m.grid.rates[0], m.grid.rates[-1])
    }
    return Figure("Figure 7(b)", f"ACT by I, {view.name}", panels, "I", "ACT, s")
