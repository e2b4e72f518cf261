"""Built-in suites: instances and their solvers, as data.

`quick`, `gaps` and `speed` cover every registered problem, and every registered problem is a suite of its own name, so
they grow automatically. For the other suites, each problem names its presets and sizes (`Problem.suites`). Everything
is drawn on the machine. A wall limit is only a backstop, and rows that hit it state so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from mlsched.api.adapters import can_answer
from mlsched.benchmark.cases import Case, Suite
from mlsched.benchmark.row import PLAIN
from mlsched.benchmark.tasks import ENUMERATION
from mlsched.core.contract import Problem
from mlsched.core.registry import registry

#: Number of presets that `quick` adds to `small`, and their seeds.
MORE_PRESETS, MORE_SEEDS = 3, (0, 1)
#: Seeds of complete runs in `quick`.
RUN_SEEDS = tuple(range(4))
FULL_SEEDS = tuple(range(20))
#: Backend -> its deterministic measure: CP-SAT's deterministic seconds, HiGHS's branch-and-bound nodes.
QUICK_WORK = MappingProxyType({"cp-sat": 2.0, "highs": 500.0})
FULL_WORK = MappingProxyType({"cp-sat": 60.0, "highs": 20000.0})
#: Wall seconds per solve in `quick`: a backstop, wide enough that limits of work come first on a busy machine.
QUICK_SECONDS = 10.0
#: Wall seconds for confirmations if slow engines are omitted (`InSuites.small_only`): enough if earliest ends leave no
#: room for improvement. HiGHS and SCIP need 10 CPU s and more for the easiest of the others.
SLOW_CONFIRM = 0.5
#: Seeds of `gaps`, `exact`, `scale` and `speed`.
GAPS_SEEDS, EXACT_SEEDS, SCALE_SEEDS, SPEED_SEEDS = tuple(range(100, 110)), (200, 201, 202), (300, 301), (400,)
SCALE_WORK = MappingProxyType({"cp-sat": 2.0, "highs": 100.0})
SCALE_SECONDS = 10.0
#: CPU seconds for which `speed` repeats a call.
SPEED_REPEAT = 0.2
#: Editions of `collection`: number of instances that each adds per problem (`InSuites.edition`), spread over its
#: presets. Published instances stay; a later edition adds.
EDITIONS = (40, 50)
#: Suites about costs, which are shown with a table of costs.
COSTS = frozenset({"scale", "speed"})


def quick_cases() -> Iterator[Case]:
    """Every problem: `small` in full, a look at three further presets by their default objective, and complete runs."""
    for problem in registry().problems.values():
        for_runs = problem.suites.for_runs
        yield Case(
            problem.name, _small_preset(problem), time_limit=QUICK_SECONDS, work_limit=QUICK_WORK, without=for_runs
        )
        for preset in [name for name in problem.presets if name != "small"][:MORE_PRESETS]:
            yield Case(
                problem.name,
                preset,
                seeds=MORE_SEEDS,
                objectives=_default_objective(problem),
                time_limit=QUICK_SECONDS,
                work_limit=QUICK_WORK,
                without=(*problem.suites.small_only, *for_runs),
                confirm_limit=SLOW_CONFIRM if problem.suites.small_only else None,
            )
        for preset in problem.suites.runs:
            yield Case(
                problem.name,
                preset,
                seeds=RUN_SEEDS,
                solvers=problem.suites.on_runs,
                time_limit=QUICK_SECONDS,
                work_limit=QUICK_WORK,
            )


def gap_cases() -> Iterator[Case]:
    """Yield every solver of every problem by every objective on small instances, and by its default one on harder ones.

    All of them are solved to proven optimality. Brute force rejects the harder ones.
    """
    for problem in registry().problems.values():
        yield Case(problem.name, _small_preset(problem), seeds=GAPS_SEEDS, work_limit=FULL_WORK)
        if problem.suites.harder is not None:
            preset, count, without = problem.suites.harder
            yield Case(
                problem.name,
                preset,
                seeds=GAPS_SEEDS[:count],
                objectives=_default_objective(problem),
                work_limit=FULL_WORK,
                without=(ENUMERATION, *without),
            )


def exact_cases() -> Iterator[Case]:
    """Yield the exact solvers of every problem, and its plain model."""
    from mlsched.benchmark import plain

    for problem in registry().problems.values():
        exact_solvers = registry().available(problem.name, kind="exact")
        names = [a.name for a in exact_solvers if not a.restricted and can_answer(a, problem.instance_type.called)]
        if plain.has_model(problem.name):
            names.append(f"{PLAIN}:{problem.name}")
        for preset in problem.suites.exact or (_small_preset(problem),):
            yield Case(problem.name, preset, seeds=EXACT_SEEDS, solvers=tuple(names), work_limit=FULL_WORK)


def scale_cases() -> Iterator[Case]:
    """Yield every solver, by the default objective, on instances that double in size."""
    for problem in registry().problems.values():
        preset, steps = problem.suites.scale or (None, ())
        for sizes in steps:
            yield Case(
                problem.name,
                preset,
                sizes,
                SCALE_SEEDS,
                objectives=_default_objective(problem),
                time_limit=SCALE_SECONDS,
                work_limit=SCALE_WORK,
                without=problem.suites.small_only,
                confirm_limit=SLOW_CONFIRM if problem.suites.small_only else None,
            )


def speed_cases() -> Iterator[Case]:
    """Yield every rule and policy, and the judge, with repeated calls."""
    for problem in registry().problems.values():
        yield Case(
            problem.name,
            problem.suites.speed or _small_preset(problem),
            seeds=SPEED_SEEDS,
            without=tuple(a.name for a in registry().available(problem.name, kind="exact")),
            repeat=SPEED_REPEAT,
        )


def collection_cases() -> Iterator[Case]:
    """Yield instances by the default objective, 40 per problem of the first edition and 50 of the second.

    The instances of an edition are spread evenly over a problem's presets. Seeds are never reused, because two presets
    may draw the same instance from one seed.
    """
    first = 0
    for edition, count in enumerate(EDITIONS, start=1):
        for problem in registry().problems.values():
            if problem.suites.edition and problem.suites.edition <= edition:
                yield from _edition_cases(problem, first, count)
        first += count


def _edition_cases(problem: Problem, first: int, count: int) -> Iterator[Case]:
    """Yield `count` instances of a problem, with seeds from `first` on."""
    left_out = problem.suites.not_collected
    presets: list[str | None] = [name for name in problem.presets if name not in left_out]
    ends = [first + count * k // max(1, len(presets)) for k in range(len(presets) + 1)]
    for preset, begin, end in zip(presets or [None], ends, ends[1:] or [first + count], strict=False):
        seeds = tuple(range(begin, end))
        yield Case(problem.name, preset, seeds=seeds, objectives=_default_objective(problem), work_limit=FULL_WORK)


def full_cases(problem: Problem) -> Iterator[Case]:
    """Yield every preset of one problem, 20 seeds each, every objective, limited by work only."""
    presets: list[str | None] = [*problem.presets] or [None]
    for preset in presets:
        yield Case(problem.name, preset, seeds=FULL_SEEDS, work_limit=FULL_WORK)


def _small_preset(problem: Problem) -> str | None:
    return "small" if "small" in problem.presets else None


def _default_objective(problem: Problem) -> tuple[str, ...]:
    """Return the problem's first objective."""
    return (problem.instance_type.objectives[0].name,)


