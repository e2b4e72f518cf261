"""A complete cycle of the scheduler's own program: the outcome of every waiting job, with verdicts on evictions."""

from __future__ import annotations

import dataclasses

from mlsched_admission.api.guarded import named_decision, verdict_on, without_false_claims
from mlsched_admission.api.judgement import CycleRow, Judgement
from mlsched_admission.api.questions import JudgeRequest
from mlsched_admission.instances.states import State, instance_of
from mlsched_admission.instances.systems.decide import Outcome, decision_of_system
from mlsched_admission.solvers.verdicts import Verdict

#: Limits on the judged evictions of a cycle, and on the units of all their instances together; at least one is judged.
MOST_JUDGED, MOST_UNITS = 20, 20_000


def outcomes_of_cycle(state: State, best: Judgement, request: JudgeRequest) -> tuple[CycleRow, ...] | None:
    """Return the outcome of each waiting job in a complete cycle of the scheduler's own program, with verdicts on
    evictions.
    """
    decision = decision_of_system(state, None)
    if decision is None:
        return None
    able = max(1, min(MOST_JUDGED, MOST_UNITS // max(1, len(state.units))))
    rows = []
    for one in decision.outcomes:
        row = CycleRow(one.job, one.outcome, one.why, one.evicts, later=one.later)
        if one.evicts and able:
            able -= 1
            verdict = _verdict_in_cycle(state, best, one, request)
            if verdict is not None:
                row = dataclasses.replace(row, verdict=verdict.kind, sentence=verdict.sentence)
        rows.append(row)
    return tuple(rows)


def _verdict_in_cycle(state: State, best: Judgement, one: Outcome, request: JudgeRequest) -> Verdict | None:
    """Return the verdict on the evictions of `one`; None if the instance of its job lacks a victim.

    The verdict in `best` is reused if it is about the same job and decision.
    """
    reusable = None
    if list(state.jobs) == [one.job] and request.options.flavors == "chosen":
        job_state, instance, reusable = state, best.instance, best.verdict
    elif state.again is None:
        return None
    else:
        job_state = state.again(dataclasses.replace(request.options, jobs=(one.job,), flavors="chosen"))[0]
        instance = instance_of(job_state)
    decision = named_decision(instance, one.evicts)
    if decision is None:
        return None
    if reusable is not None and best.decision is not None and reusable.evict == decision.evict:
        return reusable
    return without_false_claims(
        job_state, instance, verdict_on(job_state, instance, decision, None, request.limits, reusable), own=True
    )
