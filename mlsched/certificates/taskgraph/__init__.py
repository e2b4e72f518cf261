"""The task-graph problem as 0-1 formulas, written only from the problem statement (`instances/taskgraph/judge.py`).

Time is discrete, and a formula ends at a horizon. A lemma per kind of objective, which depends on the plan's own value,
excludes better plans beyond it; the table at the end of the file names it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from mlsched.certificates.formula import Formula, Term
from mlsched.certificates.prices import timed
from mlsched.certificates.prices.statement import Statement
from mlsched.certificates.taskgraph import prices
from mlsched.certificates.taskgraph._schedule import Places, Run, Schedule, earliest_starts, edges_of
from mlsched.certificates.translation import Translation
from mlsched.core.errors import InvalidInput

if TYPE_CHECKING:
    from mlsched.instances.taskgraph.instance import Instance, Timetable

#: The lemmas; of accuracies and deadlines together, of each other objective its own.
LEMMAS = {
    "total_jct": "Every job stops after its minimal number of iterations: fewer iterations never delay a job. In a "
    "plan of at most this total, each job is done by its arrival plus the total less the other jobs' longest paths.",
    "makespan": "Every job stops after its minimal number of iterations: fewer iterations never delay a job. In a "
    "plan of at most this makespan, all is done that long after the first arrival.",
    "traffic": "Every job stops after its minimal number of iterations: fewer iterations never send more data. Any "
    "choice of nodes on which each run fits can be carried out one run after the other.",
    "deadline": "What a plan does not finish by the deadline that counts can run after all deadlines, one run after "
    "the other; and no plan need leave all nodes idle, so that the sum of all durations and delays after the last "
    "arrival is time enough for everything.",
}


def formulas(objective: str, instance: Instance, plan: Timetable) -> list[Formula]:
    """State the best value of the objective as one formula."""
    _refuse_unsupported(instance)
    return [BY_OBJECTIVE[objective][0](instance, objective, instance.evaluate(plan)[objective])]


def _refuse_unsupported(instance: Instance) -> None:
    if instance.now or instance.finished.any() or len(instance.fixed_task):
        raise InvalidInput("certify: takes task graphs from their start only: now = 0, without finished or fixed tasks")
    if instance.gpu_unit:
        raise InvalidInput("certify: takes GPUs of a node as one pool only: gpu_unit = 0")


def _state_total_jct(instance: Instance, objective: str, value: int) -> Formula:
    formula = Formula(f"the least total_jct among plans of at most {value}")
    counts, arrival = instance.min_iterations.tolist(), instance.arrival.tolist()
    minimal = _longest_paths(instance, counts)
    done_by = _done_by_total(arrival, minimal, value)
    schedule = Schedule(formula, instance, counts, done_by)
    terms: list[Term] = []
    for j, count in enumerate(counts):
        if count:
            last = [(k, count - 1) for k, job in enumerate(schedule.jobs) if job == j]
            terms += _done_terms(schedule, f"job {j} is done", last, arrival[j] + minimal[j], done_by[j])
    waits = sum(end - start for end, start, count in zip(done_by, arrival, counts, strict=True) if count)
    formula.optimise(terms, offset=waits)
    return formula


def _done_by_total(arrival: list[int], least: list[int], value: int) -> list[int]:
    """Return each job's latest completion if the sum of all completion times is at most `value`."""
    return [a + value - (sum(least) - own) for a, own in zip(arrival, least, strict=True)]


def _state_makespan(instance: Instance, objective: str, value: int) -> Formula:
    formula = Formula(f"the least makespan among plans of at most {value}")
    counts, arrival = instance.min_iterations.tolist(), instance.arrival.tolist()
    begin, end = min(arrival, default=0), min(arrival, default=0) + value
    schedule = Schedule(formula, instance, counts, [end] * len(arrival))
    last = [(k, counts[j] - 1) for k, j in enumerate(schedule.jobs) if counts[j]]
    paths = zip(arrival, _longest_paths(instance, counts), strict=True)
    minimal = max((start + path for start, path in paths), default=0)
    formula.optimise(_done_terms(schedule, "every job is done", last, minimal, end), offset=end - begin)
    return formula


def _done_terms(schedule: Schedule, what: str, last: list[Run], first: int, end: int) -> list[Term]:
    """Return a term of -1 for each tick from `first` to before `end` at which all of the `last` runs have ended."""
    terms = []
    for t in range(first, end):
        is_done = schedule.formula.variable(f"{what} by {t}")
        terms.append((-1, is_done))
        for run in last:
            schedule.formula.at_least("what is done has ended", [*schedule.has_ended(run, t), (-1, is_done)], 0)
    return terms


def _longest_paths(instance: Instance, counts: list[int]) -> list[int]:
    """Return the ticks from each job's arrival to its end with free nodes and instant transfers."""
    ends = [0] * len(counts)
    for (k, _), start in earliest_starts(instance, counts).items():
        j = int(instance.task_job[k])
        ends[j] = max(ends[j], start + int(instance.duration[k]) - int(instance.arrival[j]))
    return ends


def _state_traffic(instance: Instance, objective: str, value: int) -> Formula:
    formula = Formula("the least traffic")
    counts, jobs = instance.min_iterations.tolist(), instance.task_job.tolist()
    runs = [(k, i) for k, j in enumerate(jobs) for i in range(counts[j])]
    places = Places(formula, instance, runs)
    for run in runs:
        formula.at_least("rule 2: a run has a node", [(1, x) for x in places.nodes_of(run).values()], 1)
    volumes: dict[int, int] = {}
    for u, v, lag, _, volume in edges_of(instance):
        for i in range(lag, counts[jobs[v]]):
            away = places.on_different_nodes((u, i - lag), (v, i))
            if away is not None:
                volumes[away] = volumes.get(away, 0) + volume
    formula.optimise([(volume, away) for away, volume in volumes.items()])
    return formula


