"""kill -9 at random moments: what is on disk is whole, and going on from it ends where an undisturbed run ends.

The moments are random shares of the CPU time that the whole command takes; see `nursery.py` for how it is ended.
"""

from __future__ import annotations

import json
import os
import random
import resource
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from draws import THOROUGH, draws
from nursery import Nursery

import mlsched

KILLS = draws(1, 50)
#: Fronts are ended midway in every run of the tests (`test_resume`); the others here differ little from one another.
thorough = pytest.mark.skipif(not THOROUGH, reason="kill -9 of pareto, train and simulate: in the thorough profile")
#: What differs between two runs of the same.
TIMES = ("seconds", "cpu_seconds", "confirm_seconds", "peak_mib", "made", "checksum")


#: What fronts and trainings import.
SOLVERS = ("highspy", "ortools.sat.python.cp_model", "mlsched.solvers.front")
TRAINING = ("torch", "torch._dynamo", "mlsched_training.trainer", "mlsched.simulation.workers")


@pytest.fixture(scope="module")
def nursery():
    with Nursery(*(SOLVERS + TRAINING) * THOROUGH) as process:
        yield process


def killed_and_resumed(
    nursery: Nursery,
    call: Sequence[str],
    resume: Callable[[], Sequence[str] | None],
    fresh: Callable[[], None],
    outcome: Callable[[], object],
) -> str:
    """End KILLS runs midway, go on from each as `resume` says (None: it was done), and compare with a whole run."""
    fresh()
    status, cpu = nursery.run(call)
    assert status == 0
    whole, rng, ended = outcome(), random.Random(7), 0
    for _ in range(KILLS):
        fresh()
        status, _ = nursery.run(call, rng.uniform(0.02, 1.0) * cpu)
        ended += status is None
        again = resume()
        if again is not None:
            assert nursery.run(again)[0] == 0
        assert outcome() == whole
    return f"{ended} of {KILLS} runs were ended midway"


def without_times(data: object) -> object:
    """Plain data without what differs from run to run."""
    if isinstance(data, dict):
        return {k: without_times(v) for k, v in data.items() if k not in TIMES}
    return [without_times(v) for v in data] if isinstance(data, list) else data


def remove(*files: Path) -> Callable[[], None]:
    """Before each run: nothing of the one before."""

    def fresh() -> None:
        for file in files:
            for path in file.parent.glob(f"*{file.name}*"):
                path.unlink()

    return fresh


def test_bench(nursery, tmp_path, report):
    store = tmp_path / "rows.sqlite"
    call = ["bench", "tiny", "--store", str(store)]

    def rows() -> object:
        with closing(sqlite3.connect(store)) as connection, connection:
            names = [c[1] for c in connection.execute("PRAGMA table_info(rows)")]
            found = [dict(zip(names, row, strict=True)) for row in connection.execute("SELECT * FROM rows")]
        return sorted(json.dumps(without_times(row), sort_keys=True, default=repr) for row in found)

    said = killed_and_resumed(nursery, call, lambda: [*call, "--resume"], remove(store), rows)
    report("kill -9, bench", [said])


@thorough
def test_pareto(nursery, tmp_path, report):
    instance, journal, front = tmp_path / "i.json", tmp_path / "answers.jsonl", tmp_path / "front.csv"
    mlsched.save(mlsched.generate("preemption", "surge", seed=1), instance)
    call = ["pareto", str(instance), "total_score", "victim_count", "--resume", str(journal), "-o", str(front)]
    report(
        "kill -9, pareto", [killed_and_resumed(nursery, call, lambda: call, remove(journal, front), front.read_bytes)]
    )


@thorough
def test_train(nursery, tmp_path, report):
    pytest.importorskip("torch")
    pytest.importorskip("mlsched_training")
    weights = tmp_path / "w.safetensors"
    small = [x for s in ("episodes=3", "jobs=2", "validation=1", "limit=20", "every=1") for x in ("--set", s)]
    call = ["train", "chic", "--iterations", "4", "-o", str(weights), *small]
    checkpoint = weights.with_suffix(".checkpoint")

    def resume() -> list[str] | None:
        if not checkpoint.exists():
            return call
        assert nursery.run([*call, "--resume"])[0] in (0, 2)  # 2: it had done all iterations
        return None

    said = killed_and_resumed(nursery, call, resume, remove(weights, checkpoint), weights.read_bytes)
    report("kill -9, train", [said])


@thorough
def test_simulate(nursery, tmp_path, report):
    """It has no half-way: a run that was ended has left nothing, or all of it, and is made again."""
    out = tmp_path / "run.json"
    call = ["simulate", "fitgpp", "--trace", "synthetic:z", "--set", "jobs=500", "--set", "nodes=6", "-o", str(out)]

    def result() -> object:
        return without_times(json.loads(out.read_text()))

    report("kill -9, simulate", [killed_and_resumed(nursery, call, lambda: call, remove(out), result)])


def test_memory_is_flat_over_a_thousand_solves():
    """A fork solves; what it holds at most after as many again is what it held before, but for a few MiB."""
    many = draws(20, 500)
    instance = mlsched.generate("quality", "small")
    mlsched.solve(instance, "highs")  # what it imports, the fork need not
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        held = []
        for _ in range(2):
            for _ in range(many):
                mlsched.solve(instance, "highs")
                mlsched.solve(instance, "slaq")
            held.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        os.write(write, json.dumps(held).encode())
        os._exit(0)
    os.waitpid(child, 0)
    before, after = json.loads(os.read(read, 100))
    assert after - before < 4 * 1024  # KiB
