"""Figure 8 of the Harmony paper and its claims, at any size, with kept runs.

    python measurements/placement_online.py [--seeds SEEDS ...] [--few N] [--quick] [--runs FILE]

`mlsched reproduce harmony` on other workloads: of the base reading those that --seeds names (0,1,2: for every arrival
pattern; or uniform:0,1,2 poisson:0,1 ... a pattern), of the other interpretations as many as --few (0: without them),
and without the rack, on which only baselines and trained policies run. Prints one JSON document: tables by name
("figure1", "figure8", "parts", "figure9 KIND"; "others": by how many percent exact placement is below each policy,
reading by reading; "verdicts"), the experiment's interpretations, and its claims. --runs: a file of finished runs, a
line each, by everything that sets a run but the code: after a change of a rule its lines must go. What was run before
is taken from there, so that a rule is measured again without the exact solver's runs, which are nearly all of the time.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from pathlib import Path
from typing import Any

from mlsched.instances.placement.models import KINDS
from mlsched_papers.claim import estimate
from mlsched_papers.harmony import grid as g
from mlsched_papers.harmony import prediction, report, tables
from mlsched_papers.harmony.measure import Metrics, run_case
from mlsched_papers.harmony.measured import HarmonyView
from mlsched_papers.harmony.prediction import Errors
from mlsched_papers.report import Number, Report, Table


def key(case: g.Case, grid: g.Grid) -> str:
    """What sets a run, as text."""
    work = grid.work if case.policy.kind == "exact" else None
    interpretation = {k: v for k, v in dataclasses.asdict(case.interpretation).items() if k not in ("name", "patterns")}
    return json.dumps([interpretation, case.pattern, case.seed, case.policy.text, grid.jobs, work])


def workloads(texts: list[str]) -> dict[str, set[int]]:
    """Arrival pattern -> seeds."""
    found: dict[str, set[int]] = {}
    for text in texts:
        pattern, colon, seeds = text.rpartition(":")
        for name in (pattern,) if colon else g.PATTERNS:
            found[name] = {int(seed) for seed in seeds.split(",")}
    return found


def measured(grid: g.Grid, cases: list[g.Case], path: Path | None) -> dict[g.Case, Metrics]:
    """The metrics of every case: those in the file, and what is run now and added to it."""
    lines = [line for line in kept_lines(path) if "values" in line]
    known = {line["key"]: Metrics(line["values"], tuple(line["remarks"])) for line in lines}
    missing = [case for case in cases if key(case, grid) not in known]
    start = time.process_time()
    for number, case in enumerate(missing, 1):
        found = known[key(case, grid)] = run_case(case, grid)
        keep(path, {"key": key(case, grid), **dataclasses.asdict(found)})
        spent = time.process_time() - start
        print(f"{number}/{len(missing)} {case.policy.label}: {spent:.0f} CPU s", file=sys.stderr, flush=True)
    return {case: known[key(case, grid)] for case in cases}


def figure_9(grid: g.Grid, path: Path | None) -> dict[str, Errors]:
    """The errors of Figure 9 by the kind of interference, from the file where they are there."""
    known = {line["key"]: line["errors"] for line in kept_lines(path) if "errors" in line}
    found: dict[str, Errors] = {}
    for kind in KINDS:
        name = json.dumps(["figure 9 with the network", kind, grid.samples, grid.rounds])
        if name not in known:
            known[name] = [[*of, values] for of, values in prediction.errors(grid, kind).items()]
            keep(path, {"key": name, "errors": known[name]})
        found[kind] = {(way, method, model): values for way, method, model, values in known[name]}
    return found


def kept_lines(path: Path | None) -> list[dict[str, Any]]:
    """What the file keeps."""
    if not path or not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def keep(path: Path | None, line: dict[str, Any]) -> None:
    """Add a line to the file."""
    if path:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def others(views: list[HarmonyView]) -> dict[str, Any]:
    """By how many percent exact placement is below each policy, a row per interpretation and pattern."""
    policies = [p for p in g.policies() if p.kind not in ("exact", "former")]
    rows = []
    for view in views:
        for at in view.interpretation.patterns:
            numbers = [Number(estimate(view.cut(g.EXACT, p, view.metric, at))).to_json() for p in policies]
            count = {"measured": len(view.values(g.EXACT, view.metric, at)), "ci95": None}
            rows.append({"label": f"{view.name}, {at}", "numbers": [count, *numbers]})
    return {"header": ["interpretation", "workloads", *(p.label for p in policies)], "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs="+", default=[",".join(map(str, range(g.FULL.seeds)))])
    parser.add_argument("--few", type=int, default=g.FULL.few)
    parser.add_argument("--quick", action="store_true", help="the small version's sizes")
    parser.add_argument("--runs", default="", help="file that keeps the runs")
    given = parser.parse_args()
    size = g.QUICK if given.quick else g.FULL
    seeds = workloads(given.seeds)
    interpretations = size.interpretations if given.few else size.interpretations[:1]
    most = 1 + max(max(each) for each in seeds.values())
    without = {"rack": None, "trainings": 0, "rack_training": 0}
    grid = dataclasses.replace(size, interpretations=interpretations, seeds=most, few=given.few, **without)
    cases = [c for c in g.cases(grid) if c.interpretation != interpretations[0] or c.seed in seeds.get(c.pattern, ())]
    path = Path(given.runs) if given.runs else None
    metrics = measured(grid, cases, path)
    base, *rest = (HarmonyView(interpretation, metrics) for interpretation in grid.interpretations)
    found = report(grid, metrics, errors=figure_9(grid, path))
    shown = {"figure8": tables.figure_8(base).to_json(), "parts": tables.parts(base).to_json(), "others": others(rest)}
    shown |= {name: table.to_json() for name, table in named(found).items()}
    shown["verdicts"] = {
        "header": ["claim", "in the paper", "verdict"],
        "rows": [[claim.text, claim.where, claim.verdict] for claim in found.claims],
    }
    document = found.to_json()
    kept = {name: document[name] for name in ("title", "interpretations", "claims")}
    print(json.dumps({"tables": shown, **kept}, indent=1, ensure_ascii=False))


def named(found: Report) -> dict[str, Table]:
    """The report's tables of Figures 1 and 9; the latter by the kind of interference."""
    first = next(table for table in found.tables if table.name == "Figure 1")
    last = {
        f"figure9 {kind}": table
        for kind, table in zip(KINDS, (t for t in found.tables if t.name == "Figure 9"), strict=True)
    }
    return {"figure1": first, **last}


if __name__ == "__main__":
    main()
