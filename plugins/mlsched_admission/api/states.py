"""A scheduler's decision, judged from the state of its cluster: `mlsched_admission.judge`."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from mlsched.api.answers import solve
from mlsched.api.certificates import certify_front
from mlsched.api.records import load_with_hash
from mlsched.certificates.fronts import CheckedFront
from mlsched.core.arguments import checked
from mlsched.core.brief import counted
from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.core.opening import open_file, read_text, shown_path
from mlsched.core.params import Positive, Seed
from mlsched.core.result import Result
from mlsched_admission.api.judgement import Judgement
from mlsched_admission.instances import Instance, Plan
from mlsched_admission.instances.states import Options, State, instance_of, read_documents, states_of, values
from mlsched_admission.instances.states.decision import Decision, evicting, read_decision
from mlsched_admission.instances.states.documents import MOST_STATE
from mlsched_admission.instances.states.incident import incident_instance
from mlsched_admission.solvers.verdicts import Needs, Point, Verdict, front_question, judge_decision, what_it_takes

Paths = str | os.PathLike[str]
#: Kinds of verdicts, the worst first: of combinations of flavors, the best is what the decision is worth.
_KINDS = ("unknown", "ineligible", "does not start", "needless", "dominated", "on the front")
#: What a decision starts with when it is a plan of mlsched in a file.
_PLANS = (b'"admission.plan"', b'"kind": "result"')


@checked
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
            and without a rule there is no decision to judge, and the optimal plans are shown.
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
        raise InvalidInput(f"flavors = {flavors!r}: must be chosen or free")
    options = Options(
        now=_moment(now),
        checkpoint_every=_seconds(checkpoint_every),
        checkpoint_annotation=checkpoint_annotation,
        flavors=flavors,
        slurm_conf=None if slurm_conf is None else read_text(slurm_conf),
        jobs=(job,) if isinstance(job, str) else tuple(job),
    )
    questions = questions_of(states, options)
    limits: dict[str, Any] = {"time_limit": time_limit, "seed": seed}
    best = _best([_judged(state, instance, decision, rule, options, limits) for state, instance in questions])
    jobs = _asked(best.instance, options) if best.system == "mlsched" else None
    return dataclasses.replace(best, needs=what_it_takes(best.instance, jobs=jobs, **limits))


@checked
def certify_judgement(
    found: Judgement,
    folder: Paths,
    *,
    time_limit: Positive | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> CheckedFront:
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
    made = certify_front(
        question,
        plans,
        folder,
        objectives=verdict.objectives,
        first=verdict.first,
        time_limit=time_limit,
        proof="logic",
        progress=progress,
    )
    assert isinstance(made, CheckedFront)  # by formulas
    return made


def questions_of(paths: Iterable[Paths], options: Options | None = None) -> list[tuple[State, Instance]]:
    """The states in these files, each with the instance that it is; an instance's own file has an empty state."""
    options, paths = options or Options(), list(paths)
    documents = read_documents(paths)
    own = [document for document in documents if document.what in ("own", "incident")]
    if not own:
        made = [(state, instance_of(state)) for state in states_of(documents, options)]
        for state, _ in made:
            if not state.jobs:
                raise InvalidInput("no job waits in this state; give the state of a moment in which one does")
        return made
    if len(documents) > 1:
        raise InvalidInput(f"{own[0].path}: is an instance: it is judged alone; give no other file")
    said = []
    loaded: Any
    if own[0].what == "incident":
        loaded = incident_instance(own[0].entry)
        said.append(f"a reported incident: the scheduler {own[0].entry.text('scheduler_did')}")
    else:
        loaded, _ = load_with_hash(paths[0])
    if not isinstance(loaded, Instance):
        raise InvalidFile(f"{own[0].path}: kind = '{loaded.kind}': must be a state or an admission.instance")
    state = State("mlsched")
    state.read += said
    state.read.append(
        f"an instance: {counted(len(loaded.node_free), 'node')}, {counted(len(loaded.unit_group), 'running unit')}, "
        f"{counted(len(loaded.job_priority), 'waiting job')}"
    )
    return [(state, loaded)]


def _moment(now: str | int | None) -> int | None:
    if not isinstance(now, str):
        return None if now is None else int(now)
    if now.isdecimal() and now.isascii() and len(now) <= 12:
        return int(now)
    if (time := values.moment(now)) is None:
        raise InvalidInput(f"now = {now!r}: must be a time such as 2026-11-24T10:00:00Z")
    return time


def _seconds(every: str | int | None) -> int | None:
    return values.span("checkpoint_every", every) if isinstance(every, str) else every


