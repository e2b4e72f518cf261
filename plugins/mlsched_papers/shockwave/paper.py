"""Stored results of Shockwave's repository for its 120 jobs on 32 GPUs (uw-mad-dash/shockwave, commit 8a44f4a, MIT;
facts).

`scheduler/reproduce/pickles`: rounds of 120 s, tacc_throughputs.json, seed 0; its program solved by Gurobi, the others'
by ECOS. Themis' heuristic runs there under the name `finish_time_fairness`, Gavel's as `max_min_fairness`.
"""

from __future__ import annotations

TRACE, TABLE = "120_0.2_5_100_40_25.trace.gz", "tacc_throughputs.json.gz"
GPUS = 32
#: Options of Gavel's simulator in Shockwave's program.
WORLD = {"round": 120, "resume": 20, "reset": 1000, "remainder": "run"}
#: Our policy -> its name there.
NAMES = {
    "shockwave": "shockwave",
    "finish_time_fairness": "Themis",
    "max_min": "Gavel",
    "allox_gangs": "AlloX",
    "gandiva_fair": "Gandiva-Fair",
    "max_sum": "MST",
    "min_total_duration": "OSSP",
}
#: Policy -> (makespan, mean completion time), s, of the stored simulation.
SIMULATED = {
    "shockwave": (24197.424, 9958.486),
    "finish_time_fairness": (31928.739, 11301.977),
    "max_min": (33207.663, 11274.117),
    "allox_gangs": (32488.621, 9926.307),
    "gandiva_fair": (32367.434, 12574.272),
    "max_sum": (31909.031, 9654.7),
    "min_total_duration": (24204.816, 19806.728),
}
#: The same of the stored runs on 32 real GPUs.
PHYSICAL = {
    "shockwave": (25265.0, 10509.334),
    "finish_time_fairness": (27841.0, 10929.856),
    "max_min": (34619.0, 12113.044),
    "allox_gangs": (31971.0, 9610.705),
    "max_sum": (34701.0, 9703.411),
    "min_total_duration": (25555.0, 17831.057),
}
