"""One-shot allocation of workers and PSs: exact answers and rules, in CPU seconds and against the calibration load.

    python measurements/workers_exact.py [--seeds N] [--only exact,rules,gaps,plain,measured] [--pollux ARCHIVE]
    python measurements/workers_exact.py [--seeds N] --json

Targets: proven optimum of `x16` (80 jobs, 16 times the paper's cluster) within 1 s and of `x40` (200 jobs, 40 times)
within 5 s by the default solver; Optimus' greedy on 200 jobs within 50 ms. The first solve of a process also pays for
imports, so one solve of another instance comes before the clock starts. Parts: `exact` (the presets), `rules` (CPU on
`x40`), `gaps` (rules against the optimum), `plain` (how far the DP gets without bounds), `measured` (jobs from Pollux'
profiles, needs --pollux). --json: one document with the table of `gaps`, and nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
from _calibration import cpu_seconds, load

import mlsched
from mlsched.benchmark.experiments.claim import estimate
from mlsched.core.errors import MlschedError
from mlsched.core.registry import registry
from mlsched.instances.workers.pollux import generate_measured, read_pollux

#: Preset, CPU seconds that the default solver may take (0: no target).
EXACT = (
    ("paper", 0),
    ("paper-10", 0),
    ("crowded", 0),
    ("x16", 1),
    ("x40", 5),
    ("cpu-bound", 0),
    ("asynchronous", 0),
    ("measured", 0),
)
SOLVERS = ("cp-sat", "highs", "dp", "cp-sat:reduce=false", "highs:reduce=false")
RULES = (
    "optimus",
    "optimus:amount=share",
    "optimus:stop=misfit",
    "optimus:stop=used-up",
    "optimus:stop=misfit,amount=share",
    "marginal-gain",
    "drf",
    "fair",
    "max-rate",
    "max-rate:of=jobs",
    "srpt",
    "uniform-random",
    "uniform-random:void=true",
)


def once(instance: Any, solver: str, **options: Any) -> tuple[Any, float]:
    """Result and CPU seconds of one solve, warm start and judge included."""
    started = time.process_time()
    result = mlsched.solve(instance, solver, **options)
    return result, time.process_time() - started


def exact(seeds: int, unit: float) -> None:
    default = registry().problem("workers").default
    print(f"{'preset':13} {'solver':20} {'proven':>7} {'CPU s: median':>14} {'worst':>7} {'x load: worst':>14}")
    for preset, target in EXACT:
        drawn = [mlsched.generate("workers", preset, seed=seed) for seed in range(seeds)]
        best: dict[int, int] = {}
        for solver in SOLVERS:
            proven, seconds = 0, []
            for seed, instance in enumerate(drawn):
                result, spent = once(instance, solver, time_limit=60)
                seconds.append(spent)
                if result.status == "optimal":
                    proven += 1
                    assert best.setdefault(seed, result.value) == result.value, "two proven optima differ"
            note = f"  target {target} s: {max(seconds) <= target}" if target and solver == default else ""
            print(
                f"{preset:13} {solver:20} {proven:3}/{seeds:3} {np.median(seconds):14.3f} {max(seconds):7.3f} "
                f"{max(seconds) / unit:14.2f}{note}",
                flush=True,
            )


def rules(unit: float) -> None:
    instance = mlsched.generate("workers", "x40")
    print(f"{'rule on x40, 200 jobs':28} {'CPU ms':>8} {'x load':>8}")
    for text in RULES:
        entry, params = registry().answerer("workers", text)

        def call(entry: Any = entry, params: Any = params) -> None:
            entry.function(instance, rng=np.random.default_rng(0), **params)

        seconds = cpu_seconds(call)
        print(f"{text:28} {1000 * seconds:8.1f} {seconds / unit:8.3f}", flush=True)


def losses(drawn: Iterable[Any]) -> dict[str, list[float]]:
    """Rule -> its gaps to the optimum, percent."""
    lost: dict[str, list[float]] = {rule: [] for rule in RULES}
    for instance in drawn:
        best = mlsched.solve(instance, "cp-sat")
        assert best.status == "optimal"
        for rule in RULES:
            share = mlsched.solve(instance, rule).gap_to(best).share
            assert share is not None, "an optimum of 0 has no percentage"
            lost[rule].append(100 * share)
    return lost


def gaps(name: str, drawn: Iterable[Any]) -> None:
    """Mean gap of each rule."""
    print(f"{name:14}" + "".join(f"{np.mean(each):>8.1f}%" for each in losses(drawn).values()), flush=True)


def document(seeds: int) -> dict[str, Any]:
    """The table of `gaps`: rules as rows, presets as columns."""
    found = {p: losses(mlsched.generate("workers", p, seed=seed) for seed in range(seeds)) for p, _ in EXACT}
    rows = []
    for rule in RULES:
        each = [estimate(lost[rule]) for lost in found.values()]
        numbers = [{"measured": one and one.mean, "ci95": one and one.half} for one in each]
        rows.append({"label": f"`{rule}`", "numbers": numbers})
    return {"seeds": seeds, "tables": [{"name": "gaps", "header": ["rule", *found], "rows": rows}]}


def plain(seeds: int) -> None:
    print("dp:reduce=false, states summed over the jobs and CPU s, by seed")
    for preset, sizes in (
        ("paper", {}),
        ("paper-10", {}),
        ("crowded", {}),
        ("paper", {"jobs": 6, "scale": 2.0}),
        ("paper", {"jobs": 10, "scale": 2.0}),
        ("paper", {"jobs": 16, "scale": 4.0}),
        ("measured", {"jobs": 10, "scale": 2.0}),
    ):
        cells = []
        for seed in range(min(seeds, 3)):
            instance = mlsched.generate("workers", preset, seed=seed, **sizes)
            try:
                result, spent = once(instance, "dp:reduce=false")
                cells.append(f"{result.work['states']:.0f} ({spent:.2f} s)")
                assert result.value == mlsched.solve(instance, "highs").value
            except MlschedError as error:
                cells.append(str(error).partition(":")[2].strip())
        print(f"  {preset} {sizes}: " + ", ".join(cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", default="exact,rules,gaps,plain,measured")
    parser.add_argument("--pollux", default="", help="pollux_traces.tar.gz")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.json:
        print(json.dumps(document(arguments.seeds)))
        return
    only = arguments.only.split(",")
    unit = cpu_seconds(load)
    print(f"calibration load: {unit:.3f} CPU s, load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for solver in SOLVERS:
        mlsched.solve(mlsched.generate("workers", "paper", seed=99), solver)
    if "exact" in only:
        exact(arguments.seeds, unit)
    if "rules" in only:
        rules(unit)
    header = f"{'mean loss':14}" + "".join(f"{rule.replace('optimus:', 'o:')[-8:]:>9}" for rule in RULES)
    if "gaps" in only:
        print(", ".join(RULES))
        print(header)
        for preset, _ in EXACT:
            gaps(preset, (mlsched.generate("workers", preset, seed=seed) for seed in range(arguments.seeds)))
    if "plain" in only:
        plain(arguments.seeds)
    if arguments.pollux and "measured" in only:
        profiles = read_pollux(arguments.pollux)
        for name, profile in profiles.items():
            found = profile.fit(4 * int(np.median(profile.local)))
            print(
                f"{name}: {found.points} points, relative error mean {found.mean_error:.1%}, "
                f"largest {found.largest_error:.0%}"
            )
        print(header)
        for speed in ("table", "fit"):
            drawn = (
                generate_measured(np.random.default_rng(seed), profiles, jobs=40, gpus=128, speed=speed)
                for seed in range(arguments.seeds)
            )
            gaps(f"Pollux {speed}", drawn)


if __name__ == "__main__":
    main()
