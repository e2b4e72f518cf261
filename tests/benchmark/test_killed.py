"""kill -9 of a benchmark with all its processes: after `--resume` its rows are those of an undisturbed run.

The moments are random rows of the run, and random milliseconds after them; no test waits for a clock to say that a run
is slow. `testing/test_kill.py` ends one process at random shares of its CPU time.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress

import pytest
from benchmark_examples import timeless
from draws import draws

from mlsched.benchmark.runner import run_suite
from mlsched.benchmark.store import read_rows

KILLS, SEEDS = draws(1, 50), draws(8, 40)
#: Five calls and nine rows per seed: 200 runs of solvers in the thorough profile.
SUITE = f"""
[[case]]
problem = "preemption"
preset = "small"
seeds = {SEEDS}
solvers = ["fifo", "fitgpp", "brute-force"]
"""
ROWS = 9 * SEEDS


def rows_in(store) -> int:
    """How many rows a store has that another process is writing; 0 where there is none yet."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=0)) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM rows").fetchone()[0])
    return 0


def killed(suite, store, after: int, delay: float) -> None:
    """Run the suite in two processes and a parent, and end all three once there are so many rows."""
    command = [sys.executable, "-m", "mlsched", "bench", suite, "--workers", "2", "--store", store]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, start_new_session=True, **quiet) as process:
        while process.poll() is None and rows_in(store) < after:
            time.sleep(0.01)
        time.sleep(delay)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.slow
def test_a_killed_group_resumes_to_the_rows_of_an_undisturbed_run(tmp_path, report):
    suite, rng, midway = tmp_path / "mine.toml", random.Random(3), 0
    suite.write_text(SUITE)
    whole = run_suite(str(suite))
    assert len(whole) == ROWS
    for number in range(KILLS):
        store = tmp_path / f"{number}.sqlite"
        killed(suite, store, rng.randrange(ROWS), rng.uniform(0, 0.02))
        kept = read_rows(store) if store.exists() else []
        midway += 0 < len(kept) < ROWS
        rows = run_suite(str(suite), store=store, resume=True)
        assert timeless(rows) == timeless(whole)
        stored = read_rows(store)
        assert len(stored) == len({row.key for row in stored}) == ROWS
        assert stored[: len(kept)] == kept, "what was stored stays as it was"
    report("kill -9, bench of three processes", [f"{midway} of {KILLS} runs were ended midway"])
