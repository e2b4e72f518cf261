"""Training state of Chic's policies, and Figure 6: learning curves from the model cards of their weights.

The card of the chosen weights has the learning curves of all training seeds, at the validated iterations. The
experiment itself does not train policies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mlsched.learned.weights import of
from mlsched.learned.workers.chic_policy import VARIANTS, shipped_weights
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
#: Share of the validated iterations at the beginning and at the end of a training.
END = 0.2


def card(policy: Policy, rate: float | None = None) -> Mapping[str, Any]:
    """Return the card of a policy's weights (at an arrival rate, if it is trained for each)."""
    name = policy.text.partition(":")[0]
    if name not in VARIANTS:
        return of(name, "workers").card
    return shipped_weights(name, variant(policy.text if rate is None else at_rate(policy, rate))).card


def untrained(policy: Policy, rate: float | None = None) -> str:
    """Explain why a policy does not count as trained (for an arrival rate); "" if it does or is not trained at all."""
    if policy.text.partition(":")[0] not in VARIANTS or not known(policy):
        return ""
    result = card(policy, rate)
    rates = dict.fromkeys(result["data"]["rates"])
    trained_at = " to ".join(f"{r:g}" for r in rates)
    if result.get("trained") is not True:
        return f"the training of {policy.label} at {trained_at}/h was cut short"
    if rate is not None and rate not in rates:
        return f"{policy.label} is trained at {trained_at}/h, not anew for {rate:g}/h"
    return ""


def seeds(policy: Policy) -> list[Mapping[str, Any]]:
    """Return the trainings of a policy by seed, the chosen one included: seed, trained, iterations, validated curve."""
    if not known(policy):
        return []
    result = card(policy)
    each = result.get("seeds", [result])
    return [{**one, "curve": [entry for entry in one["curve"] if "validation" in entry]} for one in each]


def change(policy: Policy, of_entry: Callable[[dict[str, float]], float]) -> Values:
    """Return the rise of a figure of the curve from the beginning to the end of a training, one value per seed."""
    result = []
    for one in seeds(policy):
        each = [of_entry(entry) for entry in one["curve"]]
        count = max(1, round(END * len(each)))
        result.append(np.mean(each[-count:]) - np.mean(each[:count]))
    return np.array(result)


def correlation(policy: Policy) -> Values:
    """Return the correlation of mean reward and validation ACT over the validated iterations, one value per seed."""
    pairs = [np.array([(e["reward"], e["validation"]) for e in one["curve"]]).T for one in seeds(policy)]
    with np.errstate(invalid="ignore"):  # nan if either is constant
        return np.array([np.corrcoef(rewards, act)[0, 1] for rewards, act in pairs])


def after(policy: Policy, iteration: int) -> Values:
    """Return the mean validation ACT after an iteration, s, one value per seed."""
    late = [[e["validation"] for e in one["curve"] if e["iteration"] > iteration] for one in seeds(policy)]
    return np.array([np.mean(each) for each in late])


def chosen_at(policy: Policy) -> Values:
    """Return the final iteration of a training: the one with the shortest validation ACT, one value per seed."""
    return np.array([float(one["scores"]["best_iteration"]) for one in seeds(policy)])


def untrained_seeds(policy: Policy) -> str:
    """Describe the trainings of a policy that were cut short."""
    missing = [str(one["seed"]) for one in seeds(policy) if one.get("trained") is not True]
    return f"{policy.label}, training seeds {', '.join(missing)}: cut short" if missing else ""


def figure_6() -> Figure:
    """Return a panel per quantity and a line per policy: the training of the weights that come with mlsched."""
    panels: dict[str, dict[str, tuple[list[float], list[float]]]] = {title: {} for title in PANELS.values()}
    rates = []
    for policy in trained():
        result = card(policy)
        rates.append(f"{policy.label} at {' to '.join(f'{r:g}' for r in dict.fromkeys(result['data']['rates']))}/h")
        for name, title in PANELS.items():
            points = [(entry["iteration"], entry[name]) for entry in result["curve"] if name in entry]
            if points:
                panels[title][policy.label] = ([x for x, _ in points], [y for _, y in points])
    caption = f"learning curves of the weights that come with mlsched ({', '.join(rates)})"
    return Figure("Figure 6", caption, {k: v for k, v in panels.items() if v}, "iteration", "")


#: Policies with trainings in Figure 6; and ours, trained until the reward settles.
LEARNERS, SETTLED = (CHIC, CHIC_PAIR), (CHIC_SETTLED, CHIC_PAIR_SETTLED)
