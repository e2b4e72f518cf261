"""Claims of the SLAQ paper about its schedules (Section 6.2), with their tests."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from mlsched_papers.claim import Bound, Claim, exact
from mlsched_papers.slaq import claims_prediction, paper
from mlsched_papers.slaq.grid import SLAQ
from mlsched_papers.slaq.measured import Measured, SlaqView
from mlsched_papers.statement import ABOVE_0, Piece, Statement, near, stated
from mlsched_papers.view import Values

PAIRED = "mean over workloads of SLAQ's cut against fair, workload by workload"
#: "Much lower": fair's is at least half as much again. The paper uses it for 73 %, which may be a cut of 42 %.
MUCH = Bound(low=100 / 3)

LITERAL, ABOVE, OF_MEANS = "1 - SLAQ / fair", "fair / SLAQ - 1", "of means"


@dataclasses.dataclass(frozen=True)
class Arithmetic:
    """A percentage of two averages: its name, its formula for the loss's 73 %, and its formula for a time's cut."""

    name: str
    loss: Callable[[SlaqView], Values]
    time: Callable[[SlaqView, int], Values]


def _cut(view: SlaqView, level: int) -> Values:
    return view.cut_of_fair(f"time_to_{level}_s")


def _cut_of_means(view: SlaqView, level: int) -> Values:
    return view.cut_of_means(f"time_to_{level}_s")


ARITHMETIC = (
    Arithmetic(LITERAL, lambda v: v.cut_of_fair("average_loss"), _cut),
    Arithmetic(ABOVE, lambda v: v.fair_above("average_loss"), _cut),
    Arithmetic(f"{ABOVE} {OF_MEANS}", lambda v: v.fair_above_of_means("average_loss"), _cut_of_means),
)


def _counted(m: Measured) -> Iterator[SlaqView]:
    """Yield the views under interpretations that count."""
    return (v for v in m.core if v.name not in m.departures)


@stated(
    "average-loss-lower",
    kind="direction",
    text="SLAQ's average loss of the active jobs is much lower than fair's",
    where="Section 6.2.1, Fig. 7(a)",
    tested=f"{PAIRED}: at least a third",
)
def average_loss_lower(m: Measured) -> list[Piece]:
    return [
        Piece(v.name, "average loss below fair's", v.cut_of_fair("average_loss"), MUCH, "%", paper.AVERAGE_LOSS_CUT)
        for v in m.core
    ]


@stated(
    "average-loss-73",
    text="SLAQ's average loss of the active jobs is 73 % lower than fair's",
    where="Abstract, Section 6.2.1",
    tested="1 - SLAQ / fair, or fair / SLAQ - 1, by workload or of the means over workloads: within 5 points of 73 %",
)
def average_loss_73(m: Measured) -> list[Piece]:
    bound, printed = near(paper.AVERAGE_LOSS_CUT), paper.AVERAGE_LOSS_CUT
    return [
        Piece(f"{v.name}, {way.name}", "average loss", way.loss(v), bound, "%", printed)
        for v in _counted(m)
        for way in ARITHMETIC
    ]


@stated(
    "average-loss-0.49",
    text="SLAQ's average loss is 0.49",
    where="Section 6.2.1",
    tested="mean over time of the mean normalised loss of the active jobs, within 0.05",
)
def average_loss_049(m: Measured) -> list[Piece]:
    bound = Bound(paper.AVERAGE_LOSS - 0.05, paper.AVERAGE_LOSS + 0.05)
    return [
        Piece(v.name, "average loss", v.values(SLAQ, "average_loss"), bound, "", paper.AVERAGE_LOSS) for v in m.core
    ]


@stated(
    "average-loss-possible",
    text="0.49 is 73 % lower than fair's average loss",
    where="Section 6.2.1",
    tested="what fair's average loss would be: at most 1, for a normalised loss starts at 1 and falls",
)
def average_loss_possible(m: Measured) -> list[Piece]:
    implied = {LITERAL: paper.IMPLIED_FAIR_LOSS, ABOVE: paper.IMPLIED_FAIR_LOSS_ABOVE}
    what, bound = "fair's average loss that follows from what is printed", Bound(high=1.0)
    return [Piece(f"73 % as {name}", what, exact(value), bound) for name, value in implied.items()]


@stated(
    "time-90-shorter",
    text="SLAQ takes less time to 90 and to 95 % loss reduction",
    where="Section 6.2.1",
    tested=f"{PAIRED}, above 0",
)
def time_shorter(m: Measured) -> list[Piece]:
    return [
        Piece(v.name, f"time to {level} %", _cut(v, level), ABOVE_0, "%", printed)
        for v in m.core
        for level, printed in ((90, paper.CUT_90), (95, paper.CUT_95))
    ]


def _time(m: Measured, level: int, printed: float) -> list[Piece]:
    """Return the cut of the time to a loss reduction of `level` %, workload by workload and of the means."""
    return [
        Piece(name, f"time to {level} %", threshold(v, level), near(printed), "%", printed)
        for v in _counted(m)
        for name, threshold in ((v.name, _cut), (f"{v.name}, {OF_MEANS}", _cut_of_means))
    ]


@stated(
    "time-90",
    text="SLAQ takes 45 % less time to 90 % loss reduction (71 s to 39 s)",
    where="Section 6.2.1, Fig. 7(b)",
    tested=f"{PAIRED}, or cut of the means over workloads: within 5 points of 45 %",
)
def time_90(m: Measured) -> list[Piece]:
    return _time(m, 90, paper.CUT_90)


@stated(
    "time-95",
    text="SLAQ takes 30 % less time to 95 % loss reduction (98 s to 68 s)",
    where="Section 6.2.1, Fig. 7(b)",
    tested=f"{PAIRED}, or cut of the means over workloads: within 5 points of 30 %",
)
def time_95(m: Measured) -> list[Piece]:
    return _time(m, 95, paper.CUT_95)


@stated(
    "both-headlines",
    text="73 % lower average loss and 45 % less time to 90 %, in one setting",
    where="Section 6.2.1",
    tested="both percentages within 5 points, at the same load and by the same arithmetic",
)
def both_headlines(m: Measured) -> list[Piece]:
    result = []
    for v in _counted(m):
        for way in ARITHMETIC:
            loss, time = paper.AVERAGE_LOSS_CUT, paper.CUT_90
            interpretation = f"{v.name}, {way.name}"
            result.append(Piece(interpretation, "average loss", way.loss(v), near(loss), "%", loss))
            result.append(Piece(interpretation, "time to 90 %", way.time(v, 90), near(time), "%", time))
    return result


@stated(
    "high-loss-cores",
    text="the quarter of the jobs with the highest loss takes 60 % of the cores",
    where="Section 6.2.1, Fig. 8",
    tested="mean share under SLAQ, within 5 points",
)
def high_loss_cores(m: Measured) -> list[Piece]:
    what, bound = "cores of the high-loss quarter", near(paper.HIGH_SHARE)
    return [Piece(v.name, what, v.values(SLAQ, "high_share"), bound, "%", paper.HIGH_SHARE) for v in m.core]


@stated(
    "low-loss-cores",
    text="the half of the jobs with the lowest loss gets 22 % of the cores",
    where="Section 6.2.1, Fig. 8",
    tested="mean share under SLAQ, within 5 points",
)
def low_loss_cores(m: Measured) -> list[Piece]:
    what, bound = "cores of the low-loss half", near(paper.LOW_SHARE)
    return [Piece(v.name, what, v.values(SLAQ, "low_share"), bound, "%", paper.LOW_SHARE) for v in m.core]


@stated(
    "cores-follow-loss",
    kind="direction",
    text="SLAQ gives jobs of high loss more, and nearly converged ones less, than fair shares",
    where="Section 6.2.1, Fig. 8",
    tested="shares of cores under SLAQ: above 25 % and below 50 %",
)
def cores_follow_loss(m: Measured) -> list[Piece]:
    more, less = Bound(low=25.0, strict=True), Bound(high=50.0, strict=True)
    return [
        Piece(v.name, f"cores of the {what}", v.values(SLAQ, share), bound, "%", printed)
        for v in m.core
        for what, share, bound, printed in (
            ("high-loss quarter", "high_share", more, paper.HIGH_SHARE),
            ("low-loss half", "low_share", less, paper.LOW_SHARE),
        )
    ]


@stated(
    "contention-helps",
    text="SLAQ's benefit is greater under greater contention",
    where="Section 6.2.2, Fig. 9",
    tested="cut of the time to 90 and 95 % at the most frequent arrivals less that at the rarest: above 0",
)
def contention_helps(m: Measured) -> list[Piece]:
    rare, often = m.grid.arrivals[0], m.grid.arrivals[-1]
    return [
        Piece(
            v.name,
            f"cut of the time to {level} % at {often:g} s less that at {rare:g} s",
            v.cut_of_fair(f"time_to_{level}_s", often) - v.cut_of_fair(f"time_to_{level}_s", rare),
            ABOVE_0,
            "points",
        )
        for v in m.sweeps
        for level in (90, 95)
    ]


@stated(
    "contention-numbers",
    text="SLAQ is 23 % (20 %) faster to 90 % (95 %) at 10 s, 44 % (30 %) at 4 s",
    where="Section 6.2.2, Fig. 9",
    tested=f"{PAIRED}, or cut of the means over workloads: within 5 points",
)
def contention_numbers(m: Measured) -> list[Piece]:
    return [
        Piece(name, f"time to {level} % at {arrival:g} s", threshold(metric, arrival), near(printed), "%", printed)
        for v in m.sweeps
        for name, threshold in ((v.name, v.cut_of_fair), (f"{v.name}, {OF_MEANS}", v.cut_of_means))
        for arrival, cuts in paper.FIGURE_9.items()
        if arrival in m.grid.arrivals
        for level, metric, printed in zip((90, 95), ("time_to_90_s", "time_to_95_s"), cuts, strict=True)
    ]


@stated(
    "contention-consistent",
    text="the benefit at 15 s (45 %) and at 10 s (23 %) agree with Fig. 9's trend",
    where="Sections 6.2.1 and 6.2.2",
    tested="the printed cut at the rarer arrivals is no larger, if both are of jobs of the same cost",
)
def contention_consistent(m: Measured) -> list[Piece]:
    excess = exact(paper.CUT_90 - paper.FIGURE_9[10.0][0])
    return [Piece("jobs of the same cost", "cut at 15 s less that at 10 s", excess, Bound(high=0.0), "points")]


STATEMENTS: tuple[Statement, ...] = (
    average_loss_lower,
    average_loss_73,
    average_loss_049,
    average_loss_possible,
    time_shorter,
    time_90,
    time_95,
    both_headlines,
    cores_follow_loss,
    high_loss_cores,
    low_loss_cores,
    contention_helps,
    contention_numbers,
    contention_consistent,
    *claims_prediction.STATEMENTS,
)


def claims(found: Measured) -> list[Claim]:
    """Return every claim with its evidence."""
    return [statement.judge(found, excluded=found.departures) for statement in STATEMENTS]
