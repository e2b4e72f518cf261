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
from mlsched_admission.api.judgement import CycleRow, Judgement
from mlsched_admission.instances import Instance, Plan
from mlsched_admission.instances.states import Options, State, instance_of, read_documents, states_of, values
from mlsched_admission.instances.states.decision import Decision, evicting, read_decision
from mlsched_admission.instances.states.documents import MOST_STATE, Document
from mlsched_admission.instances.states.incident import incident_instance
from mlsched_admission.instances.systems.decide import OWN_RULES, decide
from mlsched_admission.instances.systems.kueue.snapshot import Snapshot
from mlsched_admission.solvers.fair import fair_verdict
from mlsched_admission.solvers.verdicts import Needs, Point, Verdict, front_question, judge_decision, what_it_takes
from mlsched_admission.solvers.waits import why_it_waits

Paths = str | os.PathLike[str]
#: Kinds of verdicts, the worst first: of combinations of flavors, the best is what the decision is worth.
_KINDS = ("unknown", "ineligible", "does not start", "needless", "dominated", "on the front")
#: Evictions of a cycle that are judged.
MOST_JUDGED = 20
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
    documents = read_documents(states)
    questions = _questions(documents, states, options)
    limits: dict[str, Any] = {"time_limit": time_limit, "seed": seed}
    best = _best([_judged(state, instance, decision, rule, options, limits) for state, instance in questions])
    jobs = _asked(best.instance, options) if best.system == "mlsched" else None
    needs = what_it_takes(best.instance, jobs=jobs, **limits)
    best = dataclasses.replace(best, needs=_guarded_needs(needs, best.unmodelled))
    best = dataclasses.replace(best, why="" if best.needs.starts_now else why_it_waits(best.instance, needs.jobs))
    if options.jobs or (decision is not None) or rule not in (None, OWN_RULES.get(best.system)):
        return best
    return dataclasses.replace(best, cycle=_cycle(documents, questions[0][0], best, options, limits))


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
    paths = list(paths)
    return _questions(read_documents(paths), paths, options or Options())


def _questions(documents: list[Document], paths: Sequence[Paths], options: Options) -> list[tuple[State, Instance]]:
    own = [document for document in documents if document.what in ("own", "incident")]
    if not own:
        made = [(state, instance_of(state)) for state in states_of(documents, options)]
        for state, _ in made:
            if not state.jobs:
                held = next(iter(state.held.items()), None)
                reason = "" if held is None else f" ({held[0]}: {held[1]})"
                raise InvalidInput(f"no job waits in this state{reason}; give the state of a moment in which one does")
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
    own = _own(state, instance, list(state.jobs)) if rule is not None and rule == OWN_RULES.get(state.system) else None
    made = ("by " + str(rule), own) if own is not None else _decided(instance, decision, rule, limits)
    # Without a decision, nobody is evicted: the front is what it is held against.
    plan = Decision(()) if made is None else made[1]
    verdict = _verdict(state, instance, plan, jobs, limits)
    if made is not None:
        verdict = _guarded(state, instance, verdict, own is not None)
    return Judgement(
        instance,
        verdict,
        Needs((), starts_now=False),
        None if made is None else made[0],
        state.system,
        tuple(state.read),
        tuple(state.assumed),
        {name: tuple(lines) for name, lines in state.unmodelled.items() if name in state.jobs},
        counted=state.counted,
    )


def _verdict(
    state: State, instance: Instance, plan: Plan | Decision, jobs: Sequence[int] | None, limits: dict[str, Any]
) -> Verdict:
    """The verdict on a plan, or on victims; the exact question of fair sharing is asked apart."""
    if isinstance(plan, Plan):
        return judge_decision(instance, plan, jobs=jobs, **_compared(instance), **limits)
    meant = jobs if plan.start is None else plan.start or range(len(instance.job_priority))
    starts = None if plan.start is None else bool(plan.start)
    if isinstance(state.model, Snapshot) and state.model.config.fair:
        return fair_verdict(state.model, instance, plan.evict, starts)
    return judge_decision(instance, plan.evict, jobs=meant, starts=starts, **_compared(instance), **limits)


def _own(state: State, instance: Instance, jobs: list[str]) -> Decision | None:
    """The decision of the scheduler's own program about some jobs; None if it has none for them."""
    made = decide(state, jobs)
    if made is None or not made.outcomes:
        return None
    state.assumed += [note for note in made.notes if note not in state.assumed]
    units = {name: u for u, name in enumerate(instance.unit_names)}
    named = {name: j for j, name in enumerate(instance.job_names)}
    if any(name not in units for name in made.evict):
        return None
    evict = tuple(sorted(units[name] for name in made.evict))
    return Decision(evict, tuple(sorted(named[name] for name in made.start if name in named)))


#: Verdicts that accuse somebody.
_ACCUSATIONS = ("ineligible", "does not start", "needless", "dominated")


