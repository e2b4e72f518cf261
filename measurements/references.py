"""Distance between the two sides of the best schedules of public logs, and the causes of a policy's gap.

    python measurements/references.py make NAME... [--folder docs/results/references] [--moves N] [--cpu-limit S]
    python measurements/references.py table [--folder docs/results/references]
    python measurements/references.py parts NAME... [--rules fifo ...] [--folder docs/results/references] [--keep FILE]
    python measurements/references.py older [--folder docs/results/references]

`make` makes or improves entries of the public table (all: every one), each a folder with manifest and prices
(`schedule.json.gz` beside it is kept where it is small); after so many CPU seconds the step under way is the last.
`table` prints them as one JSON document. `parts`: of what the distances of rules from the bound are made on the logs of
these entries (`mlsched.decompose`), with what the entry of the same name with `-pauses`, or without, says as well.
`older`: of what the distances of preemptive SRPT by running time on whole Philly were made that were recorded before
jobs could move and before the bound by completion times (`docs/results/taskgraph-bound-older.json`), by those recorded
since and the entries of whole Philly with pauses. `--keep` writes each run to a file of JSON
lines, and takes those that are there as done. CPU seconds are those of this machine. Reads $MLSCHED_DATA.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from _keep import Kept

import mlsched
from mlsched.cli.taskgraph.run_references import part_cell
from mlsched.core.clock import cpu_time
from mlsched.simulation.taskgraph.iterations.reference.decomposition import LAST_PARTS, SUM

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from reference_entries import ENTRIES, workload  # noqa: E402

RESULTS = ROOT / "docs" / "results"
#: Rules of which the parts are told: blind ones, and those that know the running times.
RULES = ["fifo", "easy-backfill", "srpt", "tiresias", "las", "srpt:preempt=true", "srpt:size=time,preempt=true"]


def reading(log: str, limit: int, nodes: int) -> dict[str, Any]:
    """How `mlsched check` reads a whole log; it has no word for the jobs that arrive first: rows are not sorted."""
    if log.startswith("synthetic:") or limit:
        return {}
    return {"cluster": f"{nodes}x(8gpu)", "read": None, "limit": None, "set": {}}


def make(names: list[str], folder: Path, moves: int | None, limit_s: float) -> None:
    for name in list(ENTRIES) if names == ["all"] else names:
        log, limit, nodes, pausing = ENTRIES[name]
        load, begun = workload(log, limit, nodes), cpu_time()

        def told(stage: str, made: int, value: int, name: str = name, begun: float = begun) -> bool:
            print(f"{name}: {stage} {made} {value} ({cpu_time() - begun:.0f} CPU s)", file=sys.stderr, flush=True)
            return cpu_time() - begun > limit_s

        given = {} if moves is None else {"moves": moves}
        read = reading(log, limit, nodes)
        found = mlsched.make_reference(load, folder / name, pausing=pausing, log_options=read, progress=told, **given)
        print(
            f"{name}: {found.bound} to {found.value}, {100 * found.width:.2f} %, {found.cpu_seconds} CPU s", flush=True
        )


def entry(folder: Path) -> dict[str, Any]:
    found = mlsched.read_reference(folder)
    sizes = {file.name: file.stat().st_size for file in sorted(folder.iterdir())}
    return {
        "name": folder.name,
        "jobs": found.jobs,
        "cluster": found.cluster,
        "pauses": found.pausing,
        "bound": found.bound,
        "value": found.value,
        "width": found.width,
        "how": found.how,
        "moves": found.moves,
        "cpu_seconds": found.cpu_seconds,
        "bytes": sizes,
    }


def table(folder: Path) -> dict[str, Any]:
    """The entries as JSON, with the table of the page."""
    rows = [entry(path.parent) for path in sorted(folder.glob("*/manifest.json"))]
    cells = [
        [
            row["name"],
            row["jobs"],
            "yes" if row["pauses"] else "no",
            f"{row['bound']:,}",
            f"{row['value']:,}",
            f"{100 * row['width']:.2f} %",
            f"{row['cpu_seconds']:.0f}",
            f"{row['bytes']['prices.json.gz'] / 1000:.0f}",
        ]
        for row in rows
    ]
    header = ["log and GPUs", "jobs", "pauses", "bound", "schedule", "apart", "CPU s", "prices, kB"]
    return {"rows": rows, "tables": {"references": {"header": header, "rows": cells}}}


def parts(name: str, rules: list[str], folder: Path, kept: Kept) -> list[dict[str, Any]]:
    """What the distances of the rules are made of on an entry's log."""
    log, limit, nodes, _ = ENTRIES[name]
    both = (folder / name.removesuffix("-pauses"), folder / f"{name.removesuffix('-pauses')}-pauses")

    def row(rule: str) -> dict[str, Any]:
        begun, load = cpu_time(), workload(log, limit, nodes)
        references = [mlsched.check_reference(path, load) for path in both if path.exists()]
        assert not any(wrong for _, _, wrong in references), references
        found = mlsched.decompose(mlsched.simulate(load, rule), [claim for claim, _, _ in references])
        return {"entry": name, "rule": rule, **found.to_json(), "cpu_seconds": cpu_time() - begun}

    return [kept.row(f"{name}, {rule}", lambda rule=rule: row(rule)) for rule in rules]  # type: ignore[misc]


