"""Opening files: a pipe, a device, a link to itself, a file without end are refused in one line and left alone.

No test touches a device: a device is a mode that a look at a file reports.
"""

from __future__ import annotations

import functools
import gzip
import io
import os
import stat
import tarfile
import time
from pathlib import Path

import pytest
from reader_examples import READERS

import mlsched
from mlsched.benchmark.store import Store
from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.core.files import atomic_write, read_json, write_json
from mlsched.core.safe_open import gunzipped, open_file, refuse_target, target_of
from mlsched.instances.traces import read_trace
from mlsched.solvers.front.journal import Journal

WRITERS = {
    "json": lambda path: write_json(path, {}),
    "store": lambda path: Store(path).close(),
    "journal": lambda path: Journal(path, {}).close(),
}
needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")


def refusal(call, *arguments) -> str:
    """The one line with which a call is refused, at most 300 characters."""
    with pytest.raises(InvalidInput) as caught:
        call(*arguments)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) <= 300
    return message


@pytest.fixture(params=["pipe", "directory", "loop", "device"])
def irregular(request, tmp_path, monkeypatch):
    """What is no file: (path, what a refusal says)."""
    path = tmp_path / "it"
    if request.param == "pipe":
        if not hasattr(os, "mkfifo"):
            pytest.skip("the system has no named pipes")
        os.mkfifo(path)
        return path, "is a pipe; give a regular file"
    if request.param == "directory":
        path.mkdir()
        return path, "is a directory; give a regular file"
    if request.param == "loop":
        path.symlink_to(path)
        return path, "Too many levels of symbolic links"
    path.write_text("what a device would give")
    real = Path.stat

    def as_device(self, **options):
        found = real(self, **options)
        if self.name != "it":
            return found
        return os.stat_result((stat.S_IFCHR | 0o666, *tuple(found)[1:]))

    monkeypatch.setattr(Path, "stat", as_device)
    return path, "is a device; give a regular file"


@pytest.mark.parametrize("name", READERS)
def test_what_is_no_file_is_not_read(name, irregular):
    path, fragment = irregular
    assert fragment in refusal(READERS[name], path)


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_no_file_is_not_replaced(name, irregular, tmp_path):
    path, fragment = irregular
    before = os.lstat(path)
    assert fragment in refusal(WRITERS[name], path)
    assert os.lstat(path)[:3] == before[:3], "the same node of the same kind"
    assert [p.name for p in tmp_path.iterdir()] == ["it"], "nothing half-written stays"


@needs_pipes
def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(tmp_path, monkeypatch):
    """Between the look at the path and the opening of it."""
    os.mkfifo(tmp_path / "pipe")
    regular = tmp_path / "file"
    regular.touch()
    monkeypatch.setattr(Path, "stat", lambda self: os.lstat(regular))
    assert "is a pipe" in refusal(open_file, tmp_path / "pipe")


@pytest.mark.parametrize("name", [*READERS, *(f"{name}-" for name in WRITERS)])
def test_a_path_that_no_file_can_have(name):
    call = WRITERS[name[:-1]] if name.endswith("-") else READERS[name]
    assert "embedded null" in refusal(call, "a\0b")
    assert "too long" in refusal(call, "a" * 10**6)


@pytest.mark.parametrize("name", WRITERS)
def test_a_link_is_followed_and_kept(name, tmp_path):
    (tmp_path / "there").mkdir()
    link, file = tmp_path / "link", tmp_path / "there" / "file"
    link.symlink_to(file)
    for _ in range(2):  # to a file that is not there yet, then to one that is
        WRITERS[name](link)
        assert link.is_symlink()
        assert file.is_file()
        assert not file.is_symlink()
    assert [p.name for p in (tmp_path / "there").iterdir()] == ["file"]


def test_a_name_as_long_as_a_name_may_be(tmp_path):
    write_json(tmp_path / ("a" * 250), {})
    assert read_json(tmp_path / ("a" * 250)) == {}


def test_folders_are_made_where_asked_for(tmp_path):
    with atomic_write(tmp_path / "a" / "b" / "c", folders=True) as stream:
        stream.write("x")
    assert (tmp_path / "a" / "b" / "c").read_text() == "x"
    assert "File exists" in refusal(lambda: target_of(tmp_path / "a" / "b" / "c" / "d", folders=True))


def test_what_is_no_file_is_refused_in_one_sentence(tmp_path):
    assert refusal(lambda: open_file(tmp_path)) == f"{tmp_path}: is a directory; give a regular file"


def test_a_place_to_write_to_is_refused_without_making_anything(tmp_path):
    (tmp_path / "file").write_text("x")
    refuse_target(tmp_path / "new" / "folders" / "report.html", folders=True)
    refuse_target(tmp_path / "file", folders=True)
    assert "No such file or directory" in refusal(lambda: refuse_target(tmp_path / "new" / "report.html"))
    assert "Not a directory" in refusal(lambda: refuse_target(tmp_path / "file" / "new" / "it", folders=True))
    assert "is a directory" in refusal(lambda: refuse_target(tmp_path, folders=True))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("content", ["", "[", '{"a": ', "jobid,timestamp\n"])
