"""Search for mixed integer programs with a wrong status, optimum or front.

    python measurements/mixed.py [--programs N] [--seed N]

Prints one JSON document. N random programs (default 10,000; `tests/mixed_examples.py`) have one to five integer and one
to three continuous columns, and optima and fronts by brute force in fractions. HiGHS and SCIP minimise each, seconded
by each other; `enumerate_front` enumerates it, and SCIP verifies the front. "wrong": the status or the value is not
that of brute force. "unproved": no two engines agreed. Such programs are printed on the standard error.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import mixed_examples
from mip_examples import formulation

from mlsched.core.formulation import Limits, Term
from mlsched.solvers import enumerate_front
from mlsched.solvers.backends import highs, math_opt

ENGINES = {"highs": highs.minimise, "scip": partial(math_opt.minimise, solver="scip")}


def minimised(engine: str, program: Any, best: int | None) -> str:
    """The outcome of one engine: "right", "wrong" or "unproved"."""
    model, (first, second) = program.pyomo()
    found = ENGINES[engine](formulation(model, Term(1, 2 * first + second)), "o", "min", Limits(), None)
    if found.doubt:
        return "unproved"
    expected = ("infeasible", None) if best is None else ("optimal", best)
    return "right" if (found.status, found.bound) == expected else "wrong"


def enumerated(program: Any, expected: list[list[int]]) -> str:
    """The outcome of a front: "right", "wrong" or "unproved"."""
    model, objectives = program.pyomo()
    front = enumerate_front(model, objectives, ["min", "min"])
    if front.status == "failed":
        return "unproved"
    same = front.status == ("complete" if expected else "infeasible") and front.sort_keys.tolist() == expected
    return "right" if same and front.verify("scip") == [] else "wrong"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    outcomes, started = Counter[str](), time.process_time()
    for number in range(given.programs):
        program = mixed_examples.drawn(random.Random(f"{given.seed} {number}"))
        values = program.values()
        best = min((2 * a + b for a, b in values), default=None)
        outcomes["programs, infeasible" if best is None else "programs, feasible"] += 1
        said = {f"{engine}, minimise": minimised(engine, program, best) for engine in ENGINES}
        said["enumerate_front"] = enumerated(program, mixed_examples.front_of(values))
        for name, outcome in said.items():
            outcomes[f"{name}, {outcome}"] += 1
            if outcome != "right":
                print(number, name, outcome, program, file=sys.stderr, flush=True)
    print(json.dumps({**dict(sorted(outcomes.items())), "CPU s": time.process_time() - started}))


if __name__ == "__main__":
    main()
