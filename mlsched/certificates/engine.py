"""The solver that logs proofs: the PyPI package `exact`, in a separate process.

It is under the AGPL and an optional extra; mlsched never imports it. Its output is not trusted: `checker.py` decides
about the proof made from its log.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import subprocess
import sys
from pathlib import Path

from mlsched.certificates.checker import Proof
from mlsched.core.errors import BackendError, InvalidInput
from mlsched.core.temporary import temporary_directory

#: Largest log that is read, in bytes, and grace of the process after its own time limit, s.
MOST_LOG, GRACE = 2**28, 10.0
PROGRAM = Path(__file__).with_name("_exact_process.py")


def version() -> str:
    """Return the version of `exact`; raise InvalidInput if it is not installed."""
    if importlib.util.find_spec("exact") is None:
        raise InvalidInput(f"certify: needs exact, a solver that logs proofs; {_install_remedy()}")
    return importlib.metadata.version("exact")


def _install_remedy() -> str:
    """Return how to get `exact`, which has wheels for some platforms only."""
    if sys.platform == "linux" and platform.machine() == "x86_64" and sys.version_info < (3, 14):
        return "pip install 'mlsched[certify]'"
    return "its wheels are for Python 3.11 to 3.13 on Linux (x86-64); use one of these"


def log_of(formula: str, seconds: float | None) -> str:
    """Return the log of a complete search for the formula's minimum, with the formula's constraint numbers."""
    version()
    with temporary_directory("mlsched-certify-") as folder:
        path, log = folder / "formula.opb", folder / "log"
        path.write_text(formula, encoding="utf-8")
        command = [sys.executable, "-I", str(PROGRAM)]
        try:
            search = subprocess.run(
                [*command, str(path), str(log), str(seconds or 0), str(MOST_LOG), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=None if seconds is None else seconds + GRACE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise _unfinished(seconds) from None
        if search.returncode:
            last_line = (search.stderr.strip() or f"exit status {search.returncode}").splitlines()[-1]
            raise BackendError(f"exact failed: {last_line}")
        if search.stdout.split()[-1:] != ["complete"]:
            raise _unfinished(seconds)
        if log.with_suffix(".proof").stat().st_size >= MOST_LOG:
            raise BackendError(f"exact logged more than {MOST_LOG // 10**6} MB; certify a smaller instance")
        theirs = log.with_suffix(".formula").read_text(encoding="utf-8")
        return _numbered_as(formula, theirs, log.with_suffix(".proof").read_text(encoding="utf-8"))


def _unfinished(seconds: float | None) -> BackendError:
    limit = "" if seconds is None else f" in {seconds:g} s"
    return BackendError(f"exact did not finish its proof{limit}; give more time or certify a smaller instance")


def _numbered_as(formula: str, theirs: str, log: str) -> str:
    """Renumber the log from the solver's own reading of the formula to our constraints."""
    ours = Proof(formula).formula
    if (read_formula := Proof(theirs).formula) == ours:
        return log
    places = {(frozenset(terms.items()), bound): i for i, (terms, bound) in enumerate(ours, 1)}
    try:
        number = [places[frozenset(terms.items()), bound] for terms, bound in read_formula]
    except KeyError:
        raise BackendError("exact changed a constraint: its proof is of another formula") from None
    words = (line.split() for line in log.split("\n"))
    return "\n".join(f"l {number[int(w[1]) - 1]}" if w[:1] == ["l"] else " ".join(w) for w in words)
