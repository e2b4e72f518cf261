"""What the SLAQ paper claims, and how each claim is tested."""

from __future__ import annotations

from mlsched.benchmark.experiments.claim import Bound, Claim, exact
from mlsched.benchmark.experiments.slaq import paper
from mlsched.benchmark.experiments.slaq.grid import EPOCH, SLAQ
from mlsched.benchmark.experiments.slaq.measured import Measured
from mlsched.benchmark.experiments.slaq.prediction import AHEAD, FOUR, REDUCTIONS, shares_of_time
from mlsched.benchmark.experiments.statement import ABOVE_0, Piece, Statement, near, stated
from mlsched.instances.quality.table1 import TABLE_1

PRINTED, STAND_IN = "the paper's own numbers", "stand-in curves"
PAIRED = "mean over workloads of SLAQ's cut against fair, workload by workload"


@stated(
    "average-loss-lower",
    text="SLAQ's average loss of the active jobs is much lower than fair's",
    where="Section 6.2.1, Fig. 7(a)",
    tested=f"{PAIRED}, above 0",
)
def average_loss_lower(m: Measured) -> list[Piece]:
    return [
        Piece(v.name, "average loss below fair's", v.cut_of_fair("average_loss"), ABOVE_0, "%", paper.AVERAGE_LOSS_CUT)
        for v in m.core
    ]


@stated(
    "average-loss-73",
    text="it is 73 % lower",
    where="Abstract, Section 6.2.1",
    tested=f"{PAIRED}, within 5 points of 73 %",
)
def average_loss_73(m: Measured) -> list[Piece]:
    return [
        Piece(
            v.name,
            "average loss below fair's",
            v.cut_of_fair("average_loss"),
            near(paper.AVERAGE_LOSS_CUT),
            "%",
            paper.AVERAGE_LOSS_CUT,
        )
        for v in m.core
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
    tested="0.49 / (1 - 0.73) is an average of normalised losses, which start at 1: at most 1",
)
def average_loss_possible(m: Measured) -> list[Piece]:
    implied = exact(paper.IMPLIED_FAIR_LOSS)
    return [Piece(PRINTED, "fair's average loss that follows", implied, Bound(high=1.0))]


@stated(
    "time-90",
    text="SLAQ takes 45 % less time to 90 % loss reduction (71 s to 39 s)",
    where="Section 6.2.1, Fig. 7(b)",
    tested=f"{PAIRED}, within 5 points of 45 %",
)
def time_90(m: Measured) -> list[Piece]:
    return [
        Piece(v.name, "time to 90 %", v.cut_of_fair("time_to_90_s"), near(paper.CUT_90), "%", paper.CUT_90)
        for v in m.core
    ]


@stated(
    "time-90-shorter",
    text="SLAQ takes less time to 90 and to 95 % loss reduction",
    where="Section 6.2.1",
    tested=f"{PAIRED}, above 0",
)
def time_shorter(m: Measured) -> list[Piece]:
    return [
        Piece(v.name, f"time to {level} %", v.cut_of_fair(f"time_to_{level}_s"), ABOVE_0, "%", printed)
        for v in m.core
        for level, printed in ((90, paper.CUT_90), (95, paper.CUT_95))
    ]


@stated(
    "time-95",
    text="SLAQ takes 30 % less time to 95 % loss reduction (98 s to 68 s)",
    where="Section 6.2.1, Fig. 7(b)",
    tested=f"{PAIRED}, within 5 points of 30 %",
)
def time_95(m: Measured) -> list[Piece]:
    return [
        Piece(v.name, "time to 95 %", v.cut_of_fair("time_to_95_s"), near(paper.CUT_95), "%", paper.CUT_95)
        for v in m.core
    ]


@stated(
    "both-headlines",
    text="73 % lower average loss and 45 % less time to 90 %, in one setting",
    where="Section 6.2.1",
    tested="both cuts within 5 points in the same reading",
)
def both_headlines(m: Measured) -> list[Piece]:
    return average_loss_73.collect(m) + time_90.collect(m)


@stated(
    "high-loss-cores",
    text="the quarter of the jobs with the highest loss takes 60 % of the cores",
    where="Section 6.2.1, Fig. 8",
    tested="mean share under SLAQ, within 5 points",
)
def high_loss_cores(m: Measured) -> list[Piece]:
    return [
        Piece(
            v.name,
            "cores of the high-loss quarter",
            v.values(SLAQ, "high_share"),
            near(paper.HIGH_SHARE),
            "%",
            paper.HIGH_SHARE,
        )
        for v in m.core
    ]


@stated(
    "low-loss-cores",
    text="the half of the jobs with the lowest loss gets 22 % of the cores",
    where="Section 6.2.1, Fig. 8",
    tested="mean share under SLAQ, within 5 points",
)
def low_loss_cores(m: Measured) -> list[Piece]:
    return [
        Piece(
            v.name,
            "cores of the low-loss half",
            v.values(SLAQ, "low_share"),
            near(paper.LOW_SHARE),
            "%",
            paper.LOW_SHARE,
        )
        for v in m.core
    ]


