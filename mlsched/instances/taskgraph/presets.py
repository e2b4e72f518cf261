"""Frozen sizes of task-graph instances. Benchmarks and tests quote them by name; never change one, add another."""

from __future__ import annotations

from collections.abc import Mapping

from mlsched.core.contract import Preset

PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("small", "brute force answers within 5 s",
               {"jobs": 2, "nodes": 2, "runs": 7, "gpus": 1, "graph": "mixed", "slack": 1.5}),
    )
}  # fmt: skip
