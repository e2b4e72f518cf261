"""The suites that ship: which instances are put to whom, as data.

`quick`, `gaps` and `speed` cover every registered problem and every registered problem is a suite of its own name, so
they grow by themselves; of the others each problem names its presets and sizes (`Problem.suites`). Everything is drawn
from fixed seeds on one thread. Limits are deterministic work, by backend, because a wall limit makes an answer depend
on the machine; where there is a wall limit too, it is a backstop, and rows that hit it say so.
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

#: `quick` looks at this many presets beside `small`, with these seeds.
MORE_PRESETS, MORE_SEEDS = 3, (0, 1)
#: Seeds of complete runs in `quick`.
RUN_SEEDS = tuple(range(4))
FULL_SEEDS = tuple(range(20))
#: Backend -> its deterministic measure: CP-SAT's deterministic seconds, HiGHS's branch-and-bound nodes.
QUICK_WORK = MappingProxyType({"cp-sat": 2.0, "highs": 500.0})
FULL_WORK = MappingProxyType({"cp-sat": 60.0, "highs": 20000.0})
#: Wall seconds per solve in `quick`: a backstop, wide enough that limits of work come first on a machine that is busy.
QUICK_SECONDS = 10.0
#: Wall seconds for second opinions where some are left out for being slow (`InSuites.small_only`): enough where
#: earliest ends leave no room for anything better. HiGHS and SCIP take 10 CPU s and more for the easiest of the others.
SLOW_CONFIRM = 0.5
#: Seeds of `gaps`, `exact`, `scale` and `speed`.
GAPS_SEEDS, EXACT_SEEDS, SCALE_SEEDS, SPEED_SEEDS = tuple(range(100, 110)), (200, 201, 202), (300, 301), (400,)
SCALE_WORK = MappingProxyType({"cp-sat": 2.0, "highs": 100.0})
SCALE_SECONDS = 10.0
#: CPU seconds for which `speed` repeats a call.
SPEED_REPEAT = 0.2
#: Editions of `collection`: how many instances each adds of every problem in it (`InSuites.edition`), spread over its
#: presets. What was published stays; a later edition adds.
EDITIONS = (40, 50)
#: Suites that are about costs: a table of costs is shown for them.
COSTS = frozenset({"scale", "speed"})


def quick() -> Iterator[Case]:
    """Every problem: `small` in full, a look at three further presets by their default objective, and complete runs."""
    for problem in registry().problems.values():
        for_runs = problem.suites.for_runs
        yield Case(problem.name, _small(problem), time_limit=QUICK_SECONDS, work_limit=QUICK_WORK, without=for_runs)
        for preset in [name for name in problem.presets if name != "small"][:MORE_PRESETS]:
            yield Case(
                problem.name,
                preset,
                seeds=MORE_SEEDS,
                objectives=_default(problem),
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


def gaps() -> Iterator[Case]:
    """Every solver of every problem by every objective on small instances, and by its default one on harder ones.

    All of them are solved to proven optimality. Brute force refuses the harder ones.
    """
    for problem in registry().problems.values():
        yield Case(problem.name, _small(problem), seeds=GAPS_SEEDS, work_limit=FULL_WORK)
        if problem.suites.harder is not None:
            preset, count, without = problem.suites.harder
            yield Case(
                problem.name,
                preset,
                seeds=GAPS_SEEDS[:count],
                objectives=_default(problem),
                work_limit=FULL_WORK,
                without=(ENUMERATION, *without),
            )


def exact() -> Iterator[Case]:
    """The exact solvers of every problem, and its plain model."""
    from mlsched.benchmark import plain

    for problem in registry().problems.values():
        known = registry().available(problem.name, kind="exact")
        names = [a.name for a in known if not a.restricted and can_answer(a, problem.instance_type.called)]
        if plain.has(problem.name):
            names.append(f"{PLAIN}:{problem.name}")
        for preset in problem.suites.exact or (_small(problem),):
            yield Case(problem.name, preset, seeds=EXACT_SEEDS, solvers=tuple(names), work_limit=FULL_WORK)


def scale() -> Iterator[Case]:
    """Every solver, by the default objective, on instances that double in size."""
    for problem in registry().problems.values():
        preset, steps = problem.suites.scale or (None, ())
        for sizes in steps:
            yield Case(
                problem.name,
                preset,
                sizes,
                SCALE_SEEDS,
                objectives=_default(problem),
                time_limit=SCALE_SECONDS,
                work_limit=SCALE_WORK,
                without=problem.suites.small_only,
                confirm_limit=SLOW_CONFIRM if problem.suites.small_only else None,
            )


def speed() -> Iterator[Case]:
    """Every rule and policy, and the judge, the same call again and again."""
    for problem in registry().problems.values():
        yield Case(
            problem.name,
            problem.suites.speed or _small(problem),
            seeds=SPEED_SEEDS,
            without=tuple(a.name for a in registry().available(problem.name, kind="exact")),
            repeat=SPEED_REPEAT,
        )


def collection() -> Iterator[Case]:
    """Instances by the default objective, 40 a problem of the first edition and 50 of the second.

    Of each problem, an edition's instances are as even over its presets as can be. No seed is used twice: two presets
    may draw the same instance from one.
    """
    first = 0
    for edition, count in enumerate(EDITIONS, start=1):
        for problem in registry().problems.values():
            if problem.suites.edition and problem.suites.edition <= edition:
                yield from _collected(problem, first, count)
        first += count


def _collected(problem: Problem, first: int, count: int) -> Iterator[Case]:
    """`count` instances of a problem, with seeds from `first` on."""
    left_out = problem.suites.not_collected
    presets: list[str | None] = [name for name in problem.presets if name not in left_out]
    ends = [first + count * k // max(1, len(presets)) for k in range(len(presets) + 1)]
    for preset, begin, end in zip(presets or [None], ends, ends[1:] or [first + count], strict=False):
        seeds = tuple(range(begin, end))
        yield Case(problem.name, preset, seeds=seeds, objectives=_default(problem), work_limit=FULL_WORK)


def full(problem: Problem) -> Iterator[Case]:
    """Every preset of one problem, 20 seeds each, every objective, limited by work alone."""
    presets: list[str | None] = [*problem.presets] or [None]
    for preset in presets:
        yield Case(problem.name, preset, seeds=FULL_SEEDS, work_limit=FULL_WORK)


def _small(problem: Problem) -> str | None:
    return "small" if "small" in problem.presets else None


def _default(problem: Problem) -> tuple[str, ...]:
    """The problem's first objective."""
    return (problem.instance_type.objectives[0].name,)


