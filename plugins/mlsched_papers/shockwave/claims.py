"""Claims of the Shockwave paper about its scheduler, and our own claims."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from mlsched_papers.claim import Bound
from mlsched_papers.shockwave.measure import Case, Grid, Metrics
from mlsched_papers.shockwave.paper import NAMES, SIMULATED
from mlsched_papers.statement import ABOVE_0, Piece, Statement, near, stated

MEAN, SPAN, WORST, UNFAIR = "mean_completion_s", "makespan_s", "worst_ratio", "unfair"
#: The fair schedulers of its comparison.
FAIR = ("finish_time_fairness", "max_min", "allox_gangs", "gandiva_fair")


@dataclasses.dataclass(frozen=True)
class View:
    """The measurements."""

    grid: Grid
    metrics: Mapping[Case, Metrics]

    def drawn(self, policy: str, metric: str) -> npt.NDArray[np.float64]:
        """Return one value per drawn workload; the bound's if the policy is ""."""
        return np.array([self.metrics[Case(policy, seed)].values[metric] for seed in range(self.grid.seeds)])

    def solved(self, metric: str) -> npt.NDArray[np.float64]:
        """Return one value of `shockwave` on its own trace per seed of the solver."""
        cases = [Case("shockwave", solve=solve) for solve in range(self.grid.solves)]
        return np.array([self.metrics[case].values[metric] for case in cases])

    def times(self, metric: str) -> npt.NDArray[np.float64]:
        """Return the mean of the fair schedulers in percent of Shockwave's."""
        others = np.mean([self.drawn(policy, metric) for policy in FAIR], axis=0)
        return np.asarray(100 * others / self.drawn("shockwave", metric))


@stated(
    "makespan",
    kind="order",
    text="Shockwave ends sooner than each of the fair schedulers",
    where="Evaluation",
    tested="cut of the makespan, paired by workload, against Themis, Gavel, AlloX and Gandiva-Fair",
)
def makespan(view: View) -> list[Piece]:
    own = view.drawn("shockwave", SPAN)
    return [
        Piece("as printed", f"cut of {NAMES[one]}'s makespan", 100 * (1 - own / view.drawn(one, SPAN)), ABOVE_0, "%")
        for one in FAIR
    ]


@stated(
    "makespan-1.3",
    text="Shockwave's makespan is 1.3 times better than that of fair schedulers",
    where="Abstract",
    tested="mean makespan of the four fair schedulers in percent of Shockwave's, within 5 points",
)
def makespan_times(view: View) -> list[Piece]:
    return [Piece("as printed", "of Shockwave's makespan", view.times(SPAN), near(130.0), "%", 130.0)]


@stated(
    "fairness-2",
    text="Shockwave is twice as fair as fair schedulers",
    where="Abstract",
    tested="the fair schedulers' mean in percent of Shockwave's, at least 195: of the worst finish-time ratio",
)
def fairness_times(view: View) -> list[Piece]:
    return [Piece("worst ratio", "of Shockwave's worst ratio", view.times(WORST), Bound(low=195.0), "%", 200.0)]


@stated(
    "fairness",
    kind="order",
    text="Shockwave's worst finish-time ratio is below that of each of the fair schedulers",
    where="Evaluation",
    tested="cut of the worst ratio, paired by workload",
)
def fairness(view: View) -> list[Piece]:
    own = view.drawn("shockwave", WORST)
    return [
        Piece("worst ratio", f"cut of {NAMES[one]}'s worst ratio", 100 * (1 - own / view.drawn(one, WORST)), ABOVE_0,
              "%")
        for one in FAIR
    ]  # fmt: skip


@stated(
    "ours-stored",
    text="On its own 120 jobs, Shockwave's makespan and mean completion time are within 1 % of those stored",
    where="ours",
    tested="of that trace alone; one value per seed of the solver, whose equally good plans differ",
)
def ours_stored(view: View) -> list[Piece]:
    return [
        Piece("as printed", f"{what} beyond what is stored", 100 * (view.solved(metric) / stored - 1),
              Bound(low=-1.0, high=1.0), "%")
        for what, metric, stored in zip(("makespan", "mean completion time"), (SPAN, MEAN), SIMULATED["shockwave"],
                                        strict=True)
    ]  # fmt: skip


@stated(
    "ours-bound",
    text="Shockwave's makespan is within 10 % of the least possible makespan",
    where="ours",
    tested="makespan above its bound, at most 10 %",
)
def ours_bound(view: View) -> list[Piece]:
    above = 100 * (view.drawn("shockwave", SPAN) / view.drawn("", SPAN) - 1)
    return [Piece("as printed", "above the bound", above, Bound(high=10.0), "%")]


STATEMENTS: tuple[Statement, ...] = (makespan, makespan_times, fairness_times, fairness, ours_stored, ours_bound)
