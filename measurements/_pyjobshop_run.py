"""Run PyJobShop on a scheduling question given as JSON on standard input; one JSON line on standard output.

Started by peers.py in an interpreter of its own (`--pyjobshop-python`). One thread; else its defaults.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import version

from pyjobshop import Model


def main() -> None:
    question = json.load(sys.stdin)
    model = Model()
    resources = [model.add_renewable(capacity) for capacity in question["capacity"]]
    tasks = [model.add_task() for _ in question["tasks"]]
    for task, (duration, demand) in zip(tasks, question["tasks"], strict=True):
        used = [(resource, amount) for resource, amount in zip(resources, demand, strict=True) if amount]
        model.add_mode(task, [r for r, _ in used] or [resources[0]], duration, [a for _, a in used] or [0])
    for before, after in question["precedence"]:
        model.add_end_before_start(tasks[before], tasks[after])
    model.set_objective(weight_makespan=1)
    before = os.times()
    found = model.solve(time_limit=question["limit"], num_workers=1, display=False)
    after = os.times()
    cpu = after.user + after.system - before.user - before.system
    answer = {"value": found.objective, "optimal": found.status.value == "Optimal", "cpu": cpu}
    print(json.dumps(answer | {"version": version("pyjobshop"), "ortools": version("ortools")}))


if __name__ == "__main__":
    main()
