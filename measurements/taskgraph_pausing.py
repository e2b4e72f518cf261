"""Cost of pauses and the ranking of rules by pause cost, and the number of nodes per job.

    python measurements/taskgraph_pausing.py prices [--limit 2000] [--costs 0 30 120 300] [--runs fifo ...] [--keep F]
        [--up-to tiresias=120]
    python measurements/taskgraph_pausing.py shape [--limit 2000] [--nodes 16]

Prints one JSON document. Logs: the jobs of Philly and of Helios (Venus) that arrive first, and the generated gangs of
`synthetic:gangs` with a task on each of as few nodes as hold a job; all on nodes of 8 GPUs: `--nodes` of them, at the
arrival rate at which the work asked for is `--load` of the cluster. Ticks are seconds of logs, minutes of generated
jobs. `prices`: mean completion time in minutes of each rule at each price of a pause in seconds, how far above the
bound it is and how often a job pauses or moves; `--keep` writes each run to a file of JSON lines as it ends, and takes
those that are there as done; a rule that pauses more the dearer that is may be run `--up-to` a price alone. `shape`: of
the jobs of 2, 4 and 8 GPUs, how many ran on one node throughout, under each interpretation of shape; the share of
waiting that is due to shape; the mean fragmentation while jobs wait. Every run passes its replay check.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from _keep import Kept

import mlsched
from mlsched.core.clock import cpu_time
from mlsched.simulation.bound import lower_bounds
from mlsched.simulation.taskgraph.iterations.bound import pieces

DATA = Path(os.environ.get("MLSCHED_DATA", "../shared")) / "data"
LOGS = {
    "Philly": str(DATA / "philly" / "philly.csv.gz"),
    "Helios": str(DATA / "helios" / "helios_venus_gpu_jobs.csv.gz"),
    "generated": "synthetic:gangs",
}
RULES = ["fifo", "easy-backfill", "srpt", "srpt:preempt=true", "las", "tiresias", "tiresias:keep=true"]


def workload(name: str, given: argparse.Namespace, cost: float, shape: str) -> Any:
    """A log on the cluster, its arrivals closer together or further apart so that it has the load."""
    told = {"pause_cost": cost, "shape": shape}
    if name == "generated":
        return mlsched.workload(
            LOGS[name], "taskgraph", jobs=given.limit, nodes=given.nodes, load=given.load, movement="anytime", **told
        )
    settings = {**told, "tick": 1, "oversize": "drop", "cluster": f"{given.nodes}x(8gpu)", "limit": given.limit}
    plain = mlsched.workload(LOGS[name], "taskgraph", simulator="iterations", **settings)
    gpus = np.bincount(plain.task_template, plain.demand[:, 0])[plain.template] / 1000
    work = float((gpus * plain.max_iterations * plain.scale / 1e6).sum())
    rate = given.load * 8 * given.nodes * float(np.ptp(plain.arrival)) / work
    return mlsched.workload(LOGS[name], "taskgraph", simulator="iterations", arrivals=round(rate, 6), **settings)


def sound(load: Any, rule: str) -> Any:
    run = mlsched.simulate(load, rule)
    assert not run.violations(), (rule, run.violations())
    return run


def prices(given: argparse.Namespace) -> list[dict[str, Any]]:
    kept, found = Kept(given.keep), []
    for name in given.logs:
        # The bound knows of no price, and so is the same at all.
        bound = kept.row(f"{name}, bound", lambda: lower_bounds(pieces(workload(name, given, 0, "fewest"))))  # noqa: B023
        for cost in given.costs:
            for rule in (rule for rule in given.runs if cost <= given.up_to.get(rule, cost)):

                def made(cost: float, name: str = name, rule: str = rule) -> dict[str, Any]:
                    return kept.row(f"{name}, {cost:g} s, {rule}", lambda: priced(name, cost, rule, given))

                row = made(given.costs[0])
                row = made(cost) if row["pausing"] else row  # who never pauses never pays
                found.append({**row, "cost": cost, "gap": row["total_jct"] / bound["total_jct"] - 1})
    return found


def priced(name: str, cost: float, rule: str, given: argparse.Namespace) -> dict[str, Any]:
    load = workload(name, given, cost, "fewest")
    begun = cpu_time()
    run = sound(load, rule)
    summary = run.summary()
    return {
        "log": name,
        "jobs": len(load.arrival),
        "cost": cost,
        "rule": rule,
        "mean_jct_minutes": summary["mean_jct"] * load.tick_ms / 60_000,
        "total_jct": int(summary["total_jct"]),
        "pausing": run.options.pausing != "none",
        "pauses": (summary["pauses"] + summary["migrations"]) / len(load.arrival),
        "cpu_seconds": cpu_time() - begun,
    }


def price_tables(rows: list[dict[str, Any]], given: argparse.Namespace) -> dict[str, Any]:
    """Of each log, mean completion times by rule and price, the shortest of a column in bold; pauses in brackets."""
    tables, costs = {}, given.costs
    for name in given.logs:
        of = {(row["rule"], row["cost"]): row for row in rows if row["log"] == name}
        rules = list(dict.fromkeys(rule for rule, _ in of))
        best = {cost: min(row["mean_jct_minutes"] for (_, at), row in of.items() if at == cost) for cost in costs}
        lines = []
        for rule in rules:
            cells = []
            for cost in costs:
                if (rule, cost) not in of:
                    cells.append("-")
                    continue
                mean, pauses = (of[rule, cost][key] for key in ("mean_jct_minutes", "pauses"))
                text = f"**{mean:,.0f}**" if mean == best[cost] else f"{mean:,.0f}"
                cells.append(text + (f" ({pauses:{'.0f' if pauses >= 10 else '.2g'}})" if pauses else ""))
            lines.append([f"`{rule}`", *cells])
        tables[name] = {"header": ["rule", *(f"{cost:g} s" for cost in costs)], "rows": lines}
    return tables


def shape(given: argparse.Namespace) -> list[dict[str, Any]]:
    found = []
    for name in LOGS:
        for reading in ("fewest", "anywhere"):
            load = workload(name, given, 30.0, reading)
            run = sound(load, given.runs[0])
            table, summary = run.table(), run.summary()
            entry = {"log": name, "shape": reading, "rule": given.runs[0], "jobs": len(load.arrival)}
            for size in (2, 4, 8):
                those = table["gpus"] == size
                entry[f"of {size}"] = int(those.sum())
                entry[f"of {size} on one node"] = int((table["nodes"][those] == 1).sum())
            entry["mean_jct_minutes"] = summary["mean_jct"] * load.tick_ms / 60_000
            found.append({**entry, **{key: summary.get(key) for key in ("waiting_for_shape", "fragmentation")}})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["prices", "shape"])
    parser.add_argument("--limit", type=int, default=2000)
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--load", type=float, default=0.9)
    parser.add_argument("--costs", type=float, nargs="+", default=[0, 30, 120, 300])
    parser.add_argument("--runs", nargs="+", default=RULES)
    parser.add_argument("--logs", nargs="+", choices=LOGS, default=list(LOGS))
    parser.add_argument("--up-to", nargs="*", default=[], metavar="RULE=COST")
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    given.up_to = {rule: float(cost) for rule, _, cost in (text.rpartition("=") for text in given.up_to)}
    rows = {"prices": prices, "shape": shape}[given.what](given)
    arguments = {key: value for key, value in vars(given).items() if key != "keep"}
    tables = price_tables(rows, given) if given.what == "prices" else {}
    print(json.dumps({"what": given.what, "arguments": arguments, "rows": rows, "tables": tables}))


if __name__ == "__main__":
    main()
