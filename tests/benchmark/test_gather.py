"""How a collection is filled: limits, and what is certified first."""

from __future__ import annotations

from mlsched.benchmark import gather
from mlsched.benchmark.collection import create


def test_no_solve_is_without_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(gather, "MAX_SECONDS", 1e-3)
    create(tmp_path / "c", "c", "for tests")
    suite = tmp_path / "mine.toml"
    suite.write_text('[[case]]\nproblem = "placement"\npreset = "6x5"\nseeds = [100]\n')
    counts = gather.gather(tmp_path / "c", gather.tasks_for(str(suite), None), 1.0)
    assert counts["confirmed"] + counts["unconfirmed"] == 0, "proved in a millisecond"


def test_problems_take_turns_in_being_certified(tmp_path, monkeypatch):
    """A call that is ended half-way has tried some of each problem: workers come after task graphs by name."""
    create(tmp_path / "c", "c", "for tests")
    suite = tmp_path / "mine.toml"
    suite.write_text(
        "".join(f'[[case]]\nproblem = "{problem}"\npreset = "small"\nseeds = 3\n' for problem in ("quality", "workers"))
    )
    tried = []
    monkeypatch.setattr(gather, "certify", lambda entry, seconds: tried.append(entry.instance.problem))
    gather.gather(tmp_path / "c", gather.tasks_for(str(suite), None), 1.0, proofs=1.0)
    assert tried == ["quality", "workers"] * 3
    monkeypatch.undo()
    counts = gather.gather(tmp_path / "c", gather.tasks_for(str(suite), None), 1.0, proofs=20.0)
    assert counts["problems"]["workers"]["certified"] == 3
