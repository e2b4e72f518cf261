"""CPU time and solves of complete fronts: mlsched on both backends, and pyaugmecon where it can do them.

    python measurements/fronts.py [--pyaugmecon-python PYTHON] [--large] [--only TEXT]

pyaugmecon runs in an interpreter of its own (`python -m venv V; V/bin/pip install pyaugmecon highspy`) on HiGHS. It is
given the true nadir point and a grid of unit steps: it needs both for a complete front and finds neither by itself.
CPU seconds of enumeration (children included, imports not), best of --repeat; all fronts must be equal. Random
instances are seeded, with profits up to 100 so that its grid stays small: it walks the grid in Python, and with
profits up to 1000 (Kirlik and Sayin's own, from $MLSCHED_DATA) that, not solving, would be most of its time. Such grids
are left out (--cells).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

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


def ours(question: front_data.Question, build: str, repeat: int) -> dict[str, object]:
    fronts = []
    cpu = cpu_seconds(lambda: fronts.append(enumerate_front(*getattr(question, build)())), repeat)
    return {"points": sorted(fronts[-1].values.tolist()), "cpu": cpu, "solves": fronts[-1].solves}


def theirs(settings: argparse.Namespace, question: front_data.Question, front: np.ndarray) -> dict[str, object] | None:
    """pyaugmecon's answer; None when it fails, takes too long or would need too large a grid."""
    worst = [(front[:, k].min() if s == "max" else front[:, k].max()) for k, s in enumerate(question.senses)]
    ranges = front.max(axis=0) - front.min(axis=0)
    points = int(ranges[1:].max()) + 1
    if points ** (len(worst) - 1) > settings.cells:
        return None
    signs = [1 if s == "max" else -1 for s in question.senses]
    data = {
        "objectives": question.objectives.tolist(),
        "senses": question.senses,
        "rows": question.rows.tolist(),
        "row_sense": question.row_sense,
        "right": question.right,
        "low": question.low.tolist(),
        "grid_points": points,
        "nadir_points": [int(s * w) for s, w in zip(signs[1:], worst[1:], strict=True)],
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pyaugmecon-python", help="interpreter that has pyaugmecon")
    parser.add_argument("--large", action="store_true", help="minutes instead of seconds")
    parser.add_argument("--only", default="", help="instances whose name contains this")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--cells", type=float, default=1e6, help="largest grid that pyaugmecon is given")
    parser.add_argument("--limit", type=float, default=1800, help="wall seconds for a run of pyaugmecon")
    arguments = parser.parse_args()
    for build in ("cp_sat", "highs"):  # imports are not what is measured
        ours(front_data.knapsack(3, 2, 0), build, 1)
    print(f"calibration load: {cpu_seconds(load):.3f} CPU s")
    print(f"{'instance':20} {'points':>6}  {'cp-sat s':>8} {'solves':>6}  {'highs s':>8} {'solves':>6}  ", end="")
    print(f"{'pyaugm. s':>9} {'solves':>6}  {'ratio':>6} {'same':>5}")
    for name, question in questions(arguments.large).items():
        if arguments.only not in name:
            continue
        first, second = ours(question, "cp_sat", arguments.repeat), ours(question, "highs", arguments.repeat)
        assert first["points"] == second["points"], f"{name}: the backends disagree"
        line = f"{name:20} {len(first['points']):6}"
        for one in (first, second):
            line += f"  {one['cpu']:8.2f} {one['solves']:6}"
        print(line, end="  ", flush=True)
        other = None
        if arguments.pyaugmecon_python:
            other = theirs(arguments, question, np.array(first["points"]))
        if other is None:
            print(f"{'-':>9} {'-':>6}  {'-':>6} {'-':>5}", flush=True)
            continue
        ratio = other["cpu"] / min(first["cpu"], second["cpu"])
        same = "yes" if other["points"] == first["points"] else f"{len(other['points'])}"
        print(f"{other['cpu']:9.2f} {other['solves']:6}  {ratio:6.1f} {same:>5}", flush=True)


if __name__ == "__main__":
    main()
