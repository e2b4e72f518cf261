"""CPU time and solves of complete fronts: mlsched with two backends, and pyaugmecon 2.

    python measurements/fronts.py [--pyaugmecon-python PYTHON] [--large] [--only TEXT] [--json]

pyaugmecon runs in an interpreter of its own (Python 3.12 or newer: `python -m venv V; V/bin/pip install
'pyaugmecon[highs]'`), on HiGHS, as its documentation says: mode `exact`, one process, its own nadir point. It visits a
grid of unit steps in Python. Random instances have profits up to 100; with profits up to 1000 (Kirlik and Sayin's own,
from $MLSCHED_DATA) that grid has a hundred times as many points, and is left out where it has more than --cells.
CPU seconds of enumeration (children included, imports not), best of --repeat. Our two fronts must be equal; of
pyaugmecon's, the number of points is shown where it is not the same front.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import front_data
import numpy as np
from _calibration import cpu_seconds, load

from mlsched.solvers import enumerate_front


def questions(large: bool) -> dict[str, front_data.Question]:
    """Name -> instance."""
    sizes = ((20, 0), (30, 0), (30, 1), (30, 2))
    found = {f"KP3_{n} seed {s}": front_data.knapsack(n, 3, s, 100) for n, s in sizes}
    found |= {f"AP3_{n} seed 0": front_data.assignment(n, 3, 0) for n in (5, 7, 9)}
    data = os.environ.get("MLSCHED_DATA", Path(__file__).resolve().parents[2] / "shared")
    folder = Path(data) / "known_optima"
    if folder.is_dir():
        found["Kirlik KP3_30"] = front_data.kirlik(folder, "KP_p-3_n-30_ins-1")[0]
        found["pyaugmecon 2kp100"] = front_data.pyaugmecon(folder, "2kp100")[0]
    if large:
        found["KP3_50 seed 0"] = front_data.knapsack(50, 3, 0, 100)
        found["AP3_12 seed 0"] = front_data.assignment(12, 3, 0)
    return found


def ours(question: front_data.Question, build: str, repeat: int) -> dict[str, Any]:
    fronts = []
    cpu = cpu_seconds(lambda: fronts.append(enumerate_front(*getattr(question, build)())), repeat)
    return {"points": sorted(fronts[-1].sort_keys.tolist()), "cpu": cpu, "solves": fronts[-1].solves}


def theirs(settings: argparse.Namespace, question: front_data.Question, front: np.ndarray) -> dict[str, Any] | None:
    """pyaugmecon's answer; None when it fails, takes too long or would visit too large a grid."""
    ranges = front.max(axis=0) - front.min(axis=0)
    if int(ranges[1:].max() + 1) ** (front.shape[1] - 1) > settings.cells:
        return None
    data = {
        "objectives": question.objectives.tolist(),
        "senses": question.senses,
        "rows": question.rows.tolist(),
        "row_sense": question.row_sense,
        "right": question.right,
        "low": question.low.tolist(),
    }
    script = Path(__file__).with_name("_pyaugmecon_run.py")
    try:
        done = subprocess.run(
            [settings.pyaugmecon_python, str(script)],
            input=json.dumps(data),
            capture_output=True,
            text=True,
            timeout=settings.limit,
            check=True,
        )
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        print(f"  pyaugmecon: {error!r:.200}", getattr(error, "stderr", "")[-300:] if error else "", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


HEADER = ["instance", "points", "cp-sat: CPU s", "solves", "highs: CPU s", "solves"]
HEADER += ["pyaugmecon: CPU s", "solves", "its front", "pyaugmecon / our highs", "pyaugmecon / our faster"]


def row(settings: argparse.Namespace, name: str, question: front_data.Question) -> list[str]:
    """One instance: our fronts, which must agree, and pyaugmecon's."""
    first, second = (ours(question, build, settings.repeat) for build in ("cp_sat", "highs"))
    assert first["points"] == second["points"], f"{name}: the backends disagree"
    cells = [name, f"{len(first['points'])}"]
    for one in (first, second):
        cells += [f"{one['cpu']:.2f}", f"{one['solves']}"]
    other = theirs(settings, question, np.array(first["points"])) if settings.pyaugmecon_python else None
    if other is None:
        return [*cells, "-", "-", "-", "-", "-"]
    same = "the same" if other["points"] == first["points"] else f"{len(other['points'])} points"
    ratios = [f"{other['cpu'] / cpu:.1f}" for cpu in (second["cpu"], min(first["cpu"], second["cpu"]))]
    return [*cells, f"{other['cpu']:.2f}", f"{other['solves']}", same, *ratios]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pyaugmecon-python", help="interpreter that has pyaugmecon")
    parser.add_argument("--large", action="store_true", help="minutes instead of seconds")
    parser.add_argument("--only", default="", help="instances whose name contains this")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--cells", type=float, default=1e6, help="largest grid that pyaugmecon is given")
    parser.add_argument("--limit", type=float, default=1800, help="wall seconds for a run of pyaugmecon")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    settings = parser.parse_args()
    for build in ("cp_sat", "highs"):  # imports are not what is measured
        ours(front_data.knapsack(3, 2, 0), build, 1)
    calibration = cpu_seconds(load)
    print(f"calibration load: {calibration:.3f} CPU s", file=sys.stderr)
    rows = []
    for name, question in questions(settings.large).items():
        if settings.only in name:
            rows.append(row(settings, name, question))
            print("  ".join(rows[-1]), file=sys.stderr, flush=True)
    if settings.json:
        table = {"name": "fronts", "header": HEADER, "rows": rows}
        print(json.dumps({"kind": "fronts", "calibration": calibration, "tables": [table]}))


if __name__ == "__main__":
    main()
