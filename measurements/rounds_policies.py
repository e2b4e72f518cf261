"""Policies in Gavel's rounds: gaps to the bounds, with and without a pause cost.

    python measurements/rounds_policies.py [--only TRACE ...] [--policy SPEC ...] [--keep FILE]  (needs MLSCHED_DATA)
    python measurements/rounds_policies.py --times

Gavel's policies, AlloX, Shockwave, Sia, the bound's own program and a list of our own, on the traces of Gavel and
Shockwave that are given; pauses cost nothing, or 20 s of the steps of a job that did not run in the round before. Both
runs are compared with the same bounds: of every schedule that pauses at will for nothing. Prints one JSON document.
--keep: rows are written to a file as they are made, and read from there where they have been.
--times: CPU seconds of whole simulations of 460 jobs on 128 GPUs.
"""

from __future__ import annotations

import argparse
import json
import os
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from _keep import Kept

import mlsched
from mlsched_rounds.simulation.bound import bound
from mlsched_rounds.simulation.files import read_jobs
from mlsched_rounds.simulation.workload import Workload

SHARES = (
    "fifo_perf", "isolated", "max_min", "max_min_perf", "water_filling_perf", "finish_time_fairness_perf",
    "min_total_duration_perf", "max_sum", "allox_gangs", "gandiva_fair", "srpt", "las", "fluid_mpc",
)  # fmt: skip
POLICIES = (*(f"gavel:policy={name}" for name in SHARES), "shockwave", "sia", "worst-served")
#: Name -> file in the folder of the data, its member where it is an archive, table, cluster, options of the world.
GAVEL = ("gavel/physical_cluster_traces.tar.gz", "gavel/simulation_throughputs.json.gz")
SHOCKWAVE = "shockwave/tacc_throughputs.json.gz"
TRACES: dict[str, tuple[str, str, str, str, dict[str, Any]]] = {
    "96 jobs, Gavel": (GAVEL[0], "max_min_fairness.trace", GAVEL[1], "8:16:24", {}),
    "100 jobs at once, Gavel": (GAVEL[0], "minimize_makespan.trace", GAVEL[1], "8:16:24", {}),
    "120 jobs, Shockwave": (
        "shockwave/120_0.2_5_100_40_25.trace.gz", "", SHOCKWAVE, "v100=32", {"round": 120, "reset": 1000}
    ),
    "220 jobs, Shockwave": (
        "shockwave/220_0.2_5_100_25_4.trace.gz", "", SHOCKWAVE, "v100=64", {"round": 120, "reset": 1000}
    ),
    "460 jobs, Shockwave": (
        "shockwave/460_0.2_5_100_10_1.trace.gz", "", SHOCKWAVE, "v100=128", {"round": 120, "reset": 1000}
    ),
}  # fmt: skip
COSTS = (0, 20)
METRICS = ("mean_completion_s", "makespan_s")
TIMED = ("gavel:policy=max_min_perf", "gavel:policy=min_total_duration_perf", "shockwave", "sia")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(TRACES), default=list(TRACES)[:3])
    parser.add_argument("--policy", nargs="+", default=list(POLICIES))
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--times", action="store_true")
    a = parser.parse_args()
    found = times() if a.times else {"tables": [compared(name, a.policy, Kept(a.keep)) for name in a.only]}
    print(json.dumps(found, indent=1))


def compared(name: str, policies: list[str], kept: Kept) -> dict[str, Any]:
    """A table: percent above the bounds on mean completion time and makespan, without and with a price of pauses."""
    workload, options = workload_of(name), TRACES[name][-1]
    least = kept.row(f"{name}, bounds", lambda: bound(workload))

    def cells(policy: str) -> list[str]:
        found = []
        for cost in COSTS:
            summary = checked(workload, policy, {**options, "remainder": "run", "resume": cost}).summary()
            found += [f"{100 * (summary[metric] / least[metric] - 1):.1f}" for metric in METRICS]
        return found

    rows = [
        [policy.removeprefix("gavel:policy="), *kept.row(f"{name}, {policy}", lambda policy=policy: cells(policy))]
        for policy in policies
    ]
    header = ["policy", "JCT, pauses free [%]", "makespan [%]", "JCT, 20 s per resumption [%]", "makespan [%]"]
    return {"name": name, "header": header, "rows": rows}


def times() -> dict[str, Any]:
    """CPU seconds of whole simulations of the 460 jobs."""
    workload, options = workload_of("460 jobs, Shockwave"), TRACES["460 jobs, Shockwave"][-1]
    rows = []
    for policy in TIMED:
        run = checked(workload, policy, {**options, "remainder": "run", "resume": 20})
        rows.append(
            {"name": policy.removeprefix("gavel:policy="), "cpu_s": run.cpu_seconds, "rounds": run.summary()["rounds"]}
        )
    return {"rows": rows}


def checked(workload: Workload, policy: str, options: dict[str, Any]) -> mlsched.Run:
    """A run that the replay finds sound, and that leaves no job undone."""
    run = mlsched.simulate(workload, policy, options=options)
    wrong = run.violations()
    assert not wrong, wrong[0]
    assert not run.summary()["dropped"]
    return run


def workload_of(name: str) -> Workload:
    """The trace on its cluster."""
    data = Path(os.environ.get("MLSCHED_DATA", "../shared")) / "data"
    path, member, table, cluster, _ = TRACES[name]
    if not member:
        return read_jobs(data / path, throughputs=data / table, cluster=cluster)
    with tempfile.TemporaryDirectory() as folder, tarfile.open(data / path) as archive:
        archive.extract(next(m for m in archive if m.name.endswith(member)), folder, filter="data")
        return read_jobs(Path(folder) / member, throughputs=data / table, cluster=cluster)


if __name__ == "__main__":
    main()
