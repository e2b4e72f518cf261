"""The numbers of the SLAQ paper's figures, measured, beside the numbers in its text."""

from __future__ import annotations

from mlsched.instances.quality.table1 import TABLE_1
from mlsched_papers.claim import estimate, exact
from mlsched_papers.report import Number, Table
from mlsched_papers.slaq import paper
from mlsched_papers.slaq.grid import ALL, FAIR, PAIR, SLAQ, Policy
from mlsched_papers.slaq.measured import Measured, SlaqView
from mlsched_papers.slaq.prediction import AHEAD, FOUR, REDUCTIONS, shares_of_time

#: Metric -> column.
COLUMNS = {
    "average_loss": "average loss",
    "summed_loss": "summed loss",
    "time_to_90_s": "to 90 % [s]",
    "time_to_95_s": "to 95 % [s]",
    "completion_s": "to the end [s]",
    "loss_seconds": "loss x time [s]",
    "makespan_s": "makespan [s]",
    "active_jobs": "active jobs",
}
CUTS = {name: title.removesuffix(" [s]") for name, title in COLUMNS.items() if name != "active_jobs"}
PRINTED = {
    (SLAQ, "average_loss"): paper.AVERAGE_LOSS,
    (SLAQ, "time_to_90_s"): paper.SLAQ_90,
    (SLAQ, "time_to_95_s"): paper.SLAQ_95,
    (FAIR, "time_to_90_s"): paper.FAIR_90,
    (FAIR, "time_to_95_s"): paper.FAIR_95,
}
PRINTED_CUTS = {"average_loss": paper.AVERAGE_LOSS_CUT, "time_to_90_s": paper.CUT_90, "time_to_95_s": paper.CUT_95}
PRINTED_SHARES = {"high": paper.HIGH_SHARE, "medium": 100 - paper.HIGH_SHARE - paper.LOW_SHARE, "low": paper.LOW_SHARE}


def tables(m: Measured) -> list[Table]:
    """Return one table per figure, in the paper's order; Figure 7 as cuts, then as numbers by interpretation."""
    return [
        _figure_1(),
        _figure_6(m),
        _cuts(m),
        _arithmetic(m),
        *(_absolute(m, v) for v in m.core),
        _figure_8(m),
        _figure_9(m),
        _figure_10a(m),
        _figure_10c(m),
    ]


def _figure_1() -> Table:
    rows = []
    for name in FOUR:
        shares = zip(REDUCTIONS, shares_of_time(name), strict=True)
        numbers = [Number(exact(s), paper.SVM_95 if (name, r) == ("SVM", 95) else None) for r, s in shares]
        rows.append((name, tuple(numbers)))
    return Table(
        "Figure 1",
        "time to a loss reduction [% of the time to convergence]",
        ("job", *(f"{r} %" for r in REDUCTIONS)),
        tuple(rows),
        "Of our stand-in curves.",
    )


def _figure_6(m: Measured) -> Table:
    rows = tuple(
        (label, tuple(Number(estimate(result["all", ahead])) for ahead in AHEAD))
        for label, result in (("weighted fit", m.errors.fit), ("strawman", m.errors.strawman))
    )
    note = f"The paper's text: {paper.FIT_ERROR} % for the weighted fit, up to ten ahead."
    return Table("Figure 6", "mean prediction error [%] by iterations ahead", ("method", *map(str, AHEAD)), rows, note)


def _cuts(m: Measured) -> Table:
    rows = tuple(
        (v.name, tuple(Number(estimate(v.cut_of_fair(name)), PRINTED_CUTS.get(name)) for name in CUTS)) for v in m.core
    )
    note = (
        f"Negative: SLAQ is worse. Read literally, the paper's {paper.AVERAGE_LOSS_CUT:g} % cannot be: SLAQ's "
        f"{paper.AVERAGE_LOSS} would be so much below {paper.AVERAGE_LOSS} / (1 - {paper.AVERAGE_LOSS_CUT / 100:g}) = "
        f"{paper.IMPLIED_FAIR_LOSS:.2f}, but a normalised loss starts at 1 and falls."
    )
    return Table("Figure 7", "SLAQ below fair [%], the same workloads", ("interpretation", *CUTS.values()), rows, note)


