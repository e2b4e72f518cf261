"""Frozen sizes of task-graph instances. Benchmarks and tests quote them by name; never change one, add another.

`runs` counts task runs (tasks x iterations, optional iterations included) of all jobs together. "loose": deadlines at
1.65 to 3.3 critical paths after the arrival, "tight": at 1.1 to 1.32. "replicas": data-parallel jobs run five or six
mini-batches at once if their share of the runs allows, more than a node's four GPUs, so that traffic cannot be avoided.
About one third of the jobs with several iterations may omit the last one; all other iterations are mandatory, or
total_jct would be trivial. Arrivals are spread over the first 30 % of the time that the GPUs need for all work, so jobs
compete ("replicas": 50 %).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlsched.core.contract import Preset

#: How many jobs and task runs the three sizes have, all on three nodes of four GPUs.
SIZES = {"six": (6, 52), "eight": (8, 66), "ten": (10, 102)}
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "loose": ("loose deadlines", {"slack": 3.0, "partitions": 4, "replicas": 4, "spread": 0.3}),
    "tight": ("tight deadlines", {"slack": 1.2, "partitions": 4, "replicas": 4, "spread": 0.3}),
    "replicas": (
        "more replicas than a node has GPUs",
        {"slack": 2.0, "partitions": 2, "replicas": 6, "least_replicas": 5, "spread": 0.5},
    ),
}


def _preset_of_size(size: str, kind: str, **changes: Any) -> Preset:
    jobs, runs = SIZES[size]
    doc, sizes = KINDS[kind]
    base: dict[str, Any] = {"jobs": jobs, "nodes": 3, "runs": runs, "gpus": 4, "graph": "mlfs"}
    return Preset(f"{size}-{kind}", f"{jobs} jobs, {runs} task runs, {doc}", {**base, **sizes, **changes})


PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "small",
            "brute force answers within 5 s",
            {"jobs": 2, "nodes": 2, "runs": 7, "gpus": 1, "graph": "mixed", "slack": 1.5},
        ),
        *(_preset_of_size(size, kind) for size in SIZES for kind in KINDS),
        Preset(
            "dags",
            "random graphs of four kinds, some tasks barred from a node",
            {"jobs": 6, "nodes": 3, "runs": 50, "gpus": 4, "graph": "dags", "slack": 2.0, "pinned": 0.2},
        ),
        Preset(
            "moving",
            "tasks may change node between iterations",
            {
                "jobs": 5,
                "nodes": 3,
                "runs": 40,
                "gpus": 4,
                "graph": "mlfs",
                "partitions": 4,
                "replicas": 4,
                "slack": 2.0,
                "movement": "between_iterations",
            },
        ),
        Preset(
            "fractional",
            "half of the tasks need half a GPU",
            {
                "jobs": 6,
                "nodes": 3,
                "runs": 50,
                "gpus": 2,
                "graph": "mixed",
                "partitions": 4,
                "replicas": 4,
                "slack": 2.0,
                "fractional": 0.5,
            },
        ),
        Preset(
            "sharing",
            "tasks share the two GPUs of a node, or have one or both for themselves",
            {
                "jobs": 6,
                "nodes": 2,
                "runs": 18,
                "gpus": 2,
                "graph": "mixed",
                "partitions": 2,
                "replicas": 3,
                "slack": 2.0,
                "sharing": 0.9,
            },
        ),
    )
}
