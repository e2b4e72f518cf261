"""What `mlsched simulate` says of its runs: the figures of each, the documents that are written, the table of jobs."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from mlsched import api
from mlsched.cli.output import emit, say
from mlsched.cli.simulation_files import check_target, write_table
from mlsched.cli.simulation_scenarios import Scenario, Seen
from mlsched.cli.simulation_shown import Shown
from mlsched.cli.simulation_tables import as_data, rendered
from mlsched.cli.taskgraph import simulation_references
from mlsched.core import tables
from mlsched.core.errors import InvalidInput
from mlsched.core.files import write_json
from mlsched.core.gap import Gaps, gap_between, sum_up
from mlsched.core.registry import registry
from mlsched.instances.traces import Account
from mlsched.simulation import Run, Simulation
from mlsched.simulation.taskgraph.iterations.reference.folder import Reference
from mlsched.simulation.windows import Window


@dataclasses.dataclass
class Made:
    """What came of a policy in a scenario: a run, or why there is none."""

    scenario: Scenario
    policy: str
    run: Run | None = None
    reason: str = ""
    refused: bool = False  # known before any run
    invalid: bool = False  # what it failed with says that the input or the call is wrong

    @property
    def status(self) -> str:
        """ "ran", "refused" or "failed"."""
        return "ran" if self.run is not None else "refused" if self.refused else "failed"

    @property
    def name(self) -> str:
        """The policy, with the scenario where there are several."""
        return f"{self.policy} on {self.scenario.label}" if self.scenario.label else self.policy

    @property
    def failed(self) -> str:
        """Why there is no run, behind the name; the policy, with which what it failed with may begin, is said once."""
        return f"{self.name}: {self.reason.removeprefix(f'{self.policy}: ')}"


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What is said of runs, and written: the files, the windows, the references beside them, and the parts of gaps."""

    output: Path | None
    jobs: Path | None
    plot: Path | None
    table: Path | None
    as_json: bool
    seen: Seen
    references: tuple[Path, ...] = ()
    parts: bool = False

    def check(self, world: Simulation) -> None:
        """Refuse, before any work, what cannot be written or is not there."""
        if self.jobs is not None:
            tables.check_target(self.jobs)
            if world.table is None:
                raise InvalidInput(
                    f"--jobs {self.jobs}: runs of {world.problem} have no table of jobs; use -o RUN.json"
                )
        if self.table is not None:
            check_target(self.table)
        if (self.seen.asked or self.table is not None) and (world.table is None or world.over_time is None):
            raise InvalidInput(f"--from, --to, --every, --by, --table: runs of {world.problem} have no table of jobs")


def finish(
    world: Simulation,
    made: list[Made],
    rows: Account | None,
    time_limit: float | None,
    wanted: Wanted,
    trusted: list[Reference],
) -> list[str]:
    """Check the runs, write and show them; returns what is wrong with them."""
    done = [(one, one.run) for one in made if one.run is not None]
    failures = _wrong(made)
    details = [_describe(one, time_limit, wanted, trusted) for one in made]
    if not wanted.as_json:
        for sentence in simulation_references.unused([run for _, run in done], trusted):
            say(f"note: {sentence}")
    document = _document(made, rows)
    several = len({one.scenario.label for one in made}) > 1
    if wanted.output is not None:
        every = [
            run.to_json()
            | ({"scenario": one.scenario.label} if several else {})
            | {key: entry[key] for key in ("policy", "bounded_by", "gaps", "losses", "parts") if key in entry}
            for (one, run), entry in zip(done, [entry for entry in details if "summary" in entry], strict=True)
        ]
        write_json(wanted.output, {"kind": f"{world.problem}.runs", "version": 1, **document, "runs": every})
    if wanted.jobs is not None:
        tables.write(_every_job(done, several), wanted.jobs)
    if wanted.plot is not None:
        from mlsched.benchmark.run_pictures import plot_runs

        plot_runs({one.name: run for one, run in done}, wanted.plot)
    shown = Shown(done[0][0].scenario.workload, rows, details, failures, wanted.seen)
    if wanted.table is not None:
        write_table(shown, wanted.table)
    emit(
        wanted.as_json,
        lambda: {**document, "runs": details, "tables": as_data(shown), "violations": failures},
        lambda: rendered(shown),
    )
    return failures