#: The rule whose older distances are explained.
OLDER_RULE = "srpt:size=time,preempt=true"


def older(folder: Path) -> list[dict[str, Any]]:
    """Of what the distance of `OLDER_RULE` on whole Philly was made in the world and with the bound of before, in ticks
    and as shares of that bound; of the clusters that have an entry.
    """
    found = []
    before, now = (
        {row["gpus"]: row for row in json.loads((RESULTS / f"{name}.json").read_text())["document"]["rows"]}
        for name in ("taskgraph-bound-older", "taskgraph-bound-whole")
    )
    for gpus in before:
        if not (folder / f"philly-{gpus}-pauses").exists():
            continue
        entry = mlsched.read_reference(folder / f"philly-{gpus}-pauses")
        bound = before[gpus]["bound"]["total_jct"]
        then, today = (row[gpus]["bound"]["total_jct"] * (1 + row[gpus]["gaps"][OLDER_RULE]) for row in (before, now))
        parts = {
            "jobs stay on their nodes": then - today,
            "order, and nobody makes way": today - entry.value,
            "not known": entry.value - entry.bound,
            "the bound was weaker": entry.bound - bound,
            "above the older bound": then - bound,
        }
        shares = {part: ticks / bound for part, ticks in parts.items()}
        found.append({"gpus": gpus, "rule": OLDER_RULE, "bound": bound, "ticks": parts, "shares": shares})
    return found


def of_older(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A row per cluster, a column per part, percent of the older bound."""
    header = ["GPUs", *rows[0]["shares"]]
    cells = [[row["gpus"], *(f"{100 * share:.1f} %" for share in row["shares"].values())] for row in rows]
    return {"older": {"header": header, "rows": cells}}


def of_parts(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Of each entry a table: a row per rule, a column per part, percent of the bound; in brackets at least, at most."""
    found = {}
    for name in dict.fromkeys(row["entry"] for row in rows):
        own = [row for row in rows if row["entry"] == name]
        names = dict.fromkeys(part for row in own for part in row["table"]["part"])
        names = {part: None for part in names if part not in (*LAST_PARTS, SUM)}
        columns = [*names, *LAST_PARTS, SUM]
        cells = [[f"`{row['rule']}`", *(part_cell(row["table"], name) for name in columns)] for row in own]
        found[name] = {"header": ["rule", *columns], "rows": cells}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("make", "table", "parts", "older"))
    parser.add_argument("names", nargs="*")
    parser.add_argument("--folder", type=Path, default=ROOT / "docs" / "results" / "references")
    parser.add_argument("--moves", type=int)
    parser.add_argument("--cpu-limit", type=float, default=float("inf"))
    parser.add_argument("--rules", nargs="+", default=RULES)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    if given.what == "make":
        make(given.names, given.folder, given.moves, given.cpu_limit)
    elif given.what == "table":
        print(json.dumps(table(given.folder), indent=1))
    elif given.what == "older":
        rows = older(given.folder)
        print(json.dumps({"rows": rows, "tables": of_older(rows)}, indent=1))
    else:
        kept = Kept(given.keep)
        rows = [row for name in given.names for row in parts(name, given.rules, given.folder, kept)]
        print(json.dumps({"rows": rows, "tables": of_parts(rows)}, indent=1))


if __name__ == "__main__":
    main()
