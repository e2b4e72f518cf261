"""Which of Chic's policies are trained, and Figure 6: how they learned, from the model cards of their weights.

The card of the chosen weights has the learning curves of all training seeds, at the iterations that were validated.
Nobody is trained for an experiment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mlsched.learned.weights import of
from mlsched.learned.workers.chic_policy import VARIANTS, shipped
from mlsched_papers.chic.grid import (
    CHIC,
    CHIC_PAIR,
    CHIC_PAIR_SETTLED,
    CHIC_SETTLED,
    Policy,
    at_rate,
    known,
    trained,
    variant,
)
from mlsched_papers.report import Figure
from mlsched_papers.view import Values

Curve = list[dict[str, float]]
#: Entry of a card's curve -> panel.
PANELS = {
    "validation": "ACT on the validation sequences [s]",
    "reward": "mean cumulative reward of an iteration's episodes",
    "bound": "reward bound of the kept episodes",
    "reward_completion": "of the reward: completion (r_t1)",
    "reward_absent": "of the reward: actions for empty slots (r_t2)",
    "reward_halves": "of the reward: workers without PS, PSs without worker (r_t3)",
    "punished_share": "share of actions for empty slots",
    "useless_share": "share of actions that change nothing",
}
#: What begins and ends a training: this share of its validated iterations at either end.
END = 0.2


def card(policy: Policy, rate: float | None = None) -> Mapping[str, Any]:
    """The card of the weights that a policy answers with (at an arrival rate, where it is trained anew for each)."""
    name = policy.text.partition(":")[0]
    if name not in VARIANTS:
        return of(name, "workers").card
    return shipped(name, variant(policy.text if rate is None else at_rate(policy, rate))).card


def untrained(policy: Policy, rate: float | None = None) -> str:
    """Why a policy does not count as trained, or trained for an arrival rate; "" where it does, or is not one."""
    if policy.text.partition(":")[0] not in VARIANTS or not known(policy):
        return ""
    found = card(policy, rate)
    rates = dict.fromkeys(found["data"]["rates"])
    trained_at = " to ".join(f"{r:g}" for r in rates)
    if found.get("trained") is not True:
        return f"the training of {policy.label} at {trained_at}/h was cut short"
    if rate is not None and rate not in rates:
        return f"{policy.label} is trained at {trained_at}/h, not anew for {rate:g}/h"
    return ""


def seeds(policy: Policy) -> list[Mapping[str, Any]]:
    """The trainings of a policy by seed, the chosen one among them: seed, trained, iterations, validated curve."""
    if not known(policy):
        return []
    found = card(policy)
    each = found.get("seeds", [found])
    return [{**one, "curve": [entry for entry in one["curve"] if "validation" in entry]} for one in each]


def change(policy: Policy, of_entry: Callable[[dict[str, float]], float]) -> Values:
    """By how much a figure of the curve is higher at the end of a training than at its beginning, a value per seed."""
    found = []
    for one in seeds(policy):
        each = [of_entry(entry) for entry in one["curve"]]
        count = max(1, round(END * len(each)))
        found.append(np.mean(each[-count:]) - np.mean(each[:count]))
    return np.array(found)


def correlation(policy: Policy) -> Values:
    """Correlation of mean reward and validation ACT over a training's validated iterations, a value per seed."""
    pairs = [np.array([(e["reward"], e["validation"]) for e in one["curve"]]).T for one in seeds(policy)]
    with np.errstate(invalid="ignore"):  # none where either never changes
        return np.array([np.corrcoef(rewards, act)[0, 1] for rewards, act in pairs])


def after(policy: Policy, iteration: int) -> Values:
    """Mean validation ACT after an iteration, s, a value per seed."""
    late = [[e["validation"] for e in one["curve"] if e["iteration"] > iteration] for one in seeds(policy)]
    return np.array([np.mean(each) for each in late])


def chosen_at(policy: Policy) -> Values:
    """The iteration whose policy a training comes to: the one with the shortest validation ACT, a value per seed."""
    return np.array([float(one["scores"]["best_iteration"]) for one in seeds(policy)])


def untrained_seeds(policy: Policy) -> str:
    """Which trainings of a policy were cut short, in words."""
    missing = [str(one["seed"]) for one in seeds(policy) if one.get("trained") is not True]
    return f"{policy.label}, training seeds {', '.join(missing)}: cut short" if missing else ""


def figure_6() -> Figure:
    """A panel per quantity, a line per policy: the training of the weights that come with mlsched."""
    panels: dict[str, dict[str, tuple[list[float], list[float]]]] = {title: {} for title in PANELS.values()}
    rates = []
    for policy in trained():
        found = card(policy)
        rates.append(f"{policy.label} at {' to '.join(f'{r:g}' for r in dict.fromkeys(found['data']['rates']))}/h")
        for name, title in PANELS.items():
            points = [(entry["iteration"], entry[name]) for entry in found["curve"] if name in entry]
            if points:
                panels[title][policy.label] = ([x for x, _ in points], [y for _, y in points])
    caption = f"learning curves of the weights that come with mlsched ({', '.join(rates)})"
    return Figure("Figure 6", caption, {k: v for k, v in panels.items() if v}, "iteration", "")


#: Whose trainings Figure 6 shows; and those of ours, until the reward settles.
LEARNERS, SETTLED = (CHIC, CHIC_PAIR), (CHIC_SETTLED, CHIC_PAIR_SETTLED)
