"""Measure the example of docs/learn/log-to-table.md: tables with intervals of a log, and the gain of more nodes.

    python measurements/log_to_table.py [--part windows | nodes]

Writes the log of examples/logs/operators_log.py into a folder of its own, runs the page's commands over it, and prints
one JSON document: the tables that they show, and what became of the rows.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from mlsched.cli.main import run

ROOT = Path(__file__).resolve().parents[1]
WINDOW = ("--from", "7d", "--to", "49d", "--every", "7d")
COMMANDS = {
    "windows": ["as-logged", "fifo", "srpt", "las", "--cluster", "nodes.csv", *WINDOW, "--by", "partition"],
    "nodes": ["easy-backfill", "srpt", "--cluster", "nodes.csv", "--cluster", "more_nodes.csv", *WINDOW],
}
#: Rows of the table of windows that the page shows.
SHOWN = (
    *("jobs", "mean waiting, hours", "waiting p95, hours", "mean bounded slowdown", "area-weighted response, hours"),
    *("utilisation gpu", "queue", "whole run: total_jct above its bound"),
)


def shown(words: list[str]) -> dict[str, Any]:
    """The document of `mlsched simulate ... --json`."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = run(["simulate", *words, "--trace", "jobs.csv", "--json"])
    assert status == 0, (words, status)
    return dict(json.loads(out.getvalue()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=(*COMMANDS,))
    given = parser.parse_args()
    spec = importlib.util.spec_from_file_location("operators_log", ROOT / "examples" / "logs" / "operators_log.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[str, Any] = {"tables": []}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        module.main(Path(folder))
        for part in [given.part] if given.part else COMMANDS:
            document = shown(COMMANDS[part])
            found["rows"] = document["rows"]
            for table in document["tables"]:
                rows = [row for row in table["rows"] if table["name"] != "windows" or row[0] in SHOWN]
                found["tables"].append({"name": f"{part} {table['name']}", "header": table["header"], "rows": rows})
            print(part, file=sys.stderr, flush=True)
        os.chdir(ROOT)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
