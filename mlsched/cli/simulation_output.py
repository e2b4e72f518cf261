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
from mlsched.cli.output import ChecksFailed, emit, say
from mlsched.cli.simulation_runs import (
    PolicyRun,
    RunOptions,
    describe,
    prepare_runs,
    refuse_unlimited,
    run_one,
    weights_name,
)
from mlsched.cli.simulation_tables import Report, about, as_data, blocks, flattened, rendered, scaled, why_not, worded
from mlsched.cli.simulation_workloads import Scenarios, WindowOptions, WorkloadOptions, scenarios
from mlsched.core import tables
from mlsched.core.errors import InvalidInput
from mlsched.core.files import atomic_write, write_json
from mlsched.instances.traces import Account
from mlsched.simulation import Run, Simulation

#: Parts of the names of figures of task graphs that are times, in ticks.
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
                raise InvalidInput(
                    f"--jobs {self.jobs}: runs of {world.problem} have no table of jobs; use -o RUN.json"
                )
        if self.table is not None:
            check_target(self.table)
        if (self.windows.used or self.table is not None) and (world.table is None or world.over_time is None):
            raise InvalidInput(f"--from, --to, --every, --by, --table: runs of {world.problem} have no table of jobs")


def make_runs(policies: list[str], workloads: WorkloadOptions, runs: RunOptions, output: OutputOptions) -> None:
    """Run the policies one after another and show them together.

    A policy that refuses or breaks does not keep the others from running. Refusals that are known before the first run
    are printed first.

    Raises:
        ChecksFailed: A policy refused, broke or did not pass its replay; raised after everything is written.
        InvalidInput: All policies refuse.
    """
    world = workloads.world(policies)
    refuse_unlimited(world, policies, runs.time_limit)
    output.check(world)
    found = scenarios(world, workloads)
    trusted = _references(found, output)
    made = prepare_runs(found, policies, runs)
    notes = [] if found.log is None or output.as_json else list(found.log.notes)
    started: list[PolicyRun] = []
    failures: list[str] = []
    try:
        for one in made:
            started.append(one)
            if not one.refused:
                run_one(one, notes, len(made) == 1, options=found.options, **dataclasses.asdict(runs))
    finally:
        # An interrupt keeps the policies that are done.
        if any(one.run is not None for one in started):
            kept = [one for one in started if one.run is not None or one.reason]
            rows = None if found.log is None else found.log.account
            failures = finish(world, kept, rows, runs.time_limit, output, trusted)
        else:
            failures = [one.failed for one in started if one.reason]
    if all(one.refused or one.invalid for one in made):
        raise InvalidInput(made[0].reason)
    if failures:
        for sentence in failures[1:]:
            say(sentence)
        raise ChecksFailed(failures[0])


def _references(found: Scenarios, output: OutputOptions) -> list[Any]:
    """Check the references by recomputation; refuse windows and parts that the workloads do not have."""
    if output.windows.used:
        for workload in found.workloads:
            output.windows.check(workload)
    if output.parts:
        problems.module("run_references").refuse_parts(found.workloads)
    folders = output.references
    return [problems.module("run_references").checked_reference(folder, found.workloads) for folder in folders]


def finish(
    world: Simulation,
    made: list[PolicyRun],
    rows: Account | None,
    time_limit: float | None,
    output: OutputOptions,
    trusted: list[Any],
) -> list[str]:
    """Check the runs, write and print them; return the failures found."""
    done = [(one, one.run) for one in made if one.run is not None]
    failures = _wrong(made)
    details = [describe(one, time_limit, output.windows, trusted, output.parts) for one in made]
    if not output.as_json:
        unused = problems.module("run_references").unused_references
        for sentence in unused([run for _, run in done], trusted) if trusted else []:
            say(f"note: {sentence}")
    document = _document(made, rows)
    several = len({one.scenario.label for one in made}) > 1
    if output.output is not None:
        every = [
            run.to_json()
            | ({"scenario": one.scenario.label} if several else {})
            | {key: entry[key] for key in ("policy", "bounded_by", "gaps", "losses", "parts") if key in entry}
            for (one, run), entry in zip(done, [entry for entry in details if "summary" in entry], strict=True)
        ]
        write_json(output.output, {"kind": f"{world.problem}.runs", "version": 1, **document, "runs": every})
    if output.jobs is not None:
        tables.write(_every_job(done, several), output.jobs)
    if output.plot is not None:
        from mlsched.benchmark.run_pictures import plot_runs

        plot_runs({one.name: run for one, run in done}, output.plot)
    report = Report(done[0][0].scenario.workload, rows, details, failures, output.windows)
    if output.table is not None:
        write_table(report, output.table)
    emit(
        output.as_json,
        lambda: {**document, "runs": details, "tables": as_data(report), "violations": failures},
        lambda: rendered(report),
    )
    return failures