def _arithmetic(m: Measured) -> Table:
    """Return the same comparison by the other percentages of two averages."""
    rows = []
    for v in m.core:
        threshold = v.cut_of_fair("time_to_90_s")
        numbers = (
            Number(estimate(v.fair_above("average_loss")), paper.AVERAGE_LOSS_CUT),
            Number(estimate(v.fair_above_of_means("average_loss")), paper.AVERAGE_LOSS_CUT),
            Number(estimate(v.cut_of_means("time_to_90_s")), paper.CUT_90),
            Number(estimate(v.cut_of_means("time_to_95_s")), paper.CUT_95),
            Number(exact(threshold.std(ddof=1)) if len(threshold) > 1 else None),
        )
        rows.append((v.name, numbers))
    header = (
        "interpretation",
        "fair's average loss above SLAQ's",
        "of means",
        "SLAQ below fair to 90 %, of means",
        "to 95 %, of means",
        "SD of one workload's cut to 90 %",
    )
    note = (
        f"Read as fair / SLAQ - 1, {paper.AVERAGE_LOSS_CUT:g} % makes fair's average loss "
        f"{paper.IMPLIED_FAIR_LOSS_ABOVE:.2f}, which can be. The paper's numbers are of one workload: the last column "
        "is how far one lies from the mean of ours."
    )
    title = "what SLAQ gains over fair, by other arithmetic [%]"
    return Table("Figure 7, other arithmetic", title, header, tuple(rows), note)


def _absolute(m: Measured, view: SlaqView) -> Table:
    policies: tuple[Policy, ...] = ALL if view.interpretation in m.grid.interpretations else PAIR
    rows = tuple(
        (p.label, tuple(Number(view.estimate(p, name), PRINTED.get((p, name))) for name in (*COLUMNS, "cpu_ms")))
        for p in policies
    )
    header = ("policy", *COLUMNS.values(), "CPU per decision [ms]")
    return Table("Figure 7", f"averages over jobs and time, {view.name}", header, rows)


def _figure_8(m: Measured) -> Table:
    rows = tuple(
        (v.name, tuple(Number(v.estimate(SLAQ, f"{g}_share"), p) for g, p in PRINTED_SHARES.items())) for v in m.core
    )
    header = ("interpretation", "25 % high loss", "25 % medium", "50 % low")
    note = "The paper's medium share is what its text leaves of 100 %. In epochs with at least four jobs."
    return Table("Figure 8", "cores by loss of the jobs under SLAQ [%]", header, rows, note)


def _figure_9(m: Measured) -> Table:
    rows = []
    for v in m.sweeps:
        for arrival in m.grid.arrivals:
            printed = paper.FIGURE_9.get(arrival, (None, None))
            times = [Number(v.estimate(p, f"time_to_{level}_s", arrival)) for level in (90, 95) for p in PAIR]
            cuts = [
                Number(estimate(v.cut_of_fair(f"time_to_{level}_s", arrival)), printed[i])
                for i, level in enumerate((90, 95))
            ]
            rows.append((f"{v.name}: every {arrival:g} s", (*times, *cuts)))
    header = (
        "arrivals",
        *(f"{p.label} to {level} % [s]" for level in (90, 95) for p in PAIR),
        "cut 90 % [%]",
        "cut 95 % [%]",
    )
    return Table("Figure 9", "time to a loss reduction by mean time between arrivals", header, tuple(rows))


def _figure_10a(m: Measured) -> Table:
    ahead = AHEAD[-1]
    rows = [
        (label, tuple(Number(estimate(result[name, ahead])) for result in (m.errors.fit, m.errors.strawman)))
        for label, name in ((*((row.acronym, row.acronym) for row in TABLE_1), ("all of Table 1", "all")))
    ]
    rows += [
        (f"recorded: {kind}", tuple(Number(estimate(result.overall(method))) for method in ("fit", "strawman")))
        for kind, result in m.recorded.items()
    ]
    note = (
        f"The paper's text: below {paper.WORST_FIT_ERROR:g} % for every algorithm. Of our stand-in curves, which are "
        "of the fitted families; recorded: deep networks, means over all predictions, intervals over workloads."
    )
    header = ("job", "weighted fit", "strawman")
    return Table("Figure 10(a)", "prediction error ten iterations ahead [%]", header, tuple(rows), note)


def _figure_10c(m: Measured) -> Table:
    rows = tuple((f"{jobs} jobs, {4 * jobs} cores", (Number(result),)) for jobs, result in m.seconds.items())
    note = "The paper's text: hundreds of ms to a few seconds. CPU time; fits, tables of up to 64 cores, Algorithm 1."
    return Table("Figure 10(c)", "one scheduling decision [s]", ("size", "seconds"), rows, note)
