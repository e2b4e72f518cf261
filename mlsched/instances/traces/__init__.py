"""Readers of public cluster traces: jobs (`Trace`) and machines (`Nodes`), checked row by row.

A file is read as a stream, plain or gzip, and its format is detected from its content, never from its name. Each fault
is one line of `InvalidFile`. Names are imported on first use, so a program that needs only a curve or a list of nodes
does not import the readers of all formats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlsched.core.deferred import imported_at_first_use

if TYPE_CHECKING:
    from mlsched.instances.traces.account import Account, Rows
    from mlsched.instances.traces.frames import is_frame
    from mlsched.instances.traces.read import FORMATS, OWN, read_nodes, read_trace
    from mlsched.instances.traces.trace import ABSENT, UNKNOWN, Nodes, Runs, Trace

__all__ = [
    "ABSENT",
    "FORMATS",
    "OWN",
    "UNKNOWN",
    "Account",
    "Nodes",
    "Rows",
    "Runs",
    "Trace",
    "is_frame",
    "read_nodes",
    "read_trace",
]

#: Public name -> module that defines it.
_HOME = {
    "ABSENT": "trace",
    "FORMATS": "read",
    "OWN": "read",
    "UNKNOWN": "trace",
    "Account": "account",
    "Nodes": "trace",
    "Rows": "account",
    "Runs": "trace",
    "Trace": "trace",
    "is_frame": "frames",
    "read_nodes": "read",
    "read_trace": "read",
}

__getattr__ = imported_at_first_use(__name__, _HOME)
