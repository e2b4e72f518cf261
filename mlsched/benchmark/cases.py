"""Content of suites: instances and their solvers, as data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

#: Default seeds of a case.
SEEDS = tuple(range(8))


@dataclasses.dataclass(frozen=True)
class Case:
    """Instances of one preset, or in files, and their solvers.

    Attributes:
        problem: Problem of the instances.
        preset: Preset, or None for the generator's own sizes. For files: their common name.
        sizes: Changes to the preset's sizes. For files: options of the reader of foreign files.
        seeds: Seeds of the instances.
        solvers: Names with parameters, or None for all registered solvers.
        objectives: Objectives, or None for all.
        time_limit: Wall seconds per solve, for exact solvers.
        work_limit: Backend ("cp-sat", "highs") -> its deterministic limit per solve. Other backends are unlimited; an
            algorithm that declares its engine uses the engine's limit.
        without: Registered solvers to omit.
        files: Paths of instances, instead of a preset.
        reference: Add the problem's default if none of the solvers is exact.
        published: File -> its published optimum, for the case's only objective.
        repeat: CPU seconds for which the same call is repeated, to measure its cost; the judge is timed too.
        confirm_limit: Wall seconds of a confirmation, None for a share of the time limit.
    """

    problem: str
    preset: str | None = "small"
    sizes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    seeds: tuple[int, ...] = SEEDS
    solvers: tuple[str, ...] | None = None
    objectives: tuple[str, ...] | None = None
    time_limit: float | None = None
    work_limit: Mapping[str, float] = dataclasses.field(default_factory=dict)
    without: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    reference: bool = False
    published: Mapping[str, int] = dataclasses.field(default_factory=dict)
    repeat: float | None = None
    confirm_limit: float | None = None


@dataclasses.dataclass(frozen=True)
class Suite:
    """Named set of cases; `programs` are files of integer programs with published fronts (`outside`)."""

    name: str
    doc: str
    cases: tuple[Case, ...]
    programs: tuple[str, ...] = ()