def _wrong(made: list[PolicyRun]) -> list[str]:
    """Return the failures: policies without a run, findings of the replay, and decisions that do not replay."""
    done = [(one, one.run) for one in made if one.run is not None]
    failures = [one.failed for one in made if one.run is None]
    failures += [f"{one.name}: {sentence}" for one, run in done for sentence in run.violations()]
    failures += [f"{one.name}: no gap: {finding}" for one, run in done for finding in run.lint()]
    for one, run in done:
        failures += [
            f"{one.name}: decision {d.number} does not replay" for d in run.recorded if run.replay(d) != d.plan
        ]
    return failures


def _document(made: list[PolicyRun], rows: Account | None) -> dict[str, Any]:
    """Return the head of a document of runs: source, workload, cluster, rows of the log and scenarios."""
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


def _every_job(done: list[tuple[PolicyRun, Run]], several: bool) -> dict[str, Any]:
    """Concatenate the job tables of the runs, with the policy in front, and the scenario if there are several."""
    found = [(one, run.table()) for one, run in done]
    columns = list(found[0][1])
    counts = [len(table["job"]) for _, table in found]
    front = {"policy": np.repeat([one.policy for one, _ in found], counts)}
    if several:
        front = {"scenario": np.repeat([one.scenario.label for one, _ in found], counts), **front}
    return {**front, **{name: np.concatenate([t[name] for _, t in found]) for name in columns}}


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
        tables.write(_long(report), path)
        return
    if suffix == ".html":
        with atomic_write(path) as stream:
            stream.write(_page(report))
        return
    write, first = (to_markdown, []) if suffix == ".md" else (to_latex, [PREAMBLE])
    with atomic_write(path) as stream:
        stream.write("\n".join([*first, *map(write, blocks(report))]))


def _long(report: Report) -> dict[str, list[Any]]:
    """A row for every figure of every policy, scenario, window and group; times in the unit that `unit` names."""
    columns: dict[str, list[Any]] = {
        name: [] for name in ("scenario", "policy", "from", "to", "by", "group", "measure", "value", "unit")
    }

    def add(*row: Any) -> None:
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)

    for entry in report.ran:
        ticking = "total_jct" in entry["summary"]  # of task graphs, whose times are ticks; others name their units
        front = (entry.get("scenario", ""), entry["policy"])
        for name, value in flattened(entry["summary"]).items():
            unit = "ticks" if ticking and any(word in name for word in _IN_TICKS) else ""
            add(*front, "", "", "", "", worded(name), float(value), unit)
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
                    add(*front, *at, "", "", name, value, entry["unit"] if scaled(name, 2.0) == 2.0 else "")
        for grouping, groups in entry.get("by", {}).items():
            for group, figures in groups.items():
                for name, value in figures.items():
                    if value is not None:
                        unit = entry["unit"] if scaled(name, 2.0) == 2.0 else ""
                        add(*front, "", "", grouping, group, name, value, unit)
    return columns


def _page(report: Report) -> str:
    """A page that needs no network: what was run and under which simulator, every table, and what is wrong.

    Paths are shortened to their last name, so that the page can be published.
    """
    sections = [html.heading("What was run"), *(html.text(without_folders(line)) for line in about(report))]
    sections += [html.text(without_folders(line)) for line in why_not(report)]
    wrong = report.failures or ["every run passed the independent replay check"]
    sections += [html.text(without_folders(line)) for line in wrong]
    for block in blocks(report):
        title = without_folders(block.title or f"{block.name}, side by side")
        header, *rows = ([without_folders(cell) for cell in row] for row in (block.header, *block.rows))
        sections += [
            html.heading(without_folders(title)),
            html.table(header, rows, label=without_folders(title), sortable=False),
        ]
        sections += [html.text(without_folders(sentence), note=True) for sentence in block.notes]
    policies = ", ".join(dict.fromkeys(entry["policy"] for entry in report.details))
    return html.page(without_folders(f"mlsched simulate: {policies}"), sections)


#: Characters of a path, at most.
_LONGEST = 400
#: Where an absolute path may begin: not within a word, and not a division.
_ROOT = re.compile(r"(?<![\w/.)\]|])/(?=[^\s/])")


def without_folders(text: str) -> str:
    """Return a text with absolute paths shortened to their last name.

    A path ends where the longest existing file or folder does, otherwise before the next blank, comma, colon or
    bracket.
    """
    parts, done = [], 0
    for found in _ROOT.finditer(text):
        begin = found.start()
        if begin < done:
            continue
        ends = [begin + at.start() for at in re.finditer(r"\W|$", text[begin : begin + _LONGEST])][1:]
        end = next((end for end in reversed(ends) if os.path.exists(text[begin:end])), None)  # noqa: PTH110 - False if too long
        if end is None:
            end = begin + len(re.split(r"[\s,;:()<>'\"]", text[begin:], maxsplit=1)[0])
        parts += [text[done:begin], Path(text[begin:end]).name]
        done = end
    return "".join([*parts, text[done:]])
