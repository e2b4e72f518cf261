"""Microseconds per decision of the batched workers simulator, with the forward pass of a 64-32-4 network.

    python measurements/workers_simulation.py [--episodes N] [--jobs N] [--repeat N] [--json]

Target on an idle machine: at most 15 microseconds (the Chic paper: 780 on a 3.1 GHz Core i5). 36 episodes of 30 jobs
at 1.8 jobs an hour are stepped from their beginning until the last is done, by an untrained network whose impossible
actions are masked out, and, beside it, by uniform-random possible actions. Decisions are those of episodes that are not
done. Quote the ratio to the calibration load, which drifts with the machine. Last: jobs per CPU second of the clock's
own world, 300 jobs at 2.7 per hour under Optimus.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _calibration import cpu_seconds, load

import mlsched
from mlsched.simulation.workers.phase import Phase
from mlsched_training.workers.batch import Batch

Choose = Callable[[Batch, np.random.Generator], Any]


class Network:
    """Fully connected, ReLU, 64, 32 and 4 hidden neurons, one output an action (Chic, Section 5): random weights."""

    def __init__(self, inputs: int, outputs: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        sizes = (inputs, 64, 32, 4, outputs)
        self.layers = [
            (rng.normal(0, (2 / a) ** 0.5, (a, b)).astype(np.float32), rng.normal(0, 0.1, b).astype(np.float32))
            for a, b in zip(sizes, sizes[1:], strict=False)
        ]

    def __call__(self, x: Any) -> Any:
        *hidden, (last, bias) = self.layers
        for weight, shift in hidden:
            x = x @ weight
            x += shift
            np.maximum(x, 0, out=x)
        return x @ last + bias

    def choose(self, batch: Batch, rng: np.random.Generator) -> Any:
        """Sample from the softmax over the possible actions (the largest of logits + Gumbel noise)."""
        noisy = self(batch.features) - np.log(rng.standard_exponential(batch.mask.shape, dtype=np.float32))
        return np.where(batch.mask, noisy, -np.inf).argmax(axis=1)


def uniform(batch: Batch, rng: np.random.Generator) -> Any:
    """A uniform-random possible action."""
    return (rng.random(batch.mask.shape, dtype=np.float32) * batch.mask).argmax(axis=1)


def episodes(batch: Batch, choose: Choose, seed: int) -> None:
    rng = np.random.default_rng(seed)
    batch.reset()
    while not batch.done.all():
        batch.step(choose(batch, rng))


def stepping(count: int, jobs: int, repeat: int, unit: float, profiled: bool) -> dict[str, Any]:
    """CPU time of a decision by kind of actions and policy."""
    works = [mlsched.workload("synthetic:chic", jobs=jobs, seed=s) for s in range(count)]
    rows = []
    for pair in (False, True):
        phase = Phase(pair=pair)
        batch = Batch(works, phase)
        network = Network(phase.feature_size(3), phase.actions)
        policies: dict[str, Choose] = {"64-32-4 network": network.choose, "uniform-random": uniform}
        for name, choose in policies.items():
            if profiled:
                with cProfile.Profile() as profile:
                    episodes(batch, choose, 0)
                pstats.Stats(profile).sort_stats("tottime").print_stats(18)
            seconds = cpu_seconds(lambda b=batch, c=choose: episodes(b, c, 0), repeat)
            cells = (f"{seconds:.2g}", f"{seconds / unit:.2g}", f"{1e6 * seconds / batch.decisions:.2g}")
            rows.append([f"{'Chic-Pair' if pair else 'Chic'}'s actions, {name}", str(batch.decisions), *cells])
    header = ["policy", "decisions", "CPU s", "times the calibration load", "µs a decision"]
    return {"name": "stepping", "header": header, "rows": rows}


def clock(repeat: int) -> float:
    """Jobs per CPU second of the clock's own world."""
    work = mlsched.workload("synthetic:chic", jobs=300, rate=2.7)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the offered load")
        return 300 / cpu_seconds(lambda: mlsched.simulate(work, "optimus"), repeat)


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=36)
    parser.add_argument("--jobs", type=int, default=30)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    unit = cpu_seconds(load, arguments.repeat)
    table = stepping(arguments.episodes, arguments.jobs, arguments.repeat, unit, arguments.profile)
    document = {"calibration_s": unit, "clock_jobs_a_second": clock(arguments.repeat), "tables": [table]}
    if arguments.json:
        print(json.dumps(document))
        return
    print(f"calibration load: {unit:.3f} CPU s; the clock: {document['clock_jobs_a_second']:.0f} jobs per CPU second")
    for row in [table["header"], *table["rows"]]:
        print(" | ".join(row))


if __name__ == "__main__":
    main()
