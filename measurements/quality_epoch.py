"""CPU time of one complete SLAQ decision at 4,000 jobs x 16,000 cores: prediction, tables and allocation.

    python measurements/quality_epoch.py [--jobs N] [--cores N] [--width N] [--repeat N]

Prints one JSON document. CPU times are the best of --repeat, the calibration load's beside them tells how fast the
machine was. SciPy's curve_fit, which the batched fits are checked against, is timed on a tenth of the jobs and scaled
up.
"""

from __future__ import annotations

import argparse
import json
import warnings

import numpy as np
from _calibration import cpu_seconds, load
from quality_prediction import scipy_fits

import mlsched
from mlsched.core.losses.predict import Predictor
from mlsched.core.registry import registry
from mlsched.instances.quality import Instance
from mlsched.instances.quality.histories import synthetic_mix
from mlsched.simulation.quality.forecast import Forecaster
from mlsched.simulation.quality.options import Options


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=4000)
    parser.add_argument("--cores", type=int, default=16000)
    parser.add_argument("--width", type=int, default=64, help="most cores a job may get")
    parser.add_argument("--repeat", type=int, default=5)
    a = parser.parse_args()
    unit = cpu_seconds(load, a.repeat)
    work = mlsched.workload("synthetic:table1", "quality", jobs=a.jobs, cores=a.cores, cap=a.width, mean_arrival=0.0)
    rng = np.random.default_rng(0)
    served = (work.total * rng.uniform(0, 0.9, a.jobs)).astype(np.int64)
    running = np.arange(a.jobs)

    def tables() -> tuple[np.ndarray, np.ndarray]:
        return Forecaster(work, Options()).tables(running, served, a.width)

    gain, loss = tables()
    instance = Instance(
        cores=a.cores,
        gain=gain,
        loss=loss,
        weight=work.weight,
        most=work.most,
        waiting=np.zeros(a.jobs, dtype=np.int64),
        reserved=0,
        least=1,
        predictor="fit",
    )
    timed = {"prediction and tables": cpu_seconds(tables, a.repeat)}
    for name in ("slaq", "slaq-max-min", "envelope-greedy", "fair"):
        entry, params = registry().solver("quality", name)
        timed[f"allocation: {name}"] = cpu_seconds(
            lambda entry=entry, params=params: entry.function(instance, rng=rng, **params), a.repeat
        )
    timed["prediction + allocation (slaq)"] = timed["prediction and tables"] + timed["allocation: slaq"]
    tenth = max(1, a.jobs // 10)
    histories = synthetic_mix(tenth, rng)
    moments = [min(30, len(history.steps)) for history in histories]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # unbounded steps overflow, and covariances cannot be estimated
        seconds = cpu_seconds(lambda: scipy_fits(histories, moments, Predictor(), bounded=False), 1)
    timed["SciPy fits alone (unbounded)"] = a.jobs / tenth * seconds
    rows = [[name, round(1000 * seconds, 1), round(seconds / unit, 3)] for name, seconds in timed.items()]
    header = [f"{a.jobs} jobs, {a.cores} cores, at most {a.width} a job", "CPU ms", "of the calibration load"]
    print(json.dumps({"tables": [{"name": "epoch", "header": header, "rows": rows}]}))


if __name__ == "__main__":
    main()
