"""Sources of quality workloads: Table 1's algorithms, recorded learning curves, or the jobs of a trace.

Arrivals are Poisson (Section 6.2.1), rounded down to integer seconds, the first at 0. The paper prints neither the cost
of an iteration nor the load of its cluster. `load` sets both: expected core-seconds of a job over the core-seconds of
the cluster between two arrivals. All interpretations of one seed draw the same jobs; only their scale differs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from mlsched.core.aliases import Data
from mlsched.core.arguments import ValidatedFields, validate_arguments
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import UNLIMITED, IntArray
from mlsched.core.losses.curves import FAMILIES
from mlsched.core.params import Count, CountOrNone, NotNegative, Positive, Range, Share, check_size, flatten_groups
from mlsched.instances.quality.histories import History, synthetic_mix
from mlsched.instances.quality.histories import recorded as recorded_history
from mlsched.instances.quality.table1 import TABLE_1, algorithm
from mlsched.instances.traces import Trace, algoperf, pollux
from mlsched.simulation.quality.workload import NANO, NO_TARGET, Workload

#: The testbed of Section 6.1: 20 machines of 32 cores.
PAPER_CORES = 640
#: Core-seconds of an iteration, mean over Table 1 and the jobs' lognormal spread (sigma 0.3).
MEAN_CORE_SECONDS = float(np.mean([row.core_seconds for row in TABLE_1]) * np.exp(0.3**2 / 2))


@dataclasses.dataclass(frozen=True)
class Sizes(ValidatedFields):
    """Parameters of `table1`; its docstring describes them."""

    jobs: Count = 160
    cores: Count = PAPER_CORES
    mean_arrival: NotNegative = 15.0
    load: Positive = 0.8
    iterations: Count = 100
    threshold: float = 0.0
    cap: int = 0
    noise: float = 0.01
    important: Share = 0.0
    other_jobs: CountOrNone = 0
    target: Share = 0.0
    hinted: Literal["all", "nonconvex"] = "all"


@flatten_groups
@validate_arguments
def table1(*, seed: int = 0, sizes: Sizes) -> Workload:
    """Draw the paper's workload (Section 6.2.1): jobs of Table 1's algorithms, drawn evenly, with Poisson arrivals.

    The iterations saved by targets are not replaced: the offered load falls below `load`.

    Args:
        seed: Seed of the draws.
        sizes: Parameters with the following fields.
        mean_arrival: Seconds between two arrivals.
        load: Offered load.
        iterations: Iterations until a job is converged.
        threshold: It is converged earlier, after the first change of loss below this share of its largest change (Fig.
            1: 0.0001); 0: never.
        cap: Most cores of a job; 0: unlimited.
        noise: Fluctuation of a loss relative to the remaining reduction.
        important: Share of jobs of weight 2..5.
        other_jobs: Number of non-ML jobs, each with a tenth of the cores for ten arrivals' time.
        target: Share of its loss reduction after which a job stops, by its own target loss (Section 7); 0: without.
        hinted: Jobs with a target loss: "all", or the "nonconvex" ones of Table 1.
    """
    check_size("jobs x iterations", sizes.jobs * sizes.iterations)
    rng = np.random.default_rng([seed, sizes.jobs])
    histories = synthetic_mix(sizes.jobs, rng, iterations=sizes.iterations, noise=sizes.noise)
    submit = _poisson_arrivals(rng, sizes.jobs, sizes.mean_arrival)
    weight = np.where(rng.uniform(size=sizes.jobs) < sizes.important, rng.integers(2, 6, sizes.jobs), 1)
    mean_work = MEAN_CORE_SECONDS * sizes.iterations
    come = np.sort(rng.uniform(0, max(1.0, sizes.jobs * sizes.mean_arrival), sizes.other_jobs)).astype(np.int64)
    workload = _build_workload(
        histories,
        submit,
        cores=sizes.cores,
        factor=_load_factor(sizes.load, sizes.cores, sizes.mean_arrival, mean_work),
        threshold=sizes.threshold,
        cap=sizes.cap,
        weight=weight,
        source=f"synthetic:table1 jobs={sizes.jobs} seed={seed} cores={sizes.cores} "
        f"mean_arrival={sizes.mean_arrival:g} load={sizes.load:g} iterations={sizes.iterations} "
        f"threshold={sizes.threshold:g} cap={sizes.cap} noise={sizes.noise:g} important={sizes.important:g} "
        f"others={sizes.other_jobs} target={sizes.target:g} hinted={sizes.hinted}",
    )
    return workload.replace(
        target=_target_losses(workload, sizes.target, _hinted_jobs(histories, sizes.hinted)),
        other_submit=come,
        other_seconds=np.full(sizes.other_jobs, max(1, round(10 * sizes.mean_arrival))),
        other_cores=np.full(sizes.other_jobs, -(-sizes.cores // 10)),
    )


@validate_arguments
def recorded(
    *,
    path: str = "",
    layout: Literal["algoperf", "pollux"] = "algoperf",
    jobs: Count = 160,
    seed: int = 0,
    cores: Count = PAPER_CORES,
    mean_arrival: NotNegative = 15.0,
    load: Positive = 0.8,
    iterations: Count = 100,
    cap: int = 0,
    target: Share = 0.0,
) -> Workload:
    """Draw jobs that train as recorded in the file `path`, drawn evenly, with Poisson arrivals.

    Every curve is resampled to `iterations` iterations of equal cost: the records lack the cost of an iteration on a
    core. Curves whose loss never falls are left out.

    Args:
        path: File of curves.
        layout: "algoperf" or "pollux" (`instances.traces`).
        jobs: Number of jobs.
        seed: Seed of the draws.
        cores: Cores of the cluster.
        mean_arrival: Seconds between two arrivals.
        load: Offered load.
        iterations: Iterations of each job.
        cap: Most cores of a job; 0: unlimited.
        target: Share of its loss reduction after which each job stops (Section 7); 0: without.
    """
    check_size("jobs x iterations", jobs * iterations)
    curves = algoperf.read_curves(path) if layout == "algoperf" else pollux.read_curves(path)
    pool = [recorded_history(curve, iterations=iterations) for curve in curves if len(curve) > 1]
    pool = [history for history in pool if history.losses.min() < history.losses[0]]
    if not pool:
        raise InvalidInput(f"path = {path!r}: expected curves whose loss falls")
    rng = np.random.default_rng([seed, jobs])
    chosen_values = [pool[i] for i in rng.integers(len(pool), size=jobs)]
    workload = _build_workload(
        chosen_values,
        _poisson_arrivals(rng, jobs, mean_arrival),
        cores=cores,
        cap=cap,
        factor=_load_factor(load, cores, mean_arrival, iterations),
        source=f"synthetic:recorded layout={layout} curves={len(pool)} jobs={jobs} seed={seed} cores={cores} "
        f"mean_arrival={mean_arrival:g} load={load:g} iterations={iterations} cap={cap} target={target:g}",
    )
    return workload.replace(target=_target_losses(workload, target, np.ones(jobs, dtype=bool)))


#: Name -> maker of a workload.
SOURCES: Mapping[str, Callable[..., Workload]] = {"table1": table1, "recorded": recorded}


@validate_arguments
def from_trace(
    trace: Trace,
    nodes: IntArray | None,
    *,
    seed: int = 0,
    cores: Annotated[int, Range(0)] = 0,
    arrivals: Positive = 1.0,
    iterations: int = 100,
    noise: float = 0.01,
    capped: bool = True,
    target: Share = 0.0,
    hinted: Literal["all", "nonconvex"] = "all",
) -> Workload:
    """Convert a trace's jobs to training jobs, a "core" being a GPU.

    Traces lack losses, which are drawn from Table 1. A job's GPUs x duration become the work of its iterations, with
    shares of a GPU as fractions. Jobs without a GPU are left out; the source gives their number.

    Args:
        trace: Jobs of the trace.
        nodes: Nodes of the cluster, shape (nodes, resources).
        seed: Seed of the draws.
        cores: GPUs of the cluster; 0: those of `nodes`, or else the jobs' demand at a load of 1.
        arrivals: Factor on the arrival rate.
        iterations: Iterations of each job.
        noise: Fluctuation of a loss, as in `table1`.
        capped: Cap a job at its GPUs in the trace, rounded up.
        target, hinted: As in `table1`; the saved iterations shorten the traced jobs.
    """
    rows = np.flatnonzero(trace.gpus_milli > 0)
    if not rows.size:
        raise InvalidInput(f"trace = {trace.source!r}: its {len(trace.submit)} jobs use 0 GPUs; give a log with GPUs")
    rng = np.random.default_rng([seed, len(rows)])
    histories = synthetic_mix(len(rows), rng, iterations=iterations, noise=noise)
    milli, duration = trace.gpus_milli[rows], trace.duration_ms[rows]
    gpus = -(-milli // 1000)
    submit = np.floor((trace.submit[rows] - trace.submit[rows[0]]) / arrivals).astype(np.int64)
    if not cores:
        total = int(nodes[:, -1].sum()) // 1000 if nodes is not None else 0
        span = max(1, int(submit.max(initial=1)))
        cores = total or max(int(gpus.max(initial=1)), round(float((milli * duration).sum()) / 1e6 / span))
    hints = f"; {hinted} jobs stop at {target:g} of their loss reduction" if target else ""
    workload = _build_workload(
        histories,
        submit,
        cores=cores,
        factor=1.0,
        source=f"{trace.source}; a core is a GPU; {len(trace.submit) - len(rows)} jobs without one left out; loss "
        f"curves drawn from Table 1 (seed {seed}); arrival rate x {arrivals:g}{hints}",
    )
    return workload.replace(
        target=_target_losses(workload, target, _hinted_jobs(histories, hinted)),
        work=np.maximum(np.rint(milli * duration / (1000 * iterations)), 1).astype(np.int64),
        most=gpus if capped else workload.most,
    )


def _poisson_arrivals(rng: np.random.Generator, jobs: int, mean: float) -> IntArray:
    """Draw submission times in s, the first 0."""
    gaps = rng.exponential(1.0, jobs) * mean
    gaps[:1] = 0
    return np.floor(np.cumsum(gaps)).astype(np.int64)


def _load_factor(load: float, cores: int, mean_arrival: float, mean_work: float) -> float:
    """Return the factor on core-seconds that gives this load; 1 if arrivals take no time."""
    return load * cores * mean_arrival / mean_work if mean_arrival else 1.0


@validate_arguments
def _build_workload(
    histories: Sequence[History],
    submit: IntArray,
    *,
    cores: int,
    factor: float,
    source: str,
    threshold: Share = 0.0,
    cap: CountOrNone = 0,
    weight: IntArray | None = None,
) -> Workload:
    """Build jobs from histories with losses after iterations 0, 1, ..."""
    jobs, none = len(histories), np.zeros(0, dtype=np.int64)
    losses = np.stack([h.losses for h in histories])
    fields: Data = {"other_submit": none, "other_seconds": none, "other_cores": none}
    return Workload(
        cores=cores,
        submit=submit,
        work=np.maximum(np.rint([1000 * factor * h.core_seconds for h in histories]), 1).astype(np.int64),
        iterations=_converged_after(losses, threshold),
        loss=np.rint(losses * NANO).astype(np.int64),
        family=np.array([FAMILIES.index(h.family) for h in histories]),
        weight=np.ones(jobs, dtype=np.int64) if weight is None else weight,
        most=np.full(jobs, cap or UNLIMITED),
        source=source,
        **fields,
    )


def _hinted_jobs(histories: Sequence[History], which: str) -> npt.NDArray[np.bool_]:
    """Return which jobs of Table 1 have a target loss."""
    return np.array([which == "all" or not algorithm(h.workload).convex for h in histories], dtype=bool)


def _target_losses(workload: Workload, share: float, hinted: npt.NDArray[np.bool_]) -> IntArray:
    """Return target losses at `share` of each hinted job's loss reduction; NO_TARGET if its loss never falls."""
    span = np.rint(share * (workload.loss[:, 0] - workload.lowest)).astype(np.int64)
    return np.where(hinted & (span > 0), workload.loss[:, 0] - span, NO_TARGET)


def _converged_after(losses: np.ndarray[Any, np.dtype[np.float64]], threshold: float) -> IntArray:
    """Return the first iteration whose change of loss is below `threshold` of the largest so far; else the last."""
    changes = np.abs(np.diff(losses, axis=1))
    small = changes < threshold * np.maximum.accumulate(changes, axis=1)
    return np.asarray(np.where(small.any(axis=1), small.argmax(axis=1) + 1, changes.shape[1]))