@pytest.mark.parametrize("name", READERS)
def test_a_file_without_end_is_refused_at_once(name, content, tmp_path):
    """20 GB of nothing after the content, which take no place on the disk."""
    path = tmp_path / "sparse"
    path.write_text(content)
    os.truncate(path, 20 * 2**30)
    refusal(READERS[name], path)


@functools.cache
def nothing(content: bytes, times: int, end: bytes = b"") -> bytes:
    """So many bytes of nothing, compressed."""
    return gzip.compress(content * times + end)


@pytest.mark.parametrize("content", [b"\n", b" ", b"\0"])
@pytest.mark.parametrize("name", ["trace", "nodes", "workload", "algoperf", "gavel", "profiles"])
def test_a_hundred_megabytes_of_nothing_in_gzip(name, content, tmp_path):
    path = tmp_path / "nothing.gz"
    path.write_bytes(nothing(content, 2**22) * 25)
    started = time.process_time()
    refusal(READERS[name], path)
    assert time.process_time() - started < 2


@pytest.mark.parametrize("content", [b"\n", b"\0"])
def test_what_is_read_whole_has_a_bound_uncompressed(content):
    assert "uncompressed" in refusal(gunzipped, "file", nothing(content, 2**24, b"x"))


def test_blank_lines_after_the_header_and_blanks_before_it_and_in_a_list(tmp_path):
    path = tmp_path / "trace.gz"
    header = "job_id,num_gpus,submit_time,duration\n"
    path.write_bytes(gzip.compress((header + "\n" * 10**6).encode()))
    refusal(read_trace, path)
    path.write_bytes(gzip.compress(b"[" + b"\n" * 10**7))
    assert "blanks in a row" in refusal(read_trace, path)
    path.write_bytes(gzip.compress(b" " * 2**20 + header.encode()))
    assert "begins with more than 1048576 blanks" in refusal(read_trace, path)


@pytest.mark.parametrize("name", ["algoperf", "profiles"])
def test_an_archive_of_many_bytes(name, tmp_path):
    """Headers that announce more than is read; nothing of it is there."""
    path = tmp_path / "archive.tar"
    info = tarfile.TarInfo("a.txt")
    info.size = 2**40
    path.write_bytes(info.tobuf())
    assert "has more than" in refusal(READERS[name], path)


def test_what_would_fill_the_memory_is_not_parsed(tmp_path):
    path = tmp_path / "a.json"
    for sign, text in (("[", "[],"), ("{", "{},"), (":", '"a":'), (",", "1,")):
        path.write_text('{"a": [' + text * 9_000_000)
        if path.stat().st_size < 2**26:
            assert f"of {sign!r}" in refusal(read_json, path)
        else:
            assert "expected at most" in refusal(read_json, path)


LONG = "k" * 10**6


@pytest.mark.parametrize(
    "text",
    [
        f'{{"{LONG}": 1}}',
        f'{{"kind": "{LONG}"}}',
        f'{{"kind": "preemption.instance", "version": {"9" * 4000}}}',
        f'{{"kind": "preemption.instance", "version": 1, "{LONG}": 1}}',
        f'{{"kind": "preemption.plan", "version": 1, "instance_hash": ["{LONG}"]}}',
        f'{{"{LONG}": 1, "{LONG}": 1}}',
        '{"\\u001b[31m\\n": 1, "\\u001b[31m\\n": 1}',
        "{" + ", ".join(f'"{i}": 1' for i in range(50_000)) + ', "1": 1}',
    ],
    ids=range(8),
)
def test_long_names_and_numbers_are_cut(text, tmp_path):
    path = tmp_path / "long.json"
    path.write_text(text)
    message = refusal(mlsched.load, path)
    assert message.isprintable()
    assert message.startswith(str(path))


def test_long_words_in_other_formats(tmp_path):
    path = tmp_path / "long.txt"
    for text in (LONG, f"{LONG} -- a", f"1 {'9' * 5000}\n", "jobs (incl. supersource/sink ): " + "9" * 5000):
        path.write_text(text)
        for name in ("stg", "psplib", "jobshop", "profiles", "trace", "nodes", "gavel"):
            refusal(READERS[name], path)


def test_a_header_of_many_columns(tmp_path):
    path = tmp_path / "columns.csv"
    names = [f"c{i}" for i in range(20_000)]
    path.write_text(",".join(["job_id", "num_gpus", "submit_time", "duration", *names, names[-1]]) + "\n")
    refusal(read_trace, path)


def test_damaged_gzip(tmp_path):
    packed = gzip.compress(b"{}" * 1000)
    assert gunzipped("f", packed) == b"{}" * 1000
    assert gunzipped("f", packed * 2) == b"{}" * 2000
    assert "ends too early" in refusal(gunzipped, "f", packed[:-9])
    assert "is damaged gzip" in refusal(gunzipped, "f", packed[:10] + b"\xff" * 40)
    stream = io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb") as file:
        file.write(b"x")
    with pytest.raises(InvalidFile):
        gunzipped("f", stream.getvalue(), most=0)
