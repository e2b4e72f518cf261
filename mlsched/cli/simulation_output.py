"""Output of `mlsched simulate`: run the policies, check every run, write the files and print the tables."""

from __future__ import annotations

import dataclasses
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from mlsched.benchmark import html
from mlsched.benchmark.text_table import PREAMBLE, to_latex, to_markdown
from mlsched.cli import problems
from mlsched.cli.output import ChecksFailed, emit, number, say
from mlsched.cli.simulation_report import Report, unit_of
from mlsched.cli.simulation_runs import (
    PolicyRun,
    RunOptions,
    describe,
    prepare_runs,
    refuse_unlimited,
    run_one,
    weights_name,
)
from mlsched.cli.simulation_tables import (
    about,
    as_data,
    blocks,
    flatten_measures,
    line_name,
    measures_of,
    render_report,
    why_not,
)
from mlsched.cli.simulation_windows import divisor_of
from mlsched.cli.simulation_workloads import Scenarios, WindowOptions, WorkloadOptions, scenarios
from mlsched.core import tables
from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidInput
from mlsched.core.files import atomic_write, write_json
from mlsched.instances.traces import Account
from mlsched.simulation import Run, Simulation

#: Parts of the names of measures of task graphs that are times, in ticks.
_IN_TICKS = ("jct", "makespan", "mean_waiting")
TABLES = (".csv", ".parquet", ".md", ".tex", ".html")


@dataclasses.dataclass(frozen=True)
class OutputOptions:
    """Files to write, and the windows, references and parts of gaps to show."""

    output: Path | None
    jobs: Path | None
    plot: Path | None
    table: Path | None
    as_json: bool
    windows: WindowOptions
    references: tuple[Path, ...] = ()
    parts: bool = False

    def check(self, world: Simulation) -> None:
        """Refuse, before any work, files that cannot be written and tables that the problem lacks."""
        if self.jobs is not None:
            tables.check_target(self.jobs)
            if world.table is None:
                raise InvalidInput(f"--jobs {self.jobs}: not available for runs of {world.problem}; use -o RUN.json")
        if self.table is not None:
            check_target(self.table)
        if (self.windows.used or self.table is not None) and (world.table is None or world.over_time is None):
            raise InvalidInput(f"--from, --to, --every, --by, --table: not available for runs of {world.problem}")


def make_runs(policies: list[str], workloads: WorkloadOptions, runs: RunOptions, output: OutputOptions) -> None:
    """Run the policies one after another and print them together.

    A rejected or failing policy does not prevent the others from running. Rejections that are known before the first
    run are printed first.

    Raises:
        ChecksFailed: A policy was rejected, failed, or did not pass its replay; raised after all output is written.
        InvalidInput: All policies are rejected.
    """
    world = workloads.world(policies)
    refuse_unlimited(world, policies, runs.time_limit)
    output.check(world)
    scenario_set = scenarios(world, workloads)
    trusted = _references(scenario_set, output)
    policy_runs = prepare_runs(scenario_set, policies, runs)
    notes = [] if scenario_set.log is None or output.as_json else list(scenario_set.log.notes)
    attempted: list[PolicyRun] = []
    failures: list[str] = []
    try:
        for policy_run in policy_runs:
            attempted.append(policy_run)
            if not policy_run.refused:
                run_one(
                    policy_run, notes, len(policy_runs) == 1, options=scenario_set.options, **dataclasses.asdict(runs)
                )
    finally:
        # An interrupt keeps the completed policies.
        if any(policy_run.run is not None for policy_run in attempted):
            completed = [policy_run for policy_run in attempted if policy_run.run is not None or policy_run.reason]
            rows = None if scenario_set.log is None else scenario_set.log.account
            failures = finish(world, completed, rows, runs.time_limit, output, trusted)
        else:
            failures = [policy_run.failed for policy_run in attempted if policy_run.reason]
    if all(policy_run.refused or policy_run.invalid for policy_run in policy_runs):
        raise InvalidInput(policy_runs[0].reason)
    if failures:
        for sentence in failures[1:]:
            say(sentence)
        raise ChecksFailed(failures[0])


def _references(scenario_set: Scenarios, output: OutputOptions) -> list[Any]:
    """Check the references by recomputation; raise InvalidInput for windows and parts that the workloads lack."""
    if output.windows.used:
        for workload in scenario_set.workloads:
            output.windows.check(workload)
    if output.parts:
        problems.module("run_references").refuse_parts(scenario_set.workloads)
    folders = output.references
    return [problems.module("run_references").checked_reference(folder, scenario_set.workloads) for folder in folders]