#: Name -> description and cases.
NAMED: Mapping[str, tuple[str, Callable[[], Iterator[Case]]]] = MappingProxyType(
    {
        "quick": ("every problem, small instances; about a minute", quick_cases),
        "gaps": ("every solver: 10 small instances per problem, 3 to 5 harder ones; about two minutes", gap_cases),
        "exact": ("the exact solvers against each other and against plain models; about a minute", exact_cases),
        "scale": ("what an answer costs as instances double in size; about two minutes", scale_cases),
        "speed": ("CPU time per call of every rule and judge, beside a calibration load; about a minute", speed_cases),
        "collection": ("40 and 50 instances of every problem in it, for `mlsched collection make`", collection_cases),
    }
)
OUTSIDE = "published optima and fronts of others (--folder, or $MLSCHED_DATA); about a minute"


class Suites(Mapping[str, Suite]):
    """Suites by name, built on access, because the registry is scanned only then.

    The cases of `outside` are those of a folder (`outside.outside`), so it is empty here.
    """

    def __getitem__(self, name: str) -> Suite:
        if name == "outside":
            return Suite(name, OUTSIDE, ())
        if name in NAMED:
            doc, cases = NAMED[name]
            return Suite(name, doc, tuple(cases()))
        doc = f"every preset of {name}, {len(FULL_SEEDS)} seeds each"
        return Suite(name, doc, tuple(full_cases(registry().problems[name])))

    def __iter__(self) -> Iterator[str]:
        return iter([*NAMED, "outside", *sorted(registry().problems)])

    def __len__(self) -> int:
        return len(NAMED) + 1 + len(registry().problems)


SUITES: Mapping[str, Suite] = Suites()

__all__ = ["COSTS", "NAMED", "SUITES", "Case", "Suite"]
