"""Runs of `mlsched simulate`: make each, describe it for the document, and compare it with references."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeAlias

from mlsched import api
from mlsched.benchmark.formats import gap
from mlsched.cli import problems
from mlsched.cli.output import only_documents, progress, say
from mlsched.cli.simulation_workloads import Scenario, Scenarios, WindowOptions
from mlsched.core.errors import InvalidInput, MlschedError, SolverError
from mlsched.core.gap import Gaps, gap_between, sum_up
from mlsched.core.registry import registry
from mlsched.simulation import Run, Simulation
from mlsched.simulation.windows import Window

#: Definition of "above its bound" in the tables of runs.
BOUND_NOTE = (
    "Above its bound: (value - bound) / bound. The bound holds for every scheduler with the same permissions to pause "
    "and move jobs, even if it knows the future. So a run is at most this far from the best run of its kind."
)
#: Definition of "loses" there.
LOSS_NOTE = (
    "Loses: against the best schedule of the whole log that may do what the run may (node by node, in hindsight): at "
    "least so much, since the reference has a better one (0 %: it has none); at most so much, since no schedule is "
    "below the reference's bound, which was searched for longer than the run's own."
)
#: Entry of a policy in a scenario, as plain JSON data: its run's options and measures, or the reason that prevented it.
Entry: TypeAlias = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """Arguments of `api.simulate` that are the same for every run, under its names."""

    scheduling_events: str | None
    objective: str | None
    time_limit: float | None
    record: float
    seed: int
    isolate: bool
    memory_limit: int | None


@dataclasses.dataclass
class PolicyRun:
    """A policy in a scenario: its run, or the reason that prevents one."""

    scenario: Scenario
    policy: str
    run: Run | None = None
    reason: str = ""
    refused: bool = False  # known before any run
    invalid: bool = False  # the failure was an input error

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
        """The name and the reason of a failure; a policy at the start of the reason is not repeated."""
        return f"{self.name}: {self.reason.removeprefix(f'{self.policy}: ')}"


def refuse_unlimited(world: Simulation, policies: Sequence[str], time_limit: float | None) -> None:
    """Raise InvalidInput if an exact policy has no time limit: one decision of thousands may take hours."""
    for policy in policies if time_limit is None else ():
        if world.as_logged is not None and policy == world.as_logged.name:
            continue
        if api.resolve_solver(world.problem, policy, {})[0].kind == "exact":
            raise InvalidInput(
                f"{policy}: is exact, expected a time limit for each decision; add --time-limit SECONDS, such as 1"
            )


def prepare_runs(scenario_set: Scenarios, policies: list[str], how: RunOptions) -> list[PolicyRun]:
    """Pair every policy with every scenario and print rejections; raise InvalidInput if all are rejected."""
    policy_runs = [PolicyRun(scenario, policy) for scenario in scenario_set.every for policy in policies]
    for policy_run in policy_runs:
        policy_run.reason = api.refusal(
            policy_run.scenario.workload,
            policy_run.policy,
            options=scenario_set.options,
            objective=how.objective,
            seed=how.seed,
        )
        policy_run.refused = bool(policy_run.reason)
    if all(policy_run.refused for policy_run in policy_runs):
        raise InvalidInput(policy_runs[0].reason)
    for policy_run in policy_runs:
        if policy_run.refused:
            say(f"{policy_run.name} will not run: {policy_run.reason}")
    return policy_runs


def run_one(policy_run: PolicyRun, notes: list[str], alone: bool, **arguments: object) -> None:
    """Make one run and record its failure; the only run raises errors that the solver did not cause.

    Args:
        one: The policy and its scenario.
        notes: Notes on the log, to be printed once.
        alone: Whether this is the only run.
        arguments: Arguments of `api.simulate`.
    """
    try:
        policy_run.run = _run(policy_run.scenario.workload, policy_run.policy, policy_run.name, notes, **arguments)
    except SolverError as error:
        policy_run.reason = str(error)
    except InvalidInput as error:
        policy_run.reason, policy_run.invalid = str(error), True
    except MlschedError as error:
        if alone:
            raise
        policy_run.reason = f"{policy_run.policy}: {error}"


def _run(workload: Any, policy: str, name: str, notes: list[str], **arguments: Any) -> Run:
    """Simulate with a progress line; print the notes on the log once, after a run has begun.

    Args:
        workload: The workload.
        policy: The policy.
        name: Label of the progress line.
        notes: Notes on the log.
        arguments: Arguments of `api.simulate`.
    """
    count = len(workload.submit)

    def show_progress(time: int, unfinished: int) -> None:
        while notes:
            say(f"note: {notes.pop(0)}")
        update(count - unfinished)

    with progress(name, count) as update, only_documents():
        return api.simulate(workload, policy, progress=show_progress, **arguments)


def describe(
    policy_run: PolicyRun, time_limit: float | None, windows: WindowOptions, references: list[Any], parts: bool
) -> Entry:
    """Return the entry of a policy in a scenario: the measures of its run, or the reason that prevented it.

    Args:
        policy_run: The policy and its run.
        time_limit: Wall seconds of exact searches.
        windows: Windows to measure.
        references: Checked references.
        parts: Also split the gap into its causes.
    """
    labels = {"policy": policy_run.policy} | (
        {"scenario": policy_run.scenario.label} if policy_run.scenario.label else {}
    )
    run = policy_run.run
    if run is None:
        return {**labels, "status": policy_run.status, "reason": policy_run.reason}
    return {
        **labels,
        "params": run.params,
        "options": dataclasses.asdict(run.options),
        "assumed": run.assumed,
        "scheduling_events": str(run.scheduling_events),
        "seed": run.seed,
        "cpu_seconds": run.cpu_seconds,
        "summary": run.summary(),
        **_bound_entry(run),
        **(problems.module("run_references").regrets(run, references) if references else {}),
        **(problems.module("run_references").parts_of(run, references) if parts else {}),
        **(_window_measures(run, windows) if windows.used else {}),
        "recorded_decisions": len(run.recorded),
        "optimality": None if (gaps := _optimality(run, time_limit)) is None else dataclasses.asdict(gaps),
        "versions": run.versions,
    }


def _window_measures(run: Run, windows: WindowOptions) -> Entry:
    """Return the measures of each window, and those of groups of all jobs of these windows."""
    view = run.windows()
    parts = windows.parts(run.workload)
    whole = Window(parts[0].start, parts[-1].end)
    return {
        "unit": view.unit,
        "windows": [{"from": w.start, "to": w.end, "measures": view.figures(w)} for w in parts],
        "all_jobs": len(run.workload.submit),
        "by": {grouping: view.by(whole, grouping) for grouping in windows.by},
    }


def _bound_entry(run: Run) -> Entry:
    """Return the bound of the workload and the gaps of the run to it; empty without a bound."""
    if run.simulation.bound is None:
        return {}
    if findings := run.lint():
        return {"bound": run.bound, "lint": [dataclasses.asdict(finding) for finding in findings]}
    gaps = {name: gap.share for name, gap in run.gaps.items()}
    return {"bound": run.bound, "bounded_by": run.bounded_by, "gaps": gaps}


def _optimality(run: Run, time_limit: float | None) -> Gaps | None:
    """Return the gaps of the recorded decisions to the proven optimum of the problem's first objective."""
    if not any(decision.instance.objectives for decision in run.recorded):
        return None  # nothing recorded, or decisions without their own objective
    exact = registry().problem(run.simulation.problem).default
    gaps = []
    for decision in run.recorded:
        best = api.solve(decision.instance, exact, time_limit=time_limit)
        value = decision.instance.evaluate(decision.plan)[best.objective]
        if best.sort_key is not None and best.status == "optimal":
            gaps.append(gap_between(value, best.sort_key, sense=best.sense, unit=best.unit, primary=best.primary))
    return sum_up(gaps)


