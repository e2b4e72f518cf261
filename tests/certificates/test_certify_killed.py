"""A process that certifies may be killed at any time: what it has started ends, and what it has written is removed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mlsched.certificates import engine
from mlsched.core.temporary import temporary_directory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="exact is for Linux")

#: Certifies, with the program below in place of `exact`.
CALLER = """
import sys
from pathlib import Path
import mlsched
from mlsched.certificates import bundle, engine
from mlsched.certificates.by_formulas import Logic
engine.version = lambda: "none"
engine.PROGRAM = sys.argv[1]
instance = mlsched.generate("preemption", "small", seed=1)
plan = mlsched.solve(instance, "brute-force").plan
bundle.certify_logic(Logic.of(instance, [plan], ["total_score"]), Path(sys.argv[2]))
"""

#: The true program, with a solver that tells a pipe that it searches, and searches without end.
PROGRAM = f"""
import os, runpy, signal, sys, types
class Exact:
    def __init__(self, settings): pass
    def addVariable(self, name): pass
    def addConstraint(self, *terms): pass
    def setObjective(self, terms): pass
    def runFull(self, optimise, seconds):
        self.said = open(os.environ["MLSCHED_TEST_PLACE"], "w")
        print('searches', file=self.said, flush=True)
        signal.pause()
sys.modules["exact"] = types.SimpleNamespace(Exact=Exact)
runpy.run_path({str(engine.PROGRAM)!r}, run_name="__main__")
"""


def test_what_a_killed_process_had_started_ends_and_its_files_are_removed(tmp_path):
    temporary, made = tmp_path / "temporary", tmp_path / "made"
    temporary.mkdir()
    made.mkdir()
    (tmp_path / "program.py").write_text(PROGRAM)
    os.mkfifo(tmp_path / "said")
    environment = {**os.environ, "TMPDIR": str(temporary), "MLSCHED_TEST_PLACE": str(tmp_path / "said")}
    call = [sys.executable, "-c", CALLER, str(tmp_path / "program.py"), str(made / "proof")]
    with subprocess.Popen(call, env=environment, stderr=subprocess.PIPE) as caller, (tmp_path / "said").open() as said:
        assert said.readline() == "searches\n"
        assert [path.name[:16] for path in temporary.iterdir()] == ["mlsched-certify-"]
        assert [path.name[:7] for path in made.iterdir()] == [".proof."]
        caller.send_signal(signal.SIGKILL)
        assert said.read() == "", "which ends when the search ends"
        assert caller.stderr.read() == b"", "which ends when all sweepers have ended"
    assert list(temporary.iterdir()) == []
    assert list(made.iterdir()) == []


def test_exact_ends_where_its_caller_has_ended_before(tmp_path):
    """The system tells only of an end that comes after it was asked to."""
    call = [sys.executable, "-I", str(engine.PROGRAM), "f.opb", str(tmp_path / "log"), "0", "1000", "1"]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "the process that asked has ended\n")


def test_a_swept_folder_ends_with_its_block_unless_it_was_given_a_name(tmp_path):
    with temporary_directory("a.", tmp_path) as folder:
        (folder / "file").write_text("")
        assert [folder] == list(tmp_path.iterdir())
        assert folder.stat().st_mode & 0o777 == 0o700
    assert list(tmp_path.iterdir()) == []
    with temporary_directory("a.", tmp_path) as folder:
        folder.rename(tmp_path / "kept")
    with pytest.raises(KeyError), temporary_directory("a.", tmp_path):
        raise KeyError
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    with pytest.raises(OSError, match="no"), temporary_directory("a.", Path(tmp_path / "no")):
        pass
