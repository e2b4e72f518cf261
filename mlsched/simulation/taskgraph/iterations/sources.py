"""Where workloads of the iteration engine come from: traces and drawn gangs, and the task engine's own as they are."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from mlsched.core.errors import InvalidInput, shortened
from mlsched.core.fields import UNLIMITED, IntArray
from mlsched.core.params import Count, Number, Positive, Range, checked
from mlsched.instances.traces import Trace
from mlsched.simulation.nodes import RESOURCES
from mlsched.simulation.taskgraph import sources as of_tasks
from mlsched.simulation.taskgraph.iterations.joined import joined
from mlsched.simulation.taskgraph.iterations.mlfs import mlfs
from mlsched.simulation.taskgraph.iterations.shape import shapes
from mlsched.simulation.taskgraph.iterations.workload import WHOLE, Jobs
from mlsched.simulation.taskgraph.iterations.workload import oversize as too_large
from mlsched.simulation.taskgraph.workload import Workload

Floats = npt.NDArray[np.float64]

#: GPUs (or CPUs) of a node of a cluster that is made for a trace.
A_NODE = 8
#: A GPU in thousandths, as traces count.
GPU = 1000
#: Tasks that a job may have.
MOST_TASKS = 10**5
#: Ticks that jobs should run at least, so that rounding ends up to a tick changes little.
SHORT = 5
#: GPUs of gangs that are drawn -> share of the jobs.
GANGS = {1: 0.8, 2: 0.08, 4: 0.07, 8: 0.05}


def from_tasks(workload: Workload, *, gang: bool = True) -> Jobs:
    """A workload of the task engine as it is: a template a job, jobs in order of arrival.

    gang: all tasks of a job start and pause in one round.
    """
    horizon, order = workload.horizon, np.argsort(workload.horizon.arrival, kind="stable")
    count = len(horizon.arrival)
    classes, class_of = np.unique(horizon.eligible, axis=0, return_inverse=True)
    of_jobs = ("arrival", "deadline", "urgency", "required", "min_iterations", "max_iterations")
    shared = ("resources", "node_capacity", "accuracy", "movement", "accuracy_at", "tick_ms")
    tasks = ("demand", "parameters", "role", "replica")
    edges = ("edge_from", "edge_to", "edge_lag", "edge_volume", "edge_delay")
    return Jobs(
        gpu_unit=horizon.gpu_unit,
        **{name: getattr(horizon, name)[order] for name in of_jobs},
        **{name: getattr(horizon, name) for name in (*shared, *tasks, *edges)},
        eligible=classes,
        task_class=class_of.reshape(-1),
        gang=np.full(count, int(gang)),
        accuracy_table=np.arange(count),
        task_template=horizon.task_job,
        duration=workload.true_duration,
        estimate=horizon.duration,
        template=order,
        scale=np.full(count, WHOLE),
        told=np.full(count, WHOLE),
        source=f"{workload.source}; run by iterations",
    )


def _converted(graph: str) -> Callable[..., Jobs]:
    """The maker of a synthetic workload of the task engine, with its parameters; its jobs are gangs here."""

    @functools.wraps(of_tasks.generated)
    def made(**options: Any) -> Jobs:
        return from_tasks(of_tasks.generated(**{**options, "graph": graph}))

    return made


@checked
def gangs(
    *,
    jobs: Count = 1000,
    seed: int = 0,
    nodes: Count = 8,
    gpus: Count = 8,
    length: Annotated[float, Range(1)] = 60.0,
    iteration: Count = 1,
    load: Positive = 0.8,
    error: Annotated[float, Range(0, 0.5)] = 0.0,
    shape: Literal["fewest", "anywhere"] = "anywhere",
    pause_cost: Annotated[float, Range(0, 10**6)] = 0.0,
    movement: Literal["anytime", "between_iterations", "none"] = "none",
) -> Jobs:
    """Gangs of 1, 2, 4 and 8 GPUs (80, 8, 7 and 5 % of the jobs) that arrive at random, a Poisson process.

    Running times are log-normal with median `length` ticks (sigma 1.5), in iterations of `iteration` ticks; a tick is a
    minute. load: work over what the cluster's GPUs do while jobs arrive. error: schedulers are told lengths off by up
    to twice this share. shape: "fewest" - a job has a task on each of as few nodes as hold it; "anywhere" - a task per
    GPU. pause_cost: seconds; movement: as for a log.
    """
    rng = np.random.default_rng([seed, jobs])
    sizes = [size for size in GANGS if size <= nodes * gpus]
    share = np.array([GANGS[size] for size in sizes])
    kind = rng.choice(len(sizes), jobs, p=share / share.sum())
    ticks = np.maximum(np.rint(length * np.exp(1.5 * rng.standard_normal(jobs))), 1).astype(np.int64)
    work = float((np.array(sizes)[kind] * ticks).sum())
    gaps = rng.exponential(work / (load * nodes * gpus * jobs), jobs)
    source = (
        f"synthetic:gangs jobs={jobs} seed={seed} nodes={nodes} gpus={gpus} length={length:g} iteration={iteration} "
        f"load={load:g} error={error:g}"
        + (f" shape={shape}" if shape != "anywhere" else "")
        + (f" pause_cost={pause_cost:g}" if pause_cost else "")
        + (f" movement={movement}" if movement != "none" else "")
    )
    capacity = np.full((nodes, 1), gpus)
    asked = np.array(sizes)[kind][:, None]
    return _gangs(
        capacity=capacity,
        resources=("gpu",),
        tick_ms=60_000,
        tasks=shapes(asked, capacity, 0, shape, 1),
        pause_cost=np.full(jobs, round(pause_cost * WHOLE / 60)),
        movement=movement,
        arrival=np.floor(np.cumsum(gaps) - gaps[:1]).astype(np.int64),
        ticks=ticks.astype(np.float64),
        iteration=float(iteration),
        factor=1 + error * rng.uniform(-2, 2, jobs),
        source=source,
    )


#: Name -> maker of a workload.
SOURCES: Mapping[str, Callable[..., Jobs]] = {
    **{name: _converted(name) for name in of_tasks.SOURCES},
    "gangs": gangs,
    "mlfs-cluster": mlfs,
    "mlfs-join": joined,
}


@checked
def from_trace(
    trace: Trace,
    nodes: IntArray | None,
    *,
    seed: int = 0,
    tick: Number = 60,
    iteration: Number = 60,
    load: Positive = 0.8,
    error: Annotated[float, Range(0, 0.5)] = 0.0,
    arrivals: Positive = 1.0,
    oversize: Literal["refuse", "drop"] = "refuse",
    shape: Literal["log", "fewest", "anywhere"] = "log",
    pause_cost: Annotated[float, Range(0, 10**6)] = 30.0,
    movement: Literal["anytime", "between_iterations", "none"] = "anytime",
) -> Jobs:
    """A trace's arrivals, GPUs and durations as gangs: a task is what a job holds on one node, and has no edges.

    shape: "fewest" - a job of g GPUs has a task on each of as few nodes as hold it: on nodes of G GPUs one of g, or
    full ones and a remainder (see `shape`); "log" - so it is, but where the log says on how many nodes a job ran, it
    has so many tasks, as equal as they can be, and where it states each pod of a job, a task is a pod; "anywhere" - g
    tasks of one GPU, which may be anywhere.
    pause_cost: whenever a job goes on after a pause or a move, it holds its GPUs for so many seconds without progress;
    a column of the log goes before. movement: where runs may pause, "anytime" lets them go on on other nodes,
    "none" on their own alone.
    A job with a share of a GPU, or without one, is one task with that share; where there is such a job, the GPUs of a
    node are told apart (`gpu_unit`). Where no job asks for a GPU, CPUs are counted instead.
    tick: seconds; iteration: so many seconds are one iteration, as nearly as whole iterations allow (a job has at least
    one), so that rules have something to stop after. What the trace says beyond GPUs is shared by the tasks, a GPU
    being 1000; a resource that the cluster has none of is left out, and jobs that then ask for nothing. Nothing is
    drawn but errors of estimates: `error`, evenly, up to twice this share off. Graphs, deadlines and accuracies are in
    no trace; there are none. arrivals: factor on the arrival rate. oversize: "drop" leaves out jobs that never fit.
    nodes=None: as many nodes of eight GPUs (or CPUs) as make this `load`, and hold the largest job.
    """
    if not len(trace.submit):
        raise InvalidInput(f"{trace.source}: holds no job; check limit")
    asked, kept, said = _asked(trace, nodes)
    submit = trace.submit[kept]
    counted = _counted(asked)
    parts = _parts(trace, kept, np.flatnonzero(asked.any(axis=0)))
    sizes = np.maximum(-(-asked[:, counted] // 1000), [max(1, len(rows)) for rows in parts] or 1)
    _refuse_large(trace, kept, sizes)
    ticks = np.maximum(trace.duration_ms[kept], 1) / (1000 * tick)
    demand = _by_gpu(asked, parts, counted)
    arrival = np.floor((submit - submit[0]) / (arrivals * tick)).astype(np.int64)
    if nodes is None:
        nodes, how = _nodes(asked, demand, arrival, ticks, load)
        said.append(how)
    if late := _cut(submit, arrival, arrivals * tick):
        said.append(f"submits rounded down by up to {late:.4g} s")
    costs = np.where(trace.pause_cost_ms[kept] < 0, round(1000 * pause_cost), trace.pause_cost_ms[kept])
    if len(ticks) and np.median(ticks) < SHORT:
        said.append(f"half the jobs run less than {SHORT} ticks, and ends are rounded up to one: set tick to less")
    used = np.flatnonzero(demand.any(axis=0) | nodes.any(axis=0))
    gpu = RESOURCES.index("gpu_milli")
    of_used = used.tolist().index(counted)
    of_log = [rows[:, used] for rows in parts]
    tasks = shapes(asked[:, used], nodes[:, used], of_used, shape, 1000, trace.node_count[kept], of_log)
    made = _gangs(
        gpu_unit=GPU if (demand[:, gpu] % GPU).any() and not (nodes[:, gpu] % GPU).any() else 0,
        capacity=nodes[:, used],
        tasks=tasks,
        pause_cost=costs * (WHOLE // 1000) // tick,
        movement=movement,
        resources=tuple(RESOURCES[r] for r in used.tolist()),
        tick_ms=1000 * tick,
        arrival=arrival,
        ticks=ticks,
        iteration=iteration / tick,
        factor=1 + error * np.random.default_rng([seed, len(sizes)]).uniform(-2, 2, len(sizes)),
        source=f"{trace.source}; gangs; shape={shape}; a pause costs {_costs(costs)}; movement={movement}; "
        f"ticks of {tick} s; iterations of {iteration} s; estimates off by {error:g}; "
        f"arrival rate x {arrivals:g}{''.join(f'; {sentence}' for sentence in said)}",
    )
    made = made.replace(**_of_users(trace, kept, tick))
    return _without_oversize(made) if oversize == "drop" else made


def _parts(trace: Trace, kept: IntArray, there: IntArray) -> list[IntArray]:
    """What the log says of each task of each job (tasks x RESOURCES), of the resources that count; empty: nothing."""
    if not trace.tasks:
        return []
    counts = np.isin(np.arange(len(RESOURCES)), there)
    return [np.array(trace.tasks[row], dtype=np.int64).reshape(-1, len(RESOURCES)) * counts for row in kept.tolist()]


def _by_gpu(asked: IntArray, parts: list[IntArray], counted: int) -> IntArray:
    """What a GPU (or CPU) comes with, rounded up: of each job, or of each part where the log states its parts."""
    rows = np.concatenate([part if len(part) else asked[j : j + 1] for j, part in enumerate(parts)] or [asked])
    return np.asarray(-(-rows // np.maximum(-(-rows[:, counted] // 1000), 1)[:, None]))


def _cut(submit: IntArray, arrival: IntArray, tick: float) -> float:
    """Seconds by which submits are rounded down to ticks at most."""
    return round(float(((submit - submit[0]) - arrival * tick).max(initial=0)), 3)


def _costs(milliseconds: IntArray) -> str:
    """Costs of pauses in words."""
    low, high = milliseconds.min() / 1000, milliseconds.max() / 1000
    return f"{low:g} s" if low == high else f"{low:g} to {high:g} s"


def _refuse_large(trace: Trace, kept: IntArray, sizes: IntArray) -> None:
    """Refuse jobs of more tasks than any cluster here has, before memory is filled with them."""
    largest = int(sizes.argmax())
    if sizes[largest] > MOST_TASKS or np.unique(sizes).sum() > 10 * MOST_TASKS:
        name = shortened(repr(trace.ids[int(kept[largest])]))
        raise InvalidInput(
            f"{shortened(trace.source, 100)}: job {name} asks for {sizes[largest]} GPUs or CPUs: jobs must be of at "
            f"most {MOST_TASKS}, and of fewer sizes if they are so large; check the unit of the column"
        )


def _of_users(trace: Trace, kept: IntArray, tick: int) -> dict[str, Any]:
    """Whose the jobs are, what their users said of their running times, and what the log calls them."""
    limit = trace.time_limit_ms[kept]
    ticks = np.where(limit < 0, 0, np.minimum(np.maximum(-(-limit // (1000 * tick)), 1), UNLIMITED))
    users = [trace.user[row] for row in kept.tolist()]
    names = sorted(set(users)) if any(users) else []
    number = {name: k for k, name in enumerate(names)}
    return {
        "time_limit": ticks,
        "user": np.array([number.get(user, 0) for user in users], dtype=np.int64),
        "user_names": tuple(name or "(unknown)" for name in names),
        "job_names": tuple(trace.ids[row] for row in kept.tolist()),
    }


def _asked(trace: Trace, nodes: IntArray | None) -> tuple[IntArray, IntArray, list[str]]:
    """What the jobs ask for (jobs x RESOURCES), which jobs of the trace they are, in order of submit, and what is said.

    A resource that the cluster has none of is left out, unless that would leave nothing to ask for.
    """
    order, said = np.argsort(trace.submit, kind="stable"), []
    asked = np.stack([trace.cpu_milli, trace.memory_mib, trace.gpus_milli], axis=1)[order].clip(0)
    there = range(len(RESOURCES)) if nodes is None else np.flatnonzero(nodes.any(axis=0)).tolist()
    lacking = [r for r in np.flatnonzero(asked.any(axis=0)).tolist() if r not in there]
    if lacking and _counted(asked) in there:
        asked[:, lacking] = 0
        names = " and ".join(RESOURCES[r] for r in lacking)
        said.append(f"{names} left out: the cluster states none")
        nothing = ~asked.any(axis=1)
        if nothing.any():
            said.append(f"{nothing.sum()} jobs that ask for nothing else left out")
            asked, order = asked[~nothing], order[~nothing]
    return asked, order, said


def _counted(asked: IntArray) -> int:
    """The resource by which a job's tasks are counted: GPUs, and CPUs where no job asks for a GPU."""
    gpu, cpu = RESOURCES.index("gpu_milli"), RESOURCES.index("cpu_milli")
    return gpu if asked[:, gpu].any() or not asked[:, cpu].any() else cpu


