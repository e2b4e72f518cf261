"""The verdict on a scheduler's decision: ineligible, does not start, needless, dominated, or on the front.

Every step solves a version of the same problem: after the evictions, with only the decision's victims, with only the
necessary priorities. A step relies on a plan that the judge accepts, or on a proof of infeasibility.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mlsched.core.brief import count_of
from mlsched.core.errors import InvalidInput, UnknownName, did_you_mean
from mlsched.core.fields import as_int, ints
from mlsched.core.registry import registry
from mlsched_admission.instances import Instance, Plan, judge
from mlsched_admission.solvers._names import names_in_words, not_evictable
from mlsched_admission.solvers._questions import (
    Asked,
    Best,
    after_evictions,
    lift_plan,
    lower_plan,
    only_jobs,
    only_victims,
)
from mlsched_admission.solvers._reasons import why_job_waits
from mlsched_admission.solvers._verdict import Change, Kind, Needs, Point, Verdict
from mlsched_admission.solvers.needs import what_it_takes

__all__ = ["Change", "Needs", "Point", "Verdict", "judge_decision", "what_it_takes"]


def judge_decision(
    instance: Instance,
    decision: Plan | Iterable[int],
    *,
    jobs: Sequence[int] | None = None,
    objectives: Sequence[str] | None = None,
    first: Sequence[str] | None = ("top_priority",),
    time_limit: float | None = None,
    seed: int = 0,
    confirm: bool = False,
    starts: bool | None = None,
    known: Verdict | None = None,
) -> Verdict:
    """Judge a scheduler's decision: the victims that it evicts so that jobs start.

    Args:
        instance: State of the cluster.
        decision: A plan, or the numbers of the evicted units (empty: the scheduler lets the jobs wait).
        jobs: Numbers of the requested jobs (default: all).
        objectives: Objectives of the front, two or more (default: victims, lost, and budget_violations and moves if the
            instance has any).
        first: ["top_priority"] to compare it between the waiting jobs and the front; [] or None for neither.
        time_limit: Wall seconds for all.
        seed: Seed of the solver.
        confirm: HiGHS must prove the same.
        starts: For a list of units: whether they are evicted so that all requested jobs start (default: if the list is
            not empty). A plan states its jobs itself.
        known: A verdict on another decision about all jobs of the instance, whose front is reused.

    Raises:
        InvalidInput: The decision does not belong to this instance.
    """
    rows = (
        list(range(len(instance.job_priority)))
        if jobs is None
        else _valid_numbers("jobs", jobs, len(instance.job_priority))
    )
    order = tuple(first or ())
    if set(order) - {"top_priority"}:
        raise InvalidInput(f"first: {list(order)!r}, expected ['top_priority'] or []")
    names = _objectives(instance, objectives)
    question = only_jobs(instance, rows)
    judged_decision = _decision_of_input(instance, question, decision, rows, starts)
    judgement = _Judgement(question, judged_decision, names, bool(order), Asked(time_limit, seed, confirm=confirm))
    verdict = judgement.verdict(known if question is instance else None)

    def lift_point(point: Point) -> Point:
        return dataclasses.replace(point, plan=lift_plan(instance, rows, point.plan))

    return dataclasses.replace(
        verdict,
        jobs=tuple(rows[j] for j in verdict.jobs),
        asked=tuple(rows),
        first=order,
        witness=None if verdict.witness is None else lift_point(verdict.witness),
        front=tuple(lift_point(point) for point in verdict.front),
    )


def _valid_numbers(name: str, values: Iterable[int], size: int) -> list[int]:
    """Return different numbers below `size`, ascending."""
    numbers = sorted({as_int(name, n) for n in values})
    for n in numbers:
        if not 0 <= n < size:
            raise InvalidInput(f"{name}: {n}: expected at least 0 and below {size}")
    return numbers


def _objectives(instance: Instance, requested: Sequence[str] | None) -> tuple[str, ...]:
    if requested is None:
        more = [("budget_violations", len(instance.budget_left)), ("moves", int(instance.unit_movable.sum()))]
        return ("victims", "lost", *(name for name, there in more if there))
    names = [o.name for o in instance.objectives]
    for name in requested:
        if name not in names:
            raise UnknownName(
                f"unknown objective '{name}' of admission{did_you_mean(name, names)}; there are {', '.join(names)}"
            )
    if len(set(requested)) < 2:
        raise InvalidInput("objectives: expected two or more; for one, solve the instance")
    return tuple(requested)


@dataclasses.dataclass(frozen=True)
class _Decision:
    """A decision: its victims, the jobs that it should start, and its plan, if complete."""

    plan: Plan
    evict: tuple[int, ...]
    meant: tuple[int, ...]
    complete: bool


def _decision_of_input(
    instance: Instance, question: Instance, decision: Plan | Iterable[int], rows: list[int], starts: bool | None
) -> _Decision:
    if isinstance(decision, Plan):
        if wrong := judge.malformed(instance, decision):
            raise InvalidInput(f"the decision: {wrong[0]}")
        plan = lower_plan(instance, rows, decision)
        meant_jobs = tuple(np.flatnonzero(plan.start).tolist())
        return _Decision(plan, tuple(np.flatnonzero(plan.evict).tolist()), meant_jobs, complete=True)
    units = _valid_numbers("decision", decision, len(instance.unit_group))
    everyone = tuple(range(len(rows))) if (bool(units) if starts is None else starts) else ()
    plan = Plan(
        start=ints(int(j in everyone) for j in range(len(rows))),
        place=np.zeros(question.shape_nodes.shape, dtype=np.int64),
        evict=ints(int(u in set(units)) for u in range(len(instance.unit_group))),
        move=np.full(len(instance.pod_node), -1, dtype=np.int64),
    )
    return _Decision(plan, tuple(units), everyone, complete=not units and not everyone)


def _all_wait_plan(question: Instance) -> Plan:
    """Return the plan in which all jobs wait without evictions and moves."""
    return Plan(
        start=0 * question.job_priority,
        place=0 * question.shape_nodes,
        evict=0 * question.unit_group,
        move=np.full(len(question.pod_node), -1, dtype=np.int64),
    )


class _Judgement:
    """The steps of a verdict on one problem."""

    def __init__(
        self, question: Instance, decision: _Decision, objectives: tuple[str, ...], top: bool, searcher: Asked
    ) -> None:
        self.question, self.made, self.objectives, self.top, self.asked = question, decision, objectives, top, searcher
        self.values = judge.base_values(question, decision.plan)
        self._least: Best | None = None

    def verdict(self, known: Verdict | None = None) -> Verdict:
        """Return the first kind that applies, with the front."""
        result = self._ineligible_verdict()
        if result is None and (self.made.complete or not self._fewest_victims().starts_all):
            result = self._start_verdict()
        result = result or self._needless_verdict()
        if known is not None and known.objectives == self.objectives:
            front, complete, proof, evidence = known.front, known.complete, known.front_proof, known.front_evidence
        else:
            front, complete, proof, evidence = self._front_of_question()
        if result is None:
            result = self._verdict_against_front(front, complete, proof, evidence)
        return dataclasses.replace(result, front=front, complete=complete, front_proof=proof, front_evidence=evidence)

    def _verdict_of_kind(self, kind: Kind, sentence: str, **fields: Any) -> Verdict:
        return Verdict(
            kind=kind,
            sentence=sentence,
            jobs=self.made.meant,
            evict=self.made.evict,
            values=self.values,
            objectives=self.objectives,
            **fields,
        )

    def _names_of_units(self, units: Iterable[int]) -> str:
        return names_in_words("unit", self.question.unit_names, units)

    def _ineligible_verdict(self) -> Verdict | None:
        violations = judge.ineligible(self.question, self.made.meant, self.made.evict)
        faults = tuple(
            (u, why.removeprefix(f"unit {u} is evicted: ")) for u, why in violations
        )  # units have names here
        if not faults:
            return None
        sentence = not_evictable(self.question.unit_names, faults)
        return self._verdict_of_kind("ineligible", sentence, ineligible=faults, proof="by the rules of the instance")

    def _start_verdict(self) -> Verdict | None:
        """Return the verdict if the jobs do not start after the decision.

        A full plan is checked as given. For a list of victims, a placement of the jobs without the victims is searched.
        """
        if self.made.complete:
            wrong = self.question.violations(self.made.plan)
            proof = "by the rules of the instance"
            return self._verdict_of_kind("does not start", wrong[0], starts=False, proof=proof) if wrong else None
        remaining = after_evictions(only_jobs(self.question, self.made.meant), self.made.evict)
        starts = self.asked.best_plan(remaining, "victims").starts_all
        if starts:
            return None
        jobs = names_in_words("job", self.question.job_names, self.made.meant)
        if starts is None:
            return self._verdict_of_kind(
                "unknown", f"the time was over before it was known whether {jobs} can start then"
            )
        why = next(
            (s for j in range(len(self.made.meant)) if (s := why_job_waits(remaining, j, evictions=False))), None
        )
        sentence = f"with {self._names_of_units(self.made.evict)} gone, {jobs} cannot start"
        proof = f"{why}, with them gone" if why else "cp-sat proved that no places exist"
        return self._verdict_of_kind("does not start", sentence, starts=False, proof=proof, evidence="unconfirmed")

    def _fewest_victims(self) -> Best:
        """Return the plan that starts the decision's jobs with the fewest of its victims; unproved without victims."""
        if not self.made.evict:
            return Best(None, proved=False)
        if self._least is None:
            moved_units = self.question.moved(self.made.plan.move)
            subproblem = only_victims(only_jobs(self.question, self.made.meant), self.made.evict, moved_units)
            self._least = self.asked.best_plan(subproblem.replace(unit_lost=np.ones_like(subproblem.unit_lost)), "lost")
        return self._least

    def _needless_verdict(self) -> Verdict | None:
        """Find the fewest of the decision's victims with which its jobs start."""
        best = self._fewest_victims()
        if best.plan is None or not best.starts_all or int(best.plan.evict.sum()) >= len(self.made.evict):
            return None
        point = self._point_of_plan(lift_plan(self.question, self.made.meant, best.plan))
        needless = tuple(u for u in self.made.evict if not point.plan.evict[u])
        fewest = len(self.made.evict) - len(needless)
        sentence = f"{self._names_of_units(needless)} need not be evicted: the other {fewest} suffice"
        if not fewest:
            sentence = f"nobody need be evicted: {self._names_of_units(needless)} can stay"
        minimal = ", and fewer of them do not (proved by cp-sat)" if best.proved else ""
        proof = f"a plan that evicts {count_of(fewest, 'unit')} of them starts the jobs{minimal}"
        return self._verdict_of_kind(
            "needless", sentence, starts=True, needless=needless, witness=point, proof=proof, evidence="unconfirmed"
        )

    def _point_of_plan(self, plan: Plan) -> Point:
        return Point(judge.base_values(self.question, plan), plan)

    def _front_of_question(self) -> tuple[tuple[Point, ...], bool, str, str | None]:
        """Return all points among the plans that start the most and evict the lowest priorities; and the proof."""
        from mlsched.solvers.front.planned import front_of

        question, is_proved = self.question, True
        stuck = [why_job_waits(question, j) for j in range(len(question.job_priority))]
        if all(stuck) and not self.made.evict:
            nothing = _all_wait_plan(question)
            return (self._point_of_plan(nothing),), True, f"counted: {stuck[0]}", None
        if self.top and self._priorities_differ():
            best = self.asked.best_plan(question, "top_priority")
            is_proved = best.proved
            if best.plan is None:
                return (), False, "the time was over before a plan was found", None
            if is_proved and not best.plan.start.any() and not self.asked.confirm:  # so all units stay, too
                proof = "cp-sat proved that no plan starts a job"
                return (self._point_of_plan(_all_wait_plan(question)),), True, proof, "unconfirmed"
            highest = self._point_of_plan(best.plan).values["top_priority"]
            levels = sorted(set(question.unit_priority.tolist()))
            evictable = np.isin(question.unit_priority, levels[:highest])
            question = question.replace(may=np.where(evictable, question.may, 0))
        solver, params = registry().solver("admission", "cp-sat")
        front = front_of(
            solver,
            question,
            self.objectives,
            params,
            threads=1,
            seed=self.asked.seed,
            time_limit=self.asked.remaining(),
        )
        if self.asked.confirm and front.complete:
            front = front.confirmed()
        points = [self._point_of_plan(plan) for plan in front.plans or ()]
        points.sort(key=lambda point: [point.values[name] for name in self.objectives])
        complete = bool(front.complete) and is_proved
        proof = f"cp-sat found the front in {count_of(front.solves, 'solve')}" + (
            " and proved that it is complete" if complete else ""
        )
        return tuple(points), complete, proof, front.evidence

    def _priorities_differ(self) -> bool:
        """Return whether the lowest necessary priorities exceed the front: within one level, it counts victims."""
        evictable = (self.question.may > 0).any(axis=0)
        one_level = len(np.unique(self.question.unit_priority[evictable])) < 2
        return not one_level or "victims" not in self.objectives or bool(self.question.unit_movable.any())

    def _verdict_against_front(
        self, front: tuple[Point, ...], complete: bool, proof: str, evidence: str | None
    ) -> Verdict:
        """Compare the decision with the front."""
        rank = judge.waiting_rank(self.question, self.made.plan)
        for point in front:
            if why := self._why_better(point, rank):
                sentence = f"dominated: {why}"
                proof = "a plan that the judge accepts"
                return self._verdict_of_kind("dominated", sentence, starts=True, witness=point, proof=proof)
        if not complete:
            return self._verdict_of_kind(
                "unknown", "the time was over before the front was complete", starts=True, proof=proof
            )
        why = f"no plan is better in {' and '.join(self.objectives)}" if self.made.meant else "nothing can start"
        own = self._point_of_plan(self.made.plan) if self.made.complete else self._decision_with_places(front)
        sentence = f"on the front: {why}"
        return self._verdict_of_kind("on the front", sentence, starts=True, witness=own, proof=proof, evidence=evidence)

    def _decision_with_places(self, front: tuple[Point, ...]) -> Point | None:
        """Return the decision with places for its pods."""
        subproblem = only_jobs(self.question, self.made.meant)
        best = self.asked.best_plan(only_victims(subproblem, self.made.evict), "victims")
        if best.plan is None:
            return None
        plan = lift_plan(self.question, self.made.meant, best.plan).replace(evict=self.made.plan.evict)
        return None if self.question.violations(plan) else self._point_of_plan(plan)

    def _why_better(self, point: Point, rank: int) -> str | None:
        """Explain why a point is better than the decision; None if it is not."""
        waits = judge.waiting_rank(self.question, point.plan)
        mine, its = self.values, point.values
        cost = ", ".join(f"{its[name]} instead of {mine[name]} {_UNITS[name]}" for name in self.objectives)
        if waits < rank:
            more = np.flatnonzero((point.plan.start == 1) & (self.made.plan.start == 0)).tolist()
            jobs = names_in_words("job", self.question.job_names, more)
            return f"{jobs} can start by evicting {self._victims_in_words(point)}"
        if waits > rank:
            return None
        if self.top and its["top_priority"] < mine["top_priority"]:
            levels = sorted(set(self.question.unit_priority.tolist()))
            high, low = levels[mine["top_priority"] - 1], its["top_priority"]
            least = f"none above priority {levels[low - 1]}" if low else "nobody"
            return f"it evicts priority {high}, and {least} must go ({cost})"
        if self.top and its["top_priority"] > mine["top_priority"]:
            return None
        pairs = [(its[name], mine[name]) for name in self.objectives]
        if all(a <= b for a, b in pairs) and any(a < b for a, b in pairs):
            return f"evicting {self._victims_in_words(point)} costs {cost}"
        return None

    def _victims_in_words(self, point: Point) -> str:
        evicted = np.flatnonzero(point.plan.evict).tolist()
        return self._names_of_units(evicted) if evicted else "nobody"


def front_question(instance: Instance, verdict: Verdict) -> tuple[Instance, list[Plan]]:
    """Return the problem of a verdict's front, with only the requested jobs, and a plan for each point."""
    plans = [lower_plan(instance, verdict.asked, point.plan) for point in verdict.front]
    return only_jobs(instance, verdict.asked), plans


#: Objective -> the unit of its values, in sentences.
_UNITS = {
    "victims": "victims",
    "lost": "lost work",
    "top_priority": "as highest level",
    "budget_violations": "pods beyond budgets",
    "moves": "moves",
    "grace": "s of grace",
}
