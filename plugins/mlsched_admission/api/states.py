"""Judge a scheduler's decision from the state of its cluster: `mlsched_admission.judge`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from mlsched.api.certificates import certify_front
from mlsched.certificates.checked import Checked
from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidInput
from mlsched.core.params import Positive, Seed
from mlsched.core.safe_open import read_text
from mlsched_admission.api.cycles import outcomes_of_cycle
from mlsched_admission.api.guarded import needs_without_false_claims, own_decision, verdict_on, without_false_claims
from mlsched_admission.api.judgement import Judgement
from mlsched_admission.api.questions import (
    JudgeRequest,
    Paths,
    checkpoint_period,
    current_time,
    decision_of_call,
    instances_of_documents,
    requested_jobs,
)
from mlsched_admission.instances import Instance, Plan
from mlsched_admission.instances.states import Options, State, read_documents
from mlsched_admission.instances.states.decision import Decision
from mlsched_admission.instances.systems.decide import COPIES, OWN_RULES
from mlsched_admission.instances.systems.permits import permits_for
from mlsched_admission.solvers.verdicts import Needs, Point, Verdict, front_question, what_it_takes
from mlsched_admission.solvers.waits import why_it_waits

#: Kinds of verdicts, the worst first: the best over the combinations of flavors counts.
_KINDS = ("unknown", "ineligible", "does not start", "needless", "dominated", "on the front")


@validate_arguments
def judge(
    *states: Paths,
    decision: Paths | Plan | Sequence[str] | None = None,
    rule: str | None = None,
    job: str | Sequence[str] = (),
    now: str | int | None = None,
    checkpoint_every: str | int | None = None,
    checkpoint_annotation: str | None = None,
    flavors: str = "chosen",
    slurm_conf: Paths | None = None,
    time_limit: Positive | None = None,
    seed: Seed = 0,
) -> Judgement:
    """Judge what a scheduler decided: whether another plan is better, and what it would take to evict nobody.

    Args:
        states: files that kubectl, Slurm or KAI wrote, or one instance or report.
        decision: a file (a name of a victim per line, events, a later state), names of victims, or a plan. Without it
            and without a rule, the optimal plans are shown.
        rule: who decides instead, "kueue" say.
        job: the waiting jobs that are asked about (default: the first in line).
        now: seconds since 1970, or "2026-11-24T10:00:00Z".
        checkpoint_every: "2h", or seconds.
        checkpoint_annotation: of pods and workloads, the annotation with the time of the last checkpoint; of Slurm's
            jobs, a KEY of KEY=VALUE in their comment.
        flavors: "chosen" as Kueue would, or "free".
        slurm_conf: Slurm's configuration file.
        time_limit: wall seconds for each search.
        seed: an integer >= 0.

    Raises:
        InvalidFile: a file cannot be read; one line says what is wrong, where, and what to do about it.
        InvalidInput: the call is wrong.

    Examples:
        >>> mlsched.save(mlsched.generate("admission", "small"), "state.json")
        >>> found = mlsched_admission.judge("state.json")
        >>> found.decision is None
        True
    """
    if decision is not None and rule is not None:
        raise InvalidInput("decision and rule are both given; give one of them")
    if flavors not in ("chosen", "free"):
        raise InvalidInput(f"flavors: {flavors!r}, expected chosen or free")
    options = Options(
        now=current_time(now),
        checkpoint_every=checkpoint_period(checkpoint_every),
        checkpoint_annotation=checkpoint_annotation,
        flavors=flavors,
        slurm_conf=None if slurm_conf is None else read_text(slurm_conf),
        jobs=(job,) if isinstance(job, str) else tuple(job),
    )
    documents = read_documents(states)
    instances = instances_of_documents(documents, states, options)
    request = JudgeRequest(decision, rule, options, {"time_limit": time_limit, "seed": seed})
    best = _best_judgement([_judge_instance(state, instance, request) for state, instance in instances])
    best = _with_needs(instances[0][0], best, request)
    if options.jobs or (decision is not None) or rule not in (None, OWN_RULES.get(best.system)):
        return best
    return dataclasses.replace(best, cycle=outcomes_of_cycle(instances[0][0], best, request))


@validate_arguments
def certify_judgement(
    found: Judgement,
    folder: Paths,
    *,
    time_limit: Positive | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> Checked:
    """Prove the front of a judgement whole, in a folder that anyone can check; see `certify_front`.

    Args:
        found: the judgement. The folder's instance has the jobs alone that were asked about.
        folder: where the proof goes; there must be none of that name yet.
        time_limit: wall seconds for the proof.
        progress: called with a line that says how far the proof is.

    Raises:
        InvalidInput: the folder exists, or the front is not complete.
        BackendError: no proof is found in time.
    """
    verdict = found.verdict
    if not verdict.complete:
        raise InvalidInput("the front is not complete, so it cannot be certified; give the judgement more time")
    question, plans = front_question(found.instance, verdict)
    return certify_front(
        question,
        plans,
        folder,
        objectives=verdict.objectives,
        first=verdict.first,
        time_limit=time_limit,
        proof="logic",
        progress=progress,
    )


def _with_needs(state: State, best: Judgement, request: JudgeRequest) -> Judgement:
    """Return the judgement with the reason why the jobs wait, and the changes that would start them."""
    if blocked := [f"job {name}: {why}" for name, why in state.blocked.items()]:
        everyone = tuple(range(len(best.instance.job_priority)))
        needs = Needs(everyone, False, (), True, blocked[0], "by the rules for flavors")
        return dataclasses.replace(best, needs=needs, why=blocked[0])
    jobs = requested_jobs(best.instance, request.options) if best.system == "mlsched" else None
    needs = what_it_takes(best.instance, jobs=jobs, verdict=best.verdict, **request.limits)
    why = "" if needs.starts_now else why_it_waits(best.instance, needs.jobs)
    evictable = any(point.plan.start.any() for point in best.verdict.front)
    more = () if needs.starts_now or evictable or len(state.jobs) != 1 else permits_for(state, *state.jobs)
    return dataclasses.replace(
        best, needs=needs_without_false_claims(needs, best.unmodelled), why=why, permits=tuple(more)
    )


def _judge_instance(state: State, instance: Instance, request: JudgeRequest) -> Judgement:
    """Return the judgement of one problem without the needed changes: `judge` adds them to the shown judgement."""
    rule = request.rule
    jobs = requested_jobs(instance, request.options) if state.system == "mlsched" else None
    own = (
        own_decision(state, instance, list(state.jobs))
        if rule is not None and rule == OWN_RULES.get(state.system)
        else None
    )
    origin_and_decision = ("by " + str(rule), own) if own is not None else decision_of_call(instance, request)
    if line := _foreign_rule(state.system, rule):
        state.assume(line)
    # Without a decision, the reference of the front is to evict nobody.
    plan = Decision(()) if origin_and_decision is None else origin_and_decision[1]
    verdict = verdict_on(state, instance, plan, jobs, request.limits)
    if origin_and_decision is not None:
        verdict = without_false_claims(state, instance, verdict, own is not None)
    return Judgement(
        instance,
        verdict,
        Needs((), starts_now=False),
        None if origin_and_decision is None else origin_and_decision[0],
        state.system,
        tuple(state.read),
        tuple(state.assumed),
        {name: tuple(lines) for name, lines in state.unmodelled.items() if name in state.jobs},
        counted=state.counted,
    )


def _foreign_rule(system: str, rule: str | None) -> str:
    """Return a line on a rule that copies another scheduler than the state's, or ""."""
    own = next((name for other, name in COPIES.values() if other == system), None)
    copied, name = COPIES.get((rule or "").partition(":")[0], (system, ""))
    if own is None or copied == system:
        return ""
    return f"rule: {rule} copies {name}, and the state is of {own}, which may decide differently"


