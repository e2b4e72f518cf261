"""Solves that CP-SAT needs for the published fronts of Kirlik and Sayin (2014), reproduced point by point.

    python measurements/fronts_published.py [--only TEXT] [--json]

A method over single boxes needs as many solves as there are zones to close. The instances and fronts are those of
$MLSCHED_DATA (default `../shared`).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import front_data

from mlsched.core.clock import cpu_time
from mlsched.solvers import enumerate_front

NAMES = [
    *(f"KP_p-3_n-{n}_ins-1" for n in (10, 20, 30, 40)),
    *(f"ILP_p-3_n-{n}_m-{n // 2}_ins-1" for n in (10, 20)),
    *(f"KP_p-4_n-{n}_ins-1" for n in (10, 20, 30)),
    "ILP_p-4_n-10_m-5_ins-1",
    *(f"KP_p-5_n-{n}_ins-1" for n in (10, 20)),
    "ILP_p-5_n-10_m-5_ins-1",
]
HEADER = ["front", "points", "solves", "a point", "zones to close", "CPU s"]


def row(name: str, folder: Path) -> list[str]:
    """One front, which must be the published one."""
    question, known = front_data.kirlik(folder, name)
    started = cpu_time()
    front = enumerate_front(*question.cp_sat())
    used = cpu_time() - started
    assert front.complete, name
    assert front.sort_keys.tolist() == known, name
    kind, p, n = name.split("_")[:3]
    zones = front_data.zones_to_close(front.sort_keys * question.signs)
    label = f"{kind} {p.replace('-', '=')}, {n.replace('-', '=')}"
    return [label, f"{len(front)}", f"{front.solves}", f"{front.solves / len(front):.2f}", f"{zones}", f"{used:.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="fronts whose name contains this")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    given = parser.parse_args()
    folder = Path(os.environ.get("MLSCHED_DATA", Path(__file__).resolve().parents[2] / "shared")) / "known_optima"
    rows: list[Any] = []
    for name in [name for name in NAMES if given.only in name]:
        rows.append(row(name, folder))
        print("  ".join(rows[-1]), file=sys.stderr, flush=True)
    if given.json:
        print(json.dumps({"kind": "fronts", "tables": [{"name": "published", "header": HEADER, "rows": rows}]}))


if __name__ == "__main__":
    main()
