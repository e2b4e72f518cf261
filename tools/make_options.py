"""Write the tables of simulator options into docs/problems/simulator.md: `python tools/make_options.py`."""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing
from pathlib import Path

from mlsched.core.fields import UNLIMITED
from mlsched.core.params import Range
from mlsched.simulation.placement.options import Options as Placement
from mlsched.simulation.preemption.options import Options as Preemption
from mlsched.simulation.quality.options import Options as Quality
from mlsched.simulation.taskgraph.iterations.options import Options as Iterations
from mlsched.simulation.workers.options import Options as Workers
from mlsched_rounds.simulation.options import Options as Rounds

TARGET = Path(__file__).resolve().parents[1] / "docs" / "problems" / "simulator.md"
OPTIONS = {
    "taskgraph": Iterations,
    "preemption": Preemption,
    "placement": Placement,
    "quality": Quality,
    "workers": Workers,
    "rounds": Rounds,
}
#: Options that the policies `gavel` and `shockwave` set.
IMPLIED = {"shares", "plan"}
BLOCK = re.compile(r"(<!-- options (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def descriptions(options: type) -> dict[str, str]:
    """Return the text of each option from the docstrings of a class and its bases."""
    found: dict[str, str] = {}
    for one in reversed(options.__mro__):
        _, _, attributes = inspect.cleandoc(one.__dict__.get("__doc__") or "").partition("Attributes:\n")
        for name, text in re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", attributes, re.MULTILINE):
            found[name] = " ".join(text.split())
    return found


def values(hint: typing.Any) -> list[str]:
    """Return the values that an option accepts, as a user types them; an empty list for numbers and texts."""
    if hint is bool:
        return ["true", "false"]
    return [str(value) for value in typing.get_args(hint)] if typing.get_origin(hint) is typing.Literal else []


def _accepted(hint: typing.Any) -> str:
    if listed := values(hint):
        return ", ".join(f"`{value}`" for value in listed if value)
    ranges = [rule for rule in getattr(hint, "__metadata__", ()) if isinstance(rule, Range)]
    return f"from {ranges[0].low:g}" if ranges and ranges[0].low is not None else ""


def _default(value: typing.Any) -> str:
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return "unlimited" if value == UNLIMITED else f"`{value}`" if value != "" else "(empty)"


def table(options: type) -> str:
    """Return the Markdown table of the options of one simulator."""
    hints, texts = typing.get_type_hints(options, include_extras=True), descriptions(options)
    lines = ["| option | values | default | meaning |", "|---|---|---|---|"]
    for field in dataclasses.fields(options):
        if field.name in IMPLIED:
            continue
        text = re.sub(r'"(\w*)"', r"`\1`", texts[field.name]).replace("``", "the empty text").replace("|", "\\|")
        lines.append(f"| `{field.name}` | {_accepted(hints[field.name])} | {_default(field.default)} | {text} |")
    return "\n".join(lines) + "\n"


def with_tables(page: str) -> str:
    """Return the text of the page with current tables."""
    return BLOCK.sub(lambda found: f"{found[1]}{table(OPTIONS[found[2]])}{found[3]}", page)


if __name__ == "__main__":
    TARGET.write_text(with_tables(TARGET.read_text(encoding="utf-8")), encoding="utf-8")
