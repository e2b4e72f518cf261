"""Output of Gavel's own simulator (repository stanford-futuredata/gavel, commit c4fa400, MIT; facts only).

Driver `simulate_scheduler_with_trace.py`, simulation_throughputs.json, rounds of 360 s, seed 0, ECOS, on 8 V100s, 16
P100s and 24 K80s.
"""

from __future__ import annotations

CLUSTER = "8:16:24"
TRACES = ("max_min_fairness.trace", "minimize_makespan.trace")
#: (trace, policy) -> (average JCT, makespan), s.
PRINTED: dict[tuple[str, str], tuple[float, float]] = {
    ("max_min_fairness.trace", "fifo_perf"): (19526.854, 72319.858),
    ("max_min_fairness.trace", "max_min"): (19989.255, 77141.282),
    ("max_min_fairness.trace", "max_min_perf"): (14622.82, 63944.529),
    ("max_min_fairness.trace", "water_filling_perf"): (14594.161, 63944.51),
    ("max_min_fairness.trace", "finish_time_fairness_perf"): (15009.706, 64971.494),
    ("max_min_fairness.trace", "min_total_duration"): (21108.328, 75339.571),
    ("max_min_fairness.trace", "min_total_duration_perf"): (22972.646, 61512.583),
    ("max_min_fairness.trace", "max_sum"): (17071.664, 63937.313),
    ("minimize_makespan.trace", "fifo"): (211550.984, 274227.734),
    ("minimize_makespan.trace", "isolated"): (37581.229, 82944.778),
    ("minimize_makespan.trace", "max_min"): (37768.072, 82777.307),
    ("minimize_makespan.trace", "max_min_perf"): (35658.966, 68521.823),
    ("minimize_makespan.trace", "finish_time_fairness"): (39094.24, 78866.039),
    ("minimize_makespan.trace", "finish_time_fairness_perf"): (36333.209, 70400.457),
    ("minimize_makespan.trace", "min_total_duration_perf"): (63774.726, 64720.835),
    ("minimize_makespan.trace", "max_sum"): (36928.595, 80946.369),
}