#: Name -> what it is, and its cases.
NAMED: Mapping[str, tuple[str, Callable[[], Iterator[Case]]]] = MappingProxyType(
    {
        "quick": ("every problem, small instances; about a minute", quick),
        "gaps": ("every solver: 10 small instances per problem, 3 to 5 harder ones; about two minutes", gaps),
        "exact": ("the exact solvers against each other and against plain models; about a minute", exact),
        "scale": ("what an answer costs as instances double in size; about two minutes", scale),
        "speed": ("CPU time per call of every rule and judge, beside a calibration load; about a minute", speed),
        "collection": ("40 and 50 instances of every problem in it, for `mlsched collection make`", collection),
    }
)
OUTSIDE = "published optima and fronts of others (--folder, or $MLSCHED_DATA); about a minute"


class Suites(Mapping[str, Suite]):
    """Name -> suite, built when asked for: the registry is scanned then, not at import.

    The cases of `outside` are those of a folder (`outside.outside`), so that here it has none.
    """

    def __getitem__(self, name: str) -> Suite:
        if name == "outside":
            return Suite(name, OUTSIDE, ())
        if name in NAMED:
            doc, cases = NAMED[name]
            return Suite(name, doc, tuple(cases()))
        doc = f"every preset of {name}, {len(FULL_SEEDS)} seeds each"
        return Suite(name, doc, tuple(full(registry().problems[name])))

    def __iter__(self) -> Iterator[str]:
        return iter([*NAMED, "outside", *sorted(registry().problems)])

    def __len__(self) -> int:
        return len(NAMED) + 1 + len(registry().problems)


SUITES: Mapping[str, Suite] = Suites()

__all__ = ["COSTS", "NAMED", "SUITES", "Case", "Suite"]
