"""The fuzzing of readers: what it counts, and that it sees a reader that breaks down, rambles or takes too long."""

from __future__ import annotations

import importlib.util
import itertools
import types
from pathlib import Path

import pytest

from mlsched.core.errors import InvalidInput


@pytest.fixture
def readers(monkeypatch):
    """The script as a module, with one small file."""
    path = Path(__file__).parents[2] / "measurements" / "readers.py"
    spec = importlib.util.spec_from_file_location("readers", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "seeds", lambda folder: [("stg", b"1\n0 0 0\n1 4 1 0\n2 0 1 1\n")])
    return module


def breaks_down(path):
    raise KeyError("node")


def rambles(path):
    error = InvalidInput("x")
    error.args = ("first\nsecond",)
    raise error


def dawdles(clock):
    return lambda path: [next(clock) for _ in range(30)]


def test_findings_are_counted_and_kept(readers, monkeypatch, tmp_path):
    clock = itertools.count(step=0.1)
    monkeypatch.setattr(readers, "time", types.SimpleNamespace(process_time=lambda: next(clock)))
    for reader, what in (
        (breaks_down, "KeyError: 'node'"),
        (rambles, "says 'first\\nsecond'"),
        (dawdles(clock), "takes 3"),
    ):
        monkeypatch.setitem(readers.READERS, "stg", reader)
        found = readers.fuzz(0.01, 3, tmp_path)
        assert found["findings"][0]["what"].startswith(what)
        assert found["tables"][0]["rows"][0][3] == found["files"] == len(found["findings"]) > 0
        assert (tmp_path / found["findings"][0]["file"]).exists()


def test_the_same_seed_changes_files_the_same_way(readers, monkeypatch, tmp_path):
    seen = []
    monkeypatch.setitem(readers.READERS, "stg", lambda path: seen.append(path.read_bytes()))
    for seed in (1, 1, 2):
        clock = itertools.count(step=0.1)
        monkeypatch.setattr(readers, "time", types.SimpleNamespace(process_time=lambda clock=clock: next(clock)))
        assert readers.fuzz(0.05, seed, tmp_path)["findings"] == []
    one, other, third = (seen[k * len(seen) // 3 : (k + 1) * len(seen) // 3] for k in range(3))
    assert one == other != third