def _nodes(asked: IntArray, demand: IntArray, arrival: IntArray, ticks: Floats, load: float) -> tuple[IntArray, str]:
    """As many equal nodes as make a load, by what tasks are counted by; and what is said of it."""
    counted = _counted(asked)
    span = max(1.0, float(arrival[-1]), float(ticks.max()))
    work = float((asked[:, counted] * ticks).sum()) / 1000
    if not work:
        raise InvalidInput("the log: no job asks for a GPU or a CPU, by which nodes would be counted; give a cluster")
    largest = -(-int(asked[:, counted].max()) // (1000 * A_NODE))
    count = max(largest, round(work / (span * load * A_NODE)))
    node = A_NODE * demand.max(axis=0)
    node[counted] = 1000 * A_NODE
    how = f"no cluster given: nodes made for a load of {load:g}"
    if span > max(1, arrival[-1]):
        how += " over the time of the longest job, which is longer than that of all arrivals"
    return np.repeat([node], count, axis=0), how + (", and the largest job" if count == largest else "")


def _gangs(
    *,
    capacity: IntArray,
    resources: tuple[str, ...],
    gpu_unit: int = 0,
    tick_ms: int,
    tasks: list[IntArray],
    pause_cost: IntArray,
    movement: str,
    arrival: IntArray,
    ticks: Floats,
    iteration: float,
    factor: Floats,
    source: str,
) -> Jobs:
    """Jobs of these `tasks` (of each job: tasks x resources); of equal tasks, they share a template.

    Lengths of iterations are rounded down to 10^-6 ticks, so that whole ticks of running time come out as they are.
    """
    count = len(arrival)
    kinds = {id(rows): (len(rows), *rows.ravel().tolist()) for rows in tasks}
    alike = {kind: number for number, kind in enumerate(sorted(set(kinds.values())))}
    template = np.array([alike[kinds[id(rows)]] for rows in tasks], dtype=np.int64)
    first = np.unique(template, return_index=True)[1].tolist()
    owner = np.repeat(np.arange(len(alike)), [len(tasks[job]) for job in first])
    rounds = np.clip(np.rint(ticks / iteration), 1, 10**6).astype(np.int64)
    scale = np.maximum(np.floor(ticks / rounds * WHOLE), 1).astype(np.int64)
    none = np.zeros(0, dtype=np.int64)
    return Jobs(
        resources=resources,
        gpu_unit=gpu_unit,
        tick_ms=tick_ms,
        node_capacity=capacity,
        eligible=np.ones((1, len(capacity)), dtype=np.int64),
        accuracy=np.zeros((1, 1), dtype=np.int64),
        gang=np.ones(len(alike), dtype=np.int64),
        accuracy_table=np.zeros(len(alike), dtype=np.int64),
        task_template=owner,
        duration=np.ones(len(owner), dtype=np.int64),
        estimate=np.ones(len(owner), dtype=np.int64),
        demand=np.concatenate([tasks[job] for job in first]),
        task_class=np.zeros(len(owner), dtype=np.int64),
        parameters=np.zeros(len(owner), dtype=np.int64),
        edge_from=none,
        edge_to=none,
        edge_lag=none,
        edge_volume=none,
        edge_delay=none,
        template=template,
        movement=movement,
        pause_cost=pause_cost,
        arrival=arrival,
        scale=scale,
        told=np.maximum(np.rint(scale * factor), 1).astype(np.int64),
        deadline=np.full(count, UNLIMITED),
        urgency=np.zeros(count, dtype=np.int64),
        required=np.zeros(count, dtype=np.int64),
        min_iterations=rounds,
        max_iterations=rounds,
        source=source,
    )


def _without_oversize(jobs: Jobs) -> Jobs:
    """The jobs that fit the cluster; those that never do are left out, and the source says how many."""
    fits = np.array([not too_large(jobs, template) for template in range(len(jobs.gang))])
    kept = np.flatnonzero(fits[jobs.template])
    dropped = len(jobs.template) - len(kept)
    return jobs.replace(**jobs.only(kept), source=f"{jobs.source}; {dropped} jobs that never fit left out")
