"""Kueue's decisions compared with the optimum, fronts with proofs, and the time for a large cluster.

    python measurements/admission.py kueue              verdicts on the answers of Kueue's own code (needs MLSCHED_DATA)
    python measurements/admission.py certified          fronts of reported incidents, proved complete (needs it)
    python measurements/admission.py certified-kueue    fronts of Kueue's questions, proved complete (needs it)
    python measurements/admission.py cluster [--nodes N] [--units N] [--seeds N]
    python measurements/admission.py racks              100 gangs that each need one rack, on up to 10,000 nodes

Prints one JSON document. Times are CPU seconds of one call each. "lost" is CPUs times age: Kueue's questions have no
checkpoints, and count CPUs. "check" is `mlsched check` of a front's folder, in a process that has loaded what it needs.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from _kueue import questions

import mlsched
import mlsched_admission
from mlsched import api
from mlsched.core.errors import BackendError
from mlsched_admission.api.judgement import Judgement
from mlsched_admission.instances import Instance
from mlsched_admission.solvers.verdicts import Needs, judge_decision


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("kueue", "certified", "certified-kueue", "cluster", "racks"))
    parser.add_argument("--nodes", type=int, default=4000)
    parser.add_argument("--units", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    a = parser.parse_args()
    asked = {"kueue": kueue, "certified": certified, "certified-kueue": certified_kueue}
    asked["cluster"] = lambda: cluster(a.nodes, a.units, a.seeds)
    asked["racks"] = racks
    print(json.dumps(asked[a.what](), indent=1))


# --- Kueue -----------------------------------------------------------------------------------------------------------


def kueue() -> dict[str, Any]:
    """How Kueue's victims compare with the front of victims and lost work, priorities aside and before all else."""
    asked = questions(Path(os.environ.get("MLSCHED_DATA", "../shared")) / "data")
    same, seconds = 0, []
    for instance, victims in asked:
        started = time.process_time()
        plan = mlsched.solve(instance, "kueue").plan
        seconds.append(time.process_time() - started)
        same += sorted(instance.unit_names[u] for u in np.flatnonzero(plan.evict)) == sorted(victims)
    found: dict[str, Any] = {"questions": len(asked), "same": same, "rule_cpu_s": statistics.median(seconds)}
    found["front"] = against(asked, ())
    found["priority_first"] = against(asked, ("top_priority",))
    return found


def against(asked: list[tuple[Instance, list[str]]], first: tuple[str, ...]) -> dict[str, Any]:
    """Verdicts on Kueue's victims, and the means of what they cost and of what would have done."""
    kinds: Counter[str] = Counter()
    rows, seconds = [], []
    for instance, victims in asked:
        evict = [instance.unit_names.index(name) for name in victims]
        started = time.process_time()
        verdict = judge_decision(instance, evict, jobs=[0], first=first)
        seconds.append(time.process_time() - started)
        kinds[verdict.kind] += 1
        assert verdict.complete
        points = [(p.values["victims"], p.values["lost"]) for p in verdict.front]
        mine = (verdict.values["victims"], verdict.values["lost"])
        fewest = min(points)
        rows.append(
            (
                *mine,
                min((v for v, lost in points if lost <= mine[1]), default=mine[0]),
                min((lost for v, lost in points if v <= mine[0]), default=mine[1]),
                *fewest,
            )
        )
    means = np.mean(rows, axis=0).tolist()
    names = ("victims", "lost", "victims_at_no_more_lost", "lost_at_no_more_victims", "fewest_victims", "their_lost")
    hours = [
        m / 3600 if "lost" in name.replace("no_more_lost", "") else m for name, m in zip(names, means, strict=True)
    ]
    counts = {kind.replace(" ", "_"): count for kind, count in kinds.items()}
    return {"kinds": counts, "verdict_cpu_s": statistics.median(seconds), **dict(zip(names, hours, strict=True))}


# --- fronts with proofs ----------------------------------------------------------------------------------------------


def certified() -> dict[str, Any]:
    """What it takes to prove each incident's front whole."""
    data = Path(os.environ.get("MLSCHED_DATA", "../shared")) / "data"
    found = []
    for path in sorted((data / "incidents").glob("*.json")):
        found.append({"name": path.stem, **proved(mlsched_admission.judge(path))})
        print(found[-1], file=sys.stderr, flush=True)
    names = ("points", "variables", "proof_kb", "made_cpu_s", "check_cpu_s")
    rows = [
        [row["name"], row["objectives"], *(f"{row[name]:.3g}" if name in row else "-" for name in names)]
        for row in found
    ]
    header = ["incident", "front of", "points", "variables", "proof, kB", "made, CPU s", "check, CPU s"]
    return {**summary(found), "tables": [{"name": "incidents", "header": header, "rows": rows}]}


