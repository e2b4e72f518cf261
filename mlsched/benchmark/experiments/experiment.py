"""What an experiment is, and what its caller may set."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from mlsched.benchmark.experiments.report import Report

#: Called with (runs done, runs in all), once at the start and after every run.
Progress = Callable[[int, int], None]


@dataclasses.dataclass(frozen=True)
class Settings:
    """The keywords of `reproduce`; None: the experiment's own."""

    quick: bool = False
    workers: int = 1
    progress: Progress | None = None
    trace: str | None = None
    cluster: str | None = None
    jobs: int | None = None
    seeds: int | None = None


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A paper's evaluation: `run` measures it anew."""

    name: str
    doc: str
    run: Callable[[Settings], Report]