def finish(
    world: Simulation,
    made: list[PolicyRun],
    rows: Account | None,
    time_limit: float | None,
    output: OutputOptions,
    trusted: list[Any],
) -> list[str]:
    """Check the runs, write and print them; return the failures.

    Args:
        world: The simulation.
        made: The policies that ran or failed.
        rows: Account of the log's rows.
        time_limit: Wall seconds of exact searches.
        output: Files to write.
        trusted: Checked references.
    """
    completed = [(policy_run, policy_run.run) for policy_run in made if policy_run.run is not None]
    failures = _failures_of(made)
    details = [describe(policy_run, time_limit, output.windows, trusted, output.parts) for policy_run in made]
    if not output.as_json:
        unused = problems.module("run_references").unused_references
        for sentence in unused([run for _, run in completed], trusted) if trusted else []:
            say(f"note: {sentence}")
    document = _document(made, rows)
    several = len({policy_run.scenario.label for policy_run in made}) > 1
    if output.output is not None:
        run_documents = [
            run.to_json()
            | ({"scenario": policy_run.scenario.label} if several else {})
            | {key: entry[key] for key in ("policy", "bounded_by", "gaps", "losses", "parts") if key in entry}
            for (policy_run, run), entry in zip(
                completed, [entry for entry in details if "summary" in entry], strict=True
            )
        ]
        write_json(output.output, {"kind": f"{world.problem}.runs", "version": 1, **document, "runs": run_documents})
    if output.jobs is not None:
        tables.write(_job_table(completed, several), output.jobs)
    if output.plot is not None:
        from mlsched.benchmark.run_pictures import plot_runs

        plot_runs({policy_run.name: run for policy_run, run in completed}, output.plot)
    report = Report(completed[0][0].scenario.workload, rows, details, failures, output.windows)
    if output.table is not None:
        write_table(report, output.table)
    emit(
        output.as_json,
        lambda: {**document, "runs": details, "tables": as_data(report), "violations": failures},
        lambda: render_report(report),
    )
    return failures


def _failures_of(made: list[PolicyRun]) -> list[str]:
    """Return the failures: policies without a run, findings of the replay, and decisions that do not replay."""
    completed = [(policy_run, policy_run.run) for policy_run in made if policy_run.run is not None]
    failures = [policy_run.failed for policy_run in made if policy_run.run is None]
    failures += [f"{policy_run.name}: {sentence}" for policy_run, run in completed for sentence in run.violations()]
    failures += [f"{policy_run.name}: no gap: {finding}" for policy_run, run in completed for finding in run.lint()]
    for policy_run, run in completed:
        failures += [
            f"{policy_run.name}: decision {d.number} does not replay" for d in run.recorded if run.replay(d) != d.plan
        ]
    return failures


def _document(made: list[PolicyRun], rows: Account | None) -> Data:
    """Return the head of a document of runs: source, workload, cluster, rows of the log and scenarios."""
    first = made[0].scenario.workload
    document = {"source": first.source, "workload_hash": first.hash, "cluster": first.cluster}
    if rows is not None:
        document["rows"] = rows.to_json()
    scenarios_by_label = {policy_run.scenario.label: policy_run.scenario for policy_run in made}
    if len(scenarios_by_label) > 1:
        document["scenarios"] = [
            {
                "scenario": label,
                "source": scenario.workload.source,
                "workload_hash": scenario.workload.hash,
                "cluster": scenario.workload.cluster,
                "load": scenario.load,
            }
            for label, scenario in scenarios_by_label.items()
        ]
    return document


def _job_table(completed: list[tuple[PolicyRun, Run]], several: bool) -> Data:
    """Concatenate the job tables of the runs, with the policy in front, and the scenario if there are several."""
    job_tables = [(policy_run, run.table()) for policy_run, run in completed]
    columns = list(job_tables[0][1])
    counts = [len(table["job"]) for _, table in job_tables]
    front = {"policy": np.repeat([policy_run.policy for policy_run, _ in job_tables], counts)}
    if several:
        front = {"scenario": np.repeat([policy_run.scenario.label for policy_run, _ in job_tables], counts), **front}
    return {**front, **{name: np.concatenate([t[name] for _, t in job_tables]) for name in columns}}


def check_target(path: Path) -> None:
    """Refuse a path whose suffix is not that of a table."""
    if path.suffix.lower() not in TABLES:
        raise InvalidInput(f"--table: {path}, expected a name ending in {', '.join(TABLES[:-1])} or {TABLES[-1]}")
    if path.suffix.lower() == ".parquet":
        tables.check_target(path)


def write_table(report: Report, path: Path) -> None:
    """Write one row per measure (.csv, .parquet), or the tables as they are shown (.md, .tex, .html)."""
    suffix = path.suffix.lower()
    if suffix in (".csv", ".parquet"):
        tables.write(_long_table(report), path)
        return
    if suffix == ".html":
        with atomic_write(path) as stream:
            stream.write(_html_page(report))
        return
    write, first = (to_markdown, []) if suffix == ".md" else (to_latex, [PREAMBLE])
    with atomic_write(path) as stream:
        stream.write("\n".join([*first, *map(write, blocks(report))]))


