"""Runs of an experiment, in turn or in processes, and the sentences of every report about its runs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from typing import Any, TypeVar

from mlsched import api
from mlsched.benchmark.pool import processes
from mlsched.core.errors import SolverError
from mlsched.core.versions import versions
from mlsched.simulation.run import Run
from mlsched_papers.experiment import Progress

Case = TypeVar("Case")
Grid = TypeVar("Grid")
Metrics = TypeVar("Metrics")

CHECKED = "Every run passed the independent replay check."
PAIRED = "Intervals: 95 %, Student's t over workloads; policies are compared on the same workloads."


def measure_all(
    run_case: Callable[[Case, Grid], Metrics],
    cases: Sequence[Case],
    grid: Grid,
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> dict[Case, Metrics]:
    """Return `run_case(case, grid)` of every case, in the order of `cases` for any number of workers.

    With workers, `run_case` must be picklable. Raises SolverError with the first sentence of a replay check that fails.
    """
    progress_value: dict[Case, Metrics] = {}
    report = progress or (lambda finished, total: None)
    report(0, len(cases))
    for case, metrics in _in_turn(run_case, cases, grid) if workers == 1 else _parallel(run_case, cases, grid, workers):
        progress_value[case] = metrics
        report(len(progress_value), len(cases))
    return {case: progress_value[case] for case in cases}


def _in_turn(
    run_case: Callable[[Case, Grid], Metrics], cases: Sequence[Case], grid: Grid
) -> Iterator[tuple[Case, Metrics]]:
    for case in cases:
        yield case, run_case(case, grid)


def _parallel(
    run_case: Callable[[Case, Grid], Metrics], cases: Sequence[Case], grid: Grid, workers: int
) -> Iterator[tuple[Case, Metrics]]:
    with processes(min(workers, len(cases))) as pool:
        futures = {pool.submit(run_case, case, grid): case for case in cases}
        for future in as_completed(futures):
            yield futures[future], future.result()


def simulated(workload: Any, solver: Any, **settings: Any) -> tuple[Run, tuple[str, ...]]:
    """Return a run that passed the replay check, and its warnings. settings: as in `api.simulate`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = api.simulate(workload, solver, **settings)
    refuse_unsound(run)
    return run, tuple(str(w.message) for w in caught)


def refuse_unsound(run: Run) -> None:
    """Raise SolverError with the first sentence of a replay check that fails: such a run must not be reported."""
    if wrong := run.violations():
        raise SolverError(
            f"{run.solver} on {run.workload.source}: the replay check fails: {wrong[0]} ({len(wrong)} in all)"
        )


def versions_sentence() -> str:
    """Return the versions behind the numbers."""
    return "Versions: " + ", ".join(f"{name} {version}" for name, version in versions().items()) + "."
