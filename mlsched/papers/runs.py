"""Carrying an experiment's runs out, in turn or in processes, and the sentences that every report says of its runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from typing import TypeVar

from mlsched.benchmark.pool import processes
from mlsched.core.errors import AnswererError
from mlsched.core.versions import versions
from mlsched.papers.experiment import Progress
from mlsched.simulation.run import Run

Case = TypeVar("Case")
Metrics = TypeVar("Metrics")

CHECKED = "Every run passed the independent replay check."
PAIRED = "Intervals: 95 %, Student's t over workloads; policies are compared on the same workloads."


def measure(
    cases: Sequence[Case], run: Callable[[Case], Metrics], *, workers: int = 1, progress: Progress | None = None
) -> dict[Case, Metrics]:
    """`run` of every case, in the order of `cases` whatever finishes first. With workers, `run` must be picklable."""
    done: dict[Case, Metrics] = {}
    report = progress or (lambda finished, total: None)
    report(0, len(cases))
    for case, metrics in _in_turn(cases, run) if workers == 1 else _parallel(cases, run, workers):
        done[case] = metrics
        report(len(done), len(cases))
    return {case: done[case] for case in cases}


def _in_turn(cases: Sequence[Case], run: Callable[[Case], Metrics]) -> Iterator[tuple[Case, Metrics]]:
    for case in cases:
        yield case, run(case)


def _parallel(cases: Sequence[Case], run: Callable[[Case], Metrics], workers: int) -> Iterator[tuple[Case, Metrics]]:
    with processes(min(workers, len(cases))) as pool:
        futures = {pool.submit(run, case): case for case in cases}
        for future in as_completed(futures):
            yield futures[future], future.result()


def refuse_unsound(run: Run) -> None:
    """Raise AnswererError with the first sentence of a replay check that fails: such a run must not be reported."""
    if wrong := run.violations():
        raise AnswererError(
            f"{run.answerer} on {run.workload.source}: the replay check fails: {wrong[0]} ({len(wrong)} in all)"
        )


def versions_sentence() -> str:
    """What the numbers were made with."""
    return "Versions: " + ", ".join(f"{name} {version}" for name, version in versions().items()) + "."
