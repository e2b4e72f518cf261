"""Large result stores: CPU and memory of a report, and the efficiency of two workers of `mlsched bench`.

    python measurements/stores.py reports [--before CHECKOUT] [--rows 100000]
    python measurements/stores.py workers [--instances 200]

Prints one JSON document. reports: a store of copies of real rows, and the CPU seconds and peak memory of `mlsched
export -o report.html`; `--before` is another checkout. workers: CPU seconds of a suite with one process, and of the
parent and the processes together with two workers. Efficiency is the CPU of one process over twice the longer of the
parent's CPU and one worker's, so that it holds on a busy machine, too.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import mlsched
from mlsched.benchmark.store import Store, read_rows

HERE = Path(__file__).resolve().parents[1]
#: Suite -> the solvers of tasks that take about a millisecond, and of longer ones.
SUITES = {"rules": ["slaq", "fitgpp", "slaq-max-min"], "exact solvers": ["dp", "cp-sat", "highs"]}
#: A process that runs a suite, and prints its own CPU seconds and those of its workers.
RUN = """
import json, resource, sys, mlsched
if __name__ == "__main__":
    folder, workers, solvers = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    rows = mlsched.run_suite(folder, solvers=solvers, workers=workers, confirm=False, reference=False)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(json.dumps([len(rows), *(one.ru_utime + one.ru_stime for one in used)]))
"""


def instances(folder: Path, count: int) -> None:
    """Small instances of two problems."""
    for seed in range(count // 2):
        for problem in ("quality", "preemption"):
            mlsched.save(mlsched.generate(problem, "small", seed=seed), folder / f"{problem}{seed}.json")


def grow(path: Path, folder: Path, count: int) -> None:
    """Fill a store with copies of the rows of a suite, each copy of other instances."""
    instances(folder, 40)
    small = folder / "small.sqlite"
    rows = mlsched.run_suite(str(folder), store=small, confirm=False)
    with Store(small) as store:
        requests = store.requests().values()
    with Store(path) as store:
        for request in requests:
            store.note(request)
        for copy in range(-(-count // len(rows))):
            store.add([_copied(row, copy) for row in read_rows(small)])


def _copied(row: Any, copy: int) -> Any:
    other = hashlib.sha256(f"{row.instance_hash} {copy}".encode()).hexdigest()[: len(row.instance_hash)]
    slower = 1 + copy * 1e-6  # so that times differ, as those of real rows do
    times = {name: value * slower for name in ("seconds", "cpu_seconds") if (value := getattr(row, name)) is not None}
    return dataclasses.replace(row, instance_hash=other, seed=row.seed + 1000 * copy, **times)


def report(store: Path, checkout: Path) -> dict[str, float]:
    """CPU seconds and peak memory, MB, of a report by the mlsched of a checkout."""
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    words = [sys.executable, "-m", "mlsched", "export", str(store), "-o", str(store.with_suffix(".html"))]
    process = subprocess.Popen(words, env=environment, cwd=checkout)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{checkout}: the report failed")
    return {"cpu_s": used.ru_utime + used.ru_stime, "peak_mb": used.ru_maxrss / 1024}


def reports(given: argparse.Namespace) -> dict[str, Any]:
    """The cost of a report here, and in another checkout."""
    with tempfile.TemporaryDirectory() as folder:
        store, files = Path(folder) / "many.sqlite", Path(folder) / "instances"
        files.mkdir()
        grow(store, files, given.rows)
        count = len(read_rows(store))
        checkouts = {"after": HERE} | ({} if given.before is None else {"before": given.before.resolve()})
        found = {name: report(store, checkout) for name, checkout in checkouts.items()}
    return {"rows": count, **found}


def workers(given: argparse.Namespace) -> dict[str, Any]:
    """The efficiency of two workers, for short and for longer tasks."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        instances(Path(folder), given.instances)
        script = Path(folder) / "run.py"
        script.write_text(RUN, encoding="utf-8")
        for name, solvers in SUITES.items():
            (rows, one, _), (_, parent, both) = (_run(script, folder, count, solvers) for count in (1, 2))
            efficiency = one / (2 * max(parent, both / 2))
            found[name] = {"rows": rows, "one_s": one, "parent_s": parent, "workers_s": both, "efficiency": efficiency}
    return found


def _run(script: Path, folder: str, count: int, solvers: list[str]) -> list[float]:
    words = [sys.executable, str(script), folder, str(count), *solvers]
    return list(json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["reports", "workers"])
    parser.add_argument("--before", type=Path)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--instances", type=int, default=200)
    given = parser.parse_args()
    print(json.dumps(reports(given) if given.what == "reports" else workers(given)))


if __name__ == "__main__":
    main()
