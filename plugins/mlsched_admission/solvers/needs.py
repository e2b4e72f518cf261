"""Changes that start jobs without evictions: the front of smallest changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from mlsched.core.brief import count_of
from mlsched.core.fields import IntArray
from mlsched.core.registry import registry
from mlsched_admission.instances import Instance, Plan, judge
from mlsched_admission.instances.judge_quotas import over_quota
from mlsched_admission.solvers._changes import Changes, problem_of_changes
from mlsched_admission.solvers._names import name_of, name_of_queue, names_in_words
from mlsched_admission.solvers._questions import Asked, only_jobs, only_victims
from mlsched_admission.solvers._reasons import why_job_waits
from mlsched_admission.solvers._verdict import Change, Needs, Verdict

#: Default limit in wall seconds: a front of four kinds of changes can be long.
SECONDS = 60.0


def what_it_takes(
    instance: Instance,
    *,
    jobs: Sequence[int] | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    verdict: Verdict | None = None,
) -> Needs:
    """Return the smallest changes with which the jobs start without evictions, each proved minimal.

    Changes are more nodes (empty copies of existing ones), moved units (movable ones), raised quotas and limits, fewer
    pods, and waiting until running units end by themselves (if `unit_ends` gives their end). Changes of the front do
    not dominate each other; `complete` marks a front that is proved complete.

    Args:
        instance: State with waiting jobs.
        jobs: Jobs to start (default: all).
        time_limit: Wall seconds (default 60).
        seed: Seed of the solver.
        verdict: A verdict about the same jobs, whose front shows whether they start by evictions.
    """
    rows = list(range(len(instance.job_priority))) if jobs is None else list(jobs)
    question = only_jobs(instance, rows)
    searcher = Asked(SECONDS if time_limit is None else time_limit, seed)
    starts = [] if verdict is None else [point.plan for point in verdict.front]
    starting = [plan for plan in starts if plan.start[rows].all()]
    complete = verdict is not None and verdict.complete
    if _starts_now(question, searcher, starting, complete=complete):
        return Needs(tuple(rows), starts_now=True, complete=True, proof="a plan that the judge accepts")
    # All plans of a complete front start as much as any plan does.
    most = starts[0].start[rows] if starts and complete else None
    cannot, why = (None, "") if starting else _why_impossible(question, searcher, most)
    problem = problem_of_changes(question)
    plans, complete = _undominated_changes(problem, searcher)
    all_changes = [_change_of_plan(question, problem, plan) for plan in plans]
    all_changes.sort(
        key=lambda change: (_kinds_of_change(change), change.wait, sum(change.nodes.values()), len(change.moves))
    )
    complete = complete and problem.complete
    proof = f"cp-sat found the front in {count_of(searcher.solves, 'solve')}" + (
        " and proved that it is complete" if complete else ""
    )
    if not all_changes and complete:
        proof = "cp-sat proved that none of these changes, nor all of them together, would do"
    return Needs(tuple(rows), False, tuple(all_changes), complete, cannot, "; ".join(filter(None, [why, proof])))


def _starts_now(question: Instance, searcher: Asked, starting: Sequence[Plan], *, complete: bool) -> bool:
    """Return whether the jobs start without evictions and moves; on a complete front, such a plan is the only point."""
    if starting and complete:
        return any(not plan.evict.any() and not (plan.move >= 0).any() for plan in starting)
    stuck = any(why_job_waits(question, j, evictions=False) for j in range(len(question.job_priority)))
    return not stuck and bool(searcher.best_plan(only_victims(question, ()), "victims").starts_all)


def _kinds_of_change(change: Change) -> int:
    fields = (change.nodes, change.moves, change.quota, change.limits, change.fewer_pods, change.wait)
    return sum(bool(field) for field in fields)


def _why_impossible(question: Instance, searcher: Asked, most: IntArray | None) -> tuple[str | None, str]:
    """Explain why the jobs do not start by allowed evictions and moves either, with the proof; None if they do.

    most: 1 for each job of a plan that is proved to start the most; None if unknown.
    """
    if len(question.job_priority) == 1 and (sentence := why_job_waits(question, 0)):
        return sentence, "counted"
    if most is None:
        best = searcher.best_plan(question, "victims")
        if best.starts_all:
            return None, ""
        if best.plan is None or not best.proved:
            return None, "the time was over before it was known whether evictions would do"
        most = best.plan.start
    waiting = np.flatnonzero(most == 0).tolist()
    for j in waiting:
        if sentence := why_job_waits(question, j):
            return sentence, "counted"
    jobs = names_in_words("job", question.job_names, waiting)
    return f"{jobs}: no plan starts {'it' if len(waiting) == 1 else 'them'} by allowed evictions", "proved by cp-sat"


def _undominated_changes(problem: Changes, searcher: Asked) -> tuple[list[Plan], bool]:
    """Return the undominated plans of the problem of changes, and whether these are all."""
    from mlsched.solvers.front.planned import front_of

    question = problem.question
    asks = {
        "lost": bool(problem.nodes),
        "moves": bool(question.unit_movable.any()),
        "budget_violations": bool(problem.pods),
        "grace": bool((question.unit_grace > 0).any()),
        "top_priority": bool(problem.raised),
    }
    names = [name for name, there in asks.items() if there]
    names += [name for name in ("lost", "moves") if name not in names][: max(0, 2 - len(names))]
    solver, params = registry().solver("admission", "cp-sat")
    front = front_of(solver, question, names, params, threads=1, seed=searcher.seed, time_limit=searcher.remaining())
    searcher.solves += front.solves
    # If some plan starts all jobs, so does every plan of the front.
    plans = [plan for plan in front.plans or () if plan.start.all()]
    return plans, bool(front.complete)


def _change_of_plan(question: Instance, problem: Changes, plan: Plan) -> Change:
    """Return a plan of the problem of changes as a change, with only the quota that it needs."""
    evicted = np.flatnonzero(plan.evict).tolist()
    real = len(question.unit_group)
    ended_units = tuple(u for u in evicted if u < real)
    nodes = Counter(problem.nodes[u] for u in evicted if u in problem.nodes)
    pods = [u for u in evicted if u in problem.pods]
    moved_pods = np.flatnonzero(plan.move[: len(question.pod_unit)] >= 0)
    moves = tuple(sorted({int(question.pod_unit[p]) for p in moved_pods}))
    quota, limits = _necessary_raises(problem, plan)
    wait = max((int(question.unit_ends[u]) for u in ended_units), default=0)
    parts = [counted_nodes(question, n, count) for n, count in sorted(nodes.items())]
    parts += [f"move {names_in_words('unit', question.unit_names, moves)}"] if moves else []
    parts += [
        f"{more} more nominal quota of {name_of('flavor', question.flavor_names, f)} for {name_of_queue(question, q)}"
        for (q, f), more in quota.items()
    ]
    parts += [f"{name_of('limit', question.limit_names, h)} raised by {more}" for h, more in limits.items()]
    parts += [f"{count_of(len(pods), 'pod')} fewer"] if pods else []
    if ended_units:
        units = names_in_words("unit", question.unit_names, ended_units)
        parts.append(f"wait {_span_in_words(wait)} until {units} {_ends_in_words(ended_units)}")
    return Change("; ".join(parts), dict(nodes), moves, quota, limits, len(pods), wait, ended_units)


def _ends_in_words(units: Sequence[int]) -> str:
    return "ends" if len(units) == 1 else "end"


def counted_nodes(question: Instance, n: int, count: int) -> str:
    """Return "1 more node like n7"."""
    like = question.node_names[n] if question.node_names else f"node {n}"
    return f"{count} more node{'' if count == 1 else 's'} like {like}"


def _span_in_words(seconds: int) -> str:
    """Format a time span: "2 h 05 min", "40 s"."""
    if seconds < 60:
        return f"{seconds} s"
    minutes = -(-seconds // 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def _necessary_raises(problem: Changes, plan: Plan) -> tuple[dict[tuple[int, int], int], dict[int, int]]:
    """Return the necessary rises of quotas and limits: one after the other at the least value that the others allow."""
    question, units = problem.question, [u for u in problem.raised if plan.evict[u]]
    evicted = np.flatnonzero(plan.evict).tolist()
    starters = np.flatnonzero(plan.start).tolist()
    quota: dict[tuple[int, int], int] = {}
    limits: dict[int, int] = {}
    for u in units:
        what, a, b = problem.raised[u]
        name, place = ("unit_use", (u, b)) if what == "quota" else ("limit_unit", (a, u))

        def raised_by(
            amount: int, name: str = name, place: tuple[int, int] = place, of: Instance = question
        ) -> Instance:
            values = getattr(of, name).copy()
            values[place] = amount
            return of.replace(**{name: values})

        def is_sufficient(amount: int, made_of: Callable[[int], Instance] = raised_by) -> bool:
            trial = made_of(amount)
            return not over_quota(trial, starters, evicted) and not list(judge.over_limit(trial, starters, evicted))

        least = _least_sufficient(int(getattr(question, name)[place]), is_sufficient)
        question = raised_by(least)
        if what == "quota" and least:
            quota[a, b] = least
        elif least:
            limits[a] = least
    return quota, limits


def _least_sufficient(most: int, enough: Callable[[int], bool]) -> int:
    """Return the least sufficient amount up to `most`, which suffices; sufficiency is monotone."""
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return high
