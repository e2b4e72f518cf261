"""Figures 1, 2, 4, 5, 8 and 9 of the Harmony paper, measured; the paper's are images with unreadable numbers."""

from __future__ import annotations

from mlsched_papers.claim import estimate
from mlsched_papers.harmony import studies
from mlsched_papers.harmony.measured import HarmonyView, Measured
from mlsched_papers.harmony.prediction import METHODS, NETWORK, WAYS
from mlsched_papers.report import Figure

Line = tuple[list[float], list[float]]
#: The x axis of a figure over models.
ORDER = "models: " + ", ".join(f"{k} {name}" for k, name in enumerate(studies.NAMES))
PLACES = [float(k) for k in range(len(studies.NAMES))]


def figures(m: Measured) -> list[Figure]:
    """Return the figures; Figure 3 is a drawing of placements, which the tables list."""
    result = [_figure_1(), _figure_2(), _figure_4(), _figure_5()]
    result += [_figure_8(view) for view in m.views if view.metric == "average_completion"]
    return [*result, _figure_9(m)]


def _figure_1() -> Figure:
    panels = {
        "": {
            how: (PLACES, list(slowdown("pairwise").values()))
            for how, slowdown in (
                ("as bin packing does", studies.packed),
                ("mean of all pairs", studies.mean_of_pairings),
            )
        }
    }
    return Figure("Figure 1", f"slowdown of packed jobs; {ORDER}", panels, "model", "slowdown, %")


def _figure_2() -> Figure:
    levels = studies.pair_levels("pairwise")
    panels = {
        "": {
            a: (
                [float(studies.INDEX[b]) for b in studies.NAMES if b != a],
                [levels[a, b] for b in studies.NAMES if b != a],
            )
            for a in studies.NAMES
        }
    }
    return Figure("Figure 2", f"interference level of two models; {ORDER}", panels, "the other model", "level, %")


def _figure_4() -> Figure:
    names = list(studies.SCHEMES)
    panels: dict[str, dict[str, Line]] = {}
    for second in studies.SECONDS:
        result = [studies.scheme(rule, second, "pairwise").speeds for rule in studies.SCHEMES.values()]
        lines = {name: [float(s[j]) for s in result] for j, name in enumerate((studies.FIRST, second))}
        panels[f"{studies.FIRST} and {second}"] = {name: ([0.0, 1.0, 2.0], speeds) for name, speeds in lines.items()}
    caption = "speed under three schemes: " + ", ".join(f"{k} {name}" for k, name in enumerate(names))
    return Figure("Figure 4", caption, panels, "scheme", "speed relative to standalone")


def _figure_5() -> Figure:
    mates = [float(n) for n in range(studies.MOST_MATES + 1)]
    panels = {"": {name: (mates, studies.with_mates(name, "pairwise")) for name in studies.SECONDS}}
    return Figure("Figure 5", "speed by co-located CTC jobs", panels, "CTC jobs", "speed relative to standalone")


def _figure_8(view: HarmonyView) -> Figure:
    patterns = view.interpretation.patterns
    places = [float(k) for k in range(len(patterns))]
    lines: dict[str, Line] = {}
    for policy in view.shown():
        means = [view.estimate(policy, view.metric, pattern) for pattern in patterns]
        lines[policy.label] = (places, [mean.mean if mean else float("nan") for mean in means])
    caption = f"average completion time, {view.name}: " + ", ".join(f"{k} {p}" for k, p in enumerate(patterns))
    return Figure("Figure 8", caption, {"": lines}, "arrival pattern", "intervals")


def _figure_9(m: Measured) -> Figure:
    panels: dict[str, dict[str, Line]] = {}
    for kind, errors in m.errors.items():
        lines: dict[str, Line] = {}
        for way in WAYS:
            for method in METHODS:
                means = [estimate(errors[way, method, name]) for name in studies.NAMES]
                lines[f"{method}, {way}"] = (PLACES, [mean.mean if mean else float("nan") for mean in means])
        if all((*NETWORK, name) in errors for name in studies.NAMES):
            means = [estimate(errors[*NETWORK, name]) for name in studies.NAMES]
            lines["reward network"] = (PLACES, [mean.mean if mean else float("nan") for mean in means])
        panels[f"{kind} interference"] = lines
    return Figure("Figure 9", f"relative error of predicted speeds; {ORDER}", panels, "model", "error, %")
