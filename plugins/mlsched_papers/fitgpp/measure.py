"""Runs of the experiment: each is simulated, checked by the independent replay, and reduced to a few numbers.

A worker gets all runs of one (reading, seed, share of TE jobs, number of jobs) and makes their workload once. Longer
grace periods do not change arrivals, since FIFO never preempts: they are put on the same workload.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from typing import Any

import numpy as np

from mlsched import api
from mlsched.benchmark.pool import processes
from mlsched.core.aliases import Data
from mlsched.core.registry import registry
from mlsched.heuristics.preemption.fitgpp import Way, answer_with_ways
from mlsched.instances.preemption import Instance
from mlsched.simulation.preemption import outcome
from mlsched.simulation.preemption.synthetic import CALIBRATIONS
from mlsched.simulation.run import Run
from mlsched_papers.experiment import Progress
from mlsched_papers.fitgpp.grid import GRACE_SCALE, TRACE, Case
from mlsched_papers.runs import simulated

#: Shares of a stored distribution: evenly spaced, so that a picture may use the quantiles as samples.
QUANTILES = (np.arange(400) + 0.5) / 400
#: A load at which every job is submitted at once: the same jobs without the closed loop that times them.
BURST = 1e12


@dataclasses.dataclass(frozen=True)
class Metrics:
    """One run: figures by name (None if undefined), slowdown quantiles by kind, and remarks.

    Attributes:
        intervals: Number of re-scheduling intervals of 0, 1, 2, ... minutes.
    """

    values: dict[str, float | None]
    quantiles: dict[str, list[float]]
    remarks: tuple[str, ...] = ()
    intervals: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True)
class Source:
    """Origin of workloads: the size of synthetic ones; the trace, its nodes and its number of first jobs."""

    jobs: int
    trace: str | None = None
    cluster: str | None = None
    limit: int | None = None


@dataclasses.dataclass(frozen=True)
class Batch:
    """Runs that share a workload."""

    source: Source
    cases: tuple[Case, ...]


def measure(
    cases: Sequence[Case], source: Source, *, workers: int = 1, progress: Progress | None = None
) -> dict[Case, Metrics]:
    """Return the metrics of every case, in the order of `cases` for any number of workers.

    Raises SolverError with the first sentence of a replay check that fails.
    """
    batches = _batches(cases, source)
    progress_value: dict[Case, Metrics] = {}
    report = progress or (lambda finished, total: None)
    report(0, len(cases))
    finished = _in_turn(batches) if workers == 1 or len(batches) < 2 else _parallel(batches, workers)
    for case, metrics in finished:
        progress_value[case] = metrics
        report(len(progress_value), len(cases))
    return {case: progress_value[case] for case in cases}


def _batches(cases: Sequence[Case], source: Source) -> list[Batch]:
    """Group cases by workload, in the order in which workers take them.

    Cases of the trace come first because the trace may be refused. The longest of the others follow, so that all
    workers end at about the same time.
    """
    groups: dict[tuple[str, int, float, int], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.interpretation, case.seed, case.te_share, case.jobs), []).append(case)
    batches = [Batch(source, tuple(group)) for group in groups.values()]
    return sorted(batches, key=lambda b: (b.cases[0].interpretation != TRACE, -len(b.cases)))


def _in_turn(batches: Sequence[Batch]) -> Iterator[tuple[Case, Metrics]]:
    for batch in batches:
        yield from _execute(batch)


def _parallel(batches: Sequence[Batch], workers: int) -> Iterator[tuple[Case, Metrics]]:
    with processes(min(workers, len(batches))) as pool:
        for future in as_completed([pool.submit(_execute_all, batch) for batch in batches]):
            yield from future.result()


def _execute_all(batch: Batch) -> list[tuple[Case, Metrics]]:
    return list(_execute(batch))


def _execute(batch: Batch) -> Iterator[tuple[Case, Metrics]]:
    base = _workload(batch.source, batch.cases[0])
    graces = {GRACE_SCALE: base}
    for case in batch.cases:
        if case.grace_scale not in graces:
            graces[case.grace_scale] = _with_grace(base, batch.source, case)
        yield case, _metrics(case, graces[case.grace_scale])


def _workload(source: Source, case: Case) -> Any:
    if case.interpretation == TRACE:
        assert source.trace is not None
        return api.workload(
            source.trace, "preemption", cluster=source.cluster, limit=source.limit, seed=case.seed, oversize="drop"
        )
    return _synthetic(source, case, GRACE_SCALE)


def _synthetic(source: Source, case: Case, grace_scale: float, **options: Any) -> Any:
    return api.workload(
        f"synthetic:{case.interpretation}",
        "preemption",
        jobs=case.jobs or source.jobs,
        seed=case.seed,
        te_share=case.te_share,
        grace_scale=grace_scale,
        **options,
    )


def _with_grace(base: Any, source: Source, case: Case) -> Any:
    """Return `base` with scaled grace periods and the same arrivals, which come from FIFO."""
    burst = _synthetic(source, case, case.grace_scale, load=BURST)
    return base.replace(grace=burst.grace, source=f"{base.source}, then grace_scale={case.grace_scale:g}")


def _metrics(case: Case, workload: Any) -> Metrics:
    calibration = CALIBRATIONS.get(case.interpretation)
    options: Data = {"during_grace": calibration.during_grace} if calibration else {}
    seed = 1000 * case.repeat + case.seed
    options |= dict(case.policy.options)
    record = 1.0 if case.policy.text.startswith("fitgpp") else 0.0
    run, remarks = simulated(workload, case.policy.text, seed=seed, options=options, record=record)
    if case.interpretation == TRACE:
        remarks = (f"trace: {workload.source}; {len(workload.submit)} jobs on {workload.cluster}", *remarks)
    quantiles = {
        kind: np.quantile(values, QUANTILES).tolist() if len(values) else [] for kind, values in run.series().items()
    }
    return Metrics(_values(run) | _ways(run, case.policy.text, seed), quantiles, remarks, _intervals(run))


def _values(run: Run) -> dict[str, float | None]:
    """Return the summary's numbers by flat names; shares in percent. drift_NAME: change of NAME in the second half."""
    summary = run.summary()
    backlog = summary["backlog"] or {}
    losses = backlog.get("lost_throughput")
    result = _flat(summary)
    first, last = (float(run.workload.submit[i]) for i in (0, -1))
    half, quarter = (first + last) / 2, first + 3 * (last - first) / 4
    table, resumed = run.jobs, outcome.resumptions(run.log)
    earlier = _flat(outcome.merits(table, resumed, half, quarter))
    later = _flat(outcome.merits(table, resumed, quarter))
    drift = {f"drift_{name}": _change(later[name], earlier[name]) for name in result}
    growth = {"growth": backlog.get("growth_per_day"), "lost": None if losses is None else 100 * losses}
    return result | growth | drift


