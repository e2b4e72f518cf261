"""Gap of every placement rule to the proven optimum by contention, with synthetic interference and Gavel's.

    python measurements/placement_gaps.py [--seeds N] [--work W] [--gavel FILE] [--only KIND,...] [--optima FILE]

Kinds: pairwise, linear, quadratic (synthetic, 6 servers x 5 jobs of the paper's testbed), v100, p100, k80 (measured, 10
GPUs x 6 jobs; they need --gavel oracle_throughputs.json.gz). Prints one JSON document with tables: in each cell the
mean over the seeds of (optimum - value) / optimum in percent, with half of its 95 % interval (Student's t). Where an
optimum is not proven within --work of CP-SAT's deterministic time its bound takes its place, so that the number is an
upper estimate. --optima: a file in which proven optima are kept, so that other rules can be measured without them.

Tables: "rules" (every registered rule; a rule that refuses the instances has no number; then how many optima were
proven, and on how many instances the best published rule misses the optimum), "lif-linear", "lif-quadratic" and
"tetris" (their interpretations; without the rows that the rule refuses).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import mlsched
from mlsched.core.errors import InvalidInput
from mlsched.core.registry import registry
from mlsched.heuristics.placement.interference import SCORES, TIES
from mlsched.instances.placement.gavel import generate_measured, read_gavel
from mlsched.instances.placement.models import KINDS
from mlsched_papers.claim import estimate

CONTENTION = (0.6, 0.8, 1.0, 1.2)
GPUS = ("v100", "p100", "k80")
#: Ours: it is no published rule.
SEARCH = "local-search"
RULES = tuple(a.name for a in registry().available("placement", "heuristic"))
READINGS = {
    "lif-linear": [f"score={score},tie={tie}" for score in SCORES for tie in TIES],
    "lif-quadratic": [f"score={score},tie={tie}" for score in SCORES for tie in TIES],
    "tetris": ["order=machine", "order=task", "order=machine,weight=0", "order=task,weight=0"],
}


def instances(kind: str, contention: float, seeds: int, gavel: str) -> Iterator[Any]:
    """The instances of a row."""
    if kind in KINDS:
        for seed in range(seeds):
            yield mlsched.generate("placement", "6x5", seed=seed, contention=contention, model=kind)
        return
    table = read_gavel(gavel, gpu=kind)
    for seed in range(seeds):
        yield generate_measured(np.random.default_rng(seed), table, servers=10, jobs=6, contention=contention)


class Optima:
    """Best bounds by the hash of the instance; proven ones are kept in a file that is written after every row."""

    def __init__(self, path: str, work: float) -> None:
        self.path, self.work = Path(path) if path else None, work
        self.known: dict[str, dict[str, Any]] = {}
        if self.path and self.path.exists():
            self.known = json.loads(self.path.read_text(encoding="utf-8"))

    def of(self, instance: Any) -> dict[str, Any]:
        """bound; proven: whether it is the optimum."""
        if instance.hash in self.known:
            return self.known[instance.hash]
        best = mlsched.solve(instance, "cp-sat", work_limit=self.work)
        found = {"bound": best.sort_bound, "proven": best.status == "optimal"}
        if found["proven"]:
            self.known[instance.hash] = found
        return found

    def keep(self) -> None:
        if self.path:
            self.path.write_text(json.dumps(self.known), encoding="utf-8")


def below(instance: Any, solver: str, bound: int) -> float:
    """By how many percent a rule's value is below the optimum; NaN when it refuses the instance."""
    try:
        value = mlsched.solve(instance, solver).sort_key
    except InvalidInput:
        return np.nan
    assert value is not None
    return 100 * (bound - value) / bound


def number(values: Sequence[float]) -> dict[str, float | None]:
    """Mean and half of the 95 % interval; nothing for a rule that refused."""
    if np.isnan(values).any():
        return {"measured": None, "ci95": None}
    found = estimate(values)
    assert found is not None
    return {"measured": found.mean, "ci95": found.half}


def count(value: float) -> dict[str, float | None]:
    """Return a number without an interval."""
    return {"measured": value, "ci95": None}


def rows(kind: str, contention: float, drawn: list[Any], optima: Optima) -> dict[str, list[dict[str, Any]]]:
    """Table -> the numbers of one row."""
    start = time.process_time()
    best = [optima.of(instance) for instance in drawn]
    gaps = {a: [below(i, a, b["bound"]) for i, b in zip(drawn, best, strict=True)] for a in RULES}
    published = np.array([gaps[rule] for rule in RULES if rule != SEARCH])
    missed = int((np.nanmin(published, axis=0) > 0).sum())
    proven = sum(b["proven"] for b in best)
    found = {"rules": [number(gaps[rule]) for rule in RULES]}
    for rule, readings in READINGS.items():
        each = [[below(i, f"{rule}:{r}", b["bound"]) for i, b in zip(drawn, best, strict=True)] for r in readings]
        found[rule] = [number(values) for values in each]
    seconds = time.process_time() - start
    found["rules"] += [count(proven), count(missed)]
    print(f"{kind} {contention}: {proven}/{len(drawn)} proven, {seconds:.0f} CPU s", file=sys.stderr, flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--work", type=float, default=30.0)
    parser.add_argument("--gavel", default="")
    parser.add_argument("--only", default="", help="comma list of kinds")
    parser.add_argument("--optima", default="", help="file that keeps the bounds")
    given = parser.parse_args()
    kinds = [k for k in given.only.split(",") if k] or [*KINDS, *(GPUS if given.gavel else ())]
    optima = Optima(given.optima, given.work)
    first = "interference, contention"
    headers = {"rules": [first, *RULES, "proven", "best rule misses"]}
    headers |= {rule: [first, *readings] for rule, readings in READINGS.items()}
    tables: dict[str, dict[str, Any]] = {name: {"header": h, "rows": []} for name, h in headers.items()}
    for kind in kinds:
        for contention in CONTENTION:
            found = rows(kind, contention, list(instances(kind, contention, given.seeds, given.gavel)), optima)
            optima.keep()
            for name, numbers in found.items():
                if all(cell["measured"] is None for cell in numbers):
                    continue
                tables[name]["rows"].append({"label": f"{kind} {contention}", "numbers": numbers})
    print(json.dumps({"seeds": given.seeds, "work": given.work, "tables": tables}, indent=1))


if __name__ == "__main__":
    main()
