"""Runs of the experiment: each is simulated, checked by the independent replay, and reduced to a few numbers."""

from __future__ import annotations

import dataclasses
import time
import warnings
from typing import Any

import numpy as np

from mlsched import api
from mlsched.learned.workers.chic_policy import policy as chic_policy
from mlsched_papers.chic.grid import Case, Grid
from mlsched_papers.runs import refuse_unsound


@dataclasses.dataclass(frozen=True)
class Metrics:
    """One run: metrics by name, and every job's completion time, s."""

    values: dict[str, float]
    completion: list[float]


def run_case(case: Case, grid: Grid) -> Metrics:
    """Simulate, check and reduce a run."""
    workload = api.workload("synthetic:chic", "workers", seed=case.seed, jobs=case.jobs or grid.jobs, rate=case.rate)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the offered load")
        run = api.simulate(
            workload, case.text, seed=case.seed, scheduling_events=case.scheduling_events, options=dict(case.options)
        )
        step_ms = _step_ms(workload, case) if _timed(case, grid) else None
    refuse_unsound(run)
    summary = run.summary()
    values = {
        "act": summary["average_completion_s"],
        "shortest": summary["shortest_completion_s"],
        "median": summary["completion_s"]["p50"],
        "longest": summary["longest_completion_s"],
        "wait": summary["average_wait_s"],
        "makespan_h": summary["makespan_s"] / 3600,
        "gpu": 100 * summary["utilisation"]["gpu"],
        "cpu": 100 * summary["utilisation"]["cpu"],
        "lost": 100 * summary["lost_iterations_share"],
        "decisions": float(run.decisions),
        "decision_ms": 1000 * run.cpu_seconds / max(1, run.decisions),
        "runtime_s": run.cpu_seconds,
    }
    if step_ms is not None:
        values["step_ms"] = step_ms
    return Metrics(values, run.jobs["completion_s"].tolist())


def _timed(case: Case, grid: Grid) -> bool:
    """Return whether actions of Chic are timed in this run: once, with the other runtimes."""
    return case.text == "chic" and case.rate == grid.at and not case.jobs and ("floor", "always") in case.options


def _step_ms(workload: Any, case: Case) -> float:
    """Return the CPU time of an action of Chic, ms: the repeated decisions of a run, over their actions."""
    run = api.simulate(
        workload,
        case.text,
        seed=case.seed,
        scheduling_events=case.scheduling_events,
        options=dict(case.options),
        record=1.0,
    )
    policy = chic_policy("chic", "")
    query: list[tuple[Any, np.random.Generator]] = [
        (d.instance, np.random.default_rng([case.seed, d.number])) for d in run.recorded
    ]
    starts = time.process_time()
    actions = sum(int(policy.decide(instance, rng).steps) for instance, rng in query)
    return 1000 * (time.process_time() - starts) / max(1, actions)
