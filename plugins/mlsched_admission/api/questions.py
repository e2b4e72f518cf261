"""Inputs of `judge`: states with their instances, decisions, and the named jobs."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

from mlsched.api.answers import solve
from mlsched.api.records import load_with_hash
from mlsched.core.aliases import Data
from mlsched.core.brief import count_of
from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.core.result import Result
from mlsched.core.safe_open import open_file, shown_path
from mlsched_admission.instances import Instance, Plan
from mlsched_admission.instances.states import Options, State, instance_of, states_of, values
from mlsched_admission.instances.states.decision import Decision, decision_to_evict, read_decision
from mlsched_admission.instances.states.documents import MOST_STATE, Document
from mlsched_admission.instances.states.incident import incident_instance

Paths = str | os.PathLike[str]
#: First characters of a decision file that is a plan of mlsched.
_PLANS = (b'"admission.plan"', b'"kind": "result"')


def instances_of_documents(
    documents: list[Document], paths: Sequence[Paths], options: Options
) -> list[tuple[State, Instance]]:
    """Return the states in these documents, each with its instance; an instance's own file has an empty state."""
    own = [document for document in documents if document.what in ("own", "incident")]
    if not own:
        pairs = [(state, instance_of(state)) for state in states_of(documents, options)]
        for state, _ in pairs:
            if not state.jobs:
                blocked = next(iter(state.held.items()), None)
                reason = "" if blocked is None else f" ({blocked[0]}: {blocked[1]})"
                raise InvalidInput(f"no job waits in this state{reason}; give the state of a moment in which one does")
        return pairs
    if len(documents) > 1:
        raise InvalidInput(f"{own[0].path}: is an instance; leave out other files")
    notes = []
    content: Any
    if own[0].what == "incident":
        content = incident_instance(own[0].entry)
        notes.append(f"a reported incident: the scheduler {own[0].entry.text('scheduler_did')}")
    else:
        content, _ = load_with_hash(paths[0])
    if not isinstance(content, Instance):
        raise InvalidFile(f"{own[0].path}: kind: '{content.kind}', expected a state or an admission.instance")
    state = State("mlsched")
    state.read += notes
    state.read.append(
        f"an instance: {count_of(len(content.node_free), 'node')}, "
        f"{count_of(len(content.unit_group), 'running unit')}, {count_of(len(content.job_priority), 'waiting job')}"
    )
    return [(state, content)]


def current_time(now: str | int | None) -> int | None:
    """Return the caller's time as seconds since 1970."""
    if not isinstance(now, str):
        return None if now is None else int(now)
    if now.isdecimal() and now.isascii() and len(now) <= 12:
        return int(now)
    if (time := values.parse_time(now)) is None:
        raise InvalidInput(f"now: {now!r}, expected a time such as 2026-11-24T10:00:00Z")
    return time


def checkpoint_period(every: str | int | None) -> int | None:
    """Return the caller's time span in seconds."""
    return values.parse_span("checkpoint_every", every) if isinstance(every, str) else every


def requested_jobs(instance: Instance, options: Options) -> list[int] | None:
    """Return the jobs of an instance that the user names."""
    if not options.jobs:
        return None
    names = instance.job_names or tuple(map(str, range(len(instance.job_priority))))
    if unknown := [name for name in options.jobs if name not in names]:
        raise InvalidInput(f"{unknown[0]}: unknown waiting job; waiting: {', '.join(names)}")
    return [names.index(name) for name in options.jobs]


@dataclasses.dataclass(frozen=True)
class JudgeRequest:
    """One call of `judge`: the decision or the heuristic that decides, options of reading states, limits of each
    search.
    """

    decision: Paths | Plan | Sequence[str] | None
    rule: str | None
    options: Options
    limits: Data


def decision_of_call(instance: Instance, request: JudgeRequest) -> tuple[str, Plan | Decision] | None:
    """Return the origin of the decision and the decision; None without one."""
    rule, decision = request.rule, request.decision
    if rule is not None:
        plan: Any = solve(instance, rule, **request.limits).plan
        if plan is None:
            raise InvalidInput(f"{rule}: found no plan; give it more time, or another rule")
        return f"by {rule}", plan
    if decision is None:
        return None
    if isinstance(decision, Plan):
        return "a plan", decision
    if not isinstance(decision, (str, os.PathLike)):
        return "as named", decision_to_evict(instance, decision)
    name = shown_path(decision)
    with open_file(decision, most=MOST_STATE) as stream:
        head = stream.read(200)
    if any(mark in head for mark in _PLANS):
        return f"of {name}", _loaded_plan(decision, instance)
    return f"of {name}", read_decision(decision, instance)


def _loaded_plan(path: Paths, instance: Instance) -> Plan:
    content: Any
    content, answers = load_with_hash(path)
    if isinstance(content, Result) and content.plan is not None:
        content, answers = content.plan, content.instance_hash
    if not isinstance(content, Plan):
        raise InvalidFile(f"{shown_path(path)}: expected an admission.plan; `mlsched solve -o` writes one")
    if answers not in (None, instance.hash):
        raise InvalidFile(f"{shown_path(path)}: answers another instance (hash {str(answers)[:12]})")
    return content
