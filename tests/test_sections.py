"""Sections that tests want printed at the end are printed, in however many processes the tests ran."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import os

def test_{name}(report):
    report("section of {name}", ["{name} was here", f"{{os.environ.get('PYTEST_XDIST_WORKER')}}"])
"""


@pytest.mark.parametrize("processes", [[], ["-n", "2", "--dist", "loadfile"]], ids=["one", "two"])
def test_sections_are_printed_in_order(tmp_path, processes):
    conftest = Path(__file__).with_name("conftest.py").read_text(encoding="utf-8")
    (tmp_path / "conftest.py").write_text(conftest, encoding="utf-8")
    for name in ("b", "a"):
        (tmp_path / f"test_{name}.py").write_text(TESTS.format(name=name), encoding="utf-8")
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    outside["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # of the installed plugins, these tests need one
    plugins = ["-p", "no:cacheprovider", "-p", "xdist"]
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(tmp_path), *plugins, *processes]
    done = subprocess.run(command, cwd=tmp_path, env=outside, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    places = [next(i for i, line in enumerate(lines) if f"section of {name}" in line) for name in ("a", "b")]
    assert places == sorted(places)
    assert [lines[i + 1] for i in places] == ["a was here", "b was here"]
    assert sorted(lines[i + 2] for i in places) == (["gw0", "gw1"] if processes else ["None", "None"])
