"""Runs of the experiment: each is simulated, checked by the independent replay, and reduced to a few numbers."""

from __future__ import annotations

import dataclasses

import numpy as np

from mlsched import api
from mlsched.core.aliases import Data
from mlsched.simulation.quality.outcome import Course, course, reached
from mlsched.simulation.run import Run
from mlsched_papers.runs import simulated
from mlsched_papers.slaq.grid import EPOCH, Case, Grid

#: Percent of loss reduction of Fig. 7(b).
LEVELS = (25, 50, 75, 80, 85, 90, 95, 99)
#: Points of a curve over time; the window of Fig. 7(a), s.
POINTS, WINDOW = 100, 800.0

Line = tuple[list[float], list[float]]


@dataclasses.dataclass(frozen=True)
class Metrics:
    """One run: metrics by name (None if undefined), curves over time, and remarks."""

    values: dict[str, float | None]
    curves: dict[str, Line]
    remarks: tuple[str, ...] = ()


def run_case(case: Case, grid: Grid) -> Metrics:
    """Simulate, check and reduce a run."""
    interpretation = case.interpretation
    workload = api.workload(
        "synthetic:table1",
        "quality",
        seed=case.seed,
        jobs=grid.jobs,
        cores=grid.cores,
        cap=interpretation.cap,
        mean_arrival=case.mean_arrival,
        load=interpretation.load * interpretation.at / case.mean_arrival,
        target=interpretation.target,
    )
    options: Data = {"epoch": EPOCH, **dict(interpretation.options), **dict(case.policy.options)}
    run, remarks = simulated(
        workload, case.policy.text, seed=case.seed, scheduling_events=f"interval:{EPOCH}", options=options
    )
    result = course(workload, run.log)
    return Metrics(_values(run), _curves(run, result), remarks)


def _values(run: Run) -> dict[str, float | None]:
    summary = run.summary()
    names = (
        "average_loss",
        "summed_loss",
        "time_to_90_s",
        "time_to_95_s",
        "completion_s",
        "loss_seconds",
        "makespan_s",
        "active_jobs",
    )
    result = {name: summary[name] for name in names}
    for group, share in summary["cores_by_loss"].items():
        result[f"{group}_share"] = None if share is None else 100 * share
    for level in LEVELS:
        result[f"time_{level}"] = float(reached(run.workload, run.log, level / 100).mean())
    return result | {"cpu_ms": 1000 * run.cpu_seconds / run.decisions if run.decisions else None}


def _curves(run: Run, result: Course) -> dict[str, Line]:
    """Return Fig. 7(a), Fig. 8 in a window in the middle of the arrivals; Fig. 3 for the middle job."""
    middle = float(run.workload.submit[-1]) / 2
    start = max(0.0, middle - WINDOW / 2)
    at = np.linspace(start, min(start + WINDOW, float(result.time[-1])), POINTS)
    interval = np.maximum(np.searchsorted(result.time, at, side="right") - 1, 0)
    order = np.argsort(np.where(result.active, -result.loss, np.inf), axis=0, kind="stable")
    ranking = np.take_along_axis(result.cores, order, axis=0)[:, interval]
    count = result.active.sum(axis=0)[interval]
    quarter, half = -(-count // 4), -(-count // 2)
    place, usage = np.arange(len(order))[:, None], np.maximum(ranking.sum(axis=0), 1)
    job = len(order) // 2
    since = result.time - run.workload.submit[job]
    here = np.flatnonzero(result.active[job])[:POINTS]
    groups = {"high": place < quarter, "medium": (place >= quarter) & (place < half), "low": place >= half}
    return {
        "average": (at.tolist(), np.nan_to_num(result.average_loss()[interval]).tolist()),
        "job": (since[here].tolist(), result.loss[job, here].tolist()),
        **{
            name: (at.tolist(), (100 * np.where(member, ranking, 0).sum(axis=0) / usage).tolist())
            for name, member in groups.items()
        },
    }
