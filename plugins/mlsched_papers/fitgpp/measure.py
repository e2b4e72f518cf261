"""Carrying the runs out: each is simulated, checked by the independent replay, and reduced to a few numbers.

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
from mlsched.core.registry import registry
from mlsched.heuristics.preemption.fitgpp import Way, answer_with_ways
from mlsched.instances.preemption import Instance
from mlsched.simulation.preemption import outcome
from mlsched.simulation.preemption.synthetic import CALIBRATIONS
from mlsched.simulation.run import Run
from mlsched_papers.experiment import Progress
from mlsched_papers.fitgpp.grid import GRACE_SCALE, TRACE, Case
from mlsched_papers.runs import simulated

#: Shares at which a distribution is kept: evenly spaced, so that a picture may take the quantiles for samples.
QUANTILES = (np.arange(400) + 0.5) / 400
#: So high a load that every job is submitted at once: the same jobs without the closed loop that times them.
BURST = 1e12


@dataclasses.dataclass(frozen=True)
class Metrics:
    """One run: named figures of merit (None where nothing happened), slowdown quantiles by kind, and remarks.

    intervals: how many re-scheduling intervals took 0, 1, 2, ... minutes.
    """

    values: dict[str, float | None]
    quantiles: dict[str, list[float]]
    remarks: tuple[str, ...] = ()
    intervals: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True)
class Source:
    """Where workloads come from: the size of synthetic ones; the trace, its nodes and its first so many jobs."""

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
    """The metrics of every case, in the order of `cases` whatever finishes first.

    Raises SolverError with the first sentence of a replay check that fails.
    """
    batches = _batches(cases, source)
    done: dict[Case, Metrics] = {}
    report = progress or (lambda finished, total: None)
    report(0, len(cases))
    finished = _in_turn(batches) if workers == 1 or len(batches) < 2 else _parallel(batches, workers)
    for case, metrics in finished:
        done[case] = metrics
        report(len(done), len(cases))
    return {case: done[case] for case in cases}


def _batches(cases: Sequence[Case], source: Source) -> list[Batch]:
    """Cases by workload; the trace's first (they may be refused), then the longest, so that workers end together."""
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
    """`base` with grace periods from the scaled distribution: only they differ, arrivals are FIFO's."""
    burst = _synthetic(source, case, case.grace_scale, load=BURST)
    return base.replace(grace=burst.grace, source=f"{base.source}, then grace_scale={case.grace_scale:g}")


def _metrics(case: Case, workload: Any) -> Metrics:
    calibration = CALIBRATIONS.get(case.interpretation)
    options: dict[str, Any] = {"during_grace": calibration.during_grace} if calibration else {}
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
    """The summary's numbers by flat names; shares in percent. drift_NAME: how NAME changes within the second half."""
    summary = run.summary()
    backlog = summary["backlog"] or {}
    lost = backlog.get("lost_throughput")
    found = _flat(summary)
    first, last = (float(run.workload.submit[i]) for i in (0, -1))
    half, quarter = (first + last) / 2, first + 3 * (last - first) / 4
    table, resumed = run.jobs, outcome.resumptions(run.log)
    earlier = _flat(outcome.merits(table, resumed, half, quarter))
    later = _flat(outcome.merits(table, resumed, quarter))
    drift = {f"drift_{name}": _change(later[name], earlier[name]) for name in found}
    growth = {"growth": backlog.get("growth_per_day"), "lost": None if lost is None else 100 * lost}
    return found | growth | drift


def _flat(merits: dict[str, Any]) -> dict[str, float | None]:
    found: dict[str, float | None] = {"preempted": 100 * merits["preempted_share"]}
    for prefix, key, points in (
        ("te", "te_slowdown", (50, 95, 99)),
        ("be", "be_slowdown", (50, 95, 99)),
        ("interval", "rescheduling_interval_min", (50, 75, 95, 99)),
    ):
        percentiles = merits[key] or {}
        found |= {f"{prefix}_p{p}": percentiles.get(f"p{p}") for p in points}
    return found | {f"preempted_{n}": 100 * share for n, share in merits["preempted_share_by_count"].items()}


def _ways(run: Run, text: str, seed: int) -> dict[str, float | None]:
    """Of FitGpp's runs: how many TE jobs needed victims that were there, and how many of them random ones."""
    if not run.recorded:
        return {}
    _, params = registry().solver("preemption", text)
    found: Counter[Way] = Counter()
    for decision in run.recorded:
        assert isinstance(decision.instance, Instance)
        rng = np.random.default_rng([seed, decision.number])  # the clock's
        plan, ways = answer_with_ways(decision.instance, rng=rng, **params)
        assert plan == decision.plan
        found.update(ways)
    return {"victims": float(found[Way.ONE_VICTIM] + found[Way.FALLBACK]), "random_victims": float(found[Way.FALLBACK])}


def _change(new: float | None, old: float | None) -> float | None:
    """By how many percent `new` is above `old`; None where either is missing or the old one is 0."""
    return None if new is None or not old else 100 * (new / old - 1)


def _intervals(run: Run) -> tuple[int, ...]:
    """How many re-scheduling intervals took 0, 1, 2, ... minutes; signals and starts both fall on whole minutes."""
    _, seconds = outcome.resumptions(run.log)
    return tuple(np.bincount(seconds // 60).tolist())
