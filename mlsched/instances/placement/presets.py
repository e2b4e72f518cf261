"""Frozen sizes of placement instances. Benchmarks and tests quote them by name; never change one, add another.

contention is the share of all CPUs that running and new tasks demand together. At 0.5 every job has its own room; 0.8
is a busy cluster. At 1.0 ("contended") every core is demanded, and fragmentation makes some jobs share or wait.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlsched.core.contract import Preset

PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "small", "brute force answers within 5 s", {"servers": 3, "jobs": 3, "contention": 0.9, "most_tasks": 2}
        ),
        Preset("6x3", "6 servers, 3 new jobs", {"servers": 6, "jobs": 3, "contention": 0.8}),
        Preset("6x5", "the paper's testbed, 5 new jobs", {"servers": 6, "jobs": 5, "contention": 0.8}),
        Preset("6x5-contended", "the paper's testbed, every core wanted", {"servers": 6, "jobs": 5, "contention": 1.0}),
        Preset("10x5", "10 servers, 5 new jobs", {"servers": 10, "jobs": 5, "contention": 0.8}),
        Preset(
            "10x8-contended", "10 servers, 8 new jobs, every core wanted", {"servers": 10, "jobs": 8, "contention": 1.0}
        ),
        Preset("rack-30x10", "a rack with room for all", {"servers": 30, "jobs": 10, "contention": 0.5}),
        Preset(
            "rack-30x20-contended",
            "a rack, 20 new jobs, every core wanted",
            {"servers": 30, "jobs": 20, "contention": 1.0},
        ),
        Preset(
            "linear",
            "interference linear in CPU and bandwidth, as LIF-Line assumes",
            {"servers": 6, "jobs": 5, "contention": 1.0, "model": "linear"},
        ),
        Preset(
            "quadratic",
            "interference quadratic in CPU and bandwidth, as LIF-Quad assumes",
            {"servers": 6, "jobs": 5, "contention": 1.0, "model": "quadratic"},
        ),
    )
}