def _best_judgement(judgements: list[Judgement]) -> Judgement:
    """Return, over the combinations of flavors, the judgement with most starting jobs, then the best verdict."""
    if len(judgements) == 1:
        return judgements[0]
    best = max(judgements, key=_combination_key)
    others = [one for one in judgements if one is not best]
    line = (
        f"{len(judgements)} combinations of flavors were asked about; shown is the one in which the decision fares best"
    )
    if best.decision is None:
        line = f"{len(judgements)} combinations of flavors were asked about; shown is the best one"
    better = [one for one in others if _front_dominates(one.verdict.front, best.verdict)]
    if best.decision is None or best.verdict.kind != "on the front" or not better:
        return dataclasses.replace(best, assumed=(*best.assumed, line))
    flavors = next(text for text in better[0].assumed if text.startswith("flavors: "))
    verdict = dataclasses.replace(
        best.verdict,
        kind="dominated",
        sentence=f"dominated by a plan with other flavors ({flavors.removeprefix('flavors: ')})",
        witness=None,
    )
    return dataclasses.replace(best, verdict=verdict, assumed=(*best.assumed, line))


def _combination_key(one: Judgement) -> tuple[Any, ...]:
    """Return the sort key of a combination: jobs that can start, the verdict on the decision, then the front's first
    point.
    """
    front = one.verdict.front
    start_count = max((int(point.plan.start.sum()) for point in front), default=0)
    cost = tuple(-front[0].values[name] for name in one.verdict.objectives) if front else ()
    kind = _KINDS.index(one.verdict.kind)
    return (
        (start_count, -front[0].values["top_priority"] if front else 0, cost)
        if one.decision is None
        else (kind, start_count)
    )


def _front_dominates(front: Sequence[Point], verdict: Verdict) -> bool:
    """Return whether a point of the front is at least as good in all objectives and better in one, and starts the job
    as well.
    """
    mine = [verdict.values[name] for name in verdict.objectives]
    for point in front:
        theirs = [point.values[name] for name in verdict.objectives]
        if point.plan.start.all() and theirs != mine and all(a <= b for a, b in zip(theirs, mine, strict=True)):
            return True
    return False
