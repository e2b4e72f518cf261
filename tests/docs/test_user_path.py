"""The path of docs/guides/benchmark.md from three instance files and a package of one's own to a table.

Only `pip` is another one: it installs into a folder of the test instead of the environment that runs the tests. By
default it is a script that writes of a package what an installation records; in the thorough profile it is pip itself,
which fetches hatchling and builds the package.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from draws import THOROUGH

import mlsched
from mlsched.benchmark.store import read_rows

ROOT = Path(__file__).parents[2]
PIP = """#!/bin/sh
shift
exec "{python}" -m pip install --quiet --no-deps --prefix "{place}" "$@"
"""
RECORD = """#!{python}
import sys, tomllib
from pathlib import Path

(told, how, source) = sys.argv[1:]
assert (told, how) == ("install", "-e")
project = tomllib.loads(Path(source, "pyproject.toml").read_text())["project"]
record = Path("{site}", project["name"].replace("-", "_") + "-" + project["version"] + ".dist-info")
record.mkdir(parents=True)
(record / "METADATA").write_text(f"Name: {{project['name']}}\\nVersion: {{project['version']}}\\n")
with open(record / "entry_points.txt", "w") as points:
    for group, entries in project["entry-points"].items():
        print(f"[{{group}}]", *(f"{{name}} = {{module}}" for name, module in entries.items()), sep="\\n", file=points)
"""
MLSCHED = """#!/bin/sh
exec "{python}" -m mlsched "$@"
"""


def commands() -> list[list[str]]:
    """The five commands of the page."""
    page = (ROOT / "docs" / "guides" / "benchmark.md").read_text(encoding="utf-8")
    block = re.search(r"## From three files to a table\n.*?```bash\n(.*?)```", page, re.DOTALL)
    assert block is not None
    return [shlex.split(line, comments=True) for line in block[1].splitlines()]


@pytest.mark.slow
def test_five_commands_from_files_to_a_comparison(tmp_path):
    place, binaries = tmp_path / "installed", tmp_path / "bin"
    shutil.copytree(ROOT / "examples" / "solver_package", tmp_path / "my_solver", copy_function=shutil.copyfile)
    (tmp_path / "my_instances").mkdir()
    for seed in range(3):
        mlsched.save(mlsched.generate("preemption", "surge", seed=seed), tmp_path / "my_instances" / f"{seed}.json")
    binaries.mkdir()
    # What an installation puts on the path of an environment: the package's record, and its source.
    site = place / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    for name, text in (("pip", PIP if THOROUGH else RECORD), ("mlsched", MLSCHED)):
        (binaries / name).write_text(text.format(python=sys.executable, place=place, site=site))
        (binaries / name).chmod(0o755)
    paths = os.pathsep.join(map(str, (site, tmp_path / "my_solver" / "src", ROOT)))
    environment = {**os.environ, "PYTHONPATH": paths, "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}"}

    def run(call: list[str]) -> str:
        done = subprocess.run(call, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        if call[0] == "pip" and ("No matching distribution" in done.stderr or "Could not find" in done.stderr):
            pytest.skip("no package index for hatchling, which builds the template")
        assert done.returncode == 0, done.stderr
        return done.stdout

    install, bench, export, again, compare = commands()
    run(install)
    assert "smallest-first" in run(bench)
    run(export)
    assert "smallest-first" in (tmp_path / "table.tex").read_text()
    rules = tmp_path / "my_solver" / "src" / "smallest_first" / "rules.py"
    text = rules.read_text()
    assert "most: int = 3" in text
    rules.write_text(text.replace("most: int = 3", "most: int = 1"))
    run(again)
    shown = run(compare)
    old, new = ({r.key[:4]: r for r in read_rows(tmp_path / f"{name}.sqlite")} for name in ("old", "new"))
    assert {r.solver for r in old.values()} == {"smallest-first", "cp-sat"}
    assert {r.status for r in old.values() if r.solver == "cp-sat"} == {"optimal"}
    asked = [key for key in old if key[3] == "smallest-first"]
    assert len(asked) == 9
    worse = sum(new[key].sort_key > old[key].sort_key for key in asked if key[2] == "total_score")
    assert re.search(rf"smallest-first\s+\w+\s+3\s+\d\s+{worse}\s", shown.partition("victim_count")[0])
    assert worse, "the example has something to compare"
