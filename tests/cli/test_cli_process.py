"""The command line as a process of its own: streams, exit statuses, notes and an early reader."""

from __future__ import annotations

import importlib
import json
import signal
import subprocess
import sys

import numpy as np
import pytest

from mlsched import api
from mlsched.simulation.preemption import Workload

#: The module; `mlsched.cli` has the function of its name.
main_module = importlib.import_module("mlsched.cli.main")
COMMAND = [sys.executable, "-c", "from mlsched.cli import main; main()"]


#: The command line with a rule that tells when it is asked and then thinks until it is interrupted. It takes SIGINT
#: also where the tests run in the background of a shell, which makes its children ignore it.
THINKS = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from mlsched.cli import main
from mlsched.core.registry import solver, registry
@solver("thinks", problem="placement", kind="heuristic")
def thinks(instance, *, rng):
    os.write(1, b"thinking\\n")
    while True:
        pass
registry().solvers["placement", "thinks"], = thinks.__mlsched__
main()
"""


def process(*arguments) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False)


def test_the_whole_way(tmp_path):
    instance, plan = tmp_path / "i.json", tmp_path / "p.json"
    assert process("generate", "preemption", "--preset", "small", "-o", instance).returncode == 0
    solved = process("solve", instance, "--json", "-o", plan)
    assert (solved.returncode, solved.stderr) == (0, "")
    checked = process("check", instance, plan, "--json")
    assert checked.returncode == 0
    assert json.loads(checked.stdout)["values"] == json.loads(solved.stdout)["values"]
    refused = process("solve", tmp_path / "none.json")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("mlsched: ")
    assert refused.stderr.count("\n") == 1


def test_overload_is_a_note_beside_the_document(tmp_path):
    path, count = tmp_path / "load.json", 60
    load = Workload(
        resources=["gpu"],
        node_capacity=[[1]],
        submit=np.arange(count) * 10,
        te=[0] * count,
        execution=[100] * count,
        demand=[[1]] * count,
        grace=[0] * count,
    )
    api.save(load, path)
    found = process("simulate", "fifo", "--trace", path, "--json")
    assert found.returncode == 0
    assert json.loads(found.stdout)["runs"][0]["summary"]["jobs"] == count
    assert found.stderr.startswith("mlsched: note: the offered load on gpu is")
    assert found.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_stop_exits_130_and_leaves_nothing(tmp_path, number):
    """In the middle of a decision, of which the process tells."""
    folder = tmp_path / "output"
    folder.mkdir()
    arguments = ["simulate", "thinks", "--trace", "synthetic:uniform:jobs=4", "--json", "-o", str(folder / "r.json")]
    with subprocess.Popen(
        [sys.executable, "-c", THINKS, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout.readline() == "thinking\n"
        running.send_signal(number)
        out, err = running.communicate()
    assert (running.returncode, out, err.strip()) == (130, "", "mlsched: interrupted")
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX pipes")
@pytest.mark.parametrize("preset", ["small", "paper-surge"])  # within the buffer, and more than a pipe holds
def test_a_reader_that_goes_early_is_no_error(preset):
    with subprocess.Popen(
        [*COMMAND, "generate", "preemption", "--preset", preset], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        running.stdout.close()
        err = running.stderr.read()
    assert (running.returncode, err) == (0, b"")


#: The command line by `python -m`, interrupted while it loads: in a module, and in a text that is executed.
LOADS = """
import builtins
original = builtins.__import__
def interrupted(name, *rest):
    if name == "mlsched.cli.bench":
        {how}
    return original(name, *rest)
builtins.__import__ = interrupted
from mlsched.cli import main
main()
"""


@pytest.mark.parametrize("how", ["raise KeyboardInterrupt", "exec('raise KeyboardInterrupt')"])
def test_an_interrupt_while_it_loads_exits_130(tmp_path, how):
    (tmp_path / "loads.py").write_text(LOADS.format(how=how))
    command = [sys.executable, "-m", "loads"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "mlsched: interrupted\n")


def test_an_interrupt_that_python_makes_an_error_exits_130(monkeypatch, capsys):
    """As it does where a class gets its attributes, such as in NumPy's import."""

    def interrupted(called):
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    monkeypatch.setattr(main_module, "_command", interrupted)
    assert main_module.run(["doctor"]) == 130
    assert capsys.readouterr().err == "mlsched: interrupted\n"


def test_another_error_of_that_kind_is_raised(monkeypatch):
    def failed(called):
        raise RuntimeError("another")

    monkeypatch.setattr(main_module, "_command", failed)
    with pytest.raises(RuntimeError, match="another"):
        main_module.run(["doctor"])
