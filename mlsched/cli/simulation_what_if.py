"""Tables of `mlsched simulate` over several clusters or loads: what if."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlsched.benchmark.replications import compared
from mlsched.cli import simulation_losses as losses
from mlsched.cli.output import number
from mlsched.cli.simulation_shown import Block, Shown, unit_of
from mlsched.cli.simulation_windows import COMPARED, WINDOW_NOTE, cell, said, scale_of, values_of
from mlsched.simulation.nodes import called


def what_if(shown: Shown) -> list[Block]:
    """For each figure a table: a row per scenario, a column per policy, and the bound of each scenario."""
    first = shown.scenarios[0]
    policies = list(dict.fromkeys(entry["policy"] for entry in shown.details))
    known = {(entry.get("scenario", ""), entry["policy"]): entry for entry in shown.details}
    seen = shown.seen.asked
    scale, unit = scale_of(shown.ran) if seen else (1.0, "")
    names = [name for name in COMPARED if any(name in w["measures"] for e in shown.ran for w in e.get("windows", []))]
    figures: list[tuple[str, Callable[[dict[str, Any]], list[float | None]]]] = (
        [(said(name, unit), lambda entry, name=name: values_of(entry, name, scale)) for name in names]  # type: ignore[misc]
        if seen
        else [
            ("mean completion, " + unit_of(shown), lambda entry: [entry["summary"].get("mean_jct")]),
            ("mean waiting, " + unit_of(shown), lambda entry: [entry["summary"].get("mean_waiting")]),
            ("utilisation gpu", lambda entry: [_utilisation(entry)]),
        ]
    )
    found = []
    for title, values in figures:
        rows = []
        for label in shown.scenarios:
            cells = [_against(known.get((label, p)), known.get((first, p)), values, label == first) for p in policies]
            rows.append([label, *cells])
        found.append(Block(title, ["", *policies], rows))
    return [*found, _bounds(shown, known)]


def _bounds(shown: Shown, known: dict[tuple[str, str], dict[str, Any]]) -> Block:
    """How far policies are above the bound of each scenario, and what they lose; known: by scenario and policy."""
    policies = list(dict.fromkeys(policy for _, policy in known))
    rows = []
    for label in shown.scenarios:
        gaps = [(known.get((label, policy)) or {}).get("gaps", {}).get("total_jct") for policy in policies]
        bound = next((e for e in shown.ran if e.get("scenario") == label and "bound" in e), None)
        mean = "-" if bound is None else number(bound["bound"]["total_jct"] / max(1, bound["summary"]["jobs"]))
        lost = [(known.get((label, policy)) or {}).get("losses", {}).get("jobs") for policy in policies]
        rows.append([label, mean, *map(losses.beside, gaps, lost)])
    sentences = (
        "In brackets: against the first row"
        + (", window by window, with the 95 % interval." if shown.seen.asked and shown.seen.every else ".")
        + (f" {WINDOW_NOTE}" if shown.seen.asked else ""),
    )
    return Block(
        f"total completion time above its bound (of the whole run; bound: per job, in {unit_of(shown)})",
        ["", "bound", *policies],
        rows,
        (*losses.notes(shown.ran), *sentences),
        "bounds",
    )


def _utilisation(entry: dict[str, Any]) -> float | None:
    """The share of the GPUs in use."""
    shares = entry["summary"].get("utilisation", {})
    return next((share for name, share in shares.items() if called(name) == "gpu"), None)


def _against(
    entry: dict[str, Any] | None,
    other: dict[str, Any] | None,
    values: Callable[[dict[str, Any]], list[float | None]],
    first: bool,
) -> str:
    """A figure of a policy in a scenario, and its difference to the first scenario."""
    if entry is None:
        return "-"
    if "summary" not in entry:
        return str(entry["status"])
    mine = values(entry)
    if first or other is None or "summary" not in other:
        return cell(mine)
    theirs = values(other)
    found = compared(mine, theirs) if len(mine) == len(theirs) else None
    if found is None or found.share is None:
        return cell(mine)
    half = "" if found.share_half is None else f" ± {found.share_half:.1f}"
    return f"{cell(mine)} ({found.share:+.1f} %{half})"
