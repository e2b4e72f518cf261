"""The printed numbers of the Chic paper (Gong, Li, Liang and Zhan, IWQoS 2019); its figures are images."""

from __future__ import annotations

#: Section 6.2.1, Fig. 4(a): least cut of Optimus' average completion time (ACT) over all arrival rates, percent.
CHIC_CUT, PAIR_CUT = 12.65, 10.08
#: The same in seconds, for Chic, in all cases: "more than".
CHIC_CUT_S = 400.0
#: Fig. 5(a): Chic's runtime for 30 jobs over Chic-Pair's.
RUNTIME_RATIO = 3.00
#: Section 4.2: most ms of a time step (one action) on a 3.1 GHz Core i5.
STEP_MS = 0.78
#: Section 6.2.3, Fig. 7(b): Chic-Pair's ACT with I = 3 less that with I = 4 at 2.7 per hour, s.
WINDOW_GAIN_S = 71.28
#: Section 6.2.1, Fig. 4(c): most percent by which Chic trained once at 1.8/h is behind, for sparse arrivals.
ONCE_BEHIND = 4.06
#: Section 6.2.2, Fig. 6(b): iterations after which Chic is better than Optimus.
BETTER_AFTER = 19
