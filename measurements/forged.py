"""Whether a forged certificate is ever accepted, and what the check of one takes.

    python measurements/forged.py [--bundles N] [--seed N] [--time-limit S]

Prints one JSON document. N folders (default 5,000), each a genuine certificate of a tiny instance (two of each
problem, by formulas and by prices) that `tests/forgery.py` has changed in one or two ways, hashes made anew, are
checked by a process of their own kind, with a time limit of S wall seconds (default 1.5). "accepted falsely": the check
passed, and brute force finds another optimum than the one that the folder claims, or a better one than its bound.
"slowest, s": CPU seconds. "MB": the
largest resident memory that the process had had after the check.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import IO, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import certificate_examples
import forgery

from mlsched import api
from mlsched.certificates.prices.statement import statements
from mlsched.core.errors import MlschedError


def serve(limit: float) -> None:
    """Check each folder whose name comes in a line, and say in a line what came of it."""
    for number, line in enumerate(sys.stdin):
        started = time.process_time()
        try:
            found = api.check_certificate(line.strip(), time_limit=limit if number else None)
            said, value, wrong = "refused" if found.wrong else "accepted", found.sort_bound, list(found.wrong)
        except MlschedError as error:
            said, value, wrong = "cannot be read", None, [str(error)]
        except BaseException as error:
            said, value, wrong = "TRACEBACK", None, [repr(error)[:200]]
        seconds = time.process_time() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps([said, value, wrong[:3], seconds, peak]), flush=True)


def checker(limit: float) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, __file__, "--serve", str(limit)], stdin=pipe, stdout=pipe, text=True)


def asked(process: subprocess.Popen[str], folder: Path) -> Any:
    """What the process says of a folder."""
    to: IO[str] | None = process.stdin
    assert to is not None
    assert process.stdout is not None
    print(folder, file=to, flush=True)
    return json.loads(process.stdout.readline())


def is_true(folder: Path, bound: int) -> bool:
    """Whether nothing is better than the bound of a folder that was accepted."""
    instance, objective = (
        api.load(folder / "instance.json"),
        json.loads((folder / "manifest.json").read_text())["objective"],
    )
    try:
        best = api.solve(instance, "brute-force", objective=objective)
    except MlschedError:  # too large by now
        best = api.solve(instance, objective=objective)
    sign = 1 if best.sense == "min" else -1
    return best.status == "optimal" and sign * bound <= sign * best.sort_key


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundles", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=1.5)
    parser.add_argument("--serve", type=float)
    given = parser.parse_args()
    if given.serve is not None:
        serve(given.serve)
        return
    fate, ways, false = Counter[str](), Counter[str](), 0
    slowest: tuple[float, str] = (0.0, "")
    largest: tuple[float, str] = (0.0, "")
    with tempfile.TemporaryDirectory() as place, checker(given.time_limit) as process:
        genuine = []
        for problem in certificate_examples.DRAWN:
            for k, instance in enumerate(list(certificate_examples.drawn(problem, 8))[-2:]):
                genuine.append(Path(place) / f"{problem}{k}")
                objective = instance.objectives[k % len(instance.objectives)].name
                api.certify(instance, genuine[-1], objective=objective, proof="logic")
                assert asked(process, genuine[-1])[0] == "accepted"
                if objective in statements()[instance.kind].module.CLAIMS:
                    genuine.append(Path(place) / f"{problem}{k}-prices")
                    api.certify(instance, genuine[-1], objective=objective, proof="dual")
                    assert asked(process, genuine[-1])[0] == "accepted"
        for number in range(given.bundles):
            folder = Path(place) / "forged"
            way = forgery.forge(genuine, folder, random.Random(f"{given.seed} {number}"))
            said, value, wrong, seconds, peak = asked(process, folder)
            fate[said] += 1
            ways[way] += 1
            fate["ended by the time limit"] += any("the check did not end" in line for line in wrong)
            slowest, largest = max(slowest, (seconds, way)), max(largest, (peak, way))
            if said == "TRACEBACK" or any(len(line) > 300 for line in wrong):
                print(number, way, said, wrong, file=sys.stderr)
            if said == "accepted" and not is_true(folder, value):
                false += 1
                print(f"FALSE {number}: {way}", file=sys.stderr)
            shutil.rmtree(folder)
            if number % 500 == 499:
                print(number + 1, dict(fate), slowest, largest, file=sys.stderr)
        process.stdin.close()  # type: ignore[union-attr]
    print(
        json.dumps(
            {
                "bundles": given.bundles,
                **dict(sorted(fate.items())),
                "accepted falsely": false,
                "slowest, s": slowest,
                "MB": largest,
                "ways": dict(sorted(ways.items())),
            }
        )
    )


if __name__ == "__main__":
    main()
