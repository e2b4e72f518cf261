"""Tables of `mlsched simulate` that compare scenarios: one row per scenario, one column per policy."""

from __future__ import annotations

from collections.abc import Callable

from mlsched.benchmark.paired import compare_values
from mlsched.benchmark.text_table import TextTable
from mlsched.cli.output import number
from mlsched.cli.simulation_report import Report, unit_of
from mlsched.cli.simulation_runs import Entry, gap_notes, gap_with_regret
from mlsched.cli.simulation_windows import (
    COMPARED_MEASURES,
    WINDOW_NOTE,
    format_mean,
    measure_label,
    percent_text,
    scale_of,
    values_of,
)
from mlsched.simulation.nodes import called


def scenario_tables(report: Report) -> list[TextTable]:
    """Return a table for each measure: one row per scenario, one column per policy; then the bounds."""
    first = report.scenarios[0]
    policies = list(dict.fromkeys(entry["policy"] for entry in report.details))
    entries = {(entry.get("scenario", ""), entry["policy"]): entry for entry in report.details}
    windowed = report.windows.used
    scale, unit = scale_of(report.ran) if windowed else (1.0, "")
    names = [
        name
        for name in COMPARED_MEASURES
        if any(name in w["measures"] for e in report.ran for w in e.get("windows", []))
    ]
    figures: list[tuple[str, Callable[[Entry], list[float | None]]]] = (
        [(measure_label(name, unit), lambda entry, name=name: values_of(entry, name, scale)) for name in names]  # type: ignore[misc]
        if windowed
        else [
            ("mean completion, " + unit_of(report), lambda entry: [entry["summary"].get("mean_jct")]),
            ("mean waiting, " + unit_of(report), lambda entry: [entry["summary"].get("mean_waiting")]),
            ("utilisation gpu", lambda entry: [_utilisation(entry)]),
        ]
    )
    comparisons = len(figures) * (len(report.scenarios) - 1) * len(policies)
    tables = []
    for title, values in figures:
        rows = []
        for label in report.scenarios:
            cells = [
                _against(
                    entries.get((label, p)), None if label == first else entries.get((first, p)), values, comparisons
                )
                for p in policies
            ]
            rows.append([label, *cells])
        tables.append(TextTable(title, ["", *policies], rows))
    return [*tables, _bounds(report, entries)]


def _bounds(report: Report, entries: dict[tuple[str, str], Entry]) -> TextTable:
    """Return the bound of each scenario and the gaps of the policies to it.

    Args:
        report: The report.
        entries: Entries by scenario and policy.
    """
    policies = list(dict.fromkeys(policy for _, policy in entries))
    rows = []
    for label in report.scenarios:
        gaps = [(entries.get((label, policy)) or {}).get("gaps", {}).get("total_jct") for policy in policies]
        bound = next((e for e in report.ran if e.get("scenario") == label and "bound" in e), None)
        mean = "-" if bound is None else number(bound["bound"]["total_jct"] / max(1, bound["summary"]["jobs"]))
        lost = [(entries.get((label, policy)) or {}).get("losses", {}).get("jobs") for policy in policies]
        rows.append([label, mean, *map(gap_with_regret, gaps, lost)])
    sentences = (
        "In brackets: (value - first row) / the larger of the two"
        + (
            ", mean over the windows, with an interval if the windows are enough for all comparisons."
            if report.windows.used and report.windows.every
            else "."
        )
        + (f" {WINDOW_NOTE}" if report.windows.used else ""),
    )
    return TextTable(
        f"total completion time above its bound (of the whole run; bound: per job, in {unit_of(report)})",
        ["", "bound", *policies],
        rows,
        (*gap_notes(report.ran), *sentences),
        "bounds",
    )


def _utilisation(entry: Entry) -> float | None:
    """Return the share of the GPUs in use."""
    shares = entry["summary"].get("utilisation", {})
    return next((share for name, share in shares.items() if called(name) == "gpu"), None)


def _against(
    entry: Entry | None, other: Entry | None, values: Callable[[Entry], list[float | None]], comparisons: int
) -> str:
    """Format a measure of a policy in a scenario, with its difference from the first scenario.

    Args:
        entry: Entry of the policy in the scenario.
        other: Its entry in the first scenario, or None.
        values: Returns the measure of an entry in each window.
        comparisons: Number of comparisons that hold together.
    """
    if entry is None:
        return "-"
    if "summary" not in entry:
        return str(entry["status"])
    own_values = values(entry)
    if other is None or "summary" not in other:
        return format_mean(own_values)
    other_values = values(other)
    difference = compare_values(other_values, own_values, comparisons) if len(own_values) == len(other_values) else None
    return format_mean(own_values) if difference is None else f"{format_mean(own_values)} ({percent_text(difference)})"
