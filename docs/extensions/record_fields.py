"""The fields of instances, plans and workloads as a table below their docstring, from the fields' own declarations."""

from __future__ import annotations

import dataclasses
from typing import Any

from sphinx.application import Sphinx

from mlsched.core.fields import EXACT, ArraySpec, IntSpec, LabelsSpec, RecordSpec, Spec, TextSpec
from mlsched.core.record import Record, specs


def shape(spec: Spec) -> str:
    """What a field holds: "jobs x resources" of integers, an integer, names, ..."""
    if isinstance(spec, ArraySpec):
        return " × ".join(spec.shape)
    if isinstance(spec, LabelsSpec):
        return f"names, one of each of the {spec.dim}"
    if isinstance(spec, RecordSpec):
        return f"`{spec.of.kind}`"
    return {IntSpec: "an integer", TextSpec: "a text"}.get(type(spec), type(spec).__name__)


def values(spec: Spec) -> str:
    """Which values it may have."""
    if isinstance(spec, (ArraySpec, IntSpec)):
        low = "" if spec.low <= -EXACT else f"≥ {spec.low}"
        high = "" if spec.high >= EXACT else f"≤ {spec.high}"
        return ", ".join(filter(None, (low, high))) or "any"
    return ", ".join(f"`{choice}`" for choice in spec.choices) if isinstance(spec, TextSpec) else ""


def table(record: type[Record]) -> list[str]:
    """One row a field: name, shape, values, meaning with its unit."""
    lines = ["| field | shape | values | meaning |", "|---|---|---|---|"]
    optional = {f.name for f in dataclasses.fields(record) if f.default is not dataclasses.MISSING}
    for name, spec in specs(record).items():
        cells = (f"`{name}`", shape(spec), values(spec), spec.doc + (" (may be left out)" if name in optional else ""))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines


def with_fields(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Put the table in place of the list with which the docstring of a record ends."""
    if isinstance(obj, type) and issubclass(obj, Record) and dataclasses.is_dataclass(obj) and specs(obj):
        if "Fields:" in lines:  # the same as text, for `help`
            del lines[lines.index("Fields:") :]
        lines += ["", *table(obj), ""]


def names_only(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, arguments: str | None, returns: str | None
) -> tuple[str, str | None] | None:
    """The signature of a record without types, which the table says better."""
    if not (isinstance(obj, type) and issubclass(obj, Record) and dataclasses.is_dataclass(obj)):
        return None
    shown = [f.name if f.default is dataclasses.MISSING else f"{f.name}={f.default!r}" for f in dataclasses.fields(obj)]
    return f"({', '.join(shown)})", None


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", with_fields, priority=500)
    app.connect("autodoc-process-signature", names_only)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
