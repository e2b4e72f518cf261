"""Suites: which instances are put to whom, as data. Nothing here names a problem's insides.

`quick` covers every registered problem and every registered problem is a suite of its own name, so both grow by
themselves. Everything is drawn from fixed seeds on one thread. Limits are deterministic work, by backend, because a
wall limit makes an answer depend on the machine; where there is a wall limit too, it is a backstop, and rows that hit
it say so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from mlsched.core.contract import Problem
from mlsched.core.registry import registry

#: What every problem's `small` preset is asked for in `quick`.
SMALL_SEEDS = tuple(range(8))
#: `quick` looks at this many presets beside `small`, with these seeds.
MORE_PRESETS, MORE_SEEDS = 3, (0, 1)
FULL_SEEDS = tuple(range(20))
#: Backend -> its deterministic measure: CP-SAT's deterministic seconds, HiGHS's branch-and-bound nodes.
QUICK_WORK = MappingProxyType({"cp-sat": 2.0, "highs": 500.0})
FULL_WORK = MappingProxyType({"cp-sat": 60.0, "highs": 20000.0})
#: Wall seconds a solve in `quick`: a backstop, wide enough that limits of work come first on a machine that is busy.
QUICK_SECONDS = 10.0
#: Problem -> exact answerers that `quick` asks about `small` only; `mlsched bench taskgraph` asks them all. Of the six
#: larger task graphs HiGHS leaves five without a proof or a plan after 3 s, and the time-indexed model of the
#: gangs is too large; `cp-sat` proves all six.
SMALL_ONLY: Mapping[str, tuple[str, ...]] = MappingProxyType({"taskgraph": ("highs", "moulded-highs")})


@dataclasses.dataclass(frozen=True)
class Case:
    """Instances of one preset, or in files, and who answers them.

    preset: of the problem, None for the generator's own sizes; sizes: changes to it. files: paths of instances instead;
    then preset is what they are called together, and sizes are options for the reader of others' files. answerers:
    names with parameters, None for all registered ones. objectives: None for all. time_limit: wall seconds a solve, for
    exact answerers. work_limit: backend ("cp-sat", "highs") -> its deterministic measure a solve; backends not named
    run unlimited. without: of the registered answerers, those that are not asked. reference: where none of the
    answerers is exact, the problem's default is asked as well.
    """

    problem: str
    preset: str | None = "small"
    sizes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    seeds: tuple[int, ...] = SMALL_SEEDS
    answerers: tuple[str, ...] | None = None
    objectives: tuple[str, ...] | None = None
    time_limit: float | None = None
    work_limit: Mapping[str, float] = dataclasses.field(default_factory=dict)
    without: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    reference: bool = False


@dataclasses.dataclass(frozen=True)
class Suite:
    """A named set of cases."""

    name: str
    doc: str
    cases: tuple[Case, ...]


def quick() -> Suite:
    """Every problem: `small` in full, and a look at three further presets by their default objective."""
    cases: list[Case] = []
    for problem in registry().problems.values():
        cases += _quick_cases(problem)
    return Suite("quick", "every problem, small instances, about a minute", tuple(cases))


def _quick_cases(problem: Problem) -> Iterator[Case]:
    yield Case(
        problem.name, "small" if "small" in problem.presets else None, time_limit=QUICK_SECONDS, work_limit=QUICK_WORK
    )
    default = problem.instance_type.objectives[0].name
    for preset in [name for name in problem.presets if name != "small"][:MORE_PRESETS]:
        yield Case(
            problem.name,
            preset,
            seeds=MORE_SEEDS,
            objectives=(default,),
            time_limit=QUICK_SECONDS,
            work_limit=QUICK_WORK,
            without=SMALL_ONLY.get(problem.name, ()),
        )


def full(problem: Problem) -> Suite:
    """Every preset of one problem, 20 seeds each, every objective, limited by work alone."""
    presets: list[str | None] = [*problem.presets] or [None]
    cases = tuple(Case(problem.name, preset, seeds=FULL_SEEDS, work_limit=FULL_WORK) for preset in presets)
    return Suite(problem.name, f"every preset of {problem.name}, {len(FULL_SEEDS)} seeds each", cases)


class Suites(Mapping[str, Suite]):
    """Name -> suite, built when asked for: the registry is scanned then, not at import."""

    def __getitem__(self, name: str) -> Suite:
        if name == "quick":
            return quick()
        return full(registry().problems[name])

    def __iter__(self) -> Iterator[str]:
        return iter(["quick", *sorted(registry().problems)])

    def __len__(self) -> int:
        return 1 + len(registry().problems)


SUITES: Mapping[str, Suite] = Suites()
