"""The numbers in the text of the MLFS paper (Wang, Liu and Shen, CoNEXT 2020); its figures are images.

Improvements in percent are (y - z) / z of the paper's own y and z; for times, the cut. The first number is of the real
experiments (Figure 4), the second of the simulation (Figure 5).
"""

from __future__ import annotations

#: Section 4.2.1, at the highest load: metric -> improvement of MLFS over others.
MLFS = {
    "jct": {"Tiresias": (34.0, 30.0), "SLAQ": (53.0, 47.0)},
    "soon": {"Tiresias": (33.0, 38.0), "SLAQ": (118.0, 128.0)},
    "makespan": {"Tiresias": (32.0, 17.0), "SLAQ": (52.0, 39.0)},
    "deadlines": {"HyperSched": (47.0, 43.0), "SLAQ": (102.0, 101.0)},
    "waiting": {"Tiresias": (40.0, 47.0), "SLAQ": (52.0, 57.0)},
    "accuracy": {"HyperSched": (43.0, 41.0), "TensorFlow": (64.0, 60.0)},
    "guarantee": {"HyperSched": (32.0, 34.0), "TensorFlow": (61.0, 54.0)},
    "bandwidth": {"TensorFlow": (36.0, 37.0), "Gandiva": (45.0, 54.0)},
}
#: The same: improvement of MLF-RL over MLF-H, and of MLFS over MLF-RL.
MLF_RL = {
    "jct": {"MLF-H": (11.0, 10.0), "MLF-RL": (22.0, 18.0)},
    "soon": {"MLF-H": (4.0, 4.0), "MLF-RL": (5.0, 6.0)},
    "makespan": {"MLF-H": (15.0, 11.0), "MLF-RL": (10.0, 9.0)},
    "deadlines": {"MLF-H": (16.0, 21.0), "MLF-RL": (21.0, 16.0)},
    "waiting": {"MLF-H": (14.0, 21.0), "MLF-RL": (25.0, 22.0)},
    "accuracy": {"MLF-H": (14.0, 8.0), "MLF-RL": (23.0, 20.0)},
    "guarantee": {"MLF-H": (8.0, 9.0), "MLF-RL": (22.0, 20.0)},
    "bandwidth": {"MLF-H": (14.0, 15.0), "MLF-RL": (22.0, 24.0)},
}
#: Figure 4(h), milliseconds of a scheduling at the highest load.
OVERHEAD = {
    "MLFS": 54.0,
    "MLF-RL": 49.0,
    "MLF-H": 40.0,
    "RL": 49.0,
    "Gandiva": 23.0,
    "TensorFlow": 28.0,
    "Tiresias": 35.0,
    "HyperSched": 38.0,
    "SLAQ": 40.0,
}
#: Figure 4(a): hours until the last job is done, at the lowest and at the highest load.
MAKESPAN_HOURS = {
    "MLFS": (40.0, 90.0),
    "MLF-RL": (51.0, 102.0),
    "MLF-H": (54.0, 116.0),
    "Tiresias": (56.0, 125.0),
    "HyperSched": (58.0, 128.0),
    "RL": (61.0, 134.0),
    "Gandiva": (64.0, 138.0),
    "TensorFlow": (78.0, 158.0),
    "SLAQ": (85.0, 170.0),
}
#: Figure 4(a): percent of the jobs that are done within 100 minutes; the paper does not give the load.
SOON = {
    "MLFS": 85.0,
    "MLF-RL": 81.0,
    "MLF-H": 78.0,
    "Tiresias": 61.0,
    "HyperSched": 60.0,
    "RL": 60.0,
    "Gandiva": 55.0,
    "TensorFlow": 46.0,
    "SLAQ": 39.0,
}
#: Section 4.2.2: improvement by a feature in percent, from the least to the most over the loads.
URGENT_DEADLINES = (22.0, 30.0)  # Figure 6: urgency; urgent are jobs of a level above 8
DEADLINES_BY_DEADLINE = (13.0, 25.0)  # Figure 6: deadline
JCT_BY_BANDWIDTH, BANDWIDTH_BY_BANDWIDTH = (5.0, 15.0), (20.0, 35.0)  # Figure 7
OVERLOAD_BY_MIGRATION, BANDWIDTH_BY_MIGRATION = (36.0, 60.0), (10.0, 14.0)  # Figure 8: the cut; the increase
ACCURACY_BY_MIGRATION, JCT_BY_MIGRATION = (8.0, 10.0), (15.0, 24.0)
GUARANTEE_BY_MLF_C, JCT_BY_MLF_C = (17.0, 23.0), (28.0, 42.0)  # Figure 9
