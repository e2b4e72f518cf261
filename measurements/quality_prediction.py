"""Loss prediction (SLAQ, Figures 6, 10(a) and 10(c)): errors on real and synthetic curves, CPU time of 4,000 jobs.

    python measurements/quality_prediction.py [DATA] [--jobs N] [--repeat N]

DATA (default $MLSCHED_DATA/data) is the folder that holds algoperf_curves/ and pollux/; without it only the synthetic
curves are shown. CPU times are the best of --repeat; quote the ratio to the calibration load, which drifts with the
machine, rather than the seconds. SciPy's curve_fit is timed on a tenth of the jobs, once, and scaled up.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path

import numpy as np
from _calibration import cpu_seconds, load
from scipy.optimize import curve_fit

from mlsched.core.losses.predict import Predictor
from mlsched.core.losses.window import Window
from mlsched.instances.quality.histories import History, synthetic, synthetic_mix
from mlsched.instances.quality.prediction import error_table, prediction_errors
from mlsched.instances.quality.table1 import TABLE_1
from mlsched.instances.traces import algoperf, pollux


def errors(data: Path | None) -> None:
    """The tables of prediction errors, ten observations ahead."""
    rng = np.random.default_rng(0)
    for noise in (0.01, 0.05):
        runs = [synthetic(row, rng, noise=noise) for row in TABLE_1 for _ in range(5)]
        print(f"\nTable 1, synthetic, {noise:.0%} noise (the paper's Figure 10(a): below 5 % each)")
        print(error_table(prediction_errors(runs, families={row.acronym: row.family for row in TABLE_1})))
    if data is None:
        print("\nno real curves: give the data folder, or set MLSCHED_DATA to the folder that holds data/")
        return
    archive = data / "algoperf_curves" / "algoperf_v05_baseline_study0.tar.gz"
    print("\nAlgoPerf, training loss, sublinear")
    print(error_table(prediction_errors(algoperf.read_curves(archive), family="sublinear")))
    print("\nAlgoPerf, validation loss, sublinear")
    print(error_table(prediction_errors(algoperf.read_curves(archive, split="validation"), family="sublinear")))
    print("\nPollux, validation error, sublinear")
    curves = pollux.read_curves(data / "pollux" / "pollux_traces.tar.gz")
    print(error_table(prediction_errors(curves, family="sublinear")))


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


def speed(jobs: int, repeat: int) -> None:
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
    print(f"\ncalibration load: {unit:.3f} CPU s\n{f'{jobs} jobs':34} {'CPU s':>8} {'x load':>8}")
    for name, seconds in timed.items():
        print(f"{name:34} {seconds:8.3f} {seconds / unit:8.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--jobs", type=int, default=4000)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    root = os.environ.get("MLSCHED_DATA")
    errors(arguments.data or (Path(root) / "data" if root else None))
    speed(arguments.jobs, arguments.repeat)


if __name__ == "__main__":
    main()
