"""What `mlsched simulate` shows of its runs: the lines above its tables, a table of policies, and of parts."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from mlsched.benchmark.formats import GAP_NOTE, apart, apart_notes, gap, percent
from mlsched.cli import simulation_losses as losses
from mlsched.cli.output import Columns, number
from mlsched.cli.simulation_shown import Block, Shown, unit_of
from mlsched.cli.simulation_what_if import what_if
from mlsched.cli.simulation_windows import of_groups, of_windows
from mlsched.core.gap import Gaps
from mlsched.simulation.nodes import called
from mlsched.simulation.taskgraph.iterations.reference.decomposition import SUM

#: What runs take for granted -> how a source begins to say the same.
SAID_BELOW = {"pause cost": "a pause costs ", "movement": "movement=", "tick": "ticks of "}


def rendered(shown: Shown) -> list[Any]:
    """The lines and tables for people."""
    details = shown.ran
    found: list[Any] = about(shown)
    for block in blocks(shown):
        found += [block.title] if block.title else []
        found += [Columns(block.header, block.rows), *block.sentences]
    recorded = [Gaps(**entry["optimality"]) for entry in details if entry["optimality"] is not None]
    found += [GAP_NOTE, *apart_notes(recorded)] if recorded else []
    found += why_not(shown)
    if not shown.failures:
        found.append("every run passed the independent replay check")
    return found


def about(shown: Shown) -> list[str]:
    """What was run where, what of the log was used, and what the runs took for granted: the lines above the tables."""
    workload, details = shown.workload, shown.ran
    ticks = details[0]["summary"].get("tick_seconds")
    unit = f"; times in {unit_of(shown)}" if ticks and len(shown.scenarios) == 1 else ""
    found = [
        _origin(workload.source, details[0]["assumed"]),
        f"{len(workload.submit)} jobs on {workload.cluster}{unit}",
    ]
    found += [f"rows: {sentence}" for sentence in shown.account.sentences()] if shown.account else []
    return found + _assumed(details)


def _origin(source: str, assumed: Collection[str]) -> str:
    """What a workload says of its source, without what the lines on `assumed` say in a sentence of their own."""
    below = tuple(begin for name, begin in SAID_BELOW.items() if name in assumed)
    return "; ".join(clause for clause in source.split("; ") if not clause.startswith(below))


def as_data(shown: Shown) -> list[dict[str, Any]]:
    """The tables as plain data, by the names `policies`, `windows`, `against`, or by what each is of."""
    return [{"name": b.name or b.title, "title": b.title, "header": b.header, "rows": b.rows} for b in blocks(shown)]


def blocks(shown: Shown) -> list[Block]:
    """The tables: of policies, or of windows and groups; of several scenarios, the policies in each."""
    if len(shown.scenarios) > 1:
        found = what_if(shown)
    else:
        found = [*of_windows(shown), *of_groups(shown)] if shown.seen.asked else [_of_policies(shown)]
    return found + [block for label in shown.scenarios for block in _of_parts(shown, label)]


def _of_policies(shown: Shown) -> Block:
    """A column per policy, a row for a scalar or percentile of its summary; one that did not run says so."""
    header, rows = list[str](), list[dict[str, Any]]()
    failed = len(shown.ran) < len(shown.details)
    for entry in shown.details:
        flat: dict[str, Any] = {"status": entry.get("status", "ran")} if failed else {}
        flat |= _figures(entry) if "summary" in entry else {}
        header += [key for key in flat if key not in header]
        rows.append({"policy": entry["policy"], **flat})
    names = [row["policy"] for row in rows]
    cells = ([c if isinstance(c := row.get(key), str) else number(c) for row in rows] for key in header)
    body = [[worded(key), *row] for key, row in zip(header, cells, strict=True)]
    return Block("", ["", *names], body, losses.notes(shown.ran), "policies")


def _figures(entry: dict[str, Any]) -> dict[str, Any]:
    flat = flattened({key: value for key, value in entry["summary"].items() if key != "tick_seconds"})
    flat |= {f"{name} above its bound": gap(share) for name, share in entry.get("gaps", {}).items()}
    flat |= losses.lines(entry)
    if entry["optimality"] is not None:
        flat |= _gap_lines(Gaps(**entry["optimality"]))
    return flat


def _of_parts(shown: Shown, label: str) -> list[Block]:
    """Of what the distances of the policies from their bound are made, in a scenario: a row per part."""
    entries = [entry for entry in shown.ran if entry.get("scenario", "") == label]
    told = [entry for entry in entries if "parts" in entry]
    sentences = tuple(f"{e['policy']}: no parts: {e['no_parts']}" for e in entries if "no_parts" in e)
    if not told:
        return [Block("", ["", "parts"], [], sentences, "no parts")] if sentences else []
    title = f"total_jct {SUM}, part by part" + (f", {label}" if label else "")
    return [
        Block(
            title,
            ["", *(entry["policy"] for entry in told)],
            losses.parts(told),
            (losses.PARTS_NOTE, *sentences),
            "parts",
        )
    ]


def why_not(shown: Shown) -> list[str]:
    """A line for each policy that did not run."""
    return [
        f"{entry['policy']}{' on ' + entry['scenario'] if entry.get('scenario') else ''} {entry['status']}: "
        f"{entry['reason']}"
        for entry in shown.details
        if "reason" in entry
    ]


def _assumed(details: list[dict[str, Any]]) -> list[str]:
    """A line for everything that runs took for granted; where they differ, one for each way, with who took it."""
    lines = []
    for name in details[0]["assumed"]:
        by: dict[str, list[str]] = {}
        for entry in details:
            by.setdefault(entry["assumed"][name], []).append(entry["policy"])
        for said, who in by.items():
            lines.append(f"{name}: {said}" + (f" ({', '.join(who)})" if len(by) > 1 else ""))
    return lines


def worded(key: str) -> str:
    """A line's name, with resources as people call them: the numbers of such lines are shares."""
    return " ".join(called(word) for word in key.split())


def _gap_lines(gaps: Gaps) -> dict[str, Any]:
    """The table's lines on recorded decisions: a mean of percentages, and apart from it what has none."""
    lines = {"decisions compared": gaps.count, "decisions optimal": percent(gaps.optimal), "mean gap": gap(gaps.mean)}
    if gaps.absolute:
        lines["optimum 0"] = apart(gaps.absolute, gaps.mean_difference)
    if gaps.behind:
        lines["behind"] = apart(gaps.behind, gaps.mean_behind)
    return lines


def flattened(summary: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in summary.items():
        if isinstance(value, dict):
            flat |= flattened(value, f"{prefix}{key} ")
        elif value is not None:
            flat[f"{prefix}{key}"] = value
    return flat
