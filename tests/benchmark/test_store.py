"""The store: what goes in comes out, and whatever is no store is refused in one line."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from benchmark_examples import row, rule, suite, timeless
from draws import draws

from mlsched import InvalidFile
from mlsched.benchmark.reference import fill_gaps, with_gaps
from mlsched.benchmark.runner import run_suite
from mlsched.benchmark.store import OPTIONAL, VERSION, Store, read_rows
from mlsched.core.contract import Primary


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.sqlite"


def write(path, *statements):
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def test_rows_come_back_as_they_were(path):
    rows = [
        row(),
        row(instance_hash="h1", sort_key=None, sort_keys=None, status="failed", error='l\'été <b>"x"', seconds=None),
        row(instance_hash="h2", primary=Primary("missed deadlines", 1000)),
        row(solver="x:s=2", params={"s": 2.0, "deep": True}, cases={"a": True}, binding={"b": False}, sort_bound=9.5),
    ]
    with Store(path) as store:
        store.add(rows[:2])
        store.add(rows[2:])
        assert store.count("made") == 4
        assert store.count("other") == 0
        assert store.suites() == ["made"]
    assert read_rows(path) == rows
    assert read_rows(path, "other") == []


def test_the_gap_to_the_optimum_is_not_kept(path):
    with Store(path) as store:
        store.add(with_gaps([row(), rule(12)]))
    assert [found.gap_to_optimum for found in read_rows(path)] == [None, None]
    rows = read_rows(path)
    filled = with_gaps(rows)
    assert [found.gap_to_optimum.share for found in filled] == [0, 0.2]
    fill_gaps(rows)  # in the list itself
    assert rows == filled
    assert not hasattr(rows[0], "__dict__")  # a million rows fit


def test_a_key_is_kept_once_and_a_batch_is_all_or_nothing(path):
    with Store(path) as store:
        store.add([row()])
        with pytest.raises(InvalidFile, match=r"another run has stored the same rows meanwhile .*UNIQUE"):
            store.add([row(seed=1), row(sort_key=11)])
    assert read_rows(path) == [row()]


def test_a_store_that_another_process_makes_meanwhile_is_used(path, monkeypatch):
    """Between the look at the new file and the write to it."""
    look, came = Store._state, []

    def state(self):
        found = look(self)
        if not came:
            came.append(found)
            with Store(path) as other:
                other.add([row(suite="other")])
        return found

    monkeypatch.setattr(Store, "_state", state)
    with Store(path) as store:
        store.add([row()])
        assert store.suites() == ["made", "other"]
    assert came == [(0, 0, 0)]


def test_columns_that_another_process_adds_meanwhile_are_used(path):
    with Store(path) as store:
        store.add([row(suite="before", **dict.fromkeys(OPTIONAL))])
    write(path, *(f"ALTER TABLE rows DROP COLUMN [{name}]" for name in OPTIONAL))
    with Store(path) as one, Store(path) as other:
        one.add([row(suite="one")])
        other.add([row(suite="other")])
        one.add([row(suite="again")])
    assert [found.suite for found in read_rows(path)] == ["before", "one", "other", "again"]


def test_two_processes_write_to_one_store(path):
    """Each its own rows, in turns as it happens: none is lost, and none is there twice."""
    script = (
        "import sys\nfrom benchmark_examples import row\nfrom mlsched.benchmark.store import Store\n"
        "with Store(sys.argv[1]) as store:\n    print('ready', flush=True)\n    sys.stdin.readline()\n"
        "    for k in range(60):\n        store.add([row(suite='other', instance_hash=f'h{k}')])\n"
    )
    paths = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, sys.path)])
    command = [sys.executable, "-c", script, str(path)]
    environment = {**os.environ, "PYTHONPATH": paths}
    pipe = subprocess.PIPE
    with (
        subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as process,
        Store(path) as store,
    ):
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("go\n")
        process.stdin.flush()
        for k in range(60):
            store.add([row(instance_hash=f"h{k}")])
    assert process.returncode == 0
    found = read_rows(path)
    assert len(found) == len({r.key for r in found}) == 120
    assert {r.suite for r in found} == {"made", "other"}


def test_the_journal_is_one_file(path):
    with Store(path) as store:
        store.add([row()])
        assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"not a database, but long enough to be looked at" * 40, "is not a store"),
        (b'{"kind": "preemption.instance"}', "is not a store"),
    ],
)
def test_a_file_that_is_no_database(path, content, said):
    path.write_bytes(content)
    with pytest.raises(InvalidFile, match=said) as caught:
        Store(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == content


def test_a_database_of_something_else(path):
    write(path, "CREATE TABLE birds (name)")
    with pytest.raises(InvalidFile, match="SQLite file of something else"):
        Store(path)


@pytest.mark.parametrize("version", [0, VERSION + 1])
def test_another_version(path, version):
    Store(path).close()
    write(path, f"PRAGMA user_version = {version}")
    with pytest.raises(InvalidFile, match=f"store version {version}: this mlsched reads version {VERSION}"):
        Store(path)


def test_a_damaged_page(path):
    with Store(path) as store:
        store.add([row(instance_hash=f"h{i}", error="x" * 500) for i in range(200)])
    content = bytearray(path.read_bytes())
    content[8192:12288] = b"\xff" * 4096
    path.write_bytes(content)
    with pytest.raises(InvalidFile) as caught:
        read_rows(path)
    assert "\n" not in str(caught.value)


def test_a_truncated_store(path):
    with Store(path) as store:
        store.add([row(instance_hash=f"h{i}", error="x" * 500) for i in range(200)])
    path.write_bytes(path.read_bytes()[:20000])
    with pytest.raises(InvalidFile):
        read_rows(path)


def test_a_damaged_cell(path):
    with Store(path) as store:
        store.add([row()])
    write(path, "UPDATE rows SET params = '{'")
    with pytest.raises(InvalidFile, match="row 1 is damaged"):
        read_rows(path)


def test_a_lost_column(path):
    with Store(path) as store:
        store.add([row()])
    write(path, "ALTER TABLE rows DROP COLUMN status")
    with pytest.raises(InvalidFile, match="status"):
        read_rows(path)


def test_a_damaged_schema_is_refused_in_one_line(path):
    Store(path).close()
    # The table's name, with which SQLite says what is wrong.
    path.write_bytes(path.read_bytes().replace(b"tablerowsrows", b"tablero\xffsrows"))
    with pytest.raises(InvalidFile, match="is not a store that mlsched bench wrote"):
        read_rows(path)


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(InvalidFile, match="cannot be written: No such file"):
        Store(tmp_path / "missing" / "s.sqlite")
    with pytest.raises(InvalidFile, match="is a directory; give a regular file"):
        Store(tmp_path)


def test_reading_a_missing_store_creates_none(path):
    with pytest.raises(InvalidFile, match="file not found"):
        read_rows(path)
    assert not path.exists()


def test_a_killed_run_resumes(path, tmp_path):
    """SIGKILL in the middle: the store is whole, and the rest completes to the rows of an undisturbed run."""
    script, seeds = tmp_path / "long_run.py", range(draws(4, 8))
    script.write_text(
        "import sys\nfrom mlsched.benchmark import runner\nfrom mlsched.benchmark.suites import Case, Suite\n"
        "runner.SAVE_SECONDS = 0.0\n"
        "def step(done, total):\n    print(done, flush=True)\n    sys.stdin.readline()\n"
        f"case = Case('preemption', 'small', seeds={tuple(seeds)}, solvers=('cp-sat', 'fifo'))\n"
        "runner.run_suite(Suite('tiny', '', (case,)), store=sys.argv[1], progress=step)\n"
    )
    pipe, done = subprocess.PIPE, 0
    with subprocess.Popen([sys.executable, script, path], stdin=pipe, stdout=pipe, text=True) as process:
        while done < 2 * len(seeds):
            done = int(process.stdout.readline())
            process.stdin.write("go on\n")
            process.stdin.flush()
        process.send_signal(signal.SIGKILL)
    kept = read_rows(path)
    assert 2 * len(seeds) <= len(kept) < 6 * len(seeds), "killed while it runs"
    asked = suite("cp-sat", "fifo", seeds=seeds)
    resumed = run_suite(asked, store=path, resume=True)
    assert timeless(resumed) == timeless(run_suite(asked))
    times = {r.key: r.seconds for r in resumed}
    assert all(times[r.key] == r.seconds for r in kept if r.key in times)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="permissions do not bind this user")
def test_a_read_only_store(path):
    Store(path).close()
    path.chmod(0o444)
    with Store(path) as store, pytest.raises(InvalidFile, match="readonly"):
        store.add([row()])


def test_a_store_without_the_columns_that_may_be_unknown_is_read_and_added_to(tmp_path):
    """So a field may be added to rows."""
    path = tmp_path / "old.sqlite"
    old = row(**dict.fromkeys(OPTIONAL))
    with Store(path) as store:
        store.add([old])
    with closing(sqlite3.connect(path)) as connection, connection:
        for name in OPTIONAL:
            connection.execute(f"ALTER TABLE rows DROP COLUMN [{name}]")
    assert read_rows(path) == [old]
    new = row(instance_hash="h1", evidence="confirmed", confirmed_by="dp", confirm_seconds=0.5)
    with Store(path) as store:
        store.add([new])
        store.add([row(instance_hash="h2")])
    assert read_rows(path) == [old, new, row(instance_hash="h2")]


def damaged(content: bytes, dice: random.Random) -> bytes:
    """Bits turned, bytes overwritten, pages exchanged, or the end cut off."""
    made, place, page = bytearray(content), dice.randrange(len(content)), 4096
    match dice.randrange(4):
        case 0:
            for _ in range(dice.choice([1, 1, 3, 20])):
                made[dice.randrange(len(made))] ^= 1 << dice.randrange(8)
        case 1:
            made[place : place + 512] = dice.randbytes(len(made[place : place + 512]))
        case 2:
            del made[place:]
        case _:
            one, two = (page * dice.randrange(len(made) // page) for _ in range(2))
            made[one : one + page], made[two : two + page] = made[two : two + page], made[one : one + page]
    return bytes(made)


def read(path):
    """The rows of a store; None where it is refused."""
    with contextlib.suppress(InvalidFile):
        return read_rows(path)


def test_a_damaged_store_is_refused_or_read_as_it_was(path):
    with Store(path) as store:
        store.add([row(instance_hash=f"h{i}", error="x" * 200) for i in range(60)])
    content, rows = path.read_bytes(), read_rows(path)
    for number in range(draws(150, 5000)):
        path.write_bytes(damaged(content, random.Random(number)))
        assert read(path) in (None, rows), number
