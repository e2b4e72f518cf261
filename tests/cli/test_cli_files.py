"""What commands write: regular files alone, refused before the work starts, whole or not at all.

Whatever could do harm runs in a process of its own, as an ordinary user where the tests are run by root. No test
touches a device: a full disk is a limit on the size of files.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from cli_fixtures import refuses_what_is_no_file

from mlsched.core.files import read_json
from mlsched.solvers.front.journal import Journal

#: Options that name a file to write, and commands that have them; nothing that they name exists, so none does any work.
OPTIONS = [
    ("generate", "preemption", "-o"),
    ("solve", "none.json", "-o"),
    ("solve", "none.json", "--plot"),
    ("pareto", "none.json", "a", "b", "-o"),
    ("pareto", "none.json", "a", "b", "--plot"),
    ("pareto", "none.json", "a", "b", "--resume"),
    ("simulate", "fifo", "--trace", "none.csv", "-o"),
    ("simulate", "fifo", "--trace", "none.csv", "--plot"),
    ("bench", "none", "--store"),
    ("bench", "none", "--html"),
]

#: A process that is an ordinary user's from here on, and whose files may have 4096 bytes at most.
#: What is imported late is imported before: an ordinary user may not be able to read this Python's files.
ORDINARY = """
import contextlib, io, os, resource, sys
from mlsched.cli.main import main, run
from mlsched.benchmark.store import Store
from mlsched.core.scalar import Answer
from mlsched.solvers.front.journal import Journal
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    for command in (["generate", "preemption"], ["list", "problems"]):
        run(command)
if os.getuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
if sys.argv[1] == "full":
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
if sys.argv[2] == "store":
    try:
        Store(sys.argv[3])
    except ValueError as full:
        sys.exit(str(full))
if sys.argv[2] != "journal":
    main(sys.argv[2:])
journal = Journal(sys.argv[3], {})
try:
    for k in range(1000):
        journal.add((k,), ((k, None),), Answer("optimal", (k,), k, None))
except ValueError as full:
    print(full, k, file=sys.stderr)
journal.close()
"""


def ordinary(kind: str, *arguments, **options) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", ORDINARY, kind, *map(str, arguments)]
    return subprocess.run(command, text=True, check=False, **{"capture_output": True, **options})


@pytest.fixture
def folder():
    """A folder in which an ordinary user may write, whoever runs the tests; pytest's own are for one user."""
    pytest.importorskip("resource", reason="limits are POSIX's")
    with tempfile.TemporaryDirectory() as name:
        if os.getuid() == 0:
            os.chown(name, 65534, 65534)
        yield Path(name)


def one_line(done: subprocess.CompletedProcess[str], *statuses: int) -> str:
    assert done.returncode in statuses, done.stderr
    assert done.stderr.startswith("mlsched: ")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("command", OPTIONS, ids=" ".join)
def test_what_is_no_file_is_refused_before_any_work(cli, command, tmp_path):
    refuses_what_is_no_file(cli, command, tmp_path)


def test_a_link_is_written_through(cli, tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    link.symlink_to(target)
    assert cli("generate", "preemption", "--preset", "small", "-o", link).status == 0
    assert link.is_symlink()
    assert read_json(target)["kind"] == "preemption.instance"


def test_a_full_disk_leaves_the_old_file(folder):
    """A limit of 4096 bytes a file stands in for the disk."""
    target = folder / "big.json"
    target.write_text("{}")
    target.chmod(0o666)
    done = ordinary("full", "generate", "preemption", "--preset", "paper", "-o", target)
    assert "big.json: cannot be written: File too large" in one_line(done, 1, 2)
    assert target.read_text() == "{}"
    assert [p.name for p in folder.iterdir()] == ["big.json"]


def test_a_full_disk_under_a_store_and_a_journal(folder):
    done = ordinary("full", "store", folder / "rows.sqlite")
    assert "rows.sqlite: cannot be used as a store: " in done.stderr
    assert done.stderr.count("\n") == 1
    done = ordinary("full", "journal", folder / "journal")
    message, _, count = done.stderr.strip().rpartition(" ")
    assert message.endswith("journal: cannot be written: File too large; choose another place")
    (folder / "journal").chmod(0o666)
    again = Journal(folder / "journal", {})
    again.close()
    assert len(again.answers) == int(count) > 20, "what was answered is kept"


def test_standard_output_that_cannot_be_written(folder):
    with (folder / "full").open("w") as full:
        done = ordinary("full", "generate", "preemption", "--preset", "paper", capture_output=False, stdout=full,
                        stderr=subprocess.PIPE)  # fmt: skip
    assert "standard output cannot be written: File too large" in one_line(done, 1)
    script = 'exec "$@" >&-'
    command = ["sh", "-c", script, "sh", sys.executable, "-c", ORDINARY, "free", "list", "problems"]
    closed = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    assert "standard output is closed" in one_line(closed, 1)


def test_places_that_an_ordinary_user_may_not_write(folder):
    (folder / "shut").mkdir(mode=0o500)
    (folder / "read-only.json").touch(mode=0o400)
    if os.getuid() == 0:
        os.chown(folder / "shut", 65534, 65534)
        os.chown(folder / "read-only.json", 65534, 65534)
    for name, said in (("shut/a.json", "its folder may not be written"), ("read-only.json", "the file is read-only")):
        done = ordinary("free", "generate", "preemption", "-o", folder / name)
        assert said in one_line(done, 2)
    assert (folder / "read-only.json").read_text() == ""