def _flat(merits: Data) -> dict[str, float | None]:
    result: dict[str, float | None] = {"preempted": 100 * merits["preempted_share"]}
    for prefix, key, points in (
        ("te", "te_slowdown", (50, 95, 99)),
        ("be", "be_slowdown", (50, 95, 99)),
        ("interval", "rescheduling_interval_min", (50, 75, 95, 99)),
    ):
        percentiles = merits[key] or {}
        result |= {f"{prefix}_p{p}": percentiles.get(f"p{p}") for p in points}
    return result | {f"preempted_{n}": 100 * share for n, share in merits["preempted_share_by_count"].items()}


def _ways(run: Run, text: str, seed: int) -> dict[str, float | None]:
    """Count, for FitGpp's runs, the TE jobs that needed available victims, and those with random ones."""
    if not run.recorded:
        return {}
    _, params = registry().solver("preemption", text)
    result: Counter[Way] = Counter()
    for decision in run.recorded:
        assert isinstance(decision.instance, Instance)
        rng = np.random.default_rng([seed, decision.number])  # seed of the simulator's clock
        plan, ways = answer_with_ways(decision.instance, rng=rng, **params)
        assert plan == decision.plan
        result.update(ways)
    return {
        "victims": float(result[Way.ONE_VICTIM] + result[Way.FALLBACK]),
        "random_victims": float(result[Way.FALLBACK]),
    }


def _change(new: float | None, old: float | None) -> float | None:
    """Return the percentage by which `new` is above `old`; None if either is missing or the old one is 0."""
    return None if new is None or not old else 100 * (new / old - 1)


def _intervals(run: Run) -> tuple[int, ...]:
    """Return the number of re-scheduling intervals of 0, 1, 2, ... minutes; signals and starts are on full minutes."""
    _, seconds = outcome.resumptions(run.log)
    return tuple(np.bincount(seconds // 60).tolist())
