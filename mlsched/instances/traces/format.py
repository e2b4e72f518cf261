"""A trace format: its name, its columns and its reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mlsched.instances.traces.builder import TraceBuilder
from mlsched.instances.traces.source import Text


@dataclass(frozen=True)
class TraceFormat:
    """A trace format.

    Attributes:
        name: Value of `read_trace(format=...)`.
        columns: CSV columns that a file must have, used for detection; () for a JSON list.
        read: Adds the jobs of a file to a builder, until the builder is full.
        notes: Sentences on missing or distorted information in every file of the format.
        optional: Further columns that are read if present.
        lacks: Consequence of a missing column, by column.
    """

    name: str
    columns: tuple[str, ...]
    read: Callable[[Text, TraceBuilder], None]
    notes: tuple[str, ...]
    optional: tuple[str, ...] = ()
    lacks: Mapping[str, str] = field(default_factory=dict)
