"""Figures 3 to 8 of the FitGpp paper, measured; the paper's are images with unreadable numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mlsched_papers.fitgpp import grid as g
from mlsched_papers.fitgpp.measure import QUANTILES
from mlsched_papers.fitgpp.measured import HERE, At, FitGppView
from mlsched_papers.fitgpp.tables import STAND_IN
from mlsched_papers.report import Figure

Line = tuple[list[float], list[float]]
#: Position of "no limit" in a picture: this multiple of the largest finite P.
BEYOND = 2.0


def figures(views: Sequence[FitGppView], trace: FitGppView | None, grid: g.Grid) -> list[Figure]:
    """Return Figures 3 to 7 for each interpretation; Figure 8 if there is a trace."""
    result = []
    for view in views:
        under = f"reading {view.name}"
        result += [
            _distributions("Figure 3", f"job slowdown rates with synthetic workloads, {under}", view),
            _figure_4(view, grid, under),
            _figure_5(view, grid, under),
            _figure_6(view, grid, under),
            _figure_7(view, grid, under),
        ]
    if trace is not None:
        result.append(_distributions("Figure 8", f"job slowdown rates with the trace ({STAND_IN})", trace))
    return result


def _distributions(name: str, caption: str, view: FitGppView) -> Figure:
    shares = [float(q) for q in QUANTILES]
    panels = {}
    for series in ("TE slowdown", "BE slowdown"):
        lines = {policy.label: view.quantiles(policy, series) for policy in g.PAPER}
        panels[series] = {label: (xs, shares) for label, xs in lines.items() if xs}
    return Figure(name, f"{caption}; quantiles, averaged over runs", panels, "slowdown rate", "share of jobs", "cdf")


def _line(view: FitGppView, points: Iterable[tuple[float, g.Policy, At]], metric: str) -> Line:
    """Return x and mean over seeds; points without a measurement are left out."""
    result = [(x, view.estimate(policy, metric, at)) for x, policy, at in points]
    keep = [(x, value.mean) for x, value in result if value is not None]
    return [x for x, _ in keep], [y for _, y in keep]


def _percentile_panels(view: FitGppView, points: Sequence[tuple[float, g.Policy, At]]) -> dict[str, dict[str, Line]]:
    return {
        kind.upper(): {f"{p}th": _line(view, points, f"{kind}_p{p}") for p in (50, 95, 99)} for kind in ("te", "be")
    }


def _figure_4(view: FitGppView, grid: g.Grid, under: str) -> Figure:
    panels = _percentile_panels(view, [(s, g.fitgpp(s), HERE) for s in grid.weights])
    return Figure("Figure 4", f"FitGpp with variable s, {under}", panels, "s", "slowdown rate")


def _figure_5(view: FitGppView, grid: g.Grid, under: str) -> Figure:
    finite = [float(p) for p in grid.limits if p != "inf"]
    beyond = BEYOND * max(finite, default=1.0)
    points = [(beyond if p == "inf" else float(p), g.fitgpp(limit=p), HERE) for p in grid.limits]
    caption = f"FitGpp with variable preemption limit P, {under}; {beyond:g} stands for no limit"
    return Figure("Figure 5", caption, _percentile_panels(view, points), "P", "slowdown rate")


def _figure_6(view: FitGppView, grid: g.Grid, under: str) -> Figure:
    panels = {
        f"{kind.upper()}, 95th percentile": {
            policy.label: _line(view, [(x, policy, At(te_share=x)) for x in grid.shares], f"{kind}_p95")
            for policy in g.PAPER
        }
        for kind in ("te", "be")
    }
    return Figure("Figure 6", f"variable share of TE jobs, {under}", panels, "share of TE jobs", "slowdown rate")


def _figure_7(view: FitGppView, grid: g.Grid, under: str) -> Figure:
    panels = {
        f"{kind.upper()}, 95th percentile": {
            policy.label: _line(view, [(x, policy, At(grace_scale=x)) for x in grid.scales], f"{kind}_p95")
            for policy in (*g.PREEMPTIVE, g.FITGPP_8)
        }
        for kind in ("te", "be")
    }
    return Figure("Figure 7", f"variable length of grace periods, {under}", panels, "scale", "slowdown rate")
