"""Harmony-plus compared with the proven optimum and every rule, one question at a time.

    python measurements/harmony_plus.py [--parts gaps,time,other] [--seeds 60] [--keep FILE] [--only SIZE,...]

Sizes are frozen presets: 6x5, 10x8-contended, rack-30x10; seeds 0, 1, ... apart from all training (its questions are
drawn from streams of their own). Prints one JSON document with tables:

- "gaps": by how many percent a value is below the optimum (below the best bound where the optimum is not proven within
  the work limit, so that the number is an upper estimate), mean and 95 % interval (bootstrap over the instances);
  harmony-plus as it ships with the package, the best of its eight placements and the greedy one alone (`samples=1`);
- "paired": by how many points of percent the gap of harmony-plus is below that of each rule;
- "seeds" (with --weights): the gaps of each of these weights, and over them all;
- "other" (needs --gavel FILE, Gavel's oracle_throughputs.json.gz): gaps under interference that the weights were not
  trained for: with the speed model that ships (types without history are like the mean of its own), and with one that
  was fitted to a history there, the network as it ships; 20 instances per row, those of `placement_gaps.py`, whose file
  of optima may be given (--optima);
- "time": CPU time of an answer by `mlsched.solve`, against the exact solver's in the same process, its search for a
  start included. --timed: on that many instances.

--keep: a file of bounds and values for later runs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from placement_gaps import GPUS, Optima, below, instances

import mlsched
from mlsched.core.errors import InvalidInput
from mlsched.core.registry import registry
from mlsched.instances.placement.gavel import generate_measured, read_gavel
from mlsched.learned.weights import Weights, of, read, write
from mlsched_training.placement._plus_history import fit_tables, synthetic_instances

SIZES = ("6x5", "10x8-contended", "rack-30x10")
#: Deterministic work of the exact solver.
WORK = 2.0
SAMPLES = (8, 1)
RULES = tuple(a.name for a in registry().available("placement", "heuristic"))
DRAWS = 10000
#: Jobs in the history of another cluster.
HISTORY = 13177


class Kept:
    """Values by instance and solver (of harmony-plus: its samples and tensors), in a file of a line each."""

    def __init__(self, path: str) -> None:
        self.path = Path(path) if path else None
        self.known: dict[str, Any] = {}
        if self.path and self.path.exists():
            lines = self.path.read_text(encoding="utf-8").splitlines()
            self.known = {line["key"]: line["value"] for line in map(json.loads, lines)}

    def of(self, instance: Any, solver: str, name: str = "") -> Any:
        """The value of a solver (None where it refuses the instance); of the exact one bound and proof.

        name: what its values are kept under (default: as it is called).
        """
        key = f"{instance.hash} {name or solver}"
        if key not in self.known:
            self.known[key] = _value(instance, solver)
            if self.path:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"key": key, "value": self.known[key]}) + "\n")
        return self.known[key]


def _value(instance: Any, solver: str) -> Any:
    if solver == "cp-sat":
        best = mlsched.solve(instance, "cp-sat", work_limit=WORK)
        return {"bound": best.sort_bound, "proven": best.status == "optimal"}
    try:
        return mlsched.solve(instance, solver).sort_key
    except InvalidInput:
        return None


def interval(values: Any) -> dict[str, float]:
    """Mean, and the bootstrap's 95 % interval of it."""
    values = np.asarray(values, dtype=float)
    rng = np.random.default_rng(0)
    means = values[rng.integers(0, len(values), (DRAWS, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return {"mean": float(values.mean()), "low": float(low), "high": float(high)}


def text(found: dict[str, float] | None) -> str:
    """An interval as a cell."""
    return "" if found is None else f"{found['mean']:.2f} [{found['low']:.2f}, {found['high']:.2f}]"


def plus(weights: str, samples: int) -> str:
    """Harmony-plus as a solver."""
    given = [f"samples={samples}"] if samples != SAMPLES[0] else []
    given += [f"weights={weights}"] if weights else []
    return "harmony-plus" + (f":{','.join(given)}" if given else "")


def digest(path: str) -> str:
    """Which weights a file holds ("": those that ship)."""
    tensors = of("harmony-plus", "placement", path).tensors
    return hashlib.sha256(b"".join(tensors[name].tobytes() for name in sorted(tensors))).hexdigest()[:16]


def gaps_at(size: str, seeds: int, kept: Kept, weights: list[str]) -> tuple[dict[str, Any], list[Any]]:
    """Solver -> gaps in percent on every instance (None: it refuses them), and the instances' proofs."""
    drawn = [mlsched.generate("placement", size, seed=s) for s in range(seeds)]
    best = [kept.of(i, "cp-sat") for i in drawn]
    bound = np.array([b["bound"] for b in best], dtype=float)
    found: dict[str, Any] = {}
    for rule in RULES:
        values = [kept.of(i, rule) for i in drawn]
        found[rule] = None if None in values else 100 * (bound - np.array(values)) / bound
    for path in ["", *weights]:
        for samples in SAMPLES:
            name = f"harmony-plus {samples} {digest(path)}"
            values = [kept.of(i, plus(path, samples), name) for i in drawn]
            found[plus(path, samples)] = 100 * (bound - np.array(values, dtype=float)) / bound
    print(f"{size}: done", file=sys.stderr, flush=True)
    return found, [b["proven"] for b in best]


def with_history(draw: Any, path: Path) -> tuple[str, float]:
    """The shipped network with a speed model of a history of another cluster, as a file, and the model's error."""
    tensors, types, error = fit_tables(np.random.default_rng(0), HISTORY, draw)
    shipped = of("harmony-plus", "placement")
    data = {**shipped.card["data"], "models": list(types)}
    write(path, Weights({**shipped.tensors, **tensors}, {**shipped.card, "data": data}))
    return str(path), error


def gavel_draw(file: str, gpu: str) -> Any:
    """Random instances of GPUs with Gavel's measured pairs."""
    table = read_gavel(file, gpu=gpu)
    return lambda rng: generate_measured(rng, table, servers=10, jobs=6, contention=float(rng.uniform(0.4, 1.2)))


def other(gavel: str, optima: Optima, folder: Path) -> dict[str, Any]:
    """The table of gaps under other interference."""
    rows = []
    for kind in ("linear", "quadratic", *GPUS):
        draw = gavel_draw(gavel, kind) if kind in GPUS else synthetic_instances(kind)
        weights, error = with_history(draw, folder / f"{kind}.safetensors")
        for contention in (0.8, 1.0):
            drawn = list(instances(kind, contention, 20, gavel))
            bound = [optima.of(i)["bound"] for i in drawn]
            cells = []
            for solver in ("harmony-plus", plus(weights, SAMPLES[0])):
                cells.append(text(interval([below(i, solver, b) for i, b in zip(drawn, bound, strict=True)])))
            rows.append([f"{kind} {contention}", f"{100 * error:.2f}", *cells])
        optima.keep()
        print(f"{kind}: done", file=sys.stderr, flush=True)
    header = ["interference, contention", "error of its speed model [%]", "as shipped", "own history"]
    return {"name": "other", "header": header, "rows": rows}


def timed(size: str, count: int) -> dict[str, Any]:
    """CPU ms of answers, taken in turns on the same instances: name -> values."""
    names = ("cp-sat", "local-search", *(plus("", n) for n in SAMPLES))
    found: dict[str, list[float]] = {name: [] for name in names}
    for seed in range(count):
        instance = mlsched.generate("placement", size, seed=seed)
        for name in names:
            more = {"work_limit": WORK} if name == "cp-sat" else {}
            if not seed:
                mlsched.solve(instance, name, **more)  # imports and weights are read once
            started = time.process_time()
            mlsched.solve(instance, name, **more)
            found[name].append(1000 * (time.process_time() - started))
    return {name: np.array(values) for name, values in found.items()}


def time_rows(size: str, spent: dict[str, Any]) -> list[list[str]]:
    """Rows of the table of times."""
    rows = []
    for name, values in spent.items():
        share = 100 * values / spent["cp-sat"]
        cells = ["", ""] if name == "cp-sat" else [f"{np.median(share):.1f}", f"{share.max():.1f}"]
        rows.append([f"{size}, {name}", f"{np.median(values):.3g}", f"{values.max():.3g}", *cells])
    return rows


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default="gaps,time", help="of gaps,time,other")
    parser.add_argument("--seeds", type=int, default=60)
    parser.add_argument("--weights", nargs="*", default=[], help="further weights, of other training seeds")
    parser.add_argument("--keep", default="")
    parser.add_argument("--only", default=",".join(SIZES))
    parser.add_argument("--gavel", default="")
    parser.add_argument("--optima", default="", help="file that keeps the optima under other interference")
    parser.add_argument("--timed", type=int, default=8)
    given = parser.parse_args()
    sizes = [size for size in given.only.split(",") if size]
    kept = Kept(given.keep)
    parts = given.parts.split(",")
    tables: list[dict[str, Any]] = []
    if "other" in parts:
        with tempfile.TemporaryDirectory() as folder:
            tables.append(other(given.gavel, Optima(given.optima, WORK), Path(folder)))
    if "time" in parts:
        rows = [row for size in sizes for row in time_rows(size, timed(size, given.timed))]
        header = ["solver", "CPU ms, median", "worst", "share of the exact [%], median", "worst"]
        tables.append({"name": "time", "header": header, "rows": rows})
    if "gaps" not in parts:
        print(json.dumps({"tables": tables}, indent=1))
        return
    found = {size: gaps_at(size, given.seeds, kept, given.weights) for size in sizes}
    header = ["solver", *(f"{s} ({sum(found[s][1])} of {given.seeds} proven)" for s in sizes)]
    shipped = [plus("", n) for n in SAMPLES]
    numbers = {
        name: {size: None if found[size][0][name] is None else interval(found[size][0][name]) for size in sizes}
        for name in (*shipped, *RULES)
    }
    pairs = {
        rule: {
            size: None if found[size][0][rule] is None else interval(found[size][0][rule] - found[size][0][shipped[0]])
            for size in sizes
        }
        for rule in RULES
    }
    tables += [
        {"name": "gaps", "header": header, "rows": [[n, *map(text, row.values())] for n, row in numbers.items()]},
        {
            "name": "paired",
            "header": ["rule", *sizes],
            "rows": [[n, *map(text, row.values())] for n, row in pairs.items()],
        },
    ]
    if given.weights:
        tables.append(seeds_table(found, sizes, given.weights))
    print(json.dumps({"tables": tables, "gaps": numbers, "paired": pairs}, indent=1))


def seeds_table(found: dict[str, Any], sizes: list[str], weights: list[str]) -> dict[str, Any]:
    """Gaps by training seed."""
    rows = []
    for samples in SAMPLES:
        means = []
        for path in weights:
            each = [interval(found[size][0][plus(path, samples)]) for size in sizes]
            means.append([one["mean"] for one in each])
            rows.append([f"seed {read(path).card['seed']}, samples={samples}", *map(text, each)])
        spread = np.array(means)
        rows.append(
            [
                f"{len(weights)} seeds, samples={samples}, mean and range",
                *(f"{column.mean():.2f} [{column.min():.2f}, {column.max():.2f}]" for column in spread.T),
            ]
        )
    return {"name": "seeds", "header": ["training", *sizes], "rows": rows}


if __name__ == "__main__":
    main()
