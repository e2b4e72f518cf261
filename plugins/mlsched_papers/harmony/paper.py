"""The printed numbers of the Harmony paper (Bao, Peng and Wu, INFOCOM 2019); its figures are images."""

from __future__ import annotations

#: Section II-B, Fig. 1: mean slowdown of six jobs packed two per server, percent; ResNeXt's is "nearly 2x".
MEAN_SLOWDOWN, RESNEXT_FACTOR = 33.0, 2.0
#: Abstract and Section VI-C, Fig. 8: Harmony's cut of the average job completion time against every baseline, percent.
CUT = 25.0
#: Section VI-C: the same on 30 machines.
RACK_CUT = 23.0
#: Table II: average completion time with all training techniques, intervals.
COMPLETION = 4.3
#: Table II: omitted technique -> average completion time, intervals, and by how many percent longer.
TABLE_II = {
    "without value network": (6.4, 49.3),
    "without exploration": (7.2, 68.2),
    "without experience replay": (5.9, 37.7),
}
#: Section VI-C, Fig. 9(a): relative error of the reward model, percent; samples, and their share for testing.
REWARD_ERROR, SAMPLES, TESTED = 9.8, 13177, 0.1
#: Section V: the relative error at which training may end, percent.
ACCEPTABLE_ERROR = 10.0
