"""Frozen sizes of workers instances. Benchmarks and tests quote them by name; never change one, add another."""

from __future__ import annotations

from collections.abc import Mapping

from mlsched.core.contract import Preset

#: Tables with every useful number of workers and PSs for a job of the paper.
WIDE = {"most_workers": 16, "most_ps": 20}

PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("small", "brute force answers within 5 s", {"jobs": 4, "scale": 0.6, "cpu_factor": 0.6}),
        Preset("paper", "the paper's cluster, 3 jobs (Chic's window)", {"jobs": 3, "scale": 1.0, **WIDE}),
        Preset("paper-10", "the paper's cluster, as many jobs as GPUs", {"jobs": 10, "scale": 1.0, **WIDE}),
        Preset(
            "crowded",
            "the paper's cluster with more jobs than GPUs: some wait",
            {"jobs": 16, "scale": 1.0, "waiting": "pair", **WIDE},
        ),
        Preset("x16", "16 times the paper's cluster, 80 jobs", {"jobs": 80, "scale": 16.0, **WIDE}),
        Preset("x40", "40 times the paper's cluster, 200 jobs", {"jobs": 200, "scale": 40.0, **WIDE}),
        Preset(
            "cpu-bound",
            "too few cores for all PSs that jobs want",
            {"jobs": 40, "scale": 8.0, "cpu_factor": 0.5, **WIDE},
        ),
        Preset(
            "asynchronous",
            "asynchronous training, 6 random kinds of job",
            {"jobs": 40, "scale": 8.0, "speed": "asynchronous", "kinds": 6, **WIDE},
        ),
        Preset(
            "measured",
            "tables that scatter and have gaps: nothing convex about them",
            {"jobs": 40, "scale": 8.0, "speed": "table", "kinds": 6, "gaps": 0.1, **WIDE},
        ),
    )
}
