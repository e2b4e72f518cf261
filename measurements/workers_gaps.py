"""How far every rule is from the clairvoyant optimum, in one table: mean gap of total completion time, percent.

    python measurements/workers_gaps.py [--jobs N] [--sequences N] [--rates 1.8,2.7,5.4] [--time-limit S] [--floor NAME]

Sequences of a few jobs of the Chic paper (seeds 0, 1, ...), small enough for the fluid optimum over the horizon to be
proven; where it is not in time, the gap is to the bound that was proven, and the table says how often. Every rule is
run by the clock on the same sequences, under Eq. 7's floor, and checked by the independent replay; its gap is
(total - bound) / bound. Intervals: 95 %, Student's t over sequences. The optimum may share time and loses no
iterations: no scheduler of whole workers and PSs reaches it.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy.stats import t

import mlsched
from mlsched.benchmark.experiments.chic.grid import Policy, everyone, known, optimus
from mlsched.simulation.workers.rollout import horizon_of

#: Optimus' ways to stop; the others do not depend on them.
STOPS = ("misfit", "used-up", "full")


def policies() -> list[Policy]:
    """Every registered rule: those of `mlsched reproduce chic`, Optimus once for each way to stop."""
    found = [
        Policy(f"{optimus(i).label}, stop={stop}", f"optimus:stop={stop}", optimus(i).wake)
        for stop in STOPS
        for i in (600, 300, 0)
    ]
    found += [p for p in everyone() if not p.optimus]
    return found + list(known(Policy("uniform-random", "uniform-random"), Policy("one-shot exact", "dp")))


def gap_of(policy: Policy, load: object, bound: float, seed: int, floor: str) -> float | None:
    """Percent above the bound; None where the rule lets the cluster stand still for ever."""
    options = {**dict(policy.options), "floor": floor}
    try:
        run = mlsched.simulate(load, policy.text, seed=seed, wake=policy.wake, options=options)
    except mlsched.MlschedError as error:
        if "the run is stuck" in str(error):
            return None
        raise
    if wrong := run.violations():
        raise SystemExit(f"{policy.label}: the replay check fails: {wrong[0]}")
    total = 1000 * float(run.jobs["completion_s"].sum())
    if total < bound * (1 - 1e-6):
        raise SystemExit(f"{policy.label}: {total} ms is below the proven bound {bound}")
    return 100 * (total / bound - 1)


def line(values: list[float]) -> str:
    data = np.array(values)
    half = t.ppf(0.975, len(data) - 1) * data.std(ddof=1) / len(data) ** 0.5 if len(data) > 1 else 0.0
    return f"{data.mean():6.1f} ± {half:4.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--sequences", type=int, default=30)
    parser.add_argument("--rates", default="1.8,2.7,5.4")
    parser.add_argument("--time-limit", type=float, default=60)
    parser.add_argument("--floor", default="always")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", message="the offered load")
    rates = [float(rate) for rate in arguments.rates.split(",")]
    gaps: dict[str, dict[float, list[float]]] = {p.label: {r: [] for r in rates} for p in policies()}
    for rate in rates:
        proven, slack, started = 0, [], time.process_time()
        for seed in range(arguments.sequences):
            load = mlsched.workload("synthetic:chic", jobs=arguments.jobs, seed=seed, rate=rate)
            best = mlsched.solve(horizon_of(load), "clairvoyant", time_limit=arguments.time_limit)
            proven += best.status == "optimal"
            if best.status != "optimal":
                slack.append(best.gap)
            for policy in policies():
                gap = gap_of(policy, load, best.bound, seed, arguments.floor)
                if gap is not None:
                    gaps[policy.label][rate].append(gap)
        open_ = f"; gap of the others at most {max(slack):.3%}" if slack else ""
        print(
            f"{rate:g}/h: {proven} of {arguments.sequences} optima proven{open_}; "
            f"{time.process_time() - started:.0f} CPU s",
            flush=True,
        )
    print(
        f"\n{arguments.jobs} jobs, {arguments.sequences} sequences, floor={arguments.floor}; percent above the optimum"
    )
    print(f"{'rule':44}" + "".join(f"{f'{rate:g}/h':>15}" for rate in rates))
    for label, by_rate in gaps.items():
        cells = []
        for values in by_rate.values():
            missing = arguments.sequences - len(values)
            cells.append(line(values) + (f" ({missing} stuck)" if missing else "") if values else "-")
        print(f"{label:44}" + "".join(f"{cell:>15}" for cell in cells))


if __name__ == "__main__":
    main()
