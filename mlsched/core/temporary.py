"""Temporary folders that are gone when they should be, also where the process that made them is killed."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

#: What a sweeper does: wait until whoever holds the other end of its input has ended, then remove the folder. Once may
#: not do: another process that is being ended may still have written to it.
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
def swept_folder(prefix: str, place: Path | None = None) -> Iterator[Path]:
    """A new folder, removed at the end of the block; what the block has renamed or removed itself stays as it is.

    place: the folder in which it is made (default: the system's for temporary files). Nothing that is done in a killed
    process can clean up after it, so another process does: it is there before the folder is, and ends with the block.
    Raises OSError where no folder can be made.
    """
    path = (Path(tempfile.gettempdir()) if place is None else place.resolve()) / f"{prefix}{secrets.token_hex(8)}"
    # In a session of its own, so that what ends this process' group does not end it.
    sweeper = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _SWEEP, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        cwd=path.parent,
        start_new_session=True,
    )
    with sweeper:  # which closes its input and waits for it
        path.mkdir(mode=0o700)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)
