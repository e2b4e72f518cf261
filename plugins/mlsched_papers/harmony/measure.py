"""Runs of Figure 8: each is simulated, checked by the independent replay, and reduced to numbers."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mlsched import api
from mlsched.instances.placement import Instance, Plan
from mlsched.simulation.run import Run
from mlsched_papers.harmony.grid import PATTERNS, TESTBED, Case, Grid
from mlsched_papers.runs import simulated


@dataclasses.dataclass(frozen=True)
class Metrics:
    """One run: metrics by name (None if undefined), and remarks."""

    values: dict[str, float | None]
    remarks: tuple[str, ...] = ()


def run_case(case: Case, grid: Grid) -> Metrics:
    """Simulate, check and reduce a run."""
    interpretation = case.interpretation
    rack = interpretation.servers != TESTBED
    workload = api.workload(
        f"synthetic:{case.pattern}",
        "placement",
        seed=case.seed,
        jobs=grid.rack_jobs if rack else grid.jobs,
        servers=interpretation.servers,
        mean=PATTERNS[case.pattern] * interpretation.servers / TESTBED,
        load=interpretation.load,
        model=interpretation.model,
    )
    exact = Exact(case.policy.text, grid.work) if case.policy.kind == "exact" else None
    run, remarks = simulated(workload, exact or case.policy.text, seed=case.seed, options=dict(interpretation.options))
    values = _values(run)
    if exact is not None:
        values["proven"] = 100 * float(np.mean(exact.proven)) if exact.proven else None
    return Metrics(values, remarks)


class Exact:
    """An exact solver as a heuristic: warm start, a deterministic work limit, and its proof status."""

    information = "oracle"

    def __init__(self, name: str, work: float) -> None:
        self.name, self.work = name, work
        self.__name__ = name
        self.proven: list[bool] = []

    def __call__(self, instance: Instance, *, rng: np.random.Generator) -> Plan:
        result: Any = api.solve(instance, self.name, work_limit=self.work, seed=int(rng.integers(2**31)))
        self.proven.append(result.status == "optimal")
        plan: Plan = result.plan
        return plan


def _values(run: Run) -> dict[str, float | None]:
    summary = run.summary()
    names = ("average_completion", "average_whole", "average_wait", "average_slowdown", "waiting_jobs", "makespan")
    result = {name: summary[name] for name in names}
    result["utilisation"] = 100 * summary["utilisation"]["cpu"]
    return result | {"cpu_ms": 1000 * run.cpu_seconds / run.decisions if run.decisions else None}
