"""Temporary folders that are removed even if the process that created them is killed."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

#: Code of a sweeper: wait until the process at the other end of its input has ended, then remove the folder. One
#: attempt may not suffice, because another process that is ending may still write to the folder.
_SWEEP = """
import os, shutil, sys, time
sys.stdin.buffer.read()
for _ in range(50):
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    if not os.path.lexists(sys.argv[1]):
        break
    time.sleep(0.1)
"""


@contextlib.contextmanager
def temporary_directory(prefix: str, place: Path | None = None) -> Iterator[Path]:
    """Create a folder and remove it at the end of the block; parts that the block renamed or removed are left alone.

    A killed process cannot clean up, so another process does. It is started before the folder is created, and ends with
    the block.

    Args:
        prefix: Beginning of the folder's name.
        place: Parent folder (default: the system's folder for temporary files).

    Raises:
        OSError: The folder cannot be created.
    """
    path = (Path(tempfile.gettempdir()) if place is None else place.resolve()) / f"{prefix}{secrets.token_hex(8)}"
    # In its own session, so that a signal to this process group does not end it.
    sweeper = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _SWEEP, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        cwd=path.parent,
        start_new_session=True,
    )
    with sweeper:  # closes its input and waits for it
        path.mkdir(mode=0o700)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)
