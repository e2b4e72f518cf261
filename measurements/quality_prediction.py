"""Loss prediction (SLAQ, Figures 6, 10(a) and 10(c)): errors on real and synthetic curves, CPU time of 4,000 jobs.

    python measurements/quality_prediction.py [DATA] [--jobs N] [--repeat N]

Prints one JSON document. DATA (default $MLSCHED_DATA/data) is the folder that holds algoperf_curves/ and pollux/;
without it only the synthetic curves are shown. Errors are percent of the true value, ten observations ahead. CPU times
are the best of --repeat, the calibration load's beside them tells how fast the machine was. SciPy's curve_fit is timed
on a tenth of the jobs, once, and scaled up.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _calibration import cpu_seconds, load
from scipy.optimize import curve_fit

from mlsched.core.losses.predict import Predictor
from mlsched.core.losses.window import Window
from mlsched.instances.quality.histories import History, synthetic, synthetic_mix
from mlsched.instances.quality.table1 import TABLE_1
from mlsched.instances.traces import algoperf, pollux
from mlsched_papers.slaq.errors import ErrorRow, prediction_errors


def errors(data: Path | None) -> list[dict[str, Any]]:
    """The tables of prediction errors, ten observations ahead."""
    rng = np.random.default_rng(0)
    families = {row.acronym: row.family for row in TABLE_1}
    found = []
    for noise in (1, 5):
        runs = [synthetic(row, rng, noise=noise / 100) for row in TABLE_1 for _ in range(5)]
        found.append(table(f"synthetic, {noise} % noise", prediction_errors(runs, families=families)))
    if data is not None:
        archive = data / "algoperf_curves" / "algoperf_v05_baseline_study0.tar.gz"
        real = {
            "AlgoPerf, training loss": algoperf.read_curves(archive),
            "AlgoPerf, validation loss": algoperf.read_curves(archive, split="validation"),
            "Pollux, validation error": pollux.read_curves(data / "pollux" / "pollux_traces.tar.gz"),
        }
        found += [table(name, prediction_errors(curves, family="sublinear")) for name, curves in real.items()]
    return found


def table(name: str, rows: Sequence[ErrorRow]) -> dict[str, Any]:
    """One kind of curves, a row per workload."""
    header = ["workload", "curves", "predictions", "fit", "strawman", "fit, median", "strawman, median"]
    cells = [
        [r.workload, r.curves, r.predictions]
        + [round(100 * share, 2) for share in (r.fit, r.strawman, r.fit_median, r.strawman_median)]
        for r in rows
    ]
    return {"name": name, "header": header, "rows": cells}


def scipy_fits(histories: list[History], moments: list[int], predictor: Predictor, *, bounded: bool) -> None:
    """The fits one job at a time: the same problem (bounded), or SciPy's much faster unbounded one, scaled alike."""

    def rational(x, a, b, c, d):
        return 1 / (a * x * x + b * x + c) + d

    def exponential(x, amplitude, rate, d):
        return amplitude * np.exp(-rate * x) + d

    for history, n in zip(histories, moments, strict=True):
        k, y = history.steps[:n][-predictor.window :], history.losses[:n][-predictor.window :]
        x, u = (k - k[0]) / max(k[-1] - k[0], 1), (y - y.min()) / max(np.ptp(y), 1e-300)
        sigma = predictor.decay ** (-0.5 * np.arange(len(k) - 1.0, -1.0, -1.0))
        curve, start = (rational, (0.1, 1, 1, 0)) if history.family == "sublinear" else (exponential, (1, 2, 0))
        low = [0.0] * (len(start) - 1) + [-predictor.reach]
        low[-2] = 1e-6  # c or the rate: not 0
        try:
            curve_fit(curve, x, u, p0=start, sigma=sigma, bounds=(low, np.inf) if bounded else (-np.inf, np.inf))
        except RuntimeError:
            continue


def speed(jobs: int, repeat: int) -> dict[str, Any]:
    """CPU time of one epoch's prediction for `jobs` jobs at all stages of training."""
    rng = np.random.default_rng(0)
    histories = synthetic_mix(jobs, rng)
    moments = rng.integers(5, 95, size=jobs).tolist()
    predictor = Predictor()
    families = [history.family for history in histories]

    def epoch(later: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
        seen = [h.until(n + later) for h, n in zip(histories, moments, strict=True)]
        return [steps for steps, _ in seen], [losses for _, losses in seen]

    before, now = epoch(0), epoch(5)
    ahead = np.array([steps[-1] for steps in now[0]])[:, None] + np.arange(1.0, 17.0)
    warm = predictor.fit(*before, families).fits
    quick = Predictor(steps=8)
    unit = cpu_seconds(load, repeat)
    tenth = max(1, jobs // 10)
    timed = {
        "pack alone": cpu_seconds(lambda: Window.pack(*now, predictor.window), repeat),
        "batched cold": cpu_seconds(lambda: predictor.fit(*now, families), repeat),
        "batched warm": cpu_seconds(lambda: predictor.fit(*now, families, warm=warm), repeat),
        "batched warm, 8 steps": cpu_seconds(lambda: quick.fit(*now, families, warm=warm), repeat),
        "warm, and loss at 16 core counts": cpu_seconds(
            lambda: predictor.fit(*now, families, warm=warm).loss_at(ahead), repeat
        ),
        "families unknown, cold": cpu_seconds(lambda: predictor.fit(*now, ["unknown"] * jobs), repeat),
    }
    for name, bounded in (("SciPy, unbounded (leastsq)", False), ("SciPy, bounded (trf)", True)):
        part = (histories[:tenth], moments[:tenth], predictor)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # unbounded steps overflow, and covariances cannot be estimated
            timed[name] = jobs / tenth * cpu_seconds(lambda p=part, b=bounded: scipy_fits(*p, bounded=b), 1)
    rows = [[name, round(seconds, 3), round(seconds / unit, 2)] for name, seconds in timed.items()]
    return {"name": "speed", "header": [f"{jobs} jobs", "CPU s", "of the calibration load"], "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--jobs", type=int, default=4000)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    root = os.environ.get("MLSCHED_DATA")
    found = errors(arguments.data or (Path(root) / "data" if root else None))
    print(json.dumps({"tables": [*found, speed(arguments.jobs, arguments.repeat)]}))


if __name__ == "__main__":
    main()
