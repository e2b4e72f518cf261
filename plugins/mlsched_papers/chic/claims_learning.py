"""Claims of the Chic paper about its trainings (Figure 6), with their tests.

The paper shows one training. Here are several that differ in their seed. Their values are listed one by one, and have
an interval only if they are one cluster (see `papers/trainings.py`). Trainings until the reward settles are ours, and
so are the claims about them.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

from mlsched_papers.chic import learning, paper
from mlsched_papers.chic.grid import CHIC, CHIC_PAIR, OPTIMUS_600, RANDOM, RANDOM_PAIR, Policy
from mlsched_papers.chic.measured import Measured
from mlsched_papers.claim import Bound
from mlsched_papers.statement import ABOVE_0, BELOW_0, Piece, Statement, stated
from mlsched_papers.view import Values

#: Interpretations of the training curves, which are independent of Optimus.
CURVES = "the trainings of all seeds"
SEEDS = "a value per training seed"


@stated(
    "fig6-reward-grows",
    text="the reward bound and the mean reward increase with iterations",
    where="Section 6.2.2, Fig. 6(a) and 6(c)",
    tested=f"the last fifth of a training's validated iterations less the first, {SEEDS}",
    chance=("learning-needed", "pair-learning-needed"),
)
def reward_grows(m: Measured) -> list[Piece]:
    return [
        _curve(policy, entry, learning.change(policy, operator.itemgetter(entry)), ABOVE_0)
        for policy in learning.LEARNERS
        for entry in ("bound", "reward")
    ]


@stated(
    "fig6-gap-narrows",
    text="the gap between the reward bound and the mean reward narrows",
    where="Section 6.2.2, Fig. 6(a)",
    tested=f"the last fifth of a training's validated iterations less the first, {SEEDS}",
    chance=("learning-needed", "pair-learning-needed"),
)
def gap_narrows(m: Measured) -> list[Piece]:
    gap = lambda e: abs(e["bound"] - e["reward"])  # noqa: E731
    return [_curve(policy, "gap", learning.change(policy, gap), BELOW_0) for policy in learning.LEARNERS]


@stated(
    "fig6-reward-is-act",
    text="higher reward goes with lower ACT",
    where="Section 6.2.2, Fig. 6(a) and 6(b)",
    tested=f"correlation of the mean reward with the ACT on validation sequences in a training, {SEEDS}",
)
def reward_is_act(m: Measured) -> list[Piece]:
    return _reward_is_act(learning.LEARNERS)


def _reward_is_act(policies: Sequence[Policy]) -> list[Piece]:
    return [_curve(policy, "correlation", learning.correlation(policy), BELOW_0) for policy in policies]


@stated(
    "fig6-act-falls",
    text="the ACT of Chic and of Chic-Pair improves with iterations",
    where="Section 6.2.2, Fig. 6(b) and 6(d)",
    tested=f"ACT on validation sequences, the last fifth of a training less the first, s, {SEEDS}",
    chance=("learning-needed", "pair-learning-needed"),
)
def act_falls(m: Measured) -> list[Piece]:
    return _act_falls(learning.LEARNERS)


def _act_falls(policies: Sequence[Policy]) -> list[Piece]:
    changes = {policy: learning.change(policy, operator.itemgetter("validation")) for policy in policies}
    return [_curve(policy, "ACT", change, BELOW_0, "s") for policy, change in changes.items()]


@stated(
    "fig6-19-iterations",
    text="after 19 iterations Chic is better than Optimus",
    where="Section 6.2.2, Fig. 6(b)",
    tested=f"mean ACT on validation sequences after iteration 19, below Optimus-600's on the test sequences of 1.8/h, "
    f"{SEEDS}",
    chance=("learning-needed",),
)
def after_19(m: Measured) -> list[Piece]:
    result = []
    for v in m.views:
        optimus_600 = v.values(OPTIMUS_600, "act")
        act = learning.after(CHIC, paper.BETTER_AFTER)
        measurement = optimus_600.mean() - act if optimus_600.size else None
        missing = learning.untrained_seeds(CHIC)
        what = "Chic below Optimus-600"
        result.append(Piece(v.name, what, measurement, ABOVE_0, "s", untrained=missing, trainings=True))
    return result


@stated(
    "fig6-pair-faster",
    text="Chic-Pair converges more quickly than Chic",
    where="Section 6.2.2, Fig. 6(c) and 6(d)",
    tested="iterations until the policy with the shortest ACT on the validation sequences, Chic's less Chic-Pair's, "
    f"{SEEDS}",
)
def pair_faster(m: Measured) -> list[Piece]:
    chic, pair = (learning.chosen_at(policy) for policy in learning.LEARNERS)
    measurement = chic - pair if chic.shape == pair.shape else None
    missing = learning.untrained_seeds(CHIC) or learning.untrained_seeds(CHIC_PAIR)
    return [Piece(CURVES, "iterations fewer", measurement, ABOVE_0, "", untrained=missing, trainings=True)]


def _curve(policy: Policy, what: str, measurement: Values, bound: Bound, unit: str = "") -> Piece:
    """Return a piece from the trainings of a policy."""
    missing = learning.untrained_seeds(policy)
    return Piece(CURVES, f"{policy.label}, {what}", measurement, bound, unit, untrained=missing, trainings=True)


#: Note on claims about our own trainings.
UNTIL_SETTLED = " (trained until the reward settles)"


@stated(
    "settled-learning-needed",
    text=f"Chic and Chic-Pair owe their ACT to what they have learned{UNTIL_SETTLED}",
    where="ours",
    tested="cut of the ACT of uniform-random actions of the same kind, at 1.8/h",
)
def settled_learning(m: Measured) -> list[Piece]:
    view = m.views[0]
    return [
        Piece(
            view.name,
            f"{policy.label} below {random.label}",
            view.cut(policy, random, "act"),
            ABOVE_0,
            "%",
            untrained=learning.untrained(policy),
        )
        for policy, random in zip(learning.SETTLED, (RANDOM, RANDOM_PAIR), strict=True)
    ]


@stated("settled-reward-is-act", text=f"{reward_is_act.text}{UNTIL_SETTLED}", where="ours", tested=reward_is_act.tested)
def settled_reward_is_act(m: Measured) -> list[Piece]:
    return _reward_is_act(learning.SETTLED)


@stated(
    "settled-act-falls",
    text=f"{act_falls.text}{UNTIL_SETTLED}",
    where="ours",
    tested=act_falls.tested,
    chance=("settled-learning-needed",),
)
def settled_act_falls(m: Measured) -> list[Piece]:
    return _act_falls(learning.SETTLED)


STATEMENTS: tuple[Statement, ...] = (
    reward_grows,
    gap_narrows,
    reward_is_act,
    act_falls,
    after_19,
    pair_faster,
    settled_learning,
    settled_reward_is_act,
    settled_act_falls,
)
