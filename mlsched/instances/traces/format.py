"""What the package knows of one trace format: its name, its columns and its reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mlsched.instances.traces.builder import TraceBuilder
from mlsched.instances.traces.source import Text


@dataclass(frozen=True)
class TraceFormat:
    """A trace format.

    Attributes:
        name: what `read_trace(format=...)` takes.
        columns: the CSV columns it must have, by which a file is recognised; () for a JSON list.
        read: adds the jobs of a file to a builder, until the builder is full.
        notes: sentences on what every file of the format lacks or distorts.
        optional: further columns that are read where they are there.
        lacks: for a column, what it means that a file does not have it.
    """

    name: str
    columns: tuple[str, ...]
    read: Callable[[Text, TraceBuilder], None]
    notes: tuple[str, ...]
    optional: tuple[str, ...] = ()
    lacks: Mapping[str, str] = field(default_factory=dict)
