"""Run in a process of its own, never imported: minimise a 0-1 formula by `exact`, which logs its proof.

    python _exact_process.py FORMULA.opb LOG SECONDS BYTES          (0 seconds: no limit)

`exact` is under the AGPL and is loaded here alone. It writes its own reading of the formula to LOG.formula and what it
derives to LOG.proof, of which no more than BYTES are kept. The last line printed is "complete" or "unfinished".
"""

import resource
import sys
from pathlib import Path

import exact


def main(formula: str, log: str, seconds: str, most: str) -> None:
    """Read a formula as `Formula.text` writes it, and search."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(most), int(most)))
    settings = [("proof-log", log), ("proof-assumptions", "0"), ("opt-ratio", "0")]
    solver, variables = exact.Exact(settings), 0
    for line in Path(formula).read_text(encoding="utf-8").splitlines():
        words = line.split()
        if words[:2] == ["*", f"x{variables + 1}:"]:
            variables += 1
            solver.addVariable(f"x{variables}")
        elif words[0] == "min:":
            solver.setObjective(_terms(words[1:-1]))
        elif words[0] != "*":
            solver.addConstraint(_terms(words[:-3]), True, int(words[-2]))
    print("complete" if solver.runFull(True, float(seconds)) == "UNSAT" else "unfinished")  # noqa: T201


def _terms(words: list[str]) -> list[tuple[int, str]]:
    return [(int(c), x) for c, x in zip(words[::2], words[1::2], strict=True)]


if __name__ == "__main__":
    main(*sys.argv[1:])
