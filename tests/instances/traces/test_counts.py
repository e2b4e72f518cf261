"""Rows, users' jobs, GPU-seconds and waiting of logs, counted apart with the csv module alone."""

from __future__ import annotations

import collections
import csv
import re
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from mlsched.instances.traces import read_trace

LOGS = Path(__file__).parent / "logs"
TWO = "sacct-two-clusters.txt"
SLICE = re.compile(r"([1-7])g\.")


def seconds(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def gpus(tres: str) -> float:
    """GPUs of a TRES; a slice of an A100 has its share of seven."""
    amounts = dict(item.split("=", 1) for item in tres.split(",") if item.startswith("gres/gpu"))
    typed = {name: int(count) for name, count in amounts.items() if name.startswith("gres/gpu:")}
    sliced = {name: count for name, count in typed.items() if SLICE.search(name)}
    part = sum(count * int(SLICE.search(name)[1]) / 7 for name, count in sliced.items())  # type: ignore[index]
    return int(amounts.get("gres/gpu", sum(typed.values()))) - sum(sliced.values()) + part


def of_sacct(path: Path, cluster: str) -> list[tuple[str, float, float]]:
    """(user, GPU-seconds, waiting) of each job: its rows that ran, of one id up to a "+"."""
    rows = collections.defaultdict(list)
    with path.open(newline="") as stream:
        for row in csv.DictReader(stream, delimiter="|"):
            name = row.get("JobID") or row["JobIDRaw"]
            never = {"None", "Unknown"} & {row["Start"], row["End"]} or row["State"].split()[0] in (
                "PENDING",
                "RUNNING",
            )
            if "." in name or never or (cluster and row["Cluster"] != cluster):
                continue
            start, end = seconds(row["Start"]), seconds(row["End"])
            if end > start:
                held = gpus(row.get("AllocTRES") or "")
                rows[name.split("+")[0]].append((row["User"], seconds(row["Submit"]), start, end, held, "+" in name))
    found = []
    for runs in rows.values():
        work = sum(held * (end - start) for _, _, start, end, held, _ in runs)
        busy = runs[0][3] - runs[0][2] if runs[0][5] else sum(run[3] - run[2] for run in runs)
        found.append((runs[0][0], work, max(run[3] for run in runs) - runs[0][1] - busy))
    return found


def of_csv(path: Path) -> list[tuple[str, float, float]]:
    with path.open(newline="") as stream:
        found = []
        for row in csv.DictReader(stream):
            submit, start, end = (seconds(row[f"{name}_time"]) for name in ("submit", "start", "end"))
            found.append((row["user"], int(row["gpu_num"]) * (end - start), start - submit))
        return found


CASES = [(path.name, "") for path in sorted(LOGS.glob("*.txt")) if path.name != TWO]
CASES += [(TWO, "alpha"), (TWO, "beta"), ("acme_kalos.csv", ""), ("acme_seren.csv", ""), ("kal2.csv", "")]


@pytest.mark.parametrize(("name", "cluster"), CASES)
def test_counts_are_those_of_the_rows(name: str, cluster: str) -> None:
    path = LOGS / name
    counted = of_csv(path) if name.endswith(".csv") else of_sacct(path, cluster)
    trace = read_trace(path, log_cluster=cluster)
    assert trace.account.rows == len(path.read_text().splitlines()) - 1
    assert collections.Counter(trace.user) == collections.Counter(user for user, _, _ in counted)
    work = float((trace.gpus_milli / 1000 * trace.duration_ms / 1000).sum())
    assert work == pytest.approx(sum(work for _, work, _ in counted), rel=1e-6), "slices are rounded up to 1/1000"
    waiting = (trace.end_ms - 1000 * trace.submit - trace.duration_ms) / 1000
    assert float(np.sum(waiting)) == pytest.approx(sum(wait for _, _, wait in counted))