def _wrong(made: list[Made]) -> list[str]:
    """What is wrong with the runs: why there are none, what the replay finds, and decisions that do not replay."""
    done = [(one, one.run) for one in made if one.run is not None]
    failures = [one.failed for one in made if one.run is None]
    failures += [f"{one.name}: {sentence}" for one, run in done for sentence in run.violations()]
    failures += [f"{one.name}: no gap: {finding}" for one, run in done for finding in run.lint()]
    for one, run in done:
        failures += [
            f"{one.name}: decision {d.number} does not replay" for d in run.recorded if run.replay(d) != d.plan
        ]
    return failures


def _document(made: list[Made], rows: Account | None) -> dict[str, Any]:
    """What the documents of runs say before them."""
    first = made[0].scenario.workload
    document = {"source": first.source, "workload_hash": first.hash, "cluster": first.cluster}
    if rows is not None:
        document["rows"] = rows.to_json()
    known = {one.scenario.label: one.scenario for one in made}
    if len(known) > 1:
        document["scenarios"] = [
            {
                "scenario": label,
                "source": scenario.workload.source,
                "workload_hash": scenario.workload.hash,
                "cluster": scenario.workload.cluster,
                "load": scenario.load,
            }
            for label, scenario in known.items()
        ]
    return document


def _describe(one: Made, time_limit: float | None, wanted: Wanted, trusted: list[Reference]) -> dict[str, Any]:
    """A policy in a scenario, for the document: the run's figures, or why there is none."""
    named = {"policy": one.policy} | ({"scenario": one.scenario.label} if one.scenario.label else {})
    run = one.run
    if run is None:
        return {**named, "status": one.status, "reason": one.reason}
    return {
        **named,
        "params": run.params,
        "options": dataclasses.asdict(run.options),
        "assumed": run.assumed,
        "scheduling_events": str(run.scheduling_events),
        "seed": run.seed,
        "cpu_seconds": run.cpu_seconds,
        "summary": run.summary(),
        **_bounded(run),
        **simulation_references.losses(run, trusted),
        **(simulation_references.parts(run, trusted) if wanted.parts else {}),
        **(_windowed(run, wanted.seen) if wanted.seen.asked else {}),
        "recorded_decisions": len(run.recorded),
        "optimality": None if (gaps := _optimality(run, time_limit)) is None else dataclasses.asdict(gaps),
        "versions": run.versions,
    }


def _windowed(run: Run, seen: Seen) -> dict[str, Any]:
    """The run through its windows: from, to and figures of each; and of groups of all jobs of these windows."""
    view = run.windows()
    parts = seen.parts(run.workload)
    whole = Window(parts[0].start, parts[-1].end)
    return {
        "unit": view.unit,
        "windows": [{"from": w.start, "to": w.end, "measures": view.figures(w)} for w in parts],
        "all_jobs": len(run.workload.submit),
        "by": {grouping: view.by(whole, grouping) for grouping in seen.by},
    }


def _bounded(run: Run) -> dict[str, Any]:
    """What no run of the workload can be below, and the shares by which this one is above; nothing without a bound."""
    if run.simulation.bound is None:
        return {}
    if findings := run.lint():
        return {"bound": run.bound, "lint": [dataclasses.asdict(finding) for finding in findings]}
    gaps = {name: gap.share for name, gap in run.gaps.items()}
    return {"bound": run.bound, "bounded_by": run.bounded_by, "gaps": gaps}


def _optimality(run: Run, time_limit: float | None) -> Gaps | None:
    """How the recorded decisions compare with the optimum of the problem's first objective, where it is proven."""
    if not any(decision.instance.objectives for decision in run.recorded):
        return None  # nothing recorded, or decisions without an objective of their own
    exact = registry().problem(run.simulation.problem).default
    gaps = []
    for decision in run.recorded:
        best = api.solve(decision.instance, exact, time_limit=time_limit)
        value = decision.instance.evaluate(decision.plan)[best.objective]
        if best.sort_key is not None and best.status == "optimal":
            gaps.append(gap_between(value, best.sort_key, sense=best.sense, unit=best.unit, rank=best.primary))
    return sum_up(gaps)


def _every_job(done: list[tuple[Made, Run]], several: bool) -> dict[str, Any]:
    """The runs' tables of jobs, one below the other, with the policy in front, and the scenario of several."""
    found = [(one, run.table()) for one, run in done]
    columns = list(found[0][1])
    counts = [len(table["job"]) for _, table in found]
    front = {"policy": np.repeat([one.policy for one, _ in found], counts)}
    if several:
        front = {"scenario": np.repeat([one.scenario.label for one, _ in found], counts), **front}
    return {**front, **{name: np.concatenate([t[name] for _, t in found]) for name in columns}}
