"""The suites that ship: which instances are put to whom, as data.

`quick`, `gaps` and `speed` cover every registered problem and every registered problem is a suite of its own name, so
they grow by themselves; the others name presets and sizes in the tables below. Everything is drawn from fixed seeds on
one thread. Limits are deterministic work, by backend, because a wall limit makes an answer depend on the machine; where
there is a wall limit too, it is a backstop, and rows that hit it say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from mlsched.api.adapters import can_answer
from mlsched.benchmark.cases import Case, Suite
from mlsched.benchmark.row import PLAIN
from mlsched.benchmark.tasks import ENUMERATION
from mlsched.core.contract import Problem
from mlsched.core.registry import registry

#: `quick` looks at this many presets beside `small`, with these seeds.
MORE_PRESETS, MORE_SEEDS = 3, (0, 1)
FULL_SEEDS = tuple(range(20))
#: Backend -> its deterministic measure: CP-SAT's deterministic seconds, HiGHS's branch-and-bound nodes.
QUICK_WORK = MappingProxyType({"cp-sat": 2.0, "highs": 500.0})
FULL_WORK = MappingProxyType({"cp-sat": 60.0, "highs": 20000.0})
#: Wall seconds per solve in `quick`: a backstop, wide enough that limits of work come first on a machine that is busy.
QUICK_SECONDS = 10.0
#: Problem -> exact answerers that `quick` asks about `small` only; `mlsched bench PROBLEM` asks them all. Of the six
#: larger task graphs HiGHS leaves five without a proof or a plan after 3 s, and the time-indexed model of the
#: gangs is too large; `cp-sat` proves all six. Of the larger admissions, brute force examines 400,000 branches of each
#: that has more than one job, some 5 s, before it says that there are more.
SMALL_ONLY: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"admission": (ENUMERATION,), "taskgraph": ("highs", "moulded-highs")}
)
#: Wall seconds for second opinions there, which those who are not asked for being slow would have to give: enough where
#: earliest ends leave no room for anything better. HiGHS and SCIP take 10 CPU s and more for the easiest of the others.
SLOW_CONFIRM = 0.5
#: Seeds of `gaps`, `exact`, `scale` and `speed`.
GAPS_SEEDS, EXACT_SEEDS, SCALE_SEEDS, SPEED_SEEDS = tuple(range(100, 110)), (200, 201, 202), (300, 301), (400,)
#: Problem -> a preset of `gaps` beside `small`, on which rules for task graphs are mostly optimal, and how many of the
#: seeds it is drawn from. HiGHS and the moulded models are not asked about the larger task graphs, as in SMALL_ONLY: on
#: graphs as large they took 10 to 20 CPU seconds per instance, or did not end.
HARDER: Mapping[str, tuple[str, int, tuple[str, ...]]] = MappingProxyType(
    {
        "admission": ("surge", 5, ()),
        "placement": ("6x5-contended", 3, ()),
        "preemption": ("surge", 5, ()),
        "quality": ("floored", 5, ()),
        "rounds": ("adaptive", 5, ()),
        "taskgraph": ("dags", 4, ("highs", "moulded", "moulded-highs")),
        "workers": ("paper", 5, ()),
    }
)
#: Problem -> presets of `exact`; "small", which brute force answers as well, is the rest's.
EXACT: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "admission": ("small", "one-job", "surge", "quota", "cohort"),
        "preemption": ("small", "single", "surge", "exhausted"),
        "quality": ("small", "floored", "contended"),
        "rounds": ("small", "gavel", "adaptive", "pausing"),
        "workers": ("small", "paper", "crowded"),
    }
)
#: Problem -> the preset of `scale`, and changes to it, each twice as large as the one before.
SCALE: Mapping[str, tuple[str, tuple[Mapping[str, Any], ...]]] = MappingProxyType(
    {
        "admission": ("surge", tuple({"nodes": n} for n in (8, 16, 32, 64))),
        "placement": ("6x5", tuple({"servers": n, "jobs": n // 2} for n in (4, 6, 8))),
        "preemption": ("surge", tuple({"nodes": n, "jobs": 5 * n // 2, "tes": n // 4} for n in (8, 16, 32, 64, 128))),
        "quality": ("floored", tuple({"jobs": n, "cores": 4 * n} for n in (10, 20, 40, 80))),
        "rounds": ("adaptive", tuple({"jobs": n, "gpus": n // 4} for n in (20, 40, 80, 160))),
        "taskgraph": ("six-loose", tuple({"jobs": n, "runs": 8 * n} for n in (2, 4, 8))),
        "workers": ("x16", tuple({"jobs": n, "scale": n / 5} for n in (5, 10, 20))),
    }
)
SCALE_WORK = MappingProxyType({"cp-sat": 2.0, "highs": 100.0})
SCALE_SECONDS = 10.0
#: Problem -> the preset of `speed`: the size at which decisions are made in its paper.
SPEED: Mapping[str, str] = MappingProxyType(
    {
        "admission": "cluster",
        "placement": "6x5-contended",
        "preemption": "paper-surge",
        "quality": "paper",
        "rounds": "gavel",
        "taskgraph": "six-loose",
        "workers": "paper-10",
    }
)
#: CPU seconds for which `speed` repeats a call.
SPEED_REPEAT = 0.2
#: Editions of `collection`: how many instances each adds of each of which problems, spread over their presets.
#: What was published stays; a later edition adds.
EDITIONS: tuple[tuple[int, tuple[str, ...]], ...] = (
    (40, ("placement", "preemption", "quality", "taskgraph", "workers")),
    (50, ("admission", "placement", "preemption", "quality", "taskgraph", "workers")),
)
#: Problem -> presets that `collection` leaves out: a minute or more an instance, or megabytes.
NOT_COLLECTED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"admission": ("cluster",), "placement": ("rack-30x20-contended",), "quality": ("large",)}
)
#: Suites that are about costs: a table of costs is shown for them.
COSTS = frozenset({"scale", "speed"})


def quick() -> Iterator[Case]:
    """Every problem: `small` in full, and a look at three further presets by their default objective."""
    for problem in registry().problems.values():
        yield Case(problem.name, _small(problem), time_limit=QUICK_SECONDS, work_limit=QUICK_WORK)
        for preset in [name for name in problem.presets if name != "small"][:MORE_PRESETS]:
            yield Case(
                problem.name,
                preset,
                seeds=MORE_SEEDS,
                objectives=_default(problem),
                time_limit=QUICK_SECONDS,
                work_limit=QUICK_WORK,
                without=SMALL_ONLY.get(problem.name, ()),
                confirm_limit=SLOW_CONFIRM if problem.name in SMALL_ONLY else None,
            )


def gaps() -> Iterator[Case]:
    """Every answerer of every problem by every objective on small instances, and by its default one on harder ones.

    All of them are solved to proven optimality. Brute force refuses the harder ones.
    """
    for problem in registry().problems.values():
        yield Case(problem.name, _small(problem), seeds=GAPS_SEEDS, work_limit=FULL_WORK)
        if problem.name in HARDER:
            preset, count, without = HARDER[problem.name]
            yield Case(
                problem.name,
                preset,
                seeds=GAPS_SEEDS[:count],
                objectives=_default(problem),
                work_limit=FULL_WORK,
                without=(ENUMERATION, *without),
            )


def exact() -> Iterator[Case]:
    """The exact answerers of every problem, and its plain model."""
    from mlsched.benchmark import plain

    for problem in registry().problems.values():
        known = registry().available(problem.name, kind="exact")
        names = [a.name for a in known if not a.restricted and can_answer(a, problem.instance_type.asks)]
        if problem.name in plain.MODELS:
            names.append(f"{PLAIN}:{problem.name}")
        for preset in EXACT.get(problem.name, (_small(problem),)):
            yield Case(problem.name, preset, seeds=EXACT_SEEDS, answerers=tuple(names), work_limit=FULL_WORK)


def scale() -> Iterator[Case]:
    """Every answerer, by the default objective, on instances that double in size."""
    for name, (preset, steps) in SCALE.items():
        for sizes in steps:
            yield Case(
                name,
                preset,
                sizes,
                SCALE_SEEDS,
                objectives=_default(registry().problem(name)),
                time_limit=SCALE_SECONDS,
                work_limit=SCALE_WORK,
                without=SMALL_ONLY.get(name, ()),
                confirm_limit=SLOW_CONFIRM if name in SMALL_ONLY else None,
            )


def speed() -> Iterator[Case]:
    """Every rule and policy, and the judge, the same call again and again."""
    for problem in registry().problems.values():
        yield Case(
            problem.name,
            SPEED.get(problem.name, _small(problem)),
            seeds=SPEED_SEEDS,
            without=tuple(a.name for a in registry().available(problem.name, kind="exact")),
            repeat=SPEED_REPEAT,
        )


def collection() -> Iterator[Case]:
    """500 instances of six problems by the default objective: 200 of the first edition, 300 of the second.

    Of each problem, an edition's instances are as even over its presets as can be. No seed is used twice: two presets
    may draw the same instance from one.
    """
    first = 0
    for count, problems in EDITIONS:
        for name in problems:
            yield from _collected(registry().problem(name), first, count)
        first += count


def _collected(problem: Problem, first: int, count: int) -> Iterator[Case]:
    """`count` instances of a problem, with seeds from `first` on."""
    left_out = NOT_COLLECTED.get(problem.name, ())
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
        "gaps": ("every answerer: 10 small instances per problem, 3 to 5 harder ones; about two minutes", gaps),
        "exact": ("the exact answerers against each other and against plain models; about a minute", exact),
        "scale": ("what an answer costs as instances double in size; about two minutes", scale),
        "speed": ("CPU time per call of every rule and judge, beside a calibration load; about a minute", speed),
        "collection": ("500 instances over six problems, for `mlsched collection make`", collection),
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
