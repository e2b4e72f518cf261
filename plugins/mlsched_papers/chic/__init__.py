"""Chic's evaluation (Gong, Li, Liang and Zhan, IWQoS 2019, Section 6): Figures 4 to 7, and its claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlsched.core.errors import InvalidInput
from mlsched_papers.chic import claims, figures, learning, measure, tables
from mlsched_papers.chic import grid as g
from mlsched_papers.chic.measure import Metrics
from mlsched_papers.chic.measured import ChicView, Measured
from mlsched_papers.experiment import Experiment, Settings
from mlsched_papers.report import Report
from mlsched_papers.runs import CHECKED, measure_all, versions_sentence
from mlsched_papers.scoreboard import Paper

TITLE = "Chic: experience-driven scheduling in machine learning clusters"


def run(settings: Settings) -> Report:
    """Measure the experiment and compare it with the paper."""
    if settings.trace is not None:
        raise InvalidInput(f"trace = {settings.trace!r}: chic runs on the paper's own synthetic workload; leave it out")
    grid = settings.sized(g.QUICK if settings.quick else g.FULL)
    metrics = measure_all(measure.run_case, g.cases(grid), grid, workers=settings.workers, progress=settings.progress)
    return report(grid, metrics, title=TITLE + (" (quick)" if settings.quick else ""))


def report(grid: g.Grid, metrics: Mapping[g.Case, Metrics], title: str = TITLE) -> Report:
    """Return the report of finished measurements."""
    measurement = Measured(grid, [ChicView(interpretation, grid, metrics) for interpretation in grid.interpretations])
    return Report(
        title=title,
        interpretations=tuple(_readings(grid, len(metrics))),
        tables=tuple(tables.tables(measurement)),
        figures=tuple(figures.figures(measurement)),
        claims=tuple(claims.claims(measurement)),
    )


def _readings(grid: g.Grid, runs: int) -> list[str]:
    """Describe the runs and the interpretation of the paper."""
    missing = [p.label for p in (g.CHIC, g.CHIC_PAIR, g.CHIC_PLUS, g.LP_MPC) if not g.known(p)]
    result = [
        f"{grid.seeds} sequences (seeds 0 to {grid.seeds - 1}) of {grid.jobs} jobs a rate, {runs} runs in all. "
        "Intervals: 95 %, Student's t over sequences; policies are compared on the same sequences.",
        CHECKED,
        "The paper does not print how fast its models train: the speeds are ours, chosen so that completion times come "
        "out in its range. Claims about Optimus are judged as the paper and Optimus' authors stop it, which leaves "
        "cores idle; against Optimus at full strength, as it goes on until nothing fits, they are claims of ours.",
        "The interval of Optimus-600 is 600 s, its ticks at multiples of it; everybody else decides at every arrival "
        "and completion. Policies with I = 3 see the first three jobs; a policy without I sees all.",
        "A re-schedule loses each job's started iteration (Eq. 7), for every policy alike, except as the "
        "interpretation says.",
        *_trained(grid),
        "Uniform-random: every action of a phase alike (sample N + 1 of Chic's training), none that ends it early; not "
        "the untrained network.",
    ]
    if missing:
        result.append(f"Not there, hence not measured: {', '.join(missing)}.")
    return [*result, versions_sentence()]


def _trained(grid: g.Grid) -> list[str]:
    """Describe the arrival rates at which policies were trained, and list the untrained policies."""
    policies = g.trained()
    if not policies:
        return []
    rates: dict[str, list[str]] = {}
    for policy in policies:
        cards = [learning.card(policy, rate) for rate in (grid.rates if policy.anew else (None,))]
        rates[policy.label] = list(
            dict.fromkeys(" to ".join(f"{r:g}" for r in _lowest_and_highest_rate(one)) for one in cards)
        )
    told = "; ".join(f"{label} at {', '.join(each)}/h" for label, each in rates.items())
    result = [
        f"Trained: {told}. Chic and Chic-Pair by the paper's protocol (Section 5): of 100 iterations the policy with "
        "the shortest validation ACT. Chic (1.8/h) and Chic-Pair (1.8/h) are trained once, for Fig. 4(c); so are those "
        "of ours, until their reward settles."
    ]
    missing = [learning.untrained(policy, rate) for policy in policies if policy.anew for rate in grid.rates]
    missing = list(dict.fromkeys(filter(None, missing)))
    return result + ([f"Not trained: {'; '.join(missing)}."] if missing else [])


def _lowest_and_highest_rate(card: Mapping[str, Any]) -> list[float]:
    """Return the lowest and highest arrival rate in a training, or the only one."""
    return list(dict.fromkeys(card["data"]["rates"]))


PAPER = Paper(
    name="Chic (IWQoS 2019)",
    question="how many workers and parameter servers each job gets",
    headline="chic-12.65",
    why=(
        "Random actions achieve the cut, too: Optimus decides every 600 s and, as the paper stops it, "
        "leaves cores idle."
    ),
    condition="The cut fails against Optimus at full strength.",
)

EXPERIMENT = Experiment("chic", f"{TITLE} (Figures 4 to 7)", run, statements=claims.ALL, paper=PAPER)
