"""Gavel's policies in its own rounds, and in the simulator of logs with nodes and pause costs.

    python measurements/rounds_on_nodes.py [--only TRACE ...] [--policy SPEC ...] [--keep FILE]  (needs MLSCHED_DATA)

The jobs of Gavel's traces on 8 V100s, 16 P100s and 24 K80s, by policy: percent by which the mean completion time is
above one bound, of schedules that pause at will for nothing. From column to column one thing changes: Gavel's rounds of
360 s; the simulator of logs with one node for each type, where GPUs that come free idle until the round ends, as they
do there; where they start waiting jobs at once; nodes of 4 GPUs; 30 s a pause; and with these rounds of 120 s, and of
1,080 s. Policies are as meant in both worlds (types with fewer GPUs than a job needs get no share of it). Two rules of
the simulator of logs, which are asked at events, stand below. Every run passes its replay. Prints one JSON document.
--keep: rows are written to a file as they are made, and read from there where they have been.
"""

from __future__ import annotations

import argparse
import json
import os
import tarfile
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from _keep import Kept

import mlsched
from mlsched_rounds.simulation.bound import bound
from mlsched_rounds.simulation.files import read_jobs
from mlsched_rounds.simulation.workload import MICRO, Workload

DATA = Path(os.environ.get("MLSCHED_DATA", "../shared")) / "data/gavel"
TABLE, ARCHIVE = DATA / "simulation_throughputs.json.gz", DATA / "physical_cluster_traces.tar.gz"
TRACES = {"96 jobs over time": "max_min_fairness.trace", "100 jobs at once": "minimize_makespan.trace"}
GPUS = {"v100": 8, "p100": 16, "k80": 24}
SHARES = (
    "fifo_perf", "isolated", "max_min_perf", "finish_time_fairness_perf", "min_total_duration_perf", "max_sum",
    "allox_gangs", "srpt", "fluid_mpc",
)  # fmt: skip
POLICIES = (*(f"gavel:policy={name}" for name in SHARES), "sia", "worst-served")
#: Asked at events, in the world of logs alone.
EVENTS = ("fastest-first:preempt=true", "srpt:preempt=true")
MEANT = {"remainder": "run", "gaps": "idle", "fifo": "drawn", "unaware": "average", "oversized": "excluded"}
POOL, NODES = (1, 1, 1), (2, 4, 6)
#: Column -> nodes of each type, seconds of a pause, and what the policy is told.
WORLDS: dict[str, tuple[tuple[int, ...], int, str]] = {
    "GPUs idle in a round": (POOL, 0, "freed=idle"),
    "GPUs start jobs": (POOL, 0, ""),
    "nodes of 4": (NODES, 0, ""),
    "30 s a pause": (NODES, 30, ""),
    "rounds of 120 s": (NODES, 30, "round=120"),
    "of 1,080 s": (NODES, 30, "round=1080"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(TRACES), default=list(TRACES))
    parser.add_argument("--policy", nargs="+", default=[*POLICIES, *EVENTS])
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with TemporaryDirectory() as folder:
        found = [one for name in given.only for one in compared(name, given.policy, Path(folder), Kept(given.keep))]
    print(json.dumps({"tables": found}, indent=1))


def compared(name: str, policies: list[str], folder: Path, kept: Kept) -> list[dict[str, Any]]:
    """The table of a trace, and its bounds, h."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extract(next(m for m in archive if m.name.endswith(TRACES[name])), folder, filter="data")
    rounds = read_jobs(
        folder / TRACES[name], throughputs=TABLE, cluster=",".join(f"{kind}={count}" for kind, count in GPUS.items())
    )
    log = folder / "log.csv"
    log.write_text(as_log(rounds))
    bounds = kept.row(f"{name}, bounds", lambda: bounds_of(rounds, log))
    means = [kept.row(f"{name}, {policy}", lambda policy=policy: means_of(rounds, log, policy)) for policy in policies]
    best = max(bounds["Gavel's rounds"], bounds["one node a type"])  # that of nodes holds on nodes alone
    rows = [
        [policy.removeprefix("gavel:policy="), *("-" if s is None else f"{100 * (s / best - 1):.1f}" for s in row)]
        for policy, row in zip(policies, means, strict=True)
    ]
    table = {"name": name, "header": ["policy", "Gavel's rounds", *WORLDS], "rows": rows}
    values = [[label, f"{seconds / 3600:.2f}"] for label, seconds in bounds.items()]
    return [table, {"name": f"{name}, bounds", "header": ["bound", "mean completion, h"], "rows": values}]


def bounds_of(rounds: Workload, log: Path) -> dict[str, float]:
    """The bounds on the mean completion time, s: of Gavel's world, and of two of logs."""
    found = {"Gavel's rounds": bound(rounds)["mean_completion_s"]}
    for label, nodes in (("one node a type", POOL), ("nodes of 4", NODES)):
        run = mlsched.simulate(on_nodes(log, nodes, 0), EVENTS[0])
        found[label] = run.bound["total_jct"] / len(rounds.submit)
    return found


def means_of(rounds: Workload, log: Path, policy: str) -> list[float | None]:
    """A policy's mean completion times, s, world by world; None: it does not run there."""
    found: list[float | None] = [None]
    if policy not in EVENTS:
        run = mlsched.simulate(rounds, policy, options=MEANT)
        assert not run.violations()
        assert not run.summary()["dropped"]
        found = [run.summary()["mean_completion_s"]]
    for nodes, price, told in WORLDS.values():
        if policy in EVENTS and told:
            found.append(None)
            continue
        run = mlsched.simulate(on_nodes(log, nodes, price), on_logs(policy, told))
        assert not run.violations()
        found.append(run.summary()["total_jct"] / len(rounds.submit))
    return found


def on_logs(policy: str, told: str) -> str:
    """What a policy of rounds is called in the world of logs."""
    name = policy if policy in EVENTS or policy.startswith("gavel") else f"round-by-round:rule={policy}"
    return f"{name},{told}" if told else name


def as_log(rounds: Workload) -> str:
    """The same jobs as a log: arrivals, and seconds on a V100."""
    kind = rounds.types.index("v100")
    seconds = rounds.steps / rounds.rates[:, kind]
    rows = [
        f'{submit:.3f},{length:.3f},{gpus},"{model}"'
        for submit, length, gpus, model in zip(rounds.submit / MICRO, seconds, rounds.gpus, rounds.models, strict=True)
    ]
    return "\n".join(["submit,duration,gpus,model", *rows]) + "\n"


def on_nodes(log: Path, nodes: tuple[int, ...], price: int) -> Any:
    """The jobs on nodes of each type, a tick being a second."""
    shapes = [f"{n}x({gpus // n}gpu:{kind})" for n, (kind, gpus) in zip(nodes, GPUS.items(), strict=True)]
    options = {"throughputs": str(TABLE), "measured_on": "v100", "pause_cost": price, "tick": 1}
    return mlsched.workload(str(log), cluster="+".join(shapes), **options)


if __name__ == "__main__":
    main()
