"""Gavel's logged allocations: what each call of a policy was asked, and the shares that it gave.

Read apart from the library's readers: a few lines of JSON and tabs.
"""

from __future__ import annotations

import ast
import dataclasses
import gzip
import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

#: The order of types in the logs.
TYPES = ("k80", "p100", "v100")
#: Traces that are the lines with one GPU of others.
SINGLE = {"mmf_single59": "max_min_fairness", "mkspan_single71": "minimize_makespan"}


@dataclasses.dataclass(frozen=True)
class Call:
    """One call: its time, and of each job the total steps, arrival, weight, GPUs and rates, with the shares given."""

    now: float
    steps: Any
    arrival: Any
    weight: Any
    gpus: Any
    rate: Any
    capacity: Any
    shares: Any


def calls(gavel: Path, trace: str, cluster: str, policy: str) -> Iterator[Call]:
    """The calls of one run that had jobs; cluster as in the file's name, v100-p100-k80."""
    table = json.loads(gzip.decompress((gavel / "simulation_throughputs.json.gz").read_bytes()))
    rates = {m: {ast.literal_eval(key): entry["null"] for key, entry in table[m].items()} for m in TYPES}
    lines = _lines(gavel, SINGLE.get(trace, trace))
    if trace in SINGLE:
        lines = [line for line in lines if line[6] == "1"]
    file = gavel / "reference" / "allocations" / f"{trace}_{cluster}_{policy}.json.gz"
    for now, given in json.loads(gzip.decompress(file.read_bytes())):
        if not given:
            continue
        jobs = [lines[int(job)] for job in given]
        yield Call(
            now,
            *(np.array([float(job[column]) for job in jobs]) for column in (5, 9, 7)),
            np.array([int(job[6]) for job in jobs]),
            np.array([[rates[m][job[0], int(job[6])] for m in TYPES] for job in jobs]),
            np.array([int(count) for count in re.findall(r"\d+", cluster)][::-1]),
            np.array(list(given.values())),
        )


def _lines(gavel: Path, trace: str) -> list[list[str]]:
    with tarfile.open(gavel / "physical_cluster_traces.tar.gz") as packed:
        for member in packed.getmembers():
            if member.name.endswith(f"/{trace}.trace") or member.name == f"{trace}.trace":
                content = packed.extractfile(member)
                assert content is not None
                return [line.split("\t") for line in content.read().decode().splitlines()]
    raise AssertionError(f"no trace {trace}")
