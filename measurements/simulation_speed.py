"""CPU time of the preemption simulator through the public API: 2^16 jobs on 84 nodes, calibration Z.

    python measurements/simulation_speed.py [--jobs N] [--repeat N]

Targets on an idle machine: FIFO under 1 CPU-second, FitGpp under 1.5. Quote the ratio to the calibration load, which
drifts with the machine, rather than the seconds.
"""

from __future__ import annotations

import argparse

from _calibration import cpu_seconds, load

import mlsched


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=65536)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    unit = cpu_seconds(load, arguments.repeat)
    print(f"calibration load: {unit:.3f} CPU s")
    workload = mlsched.workload("synthetic:z", jobs=arguments.jobs)
    print(f"{'policy':10} {'CPU s':>8} {'x load':>8} {'jobs/CPU s':>11} {'decisions':>10}")
    for policy in ("fifo", "fitgpp", "lrtp", "rand"):
        run = mlsched.simulate(workload, policy)
        seconds = cpu_seconds(lambda policy=policy: mlsched.simulate(workload, policy), arguments.repeat)
        print(f"{policy:10} {seconds:8.3f} {seconds / unit:8.2f} {arguments.jobs / seconds:11.0f} {run.decisions:10}")


if __name__ == "__main__":
    main()
