"""The template of a package with a scheduler of its own: installed, found, benched and property-tested."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "examples" / "answerer_package"


@pytest.mark.slow
def test_an_installed_package_is_found_and_benched(tmp_path):
    place, store = tmp_path / "installed", tmp_path / "rows.sqlite"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", place, PACKAGE]
    made = subprocess.run(pip, capture_output=True, text=True, cwd=tmp_path)
    if "No matching distribution" in made.stderr or "Could not find a version" in made.stderr:
        pytest.skip("no package index for hatchling, which builds the template")
    assert made.returncode == 0, made.stderr
    paths = os.pathsep.join([str(place), str(ROOT)])
    call = [sys.executable, "-m", "mlsched", "bench", tmp_path / "mine.toml", "--store", store, "--json"]
    (tmp_path / "mine.toml").write_text(
        '[[case]]\nproblem = "preemption"\npreset = "small"\nseeds = 2\n'
        'solvers = ["smallest-first", "smallest-first:most=1"]\n'
    )
    done = subprocess.run(call, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": paths})
    assert done.returncode == 0, done.stderr
    lines = json.loads(done.stdout)["gaps"]
    assert {line["answerer"] for line in lines} == {"smallest-first", "smallest-first:most=1", "cp-sat"}
    assert all(line["gaps"]["count"] == 2 for line in lines)
