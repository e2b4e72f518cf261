"""An experiment and its settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

from mlsched.core.brief import short_repr
from mlsched.core.errors import InvalidInput
from mlsched_papers.report import Report, matches
from mlsched_papers.scoreboard import Paper
from mlsched_papers.statement import Statement

#: The dataclass of an experiment's size.
Grid = TypeVar("Grid", bound=Any)
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
    papers_size: bool = False
    loads: tuple[float, ...] | None = None

    def sized(self, grid: Grid, *counts: str) -> Grid:
        """Return `grid` with the requested seeds and jobs; the jobs go to its field `jobs` and the fields `counts`."""
        jobs = {} if self.jobs is None else dict.fromkeys(("jobs", *counts), self.jobs)
        return dataclasses.replace(grid, **jobs, **({} if self.seeds is None else {"seeds": self.seeds}))


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A paper's evaluation; `run` repeats its measurements.

    Attributes:
        sizes: `papers_size` and `loads` apply to it.
        statements: Its claims before any measurement; empty if they are known only after it.
        paper: The paper as the scoreboard presents it; None if it is not about a single paper.
    """

    name: str
    doc: str
    run: Callable[[Settings], Report]
    sizes: bool = False
    statements: tuple[Statement, ...] = ()
    paper: Paper | None = None

    def __repr__(self) -> str:
        return short_repr(self, self.name, self.doc)

    def has(self, claim: str) -> bool:
        """Return whether some claim's name or text contains `claim`, as far as claims are known before measuring."""
        return not self.statements or any(
            matches(claim, statement.name, statement.text) for statement in self.statements
        )

    def measured(self, settings: Settings) -> Report:
        """Return the report of `run`. Raises InvalidInput if a setting does not apply to this experiment."""
        if not self.sizes and (settings.papers_size or settings.loads is not None):
            raise InvalidInput(f"papers_size and loads: {self.name} has one size and its own loads; leave both out")
        return self.run(settings)