@stated(
    "cores-follow-loss",
    text="SLAQ gives jobs of high loss more, and nearly converged ones less, than fair shares",
    where="Section 6.2.1, Fig. 8",
    tested="shares of cores under SLAQ: above 25 % and below 50 %",
)
def cores_follow_loss(m: Measured) -> list[Piece]:
    found: list[Piece] = []
    for v in m.core:
        found.append(
            Piece(
                v.name,
                "cores of the high-loss quarter",
                v.values(SLAQ, "high_share"),
                Bound(low=25.0, strict=True),
                "%",
                paper.HIGH_SHARE,
            )
        )
        found.append(
            Piece(
                v.name,
                "cores of the low-loss half",
                v.values(SLAQ, "low_share"),
                Bound(high=50.0, strict=True),
                "%",
                paper.LOW_SHARE,
            )
        )
    return found


@stated(
    "contention-helps",
    text="SLAQ's benefit is greater under greater contention",
    where="Section 6.2.2, Fig. 9",
    tested="cut of the time to 90 and 95 % at the most frequent arrivals less that at the rarest",
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
    tested=f"{PAIRED}, within 5 points",
)
def contention_numbers(m: Measured) -> list[Piece]:
    return [
        Piece(
            v.name,
            f"time to {level} % at {arrival:g} s",
            v.cut_of_fair(f"time_to_{level}_s", arrival),
            near(printed),
            "%",
            printed,
        )
        for v in m.sweeps
        for arrival, cuts in paper.FIGURE_9.items()
        if arrival in m.grid.arrivals
        for level, printed in zip((90, 95), cuts, strict=True)
    ]


@stated(
    "contention-consistent",
    text="the benefit at 15 s (45 %) and at 10 s (23 %) agree with Fig. 9's trend",
    where="Sections 6.2.1 and 6.2.2",
    tested="the printed cut at the rarer arrivals is no larger, if both are of one workload",
)
def contention_consistent(m: Measured) -> list[Piece]:
    excess = exact(paper.CUT_90 - paper.FIGURE_9[10.0][0])
    return [Piece(PRINTED, "cut at 15 s less that at 10 s", excess, Bound(high=0.0), "points")]


@stated(
    "prediction-5",
    text="prediction errors ten iterations ahead are below 5 % for all algorithms",
    where="Section 6.3, Fig. 10(a)",
    tested="mean relative error of the weighted fit, by algorithm",
)
def prediction_5(m: Measured) -> list[Piece]:
    bound = Bound(high=paper.WORST_FIT_ERROR, strict=True)
    return [Piece(STAND_IN, row.acronym, m.errors.fit[row.acronym, AHEAD[-1]], bound, "%") for row in TABLE_1]


@stated(
    "prediction-3.5",
    text="up to ten iterations ahead, the weighted fit's mean error is 3.5 %",
    where="Section 4.2.2, Fig. 6(b)",
    tested="mean relative error over all algorithms, at most 3.5 %",
)
def prediction_35(m: Measured) -> list[Piece]:
    return [
        Piece(STAND_IN, f"{ahead} ahead", m.errors.fit["all", ahead], Bound(high=paper.FIT_ERROR), "%")
        for ahead in AHEAD
    ]


@stated(
    "strawman-degrades",
    text="the strawman is good for one iteration and degrades quickly with their number",
    where="Section 4.2.2, Fig. 6(a)",
    tested="its error ten ahead is more than ten times that one ahead, and above the weighted fit's",
)
def strawman_degrades(m: Measured) -> list[Piece]:
    far, one, fit = m.errors.strawman["all", 10], m.errors.strawman["all", 1], m.errors.fit["all", 10]
    times = [a / b for a, b in zip(far, one, strict=True)]
    excess = [a - b for a, b in zip(far, fit, strict=True)]
    return [
        Piece(STAND_IN, "error ten ahead over that one ahead", times, Bound(low=10.0, strict=True)),
        Piece(STAND_IN, "error ten ahead above the fit's", excess, ABOVE_0, "points"),
    ]


@stated(
    "cpu-time-constant",
    text="an iteration's CPU time does not depend on the number of workers",
    where="Section 6.3, Fig. 10(b)",
    tested="nothing: the simulated world assumes it (c S core-seconds an iteration)",
)
def cpu_time_constant(m: Measured) -> list[Piece]:
    return [Piece("assumed", "CPU time of an iteration over workers", None, Bound())]


@stated(
    "scheduling-time",
    text="SLAQ schedules 4,000 jobs on 16,000 cores within hundreds of ms to a few seconds",
    where="Section 6.4, Fig. 10(c)",
    tested=f"CPU s of fits, tables, Algorithm 1: at most {EPOCH}",
)
def scheduling_time(m: Measured) -> list[Piece]:
    seconds = m.seconds.get(paper.LARGEST[0])
    return [Piece("this machine", "one decision, at most 64 cores a job", seconds, Bound(high=EPOCH), "s")]


@stated(
    "svm-95",
    text="the SVM reduces its loss by 95 % within 20 % of its time",
    where="Section 2.1, Fig. 1",
    tested="share of the iterations to convergence (1/10000), within 5 points",
)
def svm_95(m: Measured) -> list[Piece]:
    share = exact(shares_of_time(FOUR[1])[REDUCTIONS.index(95)])
    return [Piece(STAND_IN, "share of the time to 95 %", share, near(paper.SVM_95), "%", paper.SVM_95)]


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
    prediction_5,
    prediction_35,
    strawman_degrades,
    cpu_time_constant,
    scheduling_time,
    svm_95,
)


def claims(found: Measured) -> list[Claim]:
    """Every claim with its evidence."""
    return [statement.judge(found) for statement in STATEMENTS]
