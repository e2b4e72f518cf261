"""The printed numbers of the FitGpp paper (Yabuuchi, Taniwaki and Omura, 2019)."""

from __future__ import annotations

from collections.abc import Mapping

FIFO, LRTP, RAND, FITGPP = "FIFO", "LRTP", "RAND", "FitGpp (s = 4.0)"

Rows = Mapping[str, tuple[float, ...]]

#: Slowdown rates, synthetic workloads: TE 50th, 95th, 99th; BE 50th, 95th, 99th.
TABLE_1: Rows = {
    FIFO: (9.38, 33.4, 48.5, 2.78, 4.89, 8.21),
    LRTP: (1.00, 1.17, 1.58, 3.78, 7.25, 12.5),
    RAND: (1.00, 1.17, 1.58, 3.87, 7.49, 12.9),
    FITGPP: (1.00, 1.15, 1.54, 3.28, 6.06, 10.3),
}
#: Re-scheduling intervals, minutes: 50th, 75th, 95th, 99th.
TABLE_2: Rows = {LRTP: (4.0, 4.0, 5.0, 7.0), RAND: (4.0, 4.0, 6.0, 7.0), FITGPP: (2.0, 2.0, 4.0, 6.0)}
#: Share of preempted jobs, percent, P = 1.
TABLE_3: Rows = {LRTP: (9.6,), RAND: (9.7,), FITGPP: (0.63,)}
#: Share of jobs preempted once, twice, three times or more, percent, P infinite.
TABLE_4: Rows = {LRTP: (6.3, 1.2, 0.34), RAND: (8.8, 0.48, 0.019), FITGPP: (0.52, 0.038, 0.0098)}
#: Slowdown rates, the authors' private cluster trace; columns as in Table 1.
TABLE_5: Rows = {
    FIFO: (235, 2080, 3650, 16.2, 443, 1180),
    LRTP: (1.90, 9.06, 14.5, 23.5, 517, 1240),
    RAND: (1.98, 9.18, 15.6, 23.9, 559, 1350),
    FITGPP: (1.98, 9.00, 14.2, 11.4, 372, 1050),
}

#: Textual statements, percent. Abstract and Section 4.2, FitGpp against FIFO:
TE_P95_CUT, BE_MEDIAN_RISE, BE_P95_RISE = 96.6, 18.0, 23.9
#: Section 4.2: FitGpp's re-scheduling intervals against LRTP's and RAND's.
MEDIAN_INTERVAL_RATIO, P95_SHORTER_THAN_LRTP, P95_SHORTER_THAN_RAND = 50.0, 20.0, 33.0
#: Section 4.2: upper limits of FitGpp's preempted jobs relative to LRTP's and RAND's.
PREEMPTED_RATIO = 7.0
#: Upper limit, minutes, of intervals between preemption and re-scheduling "in most cases".
MOST_INTERVALS_MIN = 5.0
#: Section 4.4, the trace: BE slowdown of FitGpp below FIFO's.
TRACE_BE_MEDIAN_CUT, TRACE_BE_P95_CUT = 29.6, 16.0
