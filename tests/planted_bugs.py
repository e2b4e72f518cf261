"""Thirty schedulers with one mistake each, six per problem: what `check_scheduler` is there to find.

Most answer another instance than the one they were asked: they read it wrongly, and are right about what they read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from taskgraph_examples import list_schedule

from mlsched.core.fields import UNLIMITED
from mlsched.core.record import specs
from mlsched.core.registry import registry


@dataclasses.dataclass(frozen=True)
class Planted:
    """A problem, the mistake, a maker of the scheduler (a fresh one each time), and how it is to be called.

    check: the one that is to find it, so that none is found for another reason than its mistake.
    """

    problem: str
    mistake: str
    make: Callable[[], Callable[..., Any]]
    calling: dict[str, Any] = dataclasses.field(default_factory=dict)
    check: str = "feasible"

    @property
    def name(self) -> str:
        return f"{self.problem}: {self.mistake}"


#: Calls after which two of them go wrong.
PATIENCE = 300
GOOD = {"preemption": "fitgpp", "quality": "slaq", "placement": "tetris", "workers": "marginal-gain"}


def good(problem: str) -> Callable[..., Any]:
    if problem == "taskgraph":
        return list_schedule
    return registry().solvers[problem, GOOD[problem]].function


def changed(instance, **fields: Any):
    """A copy with other fields, unchecked: `replace` would ask for what a rule is not shown."""
    made = object.__new__(type(instance))
    shown = {name: value for name, value in vars(instance).items() if name in specs(type(instance))}
    vars(made).update({**shown, **fields})
    return made


def misread(problem: str, **changes: Any) -> Callable[[], Callable[..., Any]]:
    """A good rule that takes fields for something else; a change is a value or a function of the instance."""

    def make() -> Callable[..., Any]:
        def rule(instance, *, rng):
            fields = {k: v(instance) if callable(v) else v for k, v in changes.items()}
            return good(problem)(changed(instance, **fields), rng=rng)

        return rule

    return make


def mistaken(change: Callable[..., Any]) -> Callable[[], Callable[..., Any]]:
    """A rule that is called as it is."""
    return lambda: change


# -- preemption -------------------------------------------------------------------------------------------------------


def first_fit(instance, *, rng):
    """Forgets where it has just placed a TE job."""
    room = instance.node_free + instance.node_draining
    fits = [(room >= demand).all(axis=1) for demand in instance.te_demand]
    return instance.plan_type(te_node=[int(f.argmax()) if f.any() else -1 for f in fits], victims=[])


def takes_capacity_for_free(instance, *, rng):
    room, te_node = instance.node_capacity.copy(), []
    for demand in instance.te_demand:
        fits = (room >= demand).all(axis=1)
        te_node.append(int(fits.argmax()) if fits.any() else -1)
        if fits.any():
            room[te_node[-1]] -= demand
    return instance.plan_type(te_node=te_node, victims=[])


def names_victims_twice(instance, *, rng):
    made = good("preemption")(instance, rng=rng)
    return made.replace(victims=np.append(made.victims, made.victims[:1]))


def tires() -> Callable[..., Any]:
    """Right for 300 calls; from then on every TE job waits."""
    calls = 0

    def rule(instance, *, rng):
        nonlocal calls
        calls += 1
        made = good("preemption")(instance, rng=rng)
        return made if calls <= PATIENCE else made.replace(te_node=np.full(len(made.te_node), -1), victims=())

    return rule


# -- quality ----------------------------------------------------------------------------------------------------------


def everything_to_each(instance, *, rng):
    """Forgets what it has just given away."""
    return instance.plan(np.minimum(instance.most[instance.running], instance.available))


def rest_to_the_first(instance, *, rng):
    """Above its cap."""
    cores = np.full(len(instance.running), instance.least)
    if len(cores):
        cores[0] += instance.available - cores.sum()
    return instance.plan(cores)


def remembers_by_size() -> Callable[..., Any]:
    """Gives the answer that it gave to an earlier instance of as many jobs."""
    known: dict[int, Any] = {}

    def rule(instance, *, rng):
        return known.setdefault(len(instance.most), good("quality")(instance, rng=rng))

    return rule


def own_stream() -> Callable[..., Any]:
    """Draws from a stream of its own."""
    stream = np.random.default_rng(7)

    def rule(instance, *, rng):
        cores = np.full(len(instance.running), instance.least)
        for _ in range(instance.available - int(cores.sum())):
            room = np.flatnonzero(cores < instance.most[instance.running])
            if room.size:
                cores[stream.choice(room)] += 1
        return instance.plan(cores)

    return rule


# -- placement --------------------------------------------------------------------------------------------------------


def each_alone(instance, *, rng):
    """Forgets where it has just placed a job."""
    tasks = np.zeros((2, len(instance.job_type), len(instance.server_free)), dtype=np.int64)
    fields = ("job_type", "job_speed", "job_workers", "job_ps", "worker_demand", "ps_demand")
    for j in range(len(instance.job_type)):
        one = changed(instance, **{name: getattr(instance, name)[j : j + 1] for name in fields})
        made = good("placement")(one, rng=rng)
        tasks[:, j] = made.workers[0], made.ps[0]
    return instance.plan_type(workers=tasks[0], ps=tasks[1])


def half_placed(instance, *, rng):
    """Loses a worker of jobs that have two on one server."""
    made = good("placement")(instance, rng=rng)
    return made.replace(workers=np.minimum(made.workers, 1))


# -- workers ----------------------------------------------------------------------------------------------------------


def share_alone(instance, *, rng):
    """Forgets what it has just given away."""
    need = instance.worker_demand + instance.ps_demand
    pair = (need <= instance.capacity).all(axis=1) & (instance.cost[:, 0, 0] < 2**53)
    return instance.plan_type(workers=pair.astype(int), ps=pair.astype(int))


def no_ps_for_the_last(instance, *, rng):
    made = good("workers")(instance, rng=rng)
    ps = made.ps.copy()
    ps[-1:] = 0
    return made.replace(ps=ps)


def sorts_in_place(instance, *, rng):
    """Writes to what it was asked about."""
    made = good("workers")(instance, rng=rng)
    instance.waiting.setflags(write=True)
    instance.waiting.sort()
    return made


def counts_on_a_job(instance, *, rng):
    """Has never seen an empty cluster."""
    longest = max(instance.waiting.tolist())
    return good("workers")(changed(instance, waiting=np.minimum(instance.waiting, longest)), rng=rng)


# -- taskgraph --------------------------------------------------------------------------------------------------------


def drops_what_runs(instance, *, rng):
    made = list_schedule(instance, rng=rng)
    fixed = np.isin(made.task, instance.fixed_task) & (made.iteration == instance.finished[made.job])
    return made.replace(
        **{name: getattr(made, name)[~fixed] for name in ("job", "iteration", "task", "node", "start", "gpu")}
    )


def starts_all(snapshot, *, rng):
    """Forgets what it has just started; a rule that decides now."""
    free, starts = snapshot.free, []
    for task in np.flatnonzero(snapshot.startable).tolist():
        fits = np.flatnonzero(snapshot.may_start_on(task) & (free >= snapshot.demand[task]).all(axis=1))
        if fits.size:
            starts.append((task, int(fits[0])))
    return snapshot.round(starts)


def gives_up() -> Callable[..., Any]:
    """A rule that decides now and starts nothing any more when it has been asked 300 times in a run."""
    rule = registry().solvers["taskgraph", "fifo"].function

    def stateful(snapshot, *, memory, rng):
        asked = (memory or 0) + 1
        return (rule(snapshot, rng=rng) if asked <= PATIENCE else snapshot.round()), asked

    return stateful


def _without_last(name: str) -> Callable[[Any], Any]:
    def change(instance):
        table = getattr(instance, name).copy()
        table[:, 1:] = 0
        return table

    return change


def _zeros(name: str) -> Callable[[Any], Any]:
    return lambda instance: np.zeros_like(getattr(instance, name))


BUGS = (
    Planted("preemption", "forgets its own placements", mistaken(first_fit)),
    Planted("preemption", "ignores the preemption limit", misread("preemption", preemption_limit=UNLIMITED)),
    Planted("preemption", "takes capacity for free", mistaken(takes_capacity_for_free)),
    Planted("preemption", "looks at one resource", misread("preemption", te_demand=_without_last("te_demand"))),
    Planted("preemption", "names a victim twice", mistaken(names_victims_twice)),
    Planted("preemption", "goes wrong after 300 calls", tires, check="reproducible"),
    Planted("quality", "forgets what it gave", mistaken(everything_to_each)),
    Planted("quality", "ignores reservations", misread("quality", reserved=0)),
    Planted("quality", "gives less than the least", misread("quality", least=0)),
    Planted("quality", "ignores caps", mistaken(rest_to_the_first)),
    Planted("quality", "remembers by size", remembers_by_size),
    Planted("quality", "draws from a stream of its own", own_stream, check="reproducible"),
    Planted("placement", "forgets its own placements", mistaken(each_alone)),
    Planted("placement", "ignores types that must be apart", misread("placement", apart=_zeros("apart"))),
    Planted("placement", "ignores the cap on new jobs", misread("placement", most_new=UNLIMITED)),
    Planted("placement", "ignores the cap on jobs", misread("placement", most_jobs=UNLIMITED)),
    Planted("placement", "takes PSs for free", misread("placement", ps_demand=_zeros("ps_demand"))),
    Planted("placement", "places a part of a job", mistaken(half_placed)),
    Planted("workers", "forgets what it gave", mistaken(share_alone)),
    Planted("workers", "workers without a PS", mistaken(no_ps_for_the_last)),
    Planted(
        "workers", "trains where it cannot", misread("workers", cost=lambda i: np.where(i.cost == 2**53, 1, i.cost))
    ),
    Planted("workers", "looks at one resource", misread("workers", worker_demand=_without_last("worker_demand"))),
    Planted("workers", "changes the instance", mistaken(sorts_in_place), check="untouched"),
    Planted("workers", "fails without jobs", mistaken(counts_on_a_job), check="answers"),
    Planted("taskgraph", "ignores transfers", misread("taskgraph", edge_delay=_zeros("edge_delay"))),
    Planted("taskgraph", "ignores arrivals", misread("taskgraph", arrival=_zeros("arrival"))),
    Planted(
        "taskgraph",
        "ignores which nodes may run a task",
        misread("taskgraph", eligible=lambda i: np.ones_like(i.eligible)),
    ),
    Planted("taskgraph", "drops what runs", mistaken(drops_what_runs)),
    Planted("taskgraph", "forgets what it started", mistaken(starts_all), {"called": "online"}),
    Planted("taskgraph", "gives up after 300 rounds", gives_up, {"called": "online", "stateful": True}, "runs"),
)