def certified_kueue() -> dict[str, Any]:
    """The same of the fronts of victims and lost work of Kueue's questions, where priorities count first, or not."""
    data = Path(os.environ.get("MLSCHED_DATA", "../shared")) / "data"
    document = {}
    for name, first in (("priority_first", ("top_priority",)), ("front", ())):
        found = []
        for instance, _ in questions(data):
            verdict = judge_decision(instance, (), jobs=[0], first=first)
            found.append(proved(Judgement(instance, verdict, Needs((), starts_now=False))))
            print(name, found[-1], file=sys.stderr, flush=True)
        document[name] = summary(found)
    return document


def proved(found: Judgement) -> dict[str, Any]:
    """A judgement's front, proved: how large the proof is, and what it and its check take."""
    goals = ", ".join(found.verdict.objectives)
    with tempfile.TemporaryDirectory() as place:
        folder, before = Path(place) / "front", resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.process_time()
        try:
            mlsched_admission.certify_judgement(found, folder, time_limit=120)
        except BackendError as error:
            return {"objectives": goals, "points": len(found.verdict.front), "reason": str(error)}
        after, made = resource.getrusage(resource.RUSAGE_CHILDREN), time.process_time() - started
        started = time.process_time()
        checked = api.check_certificate(folder)
        spent = time.process_time() - started
        assert checked.evidence == "certified"
        return {
            "objectives": goals,
            "points": len(found.verdict.front),
            "variables": (folder / "1.opb").read_text(encoding="utf-8").count("\n* x"),
            "proof_kb": (folder / "1.log").stat().st_size / 1000,
            "made_cpu_s": made + after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            "check_cpu_s": spent,
        }


def summary(found: list[dict[str, Any]]) -> dict[str, Any]:
    """How many are proved, why others are not, and the median and the largest of sizes and seconds."""
    good = [row for row in found if "reason" not in row]
    columns = {name: [row[name] for row in good] for name in ("points", "proof_kb", "made_cpu_s", "check_cpu_s")}
    figures = {name: statistics.median(column) for name, column in columns.items()}
    figures |= {f"{name}_most": max(column) for name, column in columns.items()}
    reasons = dict(Counter(row["reason"] for row in found if "reason" in row))
    return {
        "asked": len(found),
        "proved": len(good),
        "points_of_all": sum(columns["points"]),
        "not_proved": reasons,
        **figures,
    }


# --- a whole cluster -------------------------------------------------------------------------------------------------