def _long_table(report: Report) -> dict[str, list[Any]]:
    """Return one row per measure, policy, scenario, window and group; `unit` names the unit of times."""
    columns: dict[str, list[Any]] = {
        name: [] for name in ("scenario", "policy", "from", "to", "by", "group", "measure", "value", "unit")
    }

    def add(*row: object) -> None:
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)

    for entry in report.ran:
        ticking = "total_jct" in entry["summary"]  # times of task graphs are ticks; others name their units
        front = (entry.get("scenario", ""), entry["policy"])
        for name, value in flatten_measures(entry["summary"]).items():
            unit = "ticks" if ticking and any(word in name for word in _IN_TICKS) else ""
            add(*front, "", "", "", "", line_name(name), float(value), unit)
        for name, share in entry.get("gaps", {}).items():
            add(*front, "", "", "", "", f"{name} above its bound", float(share), "")
        for weights, loss in entry.get("losses", {}).items():
            for key, share in loss.items():
                add(*front, "", "", "", "", f"{weights_name(weights)} loses {key.replace('_', ' ')}", float(share), "")
        of_parts = entry.get("parts", {}).get("table", {"part": []})
        for at_row, name in enumerate(of_parts["part"]):
            for key in ("share", "at_least", "at_most"):
                add(*front, "", "", "part", name, key.replace("_", " "), float(of_parts[key][at_row]), "")
        for window in entry.get("windows", []):
            at = (f"{window['from']:.10g}", f"{window['to']:.10g}")
            for name, value in window["measures"].items():
                if value is not None:
                    add(*front, *at, "", "", name, value, entry["unit"] if divisor_of(name, 2.0) == 2.0 else "")
        for grouping, groups in entry.get("by", {}).items():
            for group, figures in groups.items():
                for name, value in figures.items():
                    if value is not None:
                        unit = entry["unit"] if divisor_of(name, 2.0) == 2.0 else ""
                        add(*front, "", "", grouping, group, name, value, unit)
    return columns


def _html_page(report: Report) -> str:
    """Return a page that works offline: workload and simulator, every table, and failures.

    Paths are shortened to their last name, so that the page can be published.
    """
    sections = [html.heading("What was run"), *(html.paragraph(without_folders(line)) for line in about(report))]
    sections += [html.paragraph(without_folders(line)) for line in why_not(report)]
    verdict = report.failures or ["every run passed the independent replay check"]
    sections += [html.paragraph(without_folders(line)) for line in verdict]
    for block in blocks(report):
        title = without_folders(block.title or f"{block.name}, side by side")
        header, *rows = ([without_folders(cell) for cell in row] for row in (block.header, *block.rows))
        sections += [
            html.heading(without_folders(title)),
            html.table(header, rows, label=without_folders(title), sortable=False),
        ]
        sections += [html.paragraph(without_folders(sentence), note=True) for sentence in block.notes]
    policies = ", ".join(dict.fromkeys(entry["policy"] for entry in report.details))
    return html.page(without_folders(f"mlsched simulate: {policies}"), sections, summary=_summary(report))


#: Most rows and measures of the summary of a page: more would not fit on the first screen.
_SUMMARY_ROWS, _SUMMARY_MEASURES = 12, 5
#: Measures that the summary shows first.
_FIRST = ("above its bound", "mean_jct", "mean_waiting", "makespan", "utilisation", "optimal")


def _summary(report: Report) -> str:
    """Return one row per policy and scenario with the first measures."""
    several = len(report.scenarios) > 1
    entries = report.details[:_SUMMARY_ROWS]
    figures = [measures_of(entry) if "summary" in entry else {} for entry in entries]
    names = list(dict.fromkeys(name for flat in figures for name in flat))
    names.sort(key=lambda name: next((k for k, first in enumerate(_FIRST) if first in name), len(_FIRST)))
    names = names[:_SUMMARY_MEASURES]
    rows = []
    for entry, flat in zip(entries, figures, strict=True):
        label = f"{entry['policy']}, {entry.get('scenario', '')}" if several else entry["policy"]
        cells = [value if isinstance(value := flat.get(name), str) else number(value) for name in names]
        rows.append([without_folders(label), *cells])
    header = ["policy", *map(line_name, names)]
    timed = bool(report.ran) and "tick_seconds" in report.ran[0]["summary"]
    caption = f"times in {unit_of(report)}" if timed else ""
    return html.table(header, rows, caption=caption, label="Summary")


#: Longest path, in characters.
_MAX_PATH = 400
#: Position where an absolute path may begin: outside a word, and not a division.
_ROOT = re.compile(r"(?<![\w/.)\]|])/(?=[^\s/])")


def without_folders(text: str) -> str:
    """Return a text with absolute paths shortened to their last name.

    A path ends with the longest existing file or folder, otherwise before the next blank, comma, colon or bracket.
    """
    parts, position = [], 0
    for match in _ROOT.finditer(text):
        begin = match.start()
        if begin < position:
            continue
        ends = [begin + at.start() for at in re.finditer(r"\W|$", text[begin : begin + _MAX_PATH])][1:]
        end = next((end for end in reversed(ends) if os.path.exists(text[begin:end])), None)  # noqa: PTH110 - False if too long
        if end is None:
            end = begin + len(re.split(r"[\s,;:()<>'\"]", text[begin:], maxsplit=1)[0])
        parts += [text[position:begin], Path(text[begin:end]).name]
        position = end
    return "".join([*parts, text[position:]])