def _by_deadlines(instance: Instance, objective: str, value: int) -> Formula:
    """State objectives that count the iterations of each job finished by its deadline, or in total."""
    formula, terms, offset = Formula(f"the largest {objective}"), list[Term](), 0
    jobs = instance.task_job.tolist()
    gains = [GAINS[objective](instance, j) for j in range(len(instance.arrival))]
    counts = [max(gain) for gain in gains]
    done_by = _done_by_deadlines(instance, counts)
    if instance.accuracy_at == "final" and objective in ACCURACIES:
        places = Places(formula, instance, [(k, 0) for k in range(len(jobs))])

        def finished(task: int, iteration: int) -> list[Term]:
            return [(1, x) for x in places.nodes_of((task, 0)).values()]
    else:
        schedule = Schedule(formula, instance, counts, done_by)

        def finished(task: int, iteration: int) -> list[Term]:
            return schedule.has_ended((task, iteration), done_by[jobs[task]])

    for j, gain in enumerate(gains):
        for count in range(1, counts[j] + 1):
            level = formula.variable(f"job {j} finishes {count} iterations that count")
            for k in (k for k, job in enumerate(jobs) if job == j):
                family = "what counts is finished"
                formula.at_least(family, [*finished(k, count - 1), (-1, level)], 0)
            terms.append((gain.get(count, 0), level))
        offset += gain.get(0, 0)
    formula.optimise(terms, sense="max", offset=offset)
    return formula


def _deadlines_met(instance: Instance, j: int) -> dict[int, int]:
    minimum = int(instance.min_iterations[j])
    return {minimum: int(minimum > 0 or instance.arrival[j] <= instance.deadline[j])}


def _total_accuracy(instance: Instance, j: int) -> dict[int, int]:
    return _increases(instance.accuracy[j, : int(instance.max_iterations[j]) + 1].tolist())


def _accuracy_met(instance: Instance, j: int) -> dict[int, int]:
    is_accurate = instance.accuracy[j, : int(instance.max_iterations[j]) + 1] >= instance.required[j]
    return _increases([int(flag) for flag in is_accurate])


def _increases(worth: list[int]) -> dict[int, int]:
    return {c: worth[c] - (worth[c - 1] if c else 0) for c in range(len(worth))}


#: The objectives that also count iterations after the deadline if accuracies are final.
ACCURACIES = {"accuracy_met": _accuracy_met, "total_accuracy": _total_accuracy}
#: Objective -> (job, iterations that count) -> increase of the objective over one less; the base value for 0.
GAINS = {"deadlines_met": _deadlines_met, **ACCURACIES}


def _done_by_deadlines(instance: Instance, counts: list[int]) -> list[int]:
    """Return each job's deadline, or an earlier tick by which all counted iterations can be done."""
    return [min(deadline, sum(_long_enough(instance, counts))) for deadline in instance.deadline.tolist()]


def _long_enough(instance: Instance, counts: list[int]) -> tuple[int, int, int]:
    """Return the last arrival, and the ticks of computation and transfer after it without idle ticks."""
    jobs = instance.task_job.tolist()
    work = sum(duration * counts[jobs[k]] for k, duration in enumerate(instance.duration.tolist()))
    transfer = sum(delay * counts[jobs[v]] for _, v, _, delay, _ in edges_of(instance))
    return max(instance.arrival.tolist(), default=0), int(work), int(transfer)


def claims(instance: Instance, objective: str, plan: Timetable, values: list[int]) -> list[str]:
    """Explain the horizon of the formula by the lemma of the objective."""
    value, counts, arrival = (
        instance.evaluate(plan)[objective],
        instance.min_iterations.tolist(),
        instance.arrival.tolist(),
    )
    if objective == "traffic":
        return [f"The formula has no time: its {sum(counts)} iterations can be carried out one run after the other."]
    if objective == "makespan":
        begin = min(arrival, default=0)
        return [
            f"With a makespan of at most {value}, all is done by tick {begin + value}: the first arrival is {begin}."
        ]
    if objective == "total_jct":
        least = _longest_paths(instance, counts)
        last = max(_done_by_total(arrival, least, value), default=0)
        return [
            f"The longest paths of the {len(least)} jobs are {sum(least)} ticks together. With a total of at most "
            f"{value}, each job is done at most {value - sum(least)} ticks after its arrival and its own longest "
            f"path: the last by tick {last}."
        ]
    counts = [max(GAINS[objective](instance, j)) for j in range(len(arrival))]
    start, work, transfer = _long_enough(instance, counts)
    ends = _done_by_deadlines(instance, counts)
    return [
        f"The last arrival is {start}; all that can count runs for {work} ticks and is sent in {transfer}, so that "
        f"tick {start + work + transfer} is late enough. Each job's formula ends there or at its deadline: the last at "
        f"tick {max(ends, default=0)}."
    ]


BY_OBJECTIVE: dict[str, tuple[Callable[[Instance, str, int], Formula], str]] = {
    "total_jct": (_state_total_jct, "total_jct"),
    "makespan": (_state_makespan, "makespan"),
    "traffic": (_state_traffic, "traffic"),
    **dict.fromkeys(GAINS, (_by_deadlines, "deadline")),
}
PRICES = Statement("taskgraph.instance", prices, (timed,), reaches=False, limits=True)
TRANSLATION = Translation(
    "taskgraph.instance",
    {name: (functools.partial(formulas, name), LEMMAS[lemma]) for name, (_, lemma) in BY_OBJECTIVE.items()},
    claims,
)
