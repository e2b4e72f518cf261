"""Disks that fail and disks that are full: a line that names the file, and nothing that the next call refuses."""

from __future__ import annotations

import errno
import io
import os
import tempfile

import pytest

from mlsched.core import files
from mlsched.instances.traces import source

ROWS = "".join(f"{300 * k},600,1\n" for k in range(5))


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("submit_s,duration_s,gpus\n" + ROWS)
    return path


class Failing(io.RawIOBase):
    """A file whose disk fails beyond so many bytes."""

    def __init__(self, content: bytes, good: int):
        self.content, self.good, self.place = content, good, 0

    def readable(self):
        return True

    def seekable(self):
        return True

    def seek(self, place, whence=0):
        self.place = place
        return place

    def readinto(self, buffer):
        size = min(len(buffer), self.good - self.place, len(self.content) - self.place)
        if size <= 0 < len(self.content) - self.place:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        buffer[:size] = self.content[self.place : self.place + size]
        self.place += size
        return size


@pytest.mark.parametrize("good", [0, 10, 40])
def test_a_disk_that_fails_under_a_log_is_not_the_standard_output(cli, monkeypatch, log, good):
    content = log.read_bytes()
    monkeypatch.setattr(source, "open_file", lambda path: io.BufferedReader(Failing(content, good), 16))
    found = cli("simulate", "fifo", "--trace", log, "--cluster", "1x(8gpu)")
    assert found.status in (1, 2)
    found.refused("log.csv", "cannot be read", "Input/output error", status=found.status)


@pytest.mark.parametrize("name", ["prices", "schedule", "manifest"])
def test_a_reference_that_a_full_disk_cut_off_is_continued(cli, monkeypatch, log, tmp_path, name):
    folder = tmp_path / "reference"
    call = ("reference", log, "-o", folder, "--cluster", "1x(8gpu)", "--moves", 2)
    original = tempfile.mkstemp

    def full(prefix, **more):
        if name in prefix:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return original(prefix=prefix, **more)

    with monkeypatch.context() as patch:
        patch.setattr(files.tempfile, "mkstemp", full)
        cut = cli(*call)
    assert cut.status in (1, 2)
    assert "cannot be written: No space left on device" in cut.err.splitlines()[-1]
    assert cli(*call).status == 0
    assert cli("check", folder, "--log", log).status == 0