def weights_name(weights: str) -> str:
    """Return the name of the value that a reference with these weights bounds."""
    return "total_jct" if weights == "jobs" else f"completion times by {weights}"


def gap_notes(ran: Sequence[Entry]) -> tuple[str, ...]:
    """Return the notes that explain gaps to bounds and references, and name the policies of each bound."""
    policies_by_bound: dict[str, list[str]] = {}
    for entry in ran:
        if entry.get("gaps"):
            policies_by_bound.setdefault(entry["bounded_by"], []).append(entry["policy"])
    notes = (BOUND_NOTE,) * bool(policies_by_bound)
    notes += tuple(
        f"The bound of {', '.join(dict.fromkeys(policies))} holds for {runs}."
        for runs, policies in policies_by_bound.items()
    )
    return notes + (LOSS_NOTE,) * any(entry.get("losses") for entry in ran)


def regret_lines(entry: Entry) -> dict[str, str]:
    """Return the regret interval of a run by line name, for each reference."""
    lines = {}
    for weights, loss in entry.get("losses", {}).items():
        for key, share in loss.items():
            lines[f"{weights_name(weights)} loses {key.replace('_', ' ')}"] = gap(share)
    return lines


def regret_rows(entries: Sequence[Entry]) -> list[list[str]]:
    """Return the regret intervals of several runs: one row per line name."""
    columns = [regret_lines(entry) for entry in entries]
    names = dict.fromkeys(name for column in columns for name in column)
    return [[name, *(column.get(name, "-") for column in columns)] for name in names]


def gap_with_regret(share: float | None, loss: dict[str, float] | None) -> str:
    """Format a gap to the bound, followed by the regret interval if it is known."""
    if loss is None:
        return gap(share)
    return f"{gap(share)} (loses {gap(loss['at_least'])} to {gap(loss['at_most'])})"