def _guarded(state: State, instance: Instance, verdict: Verdict, own: bool) -> Verdict:
    """The verdict, or "unknown" if the model lacks a feature of the job, or is narrower than the scheduler's rules."""
    if verdict.kind not in _ACCUSATIONS:
        return verdict
    features = [line for name, lines in state.unmodelled.items() if name in state.jobs for line in lines]
    unknown: dict[str, Any] = {"kind": "unknown", "proof": "", "evidence": None, "ineligible": (), "needless": ()}
    if features:
        more = f" (and {len(features) - 1} more)" if len(features) > 1 else ""
        return dataclasses.replace(verdict, sentence=f"{features[0]} is not modelled{more}", witness=None, **unknown)
    made = None if own else _own(state, instance, list(state.jobs))
    if own or _same(made, verdict):
        if verdict.kind in ("ineligible", "does not start"):
            sentence = "the scheduler's own rules decide the same, and the model is narrower than these rules here"
            return dataclasses.replace(verdict, sentence=sentence, witness=None, **unknown)
        if verdict.kind == "needless":
            sentence = f"dominated: the scheduler's own rules decide the same, but {verdict.sentence}"
            return dataclasses.replace(verdict, kind="dominated", sentence=sentence, needless=())
        return verdict
    if made is not None and _in_a_cycle(state, instance, verdict):
        sentence = "the scheduler decides the same in a cycle of all waiting jobs, in which others come first"
        return dataclasses.replace(verdict, sentence=sentence, witness=None, **unknown)
    return verdict


def _same(made: Decision | None, verdict: Verdict) -> bool:
    return made is not None and made.evict == verdict.evict and bool(made.start) == bool(verdict.jobs)


def _in_a_cycle(state: State, instance: Instance, verdict: Verdict) -> bool:
    """Whether the scheduler's own program evicts the same for the only job in a whole cycle."""
    made = decide(state, None)
    names = {instance.unit_names[u] for u in verdict.evict}
    if made is None or len(state.jobs) != 1:
        return False
    return any(one.job in state.jobs and set(one.evicts) == names for one in made.outcomes)


def _guarded_needs(needs: Needs, unmodelled: dict[str, tuple[str, ...]]) -> Needs:
    """What it takes, without a claim that the model cannot make."""
    features = [line for lines in unmodelled.values() for line in lines]
    if not features or not (needs.starts_now or needs.cannot or needs.proof):
        return needs
    cannot = f"unknown: {features[0]} is not modelled"
    return dataclasses.replace(needs, starts_now=False, cannot=cannot, complete=False, proof="")


def _cycle(
    documents: list[Document], state: State, best: Judgement, options: Options, limits: dict[str, Any]
) -> tuple[CycleRow, ...] | None:
    """The outcome of each waiting job in a whole cycle of the scheduler's own program, with verdicts on evictions."""
    made = decide(state, None)
    if made is None:
        return None
    rows, judged = [], 0
    for one in made.outcomes:
        row = CycleRow(one.job, one.outcome, one.why, one.evicts)
        if one.evicts and judged < MOST_JUDGED:
            judged += 1
            alone = dataclasses.replace(options, jobs=(one.job,), flavors="chosen")
            (asked, instance) = _questions(documents, (), alone)[0]
            decision = _named(instance, one.evicts)
            if decision is not None:
                verdict = _guarded(asked, instance, _verdict(asked, instance, decision, None, limits), own=True)
                row = dataclasses.replace(row, verdict=verdict.kind, sentence=verdict.sentence)
        rows.append(row)
    return tuple(rows)


def _named(instance: Instance, names: Iterable[str]) -> Decision | None:
    """The decision to evict units of these names; None if the instance lacks one."""
    units = {name: u for u, name in enumerate(instance.unit_names)}
    if any(name not in units for name in names):
        return None
    return Decision(tuple(sorted(units[name] for name in names)))


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
    """Of one question per combination of flavors: the one in which most jobs start, then the decision fares best."""
    if len(judged) == 1:
        return judged[0]
    best = max(judged, key=_worth)
    others = [one for one in judged if one is not best]
    line = f"{len(judged)} combinations of flavors were asked about; shown is the one in which the decision fares best"
    if best.decision is None:
        line = f"{len(judged)} combinations of flavors were asked about; shown is the best one"
    better = [one for one in others if _beats(one.verdict.front, best.verdict)]
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


def _worth(one: Judgement) -> tuple[Any, ...]:
    """The sort key of a combination: jobs that can start, the verdict on the decision, then the front's first point."""
    front = one.verdict.front
    started = max((int(point.plan.start.sum()) for point in front), default=0)
    cost = tuple(-front[0].values[name] for name in one.verdict.objectives) if front else ()
    kind = _KINDS.index(one.verdict.kind)
    return (
        (started, -front[0].values["top_priority"] if front else 0, cost) if one.decision is None else (kind, started)
    )


def _beats(front: Sequence[Point], verdict: Verdict) -> bool:
    """Whether a point of the front is no worse in all objectives and better in one, and starts the job as well."""
    mine = [verdict.values[name] for name in verdict.objectives]
    for point in front:
        theirs = [point.values[name] for name in verdict.objectives]
        if point.plan.start.all() and theirs != mine and all(a <= b for a, b in zip(theirs, mine, strict=True)):
            return True
    return False
