"""Ctrl-C in `solve` and `certify`: what was found is written, and the status is 130."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from draws import THOROUGH

from mlsched import api
from mlsched.cli.main import run
from mlsched.solvers.backends import interruptible


@pytest.fixture
def pressed(monkeypatch, control_c):
    """Ctrl-C comes when the first search of a solver's own code begins, or before."""
    original, times = interruptible._apart, []

    def press(search, stop):
        if not times:
            times.append(True)
            control_c()
        return original(search, stop)

    monkeypatch.setattr(interruptible, "_apart", press)
    return times


@pytest.mark.parametrize("name", ["cp-sat", "highs"])
def test_the_incumbent_is_written(tmp_path, capsys, pressed, name):
    if name != "cp-sat" and not THOROUGH:
        pytest.skip("compiles a large model; in the thorough profile")
    file, plan = tmp_path / "instance.json", tmp_path / "plan.json"
    api.save(api.generate("taskgraph", "eight-loose", seed=1), file)
    assert run(["solve", str(file), "--solver", name, "-o", str(plan), "--json"]) == 130
    shown = capsys.readouterr()
    document = json.loads(shown.out)
    assert pressed
    assert (document["status"], document["stopped_by"]) == ("feasible", "interrupt")
    assert shown.err == "mlsched: interrupted\n"
    assert run(["check", str(file), str(plan)]) == 0


def test_a_solver_that_captures_the_standard_streams_answers(tmp_path):
    """Pyomo's own interfaces do; where the standard output was the standard error, they waited for ever."""
    file = tmp_path / "instance.json"
    api.save(api.generate("preemption", "small", seed=1), file)
    code = (
        "import sys, mlsched\nfrom mlsched.cli.main import main\n"
        "main(['solve', sys.argv[1], '--solver', f'highs:engine={sys.argv[2]}', '--json'])"
    )
    for name in ("appsi_highs", "highs"):  # a persistent interface, and mlsched's own
        done = subprocess.run([sys.executable, "-c", code, file, name], capture_output=True, text=True, check=False)
        assert json.loads(done.stdout)["status"] == "optimal", done.stderr


def test_a_solver_that_captures_the_standard_streams_answers_a_suite(tmp_path):
    folder = tmp_path / "suite"
    folder.mkdir()
    api.save(api.generate("preemption", "small", seed=1), folder / "instance.json")
    call = ["bench", str(folder), "--solver", "highs:engine=appsi_highs", "--no-confirm", "--no-reference", "--json"]
    code = "import sys\nfrom mlsched.cli.main import main\nmain(sys.argv[1:])"
    done = subprocess.run([sys.executable, "-c", code, *call], capture_output=True, text=True, check=False)
    verified = json.loads(done.stdout)["verified"]
    assert (verified["plans"], verified["failed"]) == (3, 0), done.stderr
