"""One-shot allocation of workers and PSs: gaps of rules, and CPU seconds of rules and exact solvers.

    python measurements/workers_exact.py [--seeds N] [--only gaps,exact,rules,plain,fits,measured] [--pollux ARCHIVE]
        [--json]

Parts, a table each: `gaps` (the default: rules against the optimum, percent), `exact` (CPU seconds on the presets; all
answers are proven and equal, or it fails), `rules` (CPU time on `x40`, 200 jobs), `plain` (how far the DP gets without
bounds: states summed over the jobs), `fits` (Optimus' speed model on Pollux' profiles), `measured` (gaps on jobs drawn
from those profiles). ARCHIVE is pollux_traces.tar.gz (default: in $MLSCHED_DATA/data/pollux). Targets: the proven
optimum of `x16` (80 jobs) within 1 s and of `x40` within 5 s by the default solver; Optimus' greedy on 200 jobs within
50 ms. The first solve of a process also pays for imports, so one solve of another instance comes before the clock
starts.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from _calibration import cpu_seconds, load
from _pollux_profiles import generate_measured, read_pollux

import mlsched
from mlsched.core.errors import MlschedError
from mlsched.core.registry import registry
from mlsched_papers.claim import estimate

PRESETS = ("paper", "paper-10", "crowded", "x16", "x40", "cpu-bound", "asynchronous", "measured")
SOLVERS = ("cp-sat", "highs", "dp", "cp-sat:reduce=false", "highs:reduce=false")
RULES = (
    "optimus",
    "optimus:amount=share",
    "optimus:stop=misfit",
    "optimus:stop=used-up",
    "optimus:stop=misfit,amount=share",
    "marginal-gain",
    "hull-greedy",
    "drf",
    "fair",
    "max-rate",
    "max-rate:of=jobs",
    "srpt",
    "uniform-random",
    "uniform-random:void=true",
)


Table = dict[str, Any]


def once(instance: Any, solver: str, **options: Any) -> tuple[Any, float]:
    """Result and CPU seconds of one solve, warm start and judge included."""
    started = time.process_time()
    result = mlsched.solve(instance, solver, **options)
    return result, time.process_time() - started


def exact(seeds: int) -> Table:
    """CPU seconds of every exact solver, median and worst; all of them must prove the same optimum."""
    for solver in SOLVERS:
        mlsched.solve(mlsched.generate("workers", "paper", seed=99), solver)
    rows = []
    for preset in PRESETS:
        cells, best = [preset], {}  # type: ignore[var-annotated]
        for solver in SOLVERS:
            seconds = []
            for seed in range(seeds):
                result, spent = once(mlsched.generate("workers", preset, seed=seed), solver, time_limit=60)
                assert result.status == "optimal", f"{solver} does not prove {preset}, seed {seed}"
                assert best.setdefault(seed, result.sort_key) == result.sort_key, "two proven optima differ"
                seconds.append(spent)
            cells.append(f"{np.median(seconds):.2g} / {max(seconds):.2g}")
        rows.append(cells)
    return {"name": "exact", "header": ["preset", *(f"`{solver}`" for solver in SOLVERS)], "rows": rows}


def rules() -> Table:
    """CPU time of every rule on 200 jobs."""
    instance = mlsched.generate("workers", "x40")
    rows = []
    for text in RULES:
        entry, params = registry().solver("workers", text)

        def call(entry: Any = entry, params: Any = params) -> None:
            entry.function(instance, rng=np.random.default_rng(0), **params)

        rows.append([f"`{text}`", f"{float(f'{1000 * cpu_seconds(call):.2g}'):g}"])
    return {"name": "rules", "header": ["rule", "CPU ms"], "rows": rows}


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


def compared(name: str, drawn: Mapping[str, Iterable[Any]]) -> Table:
    """Rules as rows, kinds of instances as columns: mean gap and its interval, percent."""
    found = {label: losses(several) for label, several in drawn.items()}
    rows = []
    for rule in RULES:
        each = [estimate(lost[rule]) for lost in found.values()]
        numbers = [{"measured": one and one.mean, "ci95": one and one.half} for one in each]
        rows.append({"label": f"`{rule}`", "numbers": numbers})
    return {"name": name, "header": ["rule", *found], "rows": rows}


def gaps(seeds: int) -> Table:
    """Gaps on every preset."""
    return compared("gaps", {p: [mlsched.generate("workers", p, seed=k) for k in range(seeds)] for p in PRESETS})


def plain(seeds: int) -> Table:
    """The DP without bounds: states summed over the jobs, and CPU seconds."""
    rows = []
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
                cells.append(f"{result.work['states']:.0f} ({spent:.2g} s)")
                assert result.sort_key == mlsched.solve(instance, "highs").sort_key
            except MlschedError:
                cells.append("refused")
        named = "".join(f", {key} {value:g}" for key, value in sizes.items())
        rows.append([f"{preset}{named}", *cells])
    header = ["instances", *(f"states (CPU s), seed {seed}" for seed in range(min(seeds, 3)))]
    return {"name": "plain", "header": header, "rows": rows}


def fits(profiles: Mapping[str, Any]) -> Table:
    """How well Optimus' speed model fits what was measured of each application, relative errors in percent."""
    rows = []
    for name, profile in profiles.items():
        found = profile.fit(4 * int(np.median(profile.local)))
        errors = (f"{100 * found.mean_error:.1f}", f"{100 * found.largest_error:.0f}")
        rows.append([name, str(found.points), *errors])
    return {"name": "fits", "header": ["application", "points", "mean error [%]", "largest [%]"], "rows": rows}


def measured(seeds: int, profiles: Mapping[str, Any]) -> Table:
    """Gaps on jobs drawn from Pollux' profiles."""
    drawn = {
        f"Pollux, by {speed}": (
            generate_measured(np.random.default_rng(seed), dict(profiles), jobs=40, gpus=128, speed=speed)
            for seed in range(seeds)
        )
        for speed in ("table", "fit")
    }
    return compared("measured", drawn)


def main() -> None:
    """See the module's docstring."""
    data = Path(os.environ.get("MLSCHED_DATA", "../shared")) / "data"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", default="gaps")
    parser.add_argument("--pollux", type=Path, default=data / "pollux" / "pollux_traces.tar.gz")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    seeds = arguments.seeds
    parts: dict[str, Callable[[], Table]] = {
        "gaps": lambda: gaps(seeds),
        "exact": lambda: exact(seeds),
        "rules": rules,
        "plain": lambda: plain(seeds),
        "fits": lambda: fits(read_pollux(arguments.pollux)),
        "measured": lambda: measured(seeds, read_pollux(arguments.pollux)),
    }
    only = arguments.only.split(",")
    if unknown := [name for name in only if name not in parts]:
        raise SystemExit(f"--only: {unknown[0]}, expected of {', '.join(parts)}")
    document = {"seeds": seeds, "calibration_s": cpu_seconds(load), "tables": [parts[name]() for name in only]}
    if arguments.json:
        print(json.dumps(document))
        return
    print(f"calibration load: {document['calibration_s']:.3f} CPU s, load average {os.getloadavg()[0]:.1f}")
    for table in document["tables"]:
        print(f"\n{table['name']}: {' | '.join(table['header'])}")
        for row in table["rows"]:
            cells = row if isinstance(row, list) else [row["label"], *(_shown(number) for number in row["numbers"])]
            print(" | ".join(cells))


def _shown(number: Mapping[str, float | None]) -> str:
    """A mean with its interval as text."""
    return f"{number['measured']:.3g} ± {number['ci95'] or 0:.2g}"


if __name__ == "__main__":
    main()