def _judged(
    state: State,
    instance: Instance,
    decision: Paths | Plan | Sequence[str] | None,
    rule: str | None,
    options: Options,
    limits: dict[str, Any],
) -> Judgement:
    """The judgement of one question, but for what it would take: `judge` asks that of the one that is shown."""
    jobs = _asked(instance, options) if state.system == "mlsched" else None
    made = _decided(instance, decision, rule, limits)
    # Without a decision, nobody is evicted: the front is what it is held against.
    plan = Decision(()) if made is None else made[1]
    meant = jobs if isinstance(plan, Plan) or plan.start is None else plan.start
    verdict = judge_decision(
        instance, plan if isinstance(plan, Plan) else plan.evict, jobs=meant, **_compared(instance), **limits
    )
    return Judgement(
        instance,
        verdict,
        Needs((), starts_now=False),
        None if made is None else made[0],
        state.system,
        tuple(state.read),
        tuple(state.assumed),
        {name: tuple(lines) for name, lines in state.unmodelled.items() if name in state.jobs},
    )


def _compared(instance: Instance) -> dict[str, Any]:
    """What plans are compared by, where it is not the usual.

    Whether a disruption budget or a higher priority gives way is a choice: Kubernetes spares budgets first. Where there
    are budgets, both are on the front, and none is compared before it.
    """
    if not len(instance.budget_left):
        return {}
    moves = ["moves"] if instance.unit_movable.any() else []
    return {"objectives": ("budget_violations", "top_priority", "victims", "lost", *moves), "first": ()}


def _asked(instance: Instance, options: Options) -> list[int] | None:
    """The jobs of an instance that the user names."""
    if not options.jobs:
        return None
    names = instance.job_names or tuple(map(str, range(len(instance.job_priority))))
    if unknown := [name for name in options.jobs if name not in names]:
        raise InvalidInput(f"{unknown[0]}: no waiting job is called so; waiting: {', '.join(names)}")
    return [names.index(name) for name in options.jobs]


def _decided(
    instance: Instance, decision: Paths | Plan | Sequence[str] | None, rule: str | None, limits: dict[str, Any]
) -> tuple[str, Plan | Decision] | None:
    """Who decided, and what; None where nobody did."""
    if rule is not None:
        plan: Any = solve(instance, rule, **limits).plan
        if plan is None:
            raise InvalidInput(f"{rule}: found no plan; give it more time, or another rule")
        return f"by {rule}", plan
    if decision is None:
        return None
    if isinstance(decision, Plan):
        return "a plan", decision
    if not isinstance(decision, (str, os.PathLike)):
        return "as named", evicting(instance, decision)
    name = shown_path(decision)
    with open_file(decision, most=MOST_STATE) as stream:
        head = stream.read(200)
    if any(mark in head for mark in _PLANS):
        return f"of {name}", _loaded_plan(decision, instance)
    return f"of {name}", read_decision(decision, instance)


def _loaded_plan(path: Paths, instance: Instance) -> Plan:
    loaded: Any
    loaded, answers = load_with_hash(path)
    if isinstance(loaded, Result) and loaded.plan is not None:
        loaded, answers = loaded.plan, loaded.instance_hash
    if not isinstance(loaded, Plan):
        raise InvalidFile(f"{shown_path(path)}: holds no admission.plan; `mlsched solve -o` writes one")
    if answers not in (None, instance.hash):
        raise InvalidFile(f"{shown_path(path)}: answers another instance (hash {str(answers)[:12]})")
    return loaded


def _best(judged: list[Judgement]) -> Judgement:
    """Of one question per combination of flavors: the one in which the decision fares best."""
    if len(judged) == 1:
        return judged[0]
    best = max(judged, key=lambda one: _KINDS.index(one.verdict.kind))
    others = [one for one in judged if one is not best]
    line = f"{len(judged)} combinations of flavors were asked about; shown is the one in which the decision fares best"
    better = [one for one in others if _beats(one.verdict.front, best.verdict)]
    if best.verdict.kind != "on the front" or not better:
        return dataclasses.replace(best, assumed=(*best.assumed, line))
    flavors = next(text for text in better[0].assumed if text.startswith("flavors: "))
    verdict = dataclasses.replace(
        best.verdict,
        kind="dominated",
        sentence=f"dominated by a plan with other flavors ({flavors.removeprefix('flavors: ')})",
        witness=None,
    )
    return dataclasses.replace(best, verdict=verdict, assumed=(*best.assumed, line))


def _beats(front: Sequence[Point], verdict: Verdict) -> bool:
    """Whether a point of the front is no worse in all objectives and better in one, and starts the job as well."""
    mine = [verdict.values[name] for name in verdict.objectives]
    for point in front:
        theirs = [point.values[name] for name in verdict.objectives]
        if point.plan.start.all() and theirs != mine and all(a <= b for a, b in zip(theirs, mine, strict=True)):
            return True
    return False
