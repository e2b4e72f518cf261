"""Plans of total_jct without a proven optimum: `mlsched.solve(instance)` and a plain CP-SAT model.

    python measurements/plans_open.py [--preset NAMES] [--seeds 7100-7129] [--limit 10] [--keep FILE] [--json]

Of every preset the instances that the plain model (`plain.py`) leaves open after the limit of CPU seconds, on one
thread. The default then gets the same CPU seconds, as its time limit. Two numbers count: on what share of these
instances its plan is no worse, and the geometric mean of its value over the plain model's; beside them how often its
bound is at least as good.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import json
import math
import os
import sys
import threading
import types
from pathlib import Path
from typing import Any

import numpy as np
from _calibration import cpu_seconds, load
from _keep import Kept
from plain import Side, apart, default, plain

import mlsched
from mlsched.core import deadline
from mlsched.core.clock import cpu_time
from mlsched.solvers.backends.process import Apart
from mlsched.solvers.backends.search import Search

PRESETS = (
    *("dags", "moving", "fractional", "sharing", "six-loose", "six-tight", "six-replicas"),
    *("eight-loose", "eight-tight", "eight-replicas", "ten-loose", "ten-tight", "ten-replicas"),
)
HEADER = ["preset", "seeds", "left open", "plan no worse", "better", "ratio of values", "bound no worse", "proven"]


def within_cpu_seconds(instance: mlsched.Instance, objective: str, limit: float) -> Side:
    """The default with a time limit that counts CPU seconds, as the plain side's does: other work on the machine
    takes nothing from either."""
    deadline.time = types.SimpleNamespace(perf_counter=cpu_time)  # type: ignore[assignment]
    for search in (Search, Apart):
        if search.run.__name__ == "run":  # not yet counted
            _count(search)
    return default(instance, objective, limit)


def _count(search: Any) -> None:
    """Have CP-SAT's searches, which know wall seconds only, end after as many CPU seconds."""
    initialised, run = search.__init__, search.run

    def made(self: Any, model: Any, parameters: Any, *more: Any, **named: Any) -> None:
        self.seconds = parameters.max_time_in_seconds
        parameters.max_time_in_seconds = math.inf
        initialised(self, model, parameters, *more, **named)

    def counted(self: Any) -> Any:
        ended, begun = threading.Event(), _spent(self)

        def watch() -> None:
            while not ended.wait(0.02):
                if _spent(self) - begun > self.seconds:
                    self.stop()

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            return run(self)
        finally:
            ended.set()
            watcher.join()

    search.__init__, search.run = made, counted


def _spent(search: Any) -> float:
    """CPU seconds so far of the process that searches, and of this one."""
    helper = getattr(search, "_process", None)
    if helper is None:
        return cpu_time()
    try:
        fields = Path(f"/proc/{helper.pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return cpu_time()
    return cpu_time() + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(preset: str, seed: int, limit: float) -> dict[str, Any]:
    """Both sides on one instance; of an instance that the plain model proves, the plain side alone."""
    instance = mlsched.generate("taskgraph", preset, seed=seed)
    hand = apart(plain, instance, "total_jct", limit, 2 * limit + 60)
    ours = None if hand.proven else apart(within_cpu_seconds, instance, "total_jct", hand.cpu, 4 * limit + 60)
    return {"plain": dataclasses.asdict(hand), "default": ours and dataclasses.asdict(ours)}


def line(label: str, rows: list[dict[str, Any]]) -> list[str]:
    """What the instances of a preset, or of all, come to."""
    pairs = [(row["plain"], row["default"]) for row in rows if row["default"] is not None]
    if not pairs:
        return [label, str(len(rows)), "0", *["-"] * 5]
    # Without a plan of its own a side counts as one that is twice as bad as the other's.
    ratios = np.array([_ratio(ours["value"], hand["value"]) for hand, ours in pairs])
    bounds = [(ours["bound"] or 0) >= (hand["bound"] or 0) for hand, ours in pairs]
    return [
        *(label, str(len(rows)), str(len(pairs)), f"{(ratios <= 1).mean():.0%}", f"{(ratios < 1).mean():.0%}"),
        *(f"{np.exp(np.log(ratios).mean()):.4f}", f"{np.mean(bounds):.0%}", str(sum(d["proven"] for _, d in pairs))),
    ]


def _ratio(ours: int | None, theirs: int | None) -> float:
    if ours is None or theirs is None:
        return 1.0 if ours is theirs else 2.0 if ours is None else 0.5
    return ours / theirs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default=",".join(PRESETS), help="names, separated by commas")
    parser.add_argument("--seeds", default="7100-7129", help="first and last, or one")
    parser.add_argument("--limit", type=float, default=10.0, help="CPU seconds of the plain model")
    parser.add_argument("--keep", type=Path, help="a file of rows that an interrupted measurement goes on from")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    given = parser.parse_args()
    first, _, last = given.seeds.partition("-")
    print(
        f"calibration load: {cpu_seconds(load):.3f} CPU s; load average {os.getloadavg()[0]:.1f}",
        file=sys.stderr,
        flush=True,
    )
    kept = Kept(given.keep)
    gc.freeze()
    rows: dict[str, list[dict[str, Any]]] = {}
    for preset in given.preset.split(","):
        rows[preset] = [
            kept.row(f"{preset} {seed} {given.limit}", lambda p=preset, s=seed: measure(p, s, given.limit))
            for seed in range(int(first), int(last or first) + 1)
        ]
        print(*line(preset, rows[preset]), sep="  ", file=sys.stderr, flush=True)
    table = [line(preset, found) for preset, found in rows.items()]
    table.append(line("all", [row for found in rows.values() for row in found]))
    if given.json:
        print(json.dumps({"kind": "plans-open", "tables": [{"name": "presets", "header": HEADER, "rows": table}]}))
    else:
        print(*("  ".join(row) for row in (HEADER, *table)), sep="\n")


if __name__ == "__main__":
    main()
