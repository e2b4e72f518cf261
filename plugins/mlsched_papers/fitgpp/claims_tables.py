"""Claims of the FitGpp paper about Tables 1 to 5."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from mlsched_papers.claim import Bound, exact
from mlsched_papers.fitgpp import grid as g
from mlsched_papers.fitgpp import paper
from mlsched_papers.fitgpp.measured import HERE, At, FitGppView, Percentile
from mlsched_papers.fitgpp.tables import SLOWDOWN, SLOWDOWN_METRICS
from mlsched_papers.statement import BELOW_0, Piece, near, stated
from mlsched_papers.view import Values, change, ratio

#: Meaning of a trace's seeds.
REDRAWN = "one trace, whose grace periods are drawn again by every seed"
OTHERS = (g.LRTP, g.RAND)
BE = ("be_p50", "be_p95", "be_p99")
#: The column of a metric in Tables 1 and 5.
COLUMN = {metric: index for index, metric in enumerate(SLOWDOWN_METRICS)}
NAME = dict(zip(SLOWDOWN_METRICS, SLOWDOWN, strict=True))


def _against(view: FitGppView, other: g.Policy, metric: str, printed: paper.Rows, bound: Bound = BELOW_0) -> Piece:
    """Compare FitGpp with another policy, paired by seed."""
    values = change(view.values(g.FITGPP, metric), view.values(other, metric))
    theirs = None
    if metric in COLUMN:
        theirs = 100 * (printed[paper.FITGPP][COLUMN[metric]] / printed[other.label][COLUMN[metric]] - 1)
    return Piece(view.name, f"{NAME[metric]}, FitGpp against {other.label}", values, bound, "%", theirs)


@stated(
    "te-p95-cut",
    text="FitGpp cuts the 95th percentile of TE slowdown by 96.6 % against FIFO",
    where="abstract, Section 4.2",
    tested="within 5 percentage points of 96.6",
)
def te_p95_cut(view: FitGppView) -> list[Piece]:
    threshold = view.cut(g.FITGPP, g.FIFO, "te_p95")
    return [Piece(view.name, "cut of TE 95th", threshold, near(paper.TE_P95_CUT), "%", paper.TE_P95_CUT)]


@stated(
    "te-median",
    text="The median TE slowdown is 1.00 under every preemptive policy",
    where="Table 1",
    tested="1.00 after rounding to two decimals",
)
def te_median(view: FitGppView) -> list[Piece]:
    one = Bound(0.995, 1.005, strict=True)
    return [Piece(view.name, f"TE 50th, {p.label}", view.values(p, "te_p50"), one, "", 1.0) for p in g.PREEMPTIVE]


@stated(
    "fifo-row",
    text="FIFO's slowdown rates are those of Table 1",
    where="Table 1",
    tested="every number within 5 % of the paper's; the calibrations were fitted to this row",
    origin="fitted",
)
def fifo_row(view: FitGppView) -> list[Piece]:
    return [
        Piece(
            view.name,
            f"{NAME[metric]}, FIFO against the paper's {printed:g}",
            100 * (view.values(g.FIFO, metric) / printed - 1),
            near(0.0),
            "%",
        )
        for metric, printed in zip(SLOWDOWN_METRICS, paper.TABLE_1[paper.FIFO], strict=True)
    ]


@stated(
    "be-median-rise",
    text="FitGpp raises the median BE slowdown by only 18.0 % against FIFO",
    where="abstract, Section 4.2",
    tested="within 5 percentage points of 18.0, at the paper's number of jobs, which decides it",
)
def be_median_rise(view: FitGppView) -> list[Piece]:
    return [
        Piece(view.name, "rise of BE 50th", view.be_rise(HERE), near(paper.BE_MEDIAN_RISE), "%", paper.BE_MEDIAN_RISE)
    ]


@stated(
    "be-p95-rise",
    text="FitGpp raises the 95th percentile of BE slowdown by only 23.9 % against FIFO",
    where="abstract, Section 4.2",
    tested="within 5 percentage points of 23.9, at the paper's number of jobs, which decides it",
)
def be_p95_rise(view: FitGppView) -> list[Piece]:
    rise = change(view.values(g.FITGPP, "be_p95"), view.values(g.FIFO, "be_p95"))
    return [Piece(view.name, "rise of BE 95th", rise, near(paper.BE_P95_RISE), "%", paper.BE_P95_RISE)]


@stated(
    "te-best",
    kind="order",
    text="FitGpp's 95th percentile of TE slowdown is the lowest",
    where="Table 1",
    tested="below LRTP's and RAND's, paired by seed",
)
def te_best(view: FitGppView) -> list[Piece]:
    return [_against(view, other, "te_p95", paper.TABLE_1) for other in OTHERS]


@stated(
    "te-near-best",
    kind="order",
    text="FitGpp's 95th percentile of TE slowdown is within 10 % of the best",
    where="Table 1, weaker",
    tested="at most 10 % above LRTP's and RAND's, paired by seed",
)
def te_near_best(view: FitGppView) -> list[Piece]:
    return [_against(view, other, "te_p95", paper.TABLE_1, Bound(high=10.0)) for other in OTHERS]


@stated(
    "interval-median-below",
    text="FitGpp's median re-scheduling interval is below LRTP's and RAND's",
    where="Section 4.2, Table 2",
    tested="below, paired by seed or pooled",
)
def interval_median_below(view: FitGppView) -> list[Piece]:
    pieces = []
    for other in OTHERS:
        less = view.over_intervals(_difference_from(other), g.FITGPP, other)
        printed = paper.TABLE_2[paper.FITGPP][0] - paper.TABLE_2[other.label][0]
        pieces.append(Piece(view.name, f"FitGpp less {other.label}", less, BELOW_0, "min", printed))
    return pieces


@stated(
    "interval-median-half",
    text="FitGpp's median re-scheduling interval is half of LRTP's and RAND's",
    where="Section 4.2, Table 2",
    tested="50 % of theirs, within 10 percentage points",
)
def interval_median_half(view: FitGppView) -> list[Piece]:
    half, printed = near(paper.MEDIAN_INTERVAL_RATIO, 10.0), paper.MEDIAN_INTERVAL_RATIO
    pieces = []
    for other in OTHERS:
        share = view.over_intervals(_share(other, 50), g.FITGPP, other)
        pieces.append(Piece(view.name, f"FitGpp's share of {other.label}'s", share, half, "%", printed))
    return pieces


@stated(
    "interval-p95-lrtp",
    text="The 95th percentile of FitGpp's re-scheduling intervals is 20 % shorter than LRTP's",
    where="Section 4.2, Table 2",
    tested="within 5 percentage points",
)
def interval_p95_lrtp(view: FitGppView) -> list[Piece]:
    return [_shorter_95th(view, g.LRTP, paper.P95_SHORTER_THAN_LRTP)]


@stated(
    "interval-p95-rand",
    text="The 95th percentile of FitGpp's re-scheduling intervals is 33 % shorter than RAND's",
    where="Section 4.2, Table 2",
    tested="within 5 percentage points",
)
def interval_p95_rand(view: FitGppView) -> list[Piece]:
    return [_shorter_95th(view, g.RAND, paper.P95_SHORTER_THAN_RAND)]


def _difference_from(other: g.Policy) -> Callable[[Percentile], Values]:
    """Return FitGpp's median interval less another policy's."""
    return lambda at: at(g.FITGPP, 50) - at(other, 50)


def _share(other: g.Policy, p: int) -> Callable[[Percentile], Values]:
    """Return FitGpp's percentile of intervals in percent of another policy's."""
    return lambda at: 100 * ratio(at(g.FITGPP, p), at(other, p))


def _shorter_95th(view: FitGppView, other: g.Policy, printed: float) -> Piece:
    share = _share(other, 95)
    threshold = view.over_intervals(lambda at: 100 - share(at), g.FITGPP, other)
    return Piece(view.name, f"shorter than {other.label}", threshold, near(printed), "%", printed)


@stated(
    "preempted-ratio",
    text="FitGpp preempts less than 7.0 % of the jobs that LRTP and RAND preempt (P = 1)",
    where="Section 4.2, Table 3",
    tested="below 7.0 % of theirs",
)
def preempted_ratio(view: FitGppView) -> list[Piece]:
    return [_preempted(view, other, Bound(high=paper.PREEMPTED_RATIO, strict=True)) for other in OTHERS]


@stated(
    "preempted-fewer",
    kind="direction",
    text="FitGpp preempts far fewer jobs than LRTP and RAND (P = 1)",
    where="Section 4.2, weaker",
    tested="at most a fifth of theirs",
)
def preempted_fewer(view: FitGppView) -> list[Piece]:
    return [_preempted(view, other, Bound(high=20.0)) for other in OTHERS]


def _preempted(view: FitGppView, other: g.Policy, bound: Bound) -> Piece:
    printed = 100 * paper.TABLE_3[paper.FITGPP][0] / paper.TABLE_3[other.label][0]
    return _share_of(view, other, "preempted", bound, printed)


def _share_of(view: FitGppView, other: g.Policy, metric: str, bound: Bound, printed: float) -> Piece:
    share = 100 * ratio(view.values(g.FITGPP, metric), view.values(other, metric))
    return Piece(view.name, f"FitGpp's share of {other.label}'s", share, bound, "%", printed)


@stated(
    "preempted-unlimited",
    text="With P infinite, FitGpp preempts an order of magnitude fewer jobs than LRTP and RAND",
    where="Section 4.2, Table 4",
    tested="at most a tenth of theirs",
)
def preempted_unlimited(view: FitGppView) -> list[Piece]:
    pieces: list[Piece] = []
    for other in (g.LRTP_FREE, g.RAND_FREE):
        share = 100 * ratio(view.values(g.FITGPP_FREE, "preempted"), view.values(other, "preempted"))
        printed = 100 * sum(paper.TABLE_4[paper.FITGPP]) / sum(paper.TABLE_4[other.label])
        pieces.append(Piece(view.name, f"FitGpp's share of {other.label}'s", share, Bound(high=10.0), "%", printed))
    return pieces


@stated(
    "be-lrtp-rand",
    text="LRTP slows BE jobs less than RAND",
    where="Table 1",
    tested="every BE percentile below, paired by seed",
)
def be_lrtp_rand(view: FitGppView) -> list[Piece]:
    pieces: list[Piece] = []
    for metric in BE:
        printed = paper.TABLE_1[paper.LRTP][COLUMN[metric]] / paper.TABLE_1[paper.RAND][COLUMN[metric]]
        values = change(view.values(g.LRTP, metric), view.values(g.RAND, metric))
        pieces.append(Piece(view.name, f"{NAME[metric]}, LRTP against RAND", values, BELOW_0, "%", 100 * (printed - 1)))
    return pieces


@stated(
    "be-best",
    kind="order",
    text="FitGpp slows BE jobs least of the preemptive policies",
    where="Table 1",
    tested="every BE percentile below LRTP's and RAND's, paired by seed",
)
def be_best(view: FitGppView) -> list[Piece]:
    return [_against(view, other, metric, paper.TABLE_1) for other in OTHERS for metric in BE]


@stated(
    "table-1-p99",
    text="The 99th percentiles of the preemptive policies are those of Table 1",
    where="Table 1",
    tested="TE and BE 99th of each within 5 % of the paper's; both calibrations were fitted to FIFO's row alone",
)
def table_1_p99(view: FitGppView) -> list[Piece]:
    result = []
    for policy in g.PREEMPTIVE:
        for metric in ("te_p99", "be_p99"):
            printed = paper.TABLE_1[policy.label][COLUMN[metric]]
            above = 100 * (view.values(policy, metric) / printed - 1)
            result.append(
                Piece(view.name, f"{NAME[metric]}, {policy.label} against the paper's", above, near(0.0), "%")
            )
    return result


@stated(
    "te-p99-best",
    kind="order",
    text="FitGpp's 99th percentile of TE slowdown is the lowest",
    where="Table 1",
    tested="below LRTP's and RAND's, paired by seed",
)
def te_p99_best(view: FitGppView) -> list[Piece]:
    return [_against(view, other, "te_p99", paper.TABLE_1) for other in OTHERS]


@stated(
    "interval-5-min",
    text="A preempted job is re-scheduled in less than five minutes in most cases",
    where="Section 3.1, Table 2",
    tested="the median re-scheduling interval of every policy, for more than half of the cases is most",
)
def interval_5_min(view: FitGppView) -> list[Piece]:
    below = Bound(high=paper.MOST_INTERVALS_MIN, strict=True)
    return [
        Piece(view.name, f"median, {p.label}", view.values(p, "interval_p50"), below, "min", paper.MOST_INTERVALS_MIN)
        for p in g.PREEMPTIVE
    ]


@stated(
    "fallback-never",
    text="FitGpp always finds a job that meets its condition, so it never preempts a random job",
    where="Section 3.2",
    tested="TE jobs that were served by random victims in all of FitGpp's runs, counted: none",
)
def fallback_never(view: FitGppView) -> list[Piece]:
    grid = view.grid
    sweeps = [
        *((g.fitgpp(s), HERE) for s in grid.weights),
        *((g.fitgpp(limit=limit), HERE) for limit in grid.limits),
        *((policy, At(grace_scale=scale)) for policy in (g.FITGPP, g.FITGPP_8) for scale in grid.scales),
    ]
    where = {
        "Tables 1 to 4": [(g.FITGPP, HERE)],
        "Figures 4, 5 and 7": [setting for setting in dict.fromkeys(sweeps) if setting != (g.FITGPP, HERE)],
        "Figure 6": [(g.FITGPP, At(te_share=share)) for share in grid.shares if share != g.TE_SHARE],
    }
    return [_at_random(view, name, settings) for name, settings in where.items() if settings]


def _at_random(view: FitGppView, where: str, settings: Sequence[tuple[g.Policy, At]]) -> Piece:
    """Return the share of TE jobs with random victims, among those that needed any, in the runs of some settings."""
    result, of = (
        np.concatenate([view.values(policy, metric, at) for policy, at in settings])
        for metric in ("random_victims", "victims")
    )
    if not result.size or np.isnan(result).any():
        return Piece(view.name, f"TE jobs in {where}", None, Bound(high=0.0))
    return Piece(view.name, f"TE jobs in {where}, of {of.sum():.0f}", exact(result.sum()), Bound(high=0.0))


@stated(
    "trace-best",
    kind="order",
    text="On the trace FitGpp lowers TE 95th and 99th and every BE percentile against LRTP and RAND",
    where="Section 4.4, Table 5",
    tested="below, paired by seed (public stand-in trace)",
)
def trace_best(view: FitGppView) -> list[Piece]:
    metrics = ("te_p95", "te_p99", *BE)
    return [
        dataclasses.replace(_against(view, other, metric, paper.TABLE_5), repeats=REDRAWN)
        for other in OTHERS
        for metric in metrics
    ]


@stated(
    "trace-be-cut",
    text="On the trace FitGpp lowers the median BE slowdown by 29.6 % and its 95th percentile by 16.0 % against FIFO",
    where="Section 4.4, Table 5",
    tested="within 5 percentage points (public stand-in trace)",
)
def trace_be_cut(view: FitGppView) -> list[Piece]:
    printed = (("be_p50", paper.TRACE_BE_MEDIAN_CUT), ("be_p95", paper.TRACE_BE_P95_CUT))
    return [
        Piece(
            view.name,
            f"cut of {NAME[metric]}",
            view.cut(g.FITGPP, g.FIFO, metric),
            near(threshold),
            "%",
            threshold,
            repeats=REDRAWN,
        )
        for metric, threshold in printed
    ]


#: About re-scheduling intervals: also judged with all workloads' intervals together.
INTERVALS = (interval_median_below, interval_median_half, interval_p95_lrtp, interval_p95_rand)
STATEMENTS = (
    te_p95_cut,
    te_median,
    fifo_row,
    be_median_rise,
    be_p95_rise,
    te_best,
    te_near_best,
    interval_median_below,
    interval_median_half,
    interval_p95_lrtp,
    interval_p95_rand,
    preempted_ratio,
    preempted_fewer,
    preempted_unlimited,
    be_lrtp_rand,
    be_best,
    table_1_p99,
    te_p99_best,
    interval_5_min,
    fallback_never,
)
#: Claims without FitGpp, or with both fallbacks, are independent of the fallback.
WITHOUT_FITGPP = (fifo_row, be_lrtp_rand, fallback_never)
TRACE_STATEMENTS = (trace_best, trace_be_cut)
