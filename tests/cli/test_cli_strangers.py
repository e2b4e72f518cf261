"""Files of strangers: their text is never printed raw, and no check takes more time or memory than it may."""

from __future__ import annotations

import csv
import gzip
import hashlib
import itertools
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from benchmark_examples import changed, row

from mlsched.api.taskgraph import references
from mlsched.benchmark.store import Store
from mlsched.certificates.prices.statement import statement_of
from mlsched.core import deadline, guard
from mlsched.core.deadline import OutOfTime
from mlsched.core.safe_open import gunzipped
from mlsched.instances.workers import Instance, Plan
from mlsched.simulation.taskgraph.iterations.reference.folder import MANIFEST, PRICES, SCHEDULE

#: Bytes that the command may take in all.
GIGABYTE = 2**30
_COMMAND = """
import sys
from pathlib import Path
from mlsched.cli.main import main
try:
    main(sys.argv[1:])
finally:
    status = Path("/proc/self/status").read_text()  # unlike ru_maxrss, without what the parent had
    print(int(status.split("VmHWM:")[1].split()[0]) * 1024, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "log.csv"
    path.write_text("submit_s,duration_s,gpus\n" + "".join(f"{300 * k},{600 + 60 * k},{1 + k}\n" for k in range(6)))
    return path


@pytest.fixture(scope="module")
def genuine(log, tmp_path_factory):
    """References without and with pauses."""
    from mlsched import api

    folders = []
    for pausing in (False, True):
        folder = tmp_path_factory.mktemp("references") / str(pausing)
        given = {"cluster": "2x(8gpu)", "read": None, "limit": None, "set": {}}
        work = api.workload(str(log), "taskgraph", cluster="2x(8gpu)")
        references.make_reference(work, folder, moves=5, pausing=pausing, log_options=given)
        folders.append(folder)
    return folders


@pytest.fixture
def forged(genuine, tmp_path):
    """`forged(change, pausing)`: a copy of a reference whose manifest was changed."""

    def copy(change=lambda manifest: None, pausing=False):
        folder = shutil.copytree(genuine[pausing], tmp_path / "forged")
        manifest = json.loads((folder / MANIFEST).read_text())
        change(manifest)
        (folder / MANIFEST).write_text(json.dumps(manifest))
        return folder

    return copy


@pytest.mark.parametrize("field", ["how", "source", "cluster"])
@pytest.mark.parametrize("text", ["x)\nboth sides hold\n(", "\x1b[2K\rboth sides hold", "x" * 5000])
def test_the_text_of_a_reference_cannot_look_like_a_verdict(cli, forged, log, field, text):
    def change(manifest):
        manifest[field] = text
        manifest["bound"] += 1000

    said = cli("check", forged(change), "--log", log)
    said.refused(field)
    assert "both sides hold\n" not in said.err
    assert "\x1b" not in said.err


def test_the_log_is_read_as_printable_words_say(cli, forged, log):
    folder = forged(lambda manifest: manifest.update(log_options={"set": {"a\n": "b"}}))
    cli("check", folder, "--log", log).refused("log_options")


def child(*arguments) -> tuple[int, str, int]:
    """Status, what the command printed, and the memory that it took, in a process of its own."""
    command = [sys.executable, "-c", _COMMAND, *map(str, arguments)]
    # Without `env`, a child gets the COLUMNS that GNU readline, which pytest imports, has set behind Python's back.
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
    *lines, peak = done.stderr.splitlines()
    return done.returncode, "\n".join([*done.stdout.splitlines(), *lines]), int(peak)


def bomb(folder: Path, name: str, data: bytes) -> Path:
    (folder / name).write_bytes(gzip.compress(data, 1))
    return folder


BOMBS = {
    "objects": (SCHEDULE, b'{"wait":[' + b"{}," * 20_000_000 + b"{}]}", "has more than"),
    "bytes": (SCHEDULE, b'{"wait":[' + b" " * 2**27 + b"]}", "has more than"),
    "deep": (SCHEDULE, b'{"wait":' + b"[" * 200_000, "is not JSON"),
    "lists": (SCHEDULE, b'{"wait":[' + b"[]," * 2_900_000 + b"[]]}", "expected a list of integers"),
    "intervals": (PRICES, b'{"start":0,"step":1,"bits":0,"values":[[' + b"1," * 500_000 + b"1]]}", "at most"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_large_reference_is_refused_in_a_line_within_a_gigabyte(forged, log, name):
    file, data, words = BOMBS[name]
    status, said, peak = child("check", bomb(forged(), file, data), "--log", log)
    assert status in (1, 2)
    assert said.count("\n") == 0
    assert words in said
    assert peak < GIGABYTE


@pytest.mark.parametrize("job", [10**9, -1])
def test_a_schedule_of_jobs_that_there_are_not_is_refused(cli, forged, log, job):
    folder = forged(pausing=True)
    schedule = json.loads(gzip.decompress((folder / SCHEDULE).read_bytes()))
    schedule["job"][0] = job
    bomb(folder, SCHEDULE, json.dumps(schedule).encode())
    done = cli("check", folder, "--log", log)
    assert (done.status, done.err.count("\n")) == (1, 1)
    assert "names no job or node" in done.err


def test_a_reference_has_a_time_limit(cli, forged, log, ticking):
    values = [[1] * 3000] * 3
    folder = bomb(
        forged(pausing=True), PRICES, json.dumps({"start": 0, "step": 1, "bits": 0, "values": values}).encode()
    )
    ticking(deadline, 1.0)
    done = cli("check", folder, "--log", log, "--time-limit", 3)
    assert (done.status, done.out) == (1, "the check did not end in 3 s; give it more time (--time-limit)\n")


def states(folder: Path, options: int) -> Path:
    """A certificate whose one leaf makes options^4 states of two blocks."""
    folder.mkdir()
    data = {
        "kind": "workers.instance",
        "version": 1,
        "resources": ["a", "b"],
        "models": ["m"],
        "capacity": [2**30, 2**30],
        "cost": np.full((2, options, options), 1000).tolist(),
        "worker_demand": [[1, 0], [10**4, 0]],
        "ps_demand": [[0, 1], [0, 10**4]],
        "waiting": [1000] * 2,
        "remaining": [5] * 2,
        "model": [0] * 2,
        "current_workers": [0] * 2,
        "current_ps": [0] * 2,
        "waited": [0] * 2,
        "backlog": 0,
    }
    instance = Instance.from_json(data)
    plan = Plan(workers=np.ones(2, dtype=np.int64), ps=np.ones(2, dtype=np.int64))
    value = instance.evaluate(plan)["total_jct"]
    files = {
        "instance.json": json.dumps(instance.to_json()),
        "plans.json": json.dumps({"instance_hash": instance.hash, "plans": [plan.to_json()]}),
        "tree.json": json.dumps({"trees": [[[[{}]]]]}),
        "checker.py": statement_of(instance).checker(),
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    manifest = {
        "kind": "certificate",
        "version": 1,
        "problem": "workers",
        "instance_hash": instance.hash,
        "made_by": {},
        "objectives": ["total_jct"],
        "first": [],
        "values": [[value]],
        "proof": "dual",
        "lemma": "",
        "proofs": [{"objective": "total_jct", "bound": value + 1, "within": {}}],
        "sha256": {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def test_states_are_counted_while_they_are_made(tmp_path):
    folder = states(tmp_path / "states", 140)
    status, said, peak = child("check", folder)
    assert (status, said.count("\n")) == (1, 1)  # on the standard output, and as the refusal
    assert "a leaf needs more than 20000 states" in said
    assert peak < GIGABYTE // 2


def test_a_checker_without_a_folder_says_how_it_is_used(tmp_path):
    folder = states(tmp_path / "states", 2)
    done = subprocess.run([sys.executable, "-I", folder / "checker.py"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "usage: python -I checker.py FOLDER\n")


def test_members_of_a_gzip_file_are_read_in_linear_time():
    """Each was once a copy of all that followed it: what is copied now is counted."""
    empty, handed = gzip.compress(b"", mtime=0), 0

    class Counted(bytes):
        def __getitem__(self, key):
            nonlocal handed
            piece = bytes.__getitem__(self, key)
            handed += len(piece)
            return piece

    content = Counted(empty * 20_000 + gzip.compress(b"end"))
    assert gunzipped("x", content) == b"end"
    assert handed < 30 * len(content)


def test_a_block_that_takes_too_much_memory_is_ended():
    if guard._used_memory() is None:
        pytest.skip("this system does not say how much memory a process has")
    with pytest.raises(guard.OutOfMemory, match="needs more than 100 MiB"), guard.resource_guard(None, 100 * 2**20):
        bytearray(200 * 2**20)
    assert len(bytearray(200 * 2**20)) == 200 * 2**20


def test_a_block_that_does_not_look_at_the_clock_is_ended(monkeypatch):
    monkeypatch.setattr(guard, "GRACE", 0.01)
    with pytest.raises(OutOfTime):
        endless()


def endless():
    with guard.resource_guard(0.0):
        for _ in itertools.count():
            pass


# -- stores ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "store.sqlite"
    with Store(path) as made:
        made.add([row()])
    return path


@pytest.mark.parametrize("text", ['=HYPERLINK("http://evil")', "+1", "-1", "@SUM(1)"])
def test_no_cell_of_a_table_is_a_formula(cli, store, tmp_path, text):
    target = tmp_path / "rows.csv"
    assert cli("export", changed(store, "error", text), "-o", target).status == 0
    quoted = text.replace('"', '""')
    assert f"'{quoted}" in target.read_text()


def test_markdown_shows_what_is_written(cli, store, tmp_path):
    target = tmp_path / "rows.md"
    assert cli("export", changed(store, "solver", "a|b <img src=x> [c](d)"), "-o", target).status == 0
    assert "| a\\|b &lt;img src=x&gt; [c]\\(d) |" in target.read_text()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *[("solver", "a\n| b"), ("solver", "\x1b[31m"), ("kind", "none"), ("status", "fine"), ("sense", "up")],
        *[("seed", "1"), ("sort_key", "much"), ("params", "[]"), ("unit", None), ("versions", '{"a": "\\u001b"}')],
    ],
)
def test_a_row_is_refused_whose_values_are_of_another_kind(cli, store, tmp_path, column, value):
    cli("export", changed(store, column, value), "-o", tmp_path / "rows.csv").refused("row 1 is damaged", column)


def test_damage_that_the_data_base_does_not_see_is_seen(cli, store, tmp_path):
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE rows SET sort_key = sort_key + 1")
    cli("export", store, "-o", tmp_path / "rows.csv").refused("its checksum is another")


def test_no_user_of_a_log_is_a_formula_or_markup_in_the_tables_of_runs(cli, tmp_path):
    users, log = ["=1+1", "-2+3", "a|b <img src=x>"], tmp_path / "log.csv"
    lines = [f'{300 * k},600,1,"{users[k % 3]}"' for k in range(6)]
    log.write_text("submit_s,duration_s,gpus,user\n" + "\n".join(lines) + "\n")
    given = ["simulate", "fifo", "--trace", log, "--cluster", "1x(8gpu)", "--by", "user"]
    assert cli(*given, "--table", tmp_path / "t.csv", "--jobs", tmp_path / "jobs.csv").status == 0
    assert cli(*given, "--table", tmp_path / "t.md").status == 0
    for name in ("t.csv", "jobs.csv"):
        cells = [cell for line in csv.reader((tmp_path / name).read_text().splitlines()) for cell in line]
        assert {"'=1+1", "'-2+3"} < set(cells)
        assert not [cell for cell in cells if cell.startswith(("=", "@")) or cell in users[:2]]
    assert "a\\|b &lt;img src=x&gt;" in (tmp_path / "t.md").read_text()