def full(nodes: int, units: int, seed: int) -> Instance:
    """Units of 1 to 128 GPUs on nodes of eight; a job of 64 whole nodes waits, and all other nodes are closed."""
    rng = np.random.default_rng(seed)
    sizes = rng.choice([1, 2, 4, 8, 16, 32, 64, 128], units, p=[0.15, 0.1, 0.1, 0.25, 0.15, 0.1, 0.1, 0.05])
    free, order, at = np.full(nodes, 8), rng.permutation(nodes), 0
    pods: list[tuple[int, int, int]] = []
    for unit, size in enumerate(sizes.tolist()):
        for part in [8] * (size // 8) + ([size % 8] if size % 8 else []):
            while free[order[at]] < part:
                at += 1
            free[order[at]] -= part
            pods.append((int(order[at]), unit, part))
    node, of, gpus = np.array(pods).T
    return Instance(
        resources=("gpu",),
        node_free=np.where(free < 8, free, 0)[:, None],
        pod_node=node,
        pod_unit=of,
        pod_demand=gpus[:, None],
        unit_group=np.arange(units),
        unit_priority=rng.integers(0, 3, units),
        group_min=np.ones(units, dtype=np.int64),
        job_priority=[5],
        shape_job=[0],
        shape_count=[64],
        shape_demand=[[8]],
        shape_nodes=np.ones((1, nodes), dtype=np.int64),
        may=np.ones((1, units), dtype=np.int64),
        unit_lost=sizes * rng.integers(60, 36000, units),
    )


def cluster(nodes: int, units: int, seeds: int) -> dict[str, Any]:
    """CPU seconds of an optimum and of the front of victims and lost work."""
    rows = []
    for seed in range(seeds):
        instance = full(nodes, units, seed)
        row: dict[str, Any] = {"seed": seed}
        for objective in ("victims", "lost"):
            started = time.process_time()
            best = mlsched.solve(instance, "cp-sat", objective=objective)
            row[f"{objective}_cpu_s"] = time.process_time() - started
            assert best.status == "optimal"
        started = time.process_time()
        front = mlsched.pareto(instance, ("victims", "lost"))
        row |= {"front_cpu_s": time.process_time() - started, "points": len(front.plans), "complete": front.complete}
        rows.append(row)
    largest = {
        name: max(row[name] for row in rows) for name in ("victims_cpu_s", "lost_cpu_s", "front_cpu_s", "points")
    }
    return {"nodes": nodes, "units": units, "largest": largest, "runs": rows}


# --- racks -----------------------------------------------------------------------------------------------------------

#: Nodes, and nodes of a rack, with the sizes of gangs in nodes.
RACKS = (
    (1008, 16, (1, 2, 4, 8, 16)),
    (10_000, 16, (1, 2, 4, 8, 16)),
    (10_000, 18, (2, 4, 8, 16)),
    (10_000, 72, (2, 8, 36)),
)


def racks() -> dict[str, Any]:
    """Return CPU seconds of an optimum for 100 gangs of whole nodes, each in one rack; 97 % of the nodes are busy.

    "search" has no warm start, "default" starts from the plans of all rules.
    """
    rows = []
    for nodes, per_rack, sizes in RACKS:
        for evict in (False, True):
            instance = gangs_in_racks(nodes // per_rack, per_rack, sizes, evict=evict)
            row: dict[str, Any] = {"nodes": nodes, "per_rack": per_rack, "evict": evict}
            for name, hint in (("search", "none"), ("default", None)):
                started = time.process_time()
                best = mlsched.solve(instance, "cp-sat", objective="victims", hint=hint)
                row[f"{name}_cpu_s"] = time.process_time() - started
                assert best.status == "optimal"
            row |= {"waiting": int((best.plan.start == 0).sum()), "victims": int(best.plan.evict.sum())}
            rows.append(row)
    names = ("search_cpu_s", "default_cpu_s")
    largest = {
        name: {
            kind: max(row[name] for row in rows if row["evict"] == evict)
            for kind, evict in (("without", False), ("with", True))
        }
        for name in names
    }
    return {"gangs": 100, "largest": largest, "runs": rows}


def gangs_in_racks(racks: int, per_rack: int, sizes: tuple[int, ...], *, evict: bool, gangs: int = 100) -> Instance:
    """Return gangs that wait for a rack each, and random running gangs, each in one rack. evict: all may be evicted."""
    rng = np.random.default_rng([racks, per_rack])
    free = [list(range(r * per_rack, (r + 1) * per_rack)) for r in range(racks)]
    nodes, hosts, units, running = racks * per_rack, [], [], 0
    while len(hosts) < 0.97 * nodes:
        rack = free[int(rng.integers(racks))]
        size = int(rng.choice(sizes))
        if len(rack) < size and (rng.uniform() > 0.2 or not rack):
            continue
        for _ in range(min(size, len(rack))):
            hosts.append(rack.pop(int(rng.integers(len(rack)))))
            units.append(running)
        running += 1
    node_free = np.full((nodes, 1), 8)
    node_free[hosts] = 0
    return Instance(
        resources=("gpu",),
        node_free=node_free,
        node_domain=np.arange(nodes)[None, :] // per_rack,
        pod_node=np.array(hosts),
        pod_unit=np.array(units),
        pod_demand=np.full((len(hosts), 1), 8),
        unit_group=np.arange(running),
        unit_priority=np.zeros(running, dtype=np.int64),
        group_min=np.ones(running, dtype=np.int64),
        unit_lost=rng.integers(1, 10_000, running),
        job_priority=np.ones(gangs, dtype=np.int64),
        shape_job=np.arange(gangs),
        shape_count=rng.choice(sizes, gangs),
        shape_demand=np.full((gangs, 1), 8),
        shape_nodes=np.ones((gangs, nodes), dtype=np.int64),
        shape_level=np.zeros(gangs, dtype=np.int64),
        may=np.full((gangs, running), int(evict)),
    )


if __name__ == "__main__":
    main()
