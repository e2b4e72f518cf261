"""Figure 6: how the policies that come with mlsched learned, from the curves in their model cards."""

from __future__ import annotations

from mlsched.benchmark.experiments.chic.grid import trained
from mlsched.benchmark.experiments.report import Figure
from mlsched.learned.weights import of

#: Entry of a card's curve -> panel.
PANELS = {
    "validation": "ACT on the validation sequences [s]",
    "reward": "mean cumulative reward of an iteration's episodes",
    "bound": "reward bound of the kept episodes",
}


def figure_6() -> Figure:
    """A panel a quantity, a line a policy; nobody is trained for it."""
    panels: dict[str, dict[str, tuple[list[float], list[float]]]] = {title: {} for title in PANELS.values()}
    rates = []
    for policy in trained():
        card = of(policy.text, "workers").card
        rates.append(f"{policy.label} at {' to '.join(f'{r:g}' for r in dict.fromkeys(card['data']['rates']))}/h")
        for name, title in PANELS.items():
            points = [(entry["iteration"], entry[name]) for entry in card["curve"] if name in entry]
            if points:
                panels[title][policy.label] = ([x for x, _ in points], [y for _, y in points])
    caption = f"learning curves of the weights that come with mlsched ({', '.join(rates)})"
    return Figure("Figure 6", caption, {k: v for k, v in panels.items() if v}, "iteration", "")
