"""Verdicts without false accusations: "unknown" if the model lacks a feature or is narrower than the rules."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from mlsched.core.aliases import Data
from mlsched_admission.instances import Instance, Plan
from mlsched_admission.instances.judge import NO_JOB_MAY
from mlsched_admission.instances.states import State
from mlsched_admission.instances.states.decision import Decision
from mlsched_admission.instances.states.state import Job, Unit
from mlsched_admission.instances.systems.decide import decision_of_system
from mlsched_admission.instances.systems.kueue.snapshot import Snapshot
from mlsched_admission.solvers._names import not_evictable
from mlsched_admission.solvers.fair import fair_verdict
from mlsched_admission.solvers.verdicts import Needs, Verdict, judge_decision


def verdict_on(
    state: State,
    instance: Instance,
    plan: Plan | Decision,
    jobs: Sequence[int] | None,
    limits: Data,
    known: Verdict | None = None,
) -> Verdict:
    """Return the verdict on a plan, or on victims; the exact problem of fair sharing is solved separately.

    Args:
        state: State of the cluster.
        instance: Instance of the state.
        plan: Plan or decision.
        jobs: Requested jobs.
        limits: Limits of each search.
        known: A verdict on the same problem, whose front is reused.
    """
    if isinstance(plan, Plan):
        return judge_decision(instance, plan, jobs=jobs, **_compared_objectives(instance), **limits)
    requested = jobs if plan.start is None else plan.start or range(len(instance.job_priority))
    starts = None if plan.start is None else bool(plan.start)
    if isinstance(state.model, Snapshot) and state.model.config.fair:
        return fair_verdict(state.model, instance, plan.evict, starts)
    objectives = _compared_objectives(instance)
    verdict = judge_decision(instance, plan.evict, jobs=requested, starts=starts, known=known, **objectives, **limits)
    return _with_priorities(state, instance, verdict)


def _with_priorities(state: State, instance: Instance, verdict: Verdict) -> Verdict:
    """The verdict, with the priorities as the reason why a unit may not be evicted if they decide."""
    if not verdict.ineligible or not state.jobs:
        return verdict
    jobs = [state.jobs[instance.job_names[j]] for j in verdict.jobs]
    faults = []
    for u, why in verdict.ineligible:
        unit = state.units[instance.unit_names[u]]
        if why == NO_JOB_MAY and all(_outranks(unit, job) for job in jobs):
            why = f"priority {unit.priority} is not below {max(job.priority for job in jobs)}"
        faults.append((u, why))
    return dataclasses.replace(verdict, ineligible=tuple(faults), sentence=not_evictable(instance.unit_names, faults))


def _outranks(unit: Unit, job: Job) -> bool:
    """Whether its priority protects a unit from a job."""
    return job.by_priority and not unit.fixed and unit.queue == job.queue and unit.priority >= job.priority


def own_decision(state: State, instance: Instance, jobs: list[str]) -> Decision | None:
    """Return the decision of the scheduler's own program about some jobs; None if it lacks one about this instance.

    The program's notes become assumptions of `state`.
    """
    decision = decision_of_system(state, jobs)
    if decision is None or not decision.outcomes:
        return None
    state.assumed += [note for note in decision.notes if note not in state.assumed]
    units = {name: u for u, name in enumerate(instance.unit_names)}
    jobs_by_name = {name: j for j, name in enumerate(instance.job_names)}
    if any(name not in units for name in decision.evict):
        return None
    evict = tuple(sorted(units[name] for name in decision.evict))
    return Decision(evict, tuple(sorted(jobs_by_name[name] for name in decision.start if name in jobs_by_name)))


#: Verdicts that accuse the scheduler.
_ACCUSATIONS = ("ineligible", "does not start", "needless", "dominated")


def without_false_claims(state: State, instance: Instance, verdict: Verdict, own: bool) -> Verdict:
    """Return the verdict, or "unknown" if the model lacks a feature of the job, or is narrower than the scheduler's
    rules.
    """
    if verdict.kind not in _ACCUSATIONS:
        return verdict
    features = [line for name, lines in state.unmodelled.items() if name in state.jobs for line in lines]
    unknown: Data = {"kind": "unknown", "proof": "", "evidence": None, "ineligible": (), "needless": ()}
    if features:
        more = f" (and {len(features) - 1} more)" if len(features) > 1 else ""
        return dataclasses.replace(verdict, sentence=f"{features[0]} is not modelled{more}", witness=None, **unknown)
    decision = None if own else own_decision(state, instance, list(state.jobs))
    if own or _is_own_decision(decision, verdict):
        if verdict.kind in ("ineligible", "does not start"):
            sentence = "the scheduler's own rules decide the same, and the model is narrower than these rules here"
            return dataclasses.replace(verdict, sentence=sentence, witness=None, **unknown)
        if verdict.kind == "needless":
            sentence = f"dominated: the scheduler's own rules decide the same, but {verdict.sentence}"
            return dataclasses.replace(verdict, kind="dominated", sentence=sentence, needless=())
        return verdict
    if decision is not None and _in_a_cycle(state, instance, verdict):
        sentence = "the scheduler decides the same in a cycle of all waiting jobs, in which others come first"
        return dataclasses.replace(verdict, sentence=sentence, witness=None, **unknown)
    return verdict


def _is_own_decision(decision: Decision | None, verdict: Verdict) -> bool:
    return decision is not None and decision.evict == verdict.evict and bool(decision.start) == bool(verdict.jobs)


def _in_a_cycle(state: State, instance: Instance, verdict: Verdict) -> bool:
    """Return whether the scheduler's own program evicts the same units for the only job in a complete cycle."""
    decision = decision_of_system(state, None)
    names = {instance.unit_names[u] for u in verdict.evict}
    if decision is None or len(state.jobs) != 1:
        return False
    return any(one.job in state.jobs and set(one.evicts) == names for one in decision.outcomes)


def needs_without_false_claims(needs: Needs, unmodelled: dict[str, tuple[str, ...]]) -> Needs:
    """Return the needed changes, without claims that the model cannot make."""
    features = [line for lines in unmodelled.values() for line in lines]
    if not features or not (needs.starts_now or needs.cannot or needs.proof):
        return needs
    cannot = f"unknown: {features[0]} is not modelled"
    return dataclasses.replace(needs, starts_now=False, cannot=cannot, complete=False, proof="")


def _compared_objectives(instance: Instance) -> Data:
    """Return the objectives of the comparison, if they are not the usual ones.

    The order of disruption budgets and priorities is a choice: Kubernetes spares budgets first. With budgets, both are
    on the front, and neither is compared before it.
    """
    if not len(instance.budget_left):
        return {}
    moves = ["moves"] if instance.unit_movable.any() else []
    return {"objectives": ("budget_violations", "top_priority", "victims", "lost", *moves), "first": ()}


def named_decision(instance: Instance, names: Iterable[str]) -> Decision | None:
    """Return the decision to evict units of these names; None if the instance lacks one."""
    units = {name: u for u, name in enumerate(instance.unit_names)}
    if any(name not in units for name in names):
        return None
    return Decision(tuple(sorted(units[name] for name in names)))
