"""Entries of the public table of references: their logs, sizes and clusters."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any

import numpy as np

import mlsched

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("MLSCHED_DATA", ROOT.parent / "shared")) / "data"
LOGS = {"philly": DATA / "philly" / "philly.csv.gz", "helios": DATA / "helios" / "helios_venus_gpu_jobs.csv.gz"}
GANGS = "synthetic:gangs:jobs=2000,nodes=16,load=0.9,shape=fewest,pause_cost=30,movement=anytime"
#: Entry -> log, number of its first jobs (0: all), nodes of 8 GPUs, whether jobs may pause.
ENTRIES: dict[str, tuple[str, int, int, bool]] = {
    **{f"philly-2000-{8 * n}": ("philly", 2000, n, False) for n in (32, 40, 50)},
    **{f"philly-2000-{8 * n}-pauses": ("philly", 2000, n, True) for n in (32, 40, 50)},
    **{f"philly-{8 * n}": ("philly", 0, n, False) for n in (50, 75)},
    **{f"philly-{8 * n}-pauses": ("philly", 0, n, True) for n in (50, 75)},
    **{f"helios-2000-{8 * n}": ("helios", 2000, n, False) for n in (40, 80)},
    **{f"helios-2000-{8 * n}-pauses": ("helios", 2000, n, True) for n in (40, 80)},
    "helios-1080": ("helios", 0, 135, False),
    "gangs-2000-128": (GANGS, 0, 0, False),
    "gangs-2000-128-pauses": (GANGS, 0, 0, True),
}


def workload(name: str, limit: int, nodes: int, **options: Any) -> Any:
    """Return the first jobs of a log, on `nodes` nodes of 8 GPUs."""
    if name.startswith("synthetic:"):
        return mlsched.workload(name)
    found = mlsched.workload(_log(name), "taskgraph", cluster=f"{nodes}x(8gpu)", **options)
    return found.replace(**found.only(np.arange(min(limit, len(found.arrival))))) if limit else found


@functools.cache
def _log(name: str) -> Any:
    return mlsched.read_log(LOGS[name])
