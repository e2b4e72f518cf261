"""Files of other programs that mlsched does not read: their kind and the remedy."""

from __future__ import annotations

import os
import re
from pathlib import Path

from mlsched.core.errors import InvalidFile
from mlsched.core.safe_open import open_file, shown_path

#: Number of bytes of a file that are inspected.
_HEAD = 1 << 16
_SACCT = "run `sacct --parsable2` for a log (docs/guides/formats.md)"
#: Suffix -> kind of file and remedy.
SUFFIXES = {
    ".mm": ("a multi-mode project of PSPLIB", "give a single-mode project (.sm)"),
    ".rcp": ("a project in Patterson's format", "convert it to PSPLIB's (.sm)"),
    ".fjs": ("a flexible job shop", "give a job shop (.txt), in which each operation has one machine"),
}
#: Patterns that must all occur at the beginning of a JSON document -> kind of file and remedy.
_DOCUMENTS = (
    (
        (r'"nb_res"\s*:', r'"jobs"\s*:'),
        ("a workload of Batsim", "give its SWF log, or a CSV with submit,duration,cpus"),
    ),
    ((r'"job_id"\s*:', r'"submission"\s*:|"openapi/(dbv|slurmdbd)'), ("the output of `sacct --json`", _SACCT)),
    (
        (r'"job_id"\s*:', r'"submit_time"\s*:|"openapi/(v|slurmctld)'),
        ("the output of `squeue --json`", f"{_SACCT}; `mlsched judge` takes it as a state"),
    ),
)


def refuse_unread(path: str | os.PathLike[str]) -> None:
    """Raise InvalidFile for a known format of another program that mlsched does not read.

    Args:
        path: The file; a missing file, or one of an unknown kind, passes.
    """
    match = SUFFIXES.get(Path(path).suffix.lower()) or _document(path)
    if match is not None:
        kind, remedy = match
        raise InvalidFile(f"{shown_path(path)}: this is {kind}, which is not read; {remedy}")


def _document(path: str | os.PathLike[str]) -> tuple[str, str] | None:
    """Return the kind of a JSON object by the names of its fields."""
    with open_file(path) as stream:
        head = stream.read(_HEAD).decode("utf-8", "replace")
    if not head.lstrip("\ufeff \t\r\n").startswith("{") or re.search(r'"kind"\s*:', head):
        return None
    for patterns, found in _DOCUMENTS:
        if all(re.search(pattern, head) for pattern in patterns):
            return found
    return None
