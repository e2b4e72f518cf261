"""The decision of a scheduler's own program about a state, by names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mlsched_admission.instances.states.state import State
from mlsched_admission.instances.systems import kube
from mlsched_admission.instances.systems.kai import actions
from mlsched_admission.instances.systems.kai.model import PENDING, PIPELINED, RELEASING, Session
from mlsched_admission.instances.systems.kueue import cycle
from mlsched_admission.instances.systems.kueue.snapshot import Snapshot

#: System -> the name of its own heuristic.
OWN_RULES = {"kueue": "kueue", "kai": "kai", "kubernetes": "kube"}
#: Rule -> the system that it copies, and the system's name in sentences.
COPIES = {
    "kueue": ("kueue", "Kueue"),
    "kube": ("kubernetes", "Kubernetes"),
    "kep-5710": ("kubernetes", "Kubernetes"),
    "kai": ("kai", "KAI"),
    "slurm": ("slurm", "Slurm"),
}


@dataclass(frozen=True)
class Outcome:
    """Outcome of one waiting job: starts, preempts, or the reason of waiting; its victims.

    Attributes:
        later: The outcome once the queues have been walked, if it differs.
    """

    job: str
    outcome: str
    why: str = ""
    evicts: tuple[str, ...] = ()
    later: str = ""


@dataclass(frozen=True)
class Decided:
    """Evicted and moved units, jobs that start now or after the evictions, and the outcome of each job."""

    evict: tuple[str, ...]
    start: tuple[str, ...]
    move: tuple[str, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    notes: tuple[str, ...] = field(default=())


def decision_of_system(state: State, jobs: Sequence[str] | None = None) -> Decided | None:
    """Return the decision of the state's own scheduler about some jobs (None: a whole cycle or session).

    None is returned for systems without a program of their own here.
    """
    model = state.model() if callable(state.model) else state.model
    if isinstance(model, Snapshot):
        return _kueue_decision(model, jobs)
    if isinstance(model, kube.Cluster):
        return _kube_decision(model, jobs)
    return decided_session(model, jobs) if isinstance(model, Session) else None


def _kueue_decision(snapshot: Snapshot, jobs: Sequence[str] | None) -> Decided:
    decision = cycle.run(snapshot, None if jobs is None else [snapshot.waiting[name] for name in jobs])
    later = cycle.outcomes_behind_heads(snapshot, decision) if jobs is None else {}
    outcomes = tuple(
        Outcome(name, why, decision.reasons.get(name, ""), tuple(decision.victims.get(name, ())), later.get(name, ""))
        for name, why in decision.why.items()
        if jobs is None or name in jobs
    )
    evicted = tuple(sorted({name for names in decision.victims.values() for name in names}))
    return Decided(evicted, (*decision.admitted, *decision.victims), outcomes=outcomes)


def _kube_decision(cluster: kube.Cluster, jobs: Sequence[str] | None) -> Decided:
    names = list(cluster.waiting) if jobs is None else [name for name in jobs if name in cluster.waiting]
    evict: dict[str, None] = {}
    start, outcomes, notes = [], [], []
    for name in names:
        decision = cluster.decide_pod(name)
        victims = tuple(pod.name for pod in decision.victims)
        evict |= dict.fromkeys(victims)
        if decision.starts or decision.node:
            start.append(name)
        word = "starts" if decision.starts else "preempts" if decision.node else "waits"
        outcomes.append(Outcome(name, word, decision.why or f"on {decision.node}" * bool(decision.node), victims))
        if len(equal := cluster.equal_choices(decision)) > 1:
            notes.append(f"{name}: any of {len(equal)} equally good nodes; the scheduler looks at a sample of nodes")
    return Decided(tuple(evict), tuple(start), outcomes=tuple(outcomes), notes=tuple(notes))


def decided_session(session: Session, jobs: Sequence[str] | None) -> Decided:
    """Return the decision of a KAI session; the session is changed."""
    before = {pod: (pod.status, pod.node) for pod in session.all_pods()}
    actions.run(session, jobs=jobs)
    evictions, movers, starters = [], [], set()
    for pod, (status, _) in before.items():
        if status in (PENDING, RELEASING):
            if status == PENDING and pod.status != PENDING:
                starters.add(pod.job.name)
        elif pod.status in (RELEASING, PENDING):
            evictions.append(pod.name)
        elif pod.status == PIPELINED:
            movers.append(pod.name)
    evicts = tuple(sorted(evictions)) if len(starters) == 1 else ()  # several jobs share their victims
    outcomes = tuple(
        Outcome(job.name, "starts", evicts=evicts) if job.name in starters else Outcome(job.name, "waits")
        for job in session.jobs.values()
        if any(before[pod][0] == PENDING for pod in job.pods) and (jobs is None or job.name in jobs)
    )
    return Decided(tuple(sorted(evictions)), tuple(sorted(starters)), tuple(sorted(movers)), outcomes)
