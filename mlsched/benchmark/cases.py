"""What suites are made of: instances, and who answers them, as data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

#: Seeds of a case that names none.
SEEDS = tuple(range(8))


@dataclasses.dataclass(frozen=True)
class Case:
    """Instances of one preset, or in files, and who answers them.

    preset: of the problem, None for the generator's own sizes; sizes: changes to it. files: paths of instances instead;
    then preset is what they are called together, and sizes are options for the reader of others' files. solvers:
    names with parameters, None for all registered ones. objectives: None for all. time_limit: wall seconds per solve,
    for exact solvers. work_limit: backend ("cp-sat", "highs") -> its deterministic measure per solve; backends not
    named run unlimited, and an algorithm that declares its engine keeps to the engine's. without: of the registered
    solvers, those that are not asked. reference: where none of the solvers is exact, the problem's default is asked
    as well. confirm_limit: wall seconds that a second opinion may take, None for a share of the time limit. published:
    file -> the optimum that is published for it, of the case's only objective. repeat: CPU seconds for which the same
    call is made again and again, for its cost; the judge is timed too.
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
    """A named set of cases; `programs` are files of integer programs with published fronts (`outside`)."""

    name: str
    doc: str
    cases: tuple[Case, ...]
    programs: tuple[str, ...] = ()
