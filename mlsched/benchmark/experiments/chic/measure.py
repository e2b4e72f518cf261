"""Carrying the runs out: each is simulated, checked by the independent replay, and reduced to a few numbers."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed

from mlsched import api
from mlsched.benchmark.experiments.chic.grid import Case, Grid
from mlsched.benchmark.experiments.experiment import Progress
from mlsched.benchmark.pool import processes
from mlsched.core.errors import AnswererError


@dataclasses.dataclass(frozen=True)
class Metrics:
    """One run: figures of merit by name, and every job's completion time, s."""

    values: dict[str, float]
    completion: list[float]


def measure(
    cases: Sequence[Case], grid: Grid, *, workers: int = 1, progress: Progress | None = None
) -> dict[Case, Metrics]:
    """The metrics of every case, in the order of `cases` whatever finishes first.

    Raises AnswererError with the first sentence of a replay check that fails.
    """
    done: dict[Case, Metrics] = {}
    report = progress or (lambda finished, total: None)
    report(0, len(cases))
    for case, metrics in _in_turn(cases, grid) if workers == 1 else _parallel(cases, grid, workers):
        done[case] = metrics
        report(len(done), len(cases))
    return {case: done[case] for case in cases}


def _in_turn(cases: Sequence[Case], grid: Grid) -> Iterator[tuple[Case, Metrics]]:
    for case in cases:
        yield case, run_case(case, grid)


def _parallel(cases: Sequence[Case], grid: Grid, workers: int) -> Iterator[tuple[Case, Metrics]]:
    with processes(min(workers, len(cases))) as pool:
        futures = {pool.submit(run_case, case, grid): case for case in cases}
        for future in as_completed(futures):
            yield futures[future], future.result()


def run_case(case: Case, grid: Grid) -> Metrics:
    """Simulate, check, reduce."""
    workload = api.workload("synthetic:chic", "workers", seed=case.seed, jobs=case.jobs or grid.jobs, rate=case.rate)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the offered load")
        run = api.simulate(workload, case.text, seed=case.seed, wake=case.wake, options=dict(case.options))
    if wrong := run.violations():
        raise AnswererError(
            f"{case.text} on {workload.source}: the replay check fails: {wrong[0]} ({len(wrong)} in all)"
        )
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
    return Metrics(values, run.jobs["completion_s"].tolist())
