"""Claims of the Gavel paper about its policies, and our own claims."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from mlsched_papers.claim import Bound
from mlsched_papers.gavel.measure import Case, Grid, Kind, Metrics
from mlsched_papers.statement import ABOVE_0, Piece, Statement, stated

MEAN, SPAN = "mean_completion_s", "makespan_s"


@dataclasses.dataclass(frozen=True)
class View:
    """The measurements under one interpretation."""

    name: str
    grid: Grid
    metrics: Mapping[Case, Metrics]

    def values(self, policy: str, metric: str, kind: Kind) -> npt.NDArray[np.float64]:
        """Return one value per workload; the bound's if the policy is ""."""
        interpretation = self.name if policy else "as printed"
        cases = [Case(policy, interpretation, kind, seed) for seed in range(self.grid.seeds)]
        result = [self.metrics[case].values[metric] for case in cases]
        return np.array([np.nan if value is None else value for value in result], dtype=np.float64)

    def cut(self, policy: str, other: str, metric: str, kind: Kind) -> npt.NDArray[np.float64]:
        """Return the percentage by which the policy's value is below the other's."""
        return np.asarray(100 * (1 - self.values(policy, metric, kind) / self.values(other, metric, kind)))

    def above(self, policy: str, metric: str, kind: Kind) -> npt.NDArray[np.float64]:
        """Return the percentage by which the policy's value is above the bound."""
        return np.asarray(100 * (self.values(policy, metric, kind) / self.values("", metric, kind) - 1))


@stated(
    "las",
    text="Max-min fairness that knows rates finishes jobs sooner on average than max-min fairness of time",
    where="Section 7.3",
    tested="cut of the mean completion time, paired by workload",
)
def las(view: View) -> list[Piece]:
    threshold = view.cut("max_min_perf", "max_min", MEAN, "continuous")
    return [Piece(view.name, "cut of the mean completion time", threshold, ABOVE_0, "%")]


@stated(
    "ftf",
    text="Finish-time fairness that knows rates finishes jobs sooner on average than "
    "finish-time fairness without rates",
    where="Section 7.3",
    tested="cut of the mean completion time, paired by workload",
)
def ftf(view: View) -> list[Piece]:
    threshold = view.cut("finish_time_fairness_perf", "finish_time_fairness", MEAN, "continuous")
    return [Piece(view.name, "cut of the mean completion time", threshold, ABOVE_0, "%")]


@stated(
    "fifo",
    text="FIFO that knows rates finishes jobs sooner on average than FIFO without rates",
    where="Section 7.3",
    tested="cut of the mean completion time, paired by workload; `fifo` as printed runs on one type alone",
)
def fifo(view: View) -> list[Piece]:
    return [
        Piece(view.name, "cut of the mean completion time", view.cut("fifo_perf", "fifo", MEAN, "continuous"), ABOVE_0,
              "%")
    ]  # fmt: skip


@stated(
    "makespan",
    text="The policy of least total duration ends sooner than FIFO with rates and than max-min fairness with rates",
    where="Section 7.3",
    tested="cut of the makespan of jobs that are all there at the start, paired by workload",
)
def makespan(view: View) -> list[Piece]:
    return [
        Piece(view.name, f"cut of the makespan of {other}", view.cut("min_total_duration_perf", other, SPAN, "static"),
              ABOVE_0, "%")
        for other in ("fifo_perf", "max_min_perf")
    ]  # fmt: skip


@stated(
    "ours-makespan",
    text="The policy of least total duration is within 5 % of the least possible makespan",
    where="ours",
    tested="makespan above its bound at most 5 %",
)
def ours_makespan(view: View) -> list[Piece]:
    above = view.above("min_total_duration_perf", SPAN, "static")
    return [Piece(view.name, "above the bound", above, Bound(high=5.0), "%")]


@stated(
    "ours-bound",
    text="None of the paper's policies is within 10 % of the bound on the mean completion time",
    where="ours",
    tested="mean completion time above its bound, each policy at least 10 %",
)
def ours_bound(view: View) -> list[Piece]:
    return [
        Piece(view.name, f"{policy} above the bound", view.above(policy, MEAN, "continuous"), Bound(low=10.0), "%")
        for policy in ("max_min_perf", "finish_time_fairness_perf", "max_sum", "fifo_perf")
    ]


STATEMENTS: tuple[Statement, ...] = (las, ftf, fifo, makespan, ours_makespan, ours_bound)
