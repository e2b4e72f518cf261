"""The template of a leaderboard: its collection verifies, its workflow says so, and histories cannot shrink."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mlsched.benchmark.collection import entries
from mlsched.cli.main import run
from mlsched.core.registry import registry

TEMPLATE = Path(__file__).parents[2] / "examples" / "leaderboard"


def test_its_collection_verifies_and_asks_many_problems(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["collection", "verify", str(TEMPLATE / "bench")]) == 0
    assert "12 entries, 0 wrong" in capsys.readouterr().out
    assert {entry.instance.problem for entry in entries(TEMPLATE / "bench")} <= set(registry().problems)
    assert sum(path.stat().st_size for path in TEMPLATE.rglob("*") if path.is_file()) < 200_000


def test_its_workflow_verifies() -> None:
    yaml = pytest.importorskip("yaml")
    said = yaml.safe_load((TEMPLATE / ".github" / "workflows" / "verify.yml").read_text(encoding="utf-8"))
    steps = said["jobs"]["verify"]["steps"]
    commands = [step["run"] for step in steps if "run" in step]
    assert "mlsched collection verify bench" in commands
    assert any(command.startswith("python histories.py ") for command in commands)
    assert said["permissions"] == {"contents": "read"}


def test_histories_only_grow(tmp_path: Path) -> None:
    folder = tmp_path / "board"
    shutil.copytree(TEMPLATE, folder)
    for call in ("init -q", "add -A", "-c user.name=a -c user.email=a@b -c commit.gpgsign=false commit -qm first"):
        subprocess.run(["git", *call.split()], cwd=folder, check=True)

    def check() -> tuple[int, str]:
        call = [sys.executable, "histories.py", "HEAD", "bench"]
        done = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    assert check() == (0, "nothing is lost\n")
    entry = next(iter(entries(folder / "bench")))
    said = json.loads(entry.path.read_text())
    longer = {**said, "history": [*said["history"], said["history"][0]]}
    entry.path.write_text(json.dumps(longer))
    assert check() == (0, "nothing is lost\n")
    entry.path.write_text(json.dumps({**said, "history": []}))
    name = entry.path.relative_to(folder).as_posix()
    assert check() == (1, f"{name}: its history has lost lines\n")
    entry.path.unlink()
    assert check() == (1, f"{name}: its history has lost lines\n")
