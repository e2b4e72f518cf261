"""A separate program, never imported: minimise a 0-1 formula by `exact`, which logs its proof.

    python _exact_process.py FORMULA.opb LOG SECONDS BYTES CALLER          (0 seconds: no limit)

`exact` is under the AGPL and is loaded only here. It writes its own reading of the formula to LOG.formula and its
derivation to LOG.proof, of which at most BYTES are kept. The last line printed is "complete" or "unfinished". It ends
with CALLER, the process that started it, in every case.
"""

import ctypes
import os
import resource
import signal
import sys
from pathlib import Path

#: Linux: the signal that a process gets when its parent ends.
PR_SET_PDEATHSIG = 1


def main(formula: str, log: str, seconds: str, most: str, caller: str) -> None:
    """Read a formula as `Formula.text` writes it, and search."""
    _end_with_caller(int(caller))
    import exact

    resource.setrlimit(resource.RLIMIT_FSIZE, (int(most), int(most)))
    settings = [("proof-log", log), ("proof-assumptions", "0"), ("opt-ratio", "0")]
    solver, variables = exact.Exact(settings), 0
    for line in Path(formula).read_text(encoding="utf-8").splitlines():
        words = line.split()
        if words[:2] == ["*", f"x{variables + 1}:"]:
            variables += 1
            solver.addVariable(f"x{variables}")
        elif words[0] == "min:":
            solver.setObjective(_terms_of_words(words[1:-1]))
        elif words[0] != "*":
            solver.addConstraint(_terms_of_words(words[:-3]), True, int(words[-2]))
    print("complete" if solver.runFull(True, float(seconds)) == "UNSAT" else "unfinished")  # noqa: T201


def _end_with_caller(caller: int) -> None:
    """Let the system end this process with the caller, which nothing here observes while `exact` searches."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != caller:
        sys.exit("the process that asked has ended")


def _terms_of_words(words: list[str]) -> list[tuple[int, str]]:
    return [(int(c), x) for c, x in zip(words[::2], words[1::2], strict=True)]


if __name__ == "__main__":
    main(*sys.argv[1:])
