"""The folder of a paper's own files: as given, or that of $MLSCHED_DATA."""

from __future__ import annotations

import os
from pathlib import Path

from mlsched.core.errors import InvalidInput


def folder_with(files: tuple[str, str], paper: str, given: str | None) -> str:
    """Return the folder that has both files of the paper; raise InvalidInput if it is missing."""
    own = os.environ.get("MLSCHED_DATA")
    folder = Path(given) if given else Path(own) / "data" / paper if own else None
    if folder is None or not all((folder / name).is_file() for name in files):
        one, other = files
        raise InvalidInput(f"{paper}: give trace=FOLDER, one that has {one} and {other}, or set MLSCHED_DATA")
    return str(folder)
