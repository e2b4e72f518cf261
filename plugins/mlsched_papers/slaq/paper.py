"""The printed numbers of the SLAQ paper (Zhang, Stafman, Or and Freedman, SoCC 2017); its figures are images."""

from __future__ import annotations

#: Section 6.2.1, Fig. 7(a): SLAQ's average normalised loss, and by how many percent that is below the fair scheduler's.
AVERAGE_LOSS, AVERAGE_LOSS_CUT = 0.49, 73.0
#: Section 6.2.1, Fig. 7(b): mean seconds to 90 and 95 % loss reduction, and the printed cuts in percent.
FAIR_90, FAIR_95, SLAQ_90, SLAQ_95 = 71.0, 98.0, 39.0, 68.0
CUT_90, CUT_95 = 45.0, 30.0
#: Section 6.2.1, Fig. 8: percent of the cores that jobs of high (first quarter) and low loss (half of the jobs) get.
HIGH_SHARE, LOW_SHARE = 60.0, 22.0
#: Section 6.2.2, Fig. 9: mean seconds between arrivals -> percent by which SLAQ is faster to 90 and 95 %.
FIGURE_9 = {10.0: (23.0, 20.0), 4.0: (44.0, 30.0)}
#: Section 4.2.2, Fig. 6(b): mean error of the weighted fit up to ten iterations ahead, percent.
FIT_ERROR = 3.5
#: Section 6.3, Fig. 10(a): upper limit, percent, of every algorithm's error ten iterations ahead.
WORST_FIT_ERROR = 5.0
#: Section 2.1, Fig. 1: percent of the SVM's time to convergence in which it reduces its loss by 95 %.
SVM_95 = 20.0
#: Section 6.4, Fig. 10(c): jobs and cores of the largest case.
LARGEST = (4000, 16000)

#: Fair's average loss under which both numbers of Fig. 7(a) are true: if SLAQ's is 73 % below it, as printed, and if it
#: is 73 % above SLAQ's.
IMPLIED_FAIR_LOSS = AVERAGE_LOSS / (1 - AVERAGE_LOSS_CUT / 100)
IMPLIED_FAIR_LOSS_ABOVE = AVERAGE_LOSS * (1 + AVERAGE_LOSS_CUT / 100)
