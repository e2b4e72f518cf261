"""The file that `mlsched simulate --table` writes: all figures in rows, or the tables as they are shown, or a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mlsched.benchmark import html
from mlsched.benchmark.formats import LATEX
from mlsched.cli.simulation_losses import of_weights
from mlsched.cli.simulation_shown import Block, Shown
from mlsched.cli.simulation_tables import about, blocks, flattened, why_not, worded
from mlsched.cli.simulation_windows import scaled
from mlsched.core import tables
from mlsched.core.errors import InvalidInput
from mlsched.core.files import atomic_write

#: Parts of the names of figures of task graphs that are times, in ticks.
_IN_TICKS = ("jct", "makespan", "mean_waiting")
TABLES = (".csv", ".parquet", ".md", ".tex", ".html")


def check_target(path: Path) -> None:
    """Refuse a name that no table can be written under."""
    if path.suffix.lower() not in TABLES:
        raise InvalidInput(f"--table {path}: must end in {', '.join(TABLES[:-1])} or {TABLES[-1]}")
    if path.suffix.lower() == ".parquet":
        tables.check_target(path)


def write_table(shown: Shown, path: Path) -> None:
    """All figures in rows (.csv, .parquet), or the tables as they are shown, to be published (.md, .tex, .html)."""
    suffix = path.suffix.lower()
    if suffix in (".csv", ".parquet"):
        tables.write(_long(shown), path)
        return
    if suffix == ".html":
        with atomic_write(path) as stream:
            stream.write(_page(shown))
        return
    made = [_markdown(block) if suffix == ".md" else _latex(block) for block in blocks(shown)]
    with atomic_write(path) as stream:
        stream.write("\n".join(made))


def _long(shown: Shown) -> dict[str, list[Any]]:
    """A row for every figure of every policy, scenario, window and group; times in the unit that `unit` names."""
    columns: dict[str, list[Any]] = {
        name: [] for name in ("scenario", "policy", "from", "to", "by", "group", "measure", "value", "unit")
    }

    def add(*row: Any) -> None:
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)

    for entry in shown.ran:
        ticking = "total_jct" in entry["summary"]  # of task graphs, whose times are ticks; others name their units
        front = (entry.get("scenario", ""), entry["policy"])
        for name, value in flattened(entry["summary"]).items():
            unit = "ticks" if ticking and any(word in name for word in _IN_TICKS) else ""
            add(*front, "", "", "", "", worded(name), float(value), unit)
        for name, share in entry.get("gaps", {}).items():
            add(*front, "", "", "", "", f"{name} above its bound", float(share), "")
        for weights, loss in entry.get("losses", {}).items():
            for key, share in loss.items():
                add(*front, "", "", "", "", f"{of_weights(weights)} loses {key.replace('_', ' ')}", float(share), "")
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


def _page(shown: Shown) -> str:
    """A page that needs no network: what was run and under which simulator, every table, and what is wrong."""
    sections = [html.heading("What was run"), *(html.text(line) for line in about(shown))]
    sections += [html.text(line) for line in why_not(shown)]
    wrong = shown.failures or ["every run passed the independent replay check"]
    sections += [html.text(line) for line in wrong]
    for block in blocks(shown):
        title = block.title or f"{block.name}, side by side"
        sections += [html.heading(title), html.table(block.header, block.rows, label=title, sortable=False)]
        sections += [html.text(sentence, note=True) for sentence in block.sentences]
    return html.page("mlsched simulate: " + ", ".join(dict.fromkeys(e["policy"] for e in shown.details)), sections)


def _markdown(block: Block) -> str:
    lines = [f"**{block.title}**", ""] if block.title else []
    lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in block.header) + " |")
    lines.append("|" + "---|" * len(block.header))
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in block.rows]
    lines += ["", *block.sentences] if block.sentences else []
    return "\n".join(lines) + "\n"


def _latex(block: Block) -> str:
    def line(cells: Sequence[str]) -> str:
        return " & ".join(map(_escaped, cells)) + r" \\"

    lines = [r"\begin{table}", r"\centering"]
    lines += [rf"\caption{{{_escaped(' '.join([block.title, *block.sentences]).strip())}}}"]
    lines += [rf"\begin{{tabular}}{{l{'r' * (len(block.header) - 1)}}}", r"\hline", line(block.header), r"\hline"]
    lines += [line(row) for row in block.rows]
    return "\n".join([*lines, r"\hline", r"\end{tabular}", r"\end{table}"]) + "\n"


def _escaped(text: str) -> str:
    """Text for LaTeX."""
    return text.translate(LATEX | str.maketrans({"±": r"$\pm$", "–": "--", "^": r"\^{}"}))
