"""Run pyaugmecon 2 on a question given as JSON on standard input; one JSON line on standard output.

Started by fronts.py in an interpreter of its own (`--pyaugmecon-python`), because pyaugmecon pins other versions.
Everything is its default (mode `exact`, its own nadir point) but: one process, no files, no logs, and HiGHS with one
thread and without a relative gap, since a gap loses points.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import time

import pyaugmecon
import pyomo.environ as pyo


def main() -> None:
    question = json.load(sys.stdin)
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(len(question["low"])), domain=pyo.Binary)
    x = list(model.x.values())
    model.rows = pyo.ConstraintList()
    for row, sense, right in zip(question["rows"], question["row_sense"], question["right"], strict=True):
        body = sum(c * v for c, v in zip(row, x, strict=True))
        model.rows.add(body <= right if sense < 0 else body >= right if sense > 0 else body == right)
    model.obj_list = pyo.ObjectiveList()
    for row, sense in zip(question["objectives"], question["senses"], strict=True):
        made = pyo.minimize if sense == "min" else pyo.maximize
        model.obj_list.add(expr=sum(c * v for c, v in zip(row, x, strict=True)), sense=made)
    config = {
        "workers": 1,
        "write_csv": False,
        "progress_bar": False,
        "log_to_console": False,
        "solver_name": "highs",
        "solver_options": {"mip_rel_gap": 0.0, "mip_abs_gap": 0.999, "threads": 1},
    }
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with contextlib.redirect_stdout(sys.stderr):
            before, started = os.times(), time.perf_counter()
            found = pyaugmecon.PyAugmecon(model, config).solve()
            after, seconds = os.times(), time.perf_counter() - started
    cpu = sum(getattr(after, n) - getattr(before, n) for n in ("user", "system", "children_user", "children_system"))
    points = sorted([round(v) for v in p] for p in found.points)
    answer = {"points": points, "cpu": cpu, "seconds": seconds, "solves": found.models_solved}
    print(json.dumps(answer | {"version": pyaugmecon.__version__}))


if __name__ == "__main__":
    main()
