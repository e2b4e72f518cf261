"""The numbers of the Chic paper's figures, measured, beside the numbers in its text."""

from __future__ import annotations

from mlsched_papers.chic import paper
from mlsched_papers.chic.grid import (
    CHIC,
    CHIC_ONCE,
    CHIC_PAIR,
    CHIC_PAIR_ONCE,
    EPISODES,
    INTERVALS,
    OPTIMUS,
    OPTIMUS_600,
    WINDOWS,
    Policy,
    by_episode,
    everyone,
    figure_7a,
    once,
    optimus,
    trained,
    windows,
)
from mlsched_papers.chic.measured import At, ChicView, Measured
from mlsched_papers.claim import estimate
from mlsched_papers.report import Number, Table
from mlsched_papers.view import change

#: Metric -> column.
COLUMNS = {
    "act": "ACT [s]",
    "shortest": "shortest [s]",
    "median": "median [s]",
    "longest": "longest [s]",
    "wait": "wait [s]",
    "makespan_h": "makespan [h]",
    "gpu": "GPUs held [%]",
    "cpu": "cores held [%]",
    "lost": "iterations lost [%]",
    "decisions": "decisions",
    "decision_ms": "CPU per decision [ms]",
    "step_ms": "CPU an action [ms]",
}


def tables(m: Measured) -> list[Table]:
    """Return Fig. 4(a) in seconds and as cuts of two kinds of Optimus per interpretation; then Figs. 4, 5 and 7."""
    result = []
    for v in m.views:
        result += [_act(m, v), _cuts(m, v, OPTIMUS_600), _cuts(m, v, OPTIMUS)]
    return [*result, _figure_4b(m), _figure_4c(m), *(_figure_5(m, v) for v in m.views), _figure_7a(m), _figure_7b(m)]


def _policies(m: Measured, view: ChicView) -> list[Policy]:
    """Return the policies of an interpretation: those independent of Optimus' stopping rule ran once for all."""
    return [p for p in everyone() if view.has(p, At(m.grid.rates[0]))]


def _act(m: Measured, view: ChicView) -> Table:
    rows = tuple(
        (p.label, tuple(Number(view.estimate(p, "act", At(rate))) for rate in m.grid.rates)) for p in _policies(m, view)
    )
    header = ("policy", *(f"{rate:g}/h" for rate in m.grid.rates))
    return Table("Figure 4(a)", f"average completion time [s], {view.name}", header, rows)


def _cuts(m: Measured, view: ChicView, against: Policy) -> Table:
    printed = {CHIC: paper.CHIC_CUT, CHIC_PAIR: paper.PAIR_CUT} if against == OPTIMUS_600 else {}
    rows = tuple(
        (
            p.label,
            tuple(
                Number(estimate(view.cut(p, against, "act", At(rate))), printed.get(p), lower_bound=True)
                for rate in m.grid.rates
            ),
        )
        for p in _policies(m, view)
        if p != against
    )
    header = ("policy", *(f"{rate:g}/h" for rate in m.grid.rates))
    note = f"The same sequences; negative: worse than {against.label}."
    if printed:
        note += " The paper's numbers are the least over the rates; its figures do not include an Optimus at events."
    return Table("Figure 4(a)", f"ACT below that of {against.label} [%], {view.name}", header, rows, note)


def _figure_4b(m: Measured) -> Table:
    view = m.views[0]
    rows = tuple((p.label, tuple(Number(view.estimate(p, name)) for name in COLUMNS)) for p in _policies(m, view))
    return Table(
        "Figure 4(b)",
        f"completion times and what they come from, {m.grid.at:g}/h, {view.name}",
        ("policy", *COLUMNS.values()),
        rows,
    )


def _figure_4c(m: Measured) -> Table:
    view = m.views[0]
    rows = tuple(
        (
            alone.label,
            tuple(
                Number(estimate(change(view.values(alone, "act", At(rate)), view.values(anew, "act", At(rate)))))
                for rate in m.grid.rates
            ),
        )
        for anew, alone in ((CHIC, CHIC_ONCE), (CHIC_PAIR, CHIC_PAIR_ONCE))
        if alone in once()
    )
    header = ("policy", *(f"{rate:g}/h" for rate in m.grid.rates))
    note = (
        "The same sequences; the ACT of either stands in Figure 4(a). The paper, for Chic: at most 4.06 where arrivals "
    )
    note += "are not dense. Negative: better than the one that was trained for the rate."
    return Table(
        "Figure 4(c)",
        f"ACT of a policy trained once above that of itself trained anew [%], {view.name}",
        header,
        rows,
        note,
    )


def _figure_5(m: Measured, view: ChicView) -> Table:
    policies = (*(optimus(interval) for interval in INTERVALS), OPTIMUS, *trained())
    rows = tuple((p.label, (Number(view.estimate(p, "runtime_s")), Number(view.estimate(p, "act")))) for p in policies)
    note = "Runtime: CPU time of the whole run, the world's part included."
    return Table(
        "Figure 5",
        f"runtime and ACT, {m.grid.jobs} jobs at {m.grid.at:g}/h, {view.name}",
        ("policy", "runtime [s]", "ACT [s]"),
        rows,
        note,
    )


def _figure_7a(m: Measured) -> Table:
    view, rate, lengths = m.views[0], m.grid.at, m.grid.lengths
    rows = tuple(
        (
            policy.label,
            tuple(
                Number(None if p is None else view.estimate(p, "act", At(rate, jobs)))
                for jobs in lengths.values()
                for p in by_episode(policy)
            ),
        )
        for policy in figure_7a()
    )
    header = ("policy", *(f"W = {w}, {n} jobs" for n in lengths for w in EPISODES))
    note = (
        "W: jobs per episode in training; then the jobs of a test sequence. Who is not trained stands under the first "
    )
    note += "W. Chic-plus is trained once, on mixed loads. The paper: W = 60 is slightly better."
    return Table(
        "Figure 7(a)", f"ACT by the jobs of a training episode [s], {rate:g}/h, {view.name}", header, rows, note
    )


def _figure_7b(m: Measured) -> Table:
    view, rates = m.views[0], (m.grid.rates[0], m.grid.rates[-1])
    by_policy = list(zip(*(windows(w) for w in WINDOWS), strict=True))
    rows = tuple(
        (
            each[0].label.partition(",")[0],
            tuple(Number(view.estimate(p, "act", At(rate))) for rate in rates for p in each),
        )
        for each in by_policy
    )
    header = ("policy", *(f"I = {w}, {rate:g}/h" for rate in rates for w in WINDOWS))
    note = f"The paper: Chic-Pair with I = 4 is {paper.WINDOW_GAIN_S:g} s below I = 3 at 2.7/h, and so only Chic-Pair "
    note += "was trained for several I, here anew for each rate."
    return Table("Figure 7(b)", f"ACT by the number of jobs a policy sees [s], {view.name}", header, rows, note)
