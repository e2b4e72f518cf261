"""Claims of the Chic paper about Figures 4(a) and 4(b) and about its baseline, with their tests.

Claims about Optimus are judged with the printed stopping rule (Chic's Section 6.1, or its authors' program). If Optimus
continues until every task is placed or unfit, it is a stronger baseline (see `heuristics/workers/optimus.py`).
Comparisons with it are claims of their own, marked ours. In Figure 4(a) the paper trains Chic for every arrival rate: a
policy trained at 1.8/h is another policy at other rates, and its pieces there are not trained.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from mlsched_papers.chance import beside_chance
from mlsched_papers.chic import claims_figures as figures
from mlsched_papers.chic import claims_learning, learning, paper
from mlsched_papers.chic.grid import (
    CHIC,
    CHIC_PAIR,
    DRF_600,
    OPTIMUS,
    OPTIMUS_300,
    OPTIMUS_600,
    PRINTED,
    RANDOM,
    RANDOM_PAIR,
    Policy,
    optimus,
)
from mlsched_papers.chic.measured import At, ChicView, Measured
from mlsched_papers.claim import Bound, Claim
from mlsched_papers.statement import ABOVE_0, Piece, Statement, stated

#: The claims that the two policies are better than chance.
CHANCE, PAIR_CHANCE = "learning-needed", "pair-learning-needed"
PAIRED = "mean over sequences of the cut of Optimus-600's ACT, sequence by sequence"


def _cut(v: ChicView, rate: float, policy: Policy, against: Policy, bound: Bound, least: float | None = None) -> Piece:
    """Return the piece for the cut of the ACT by a policy against another one, at an arrival rate."""
    return Piece(
        v.name,
        f"{policy.label} below {against.label} at {rate:g}/h",
        v.cut(policy, against, "act", At(rate)),
        bound,
        "%",
        least,
        lower_bound=least is not None,
        untrained=learning.untrained(policy, rate) or learning.untrained(against, rate),
    )


def _cuts(
    m: Measured, policy: Policy, against: Policy, bound: Bound = ABOVE_0, least: float | None = None
) -> list[Piece]:
    return [_cut(v, rate, policy, against, bound, least) for v in m.views for rate in m.grid.rates]


@stated(
    "chic-12.65",
    text="Chic cuts Optimus' ACT by at least 12.65 %",
    where="Section 6.2.1, Fig. 4(a)",
    tested=f"{PAIRED}, at every rate",
    chance=(CHANCE,),
)
def chic_cut(m: Measured) -> list[Piece]:
    return _cuts(m, CHIC, OPTIMUS_600, Bound(low=paper.CHIC_CUT), paper.CHIC_CUT)


@stated(
    "chic-pair-10.08",
    text="Chic-Pair cuts Optimus' ACT by at least 10.08 %",
    where="Section 6.2.1, Fig. 4(a)",
    tested=f"{PAIRED}, at every rate",
    chance=(PAIR_CHANCE,),
)
def pair_cut(m: Measured) -> list[Piece]:
    return _cuts(m, CHIC_PAIR, OPTIMUS_600, Bound(low=paper.PAIR_CUT), paper.PAIR_CUT)


@stated(
    "chic-400-s",
    text="Chic reduces the ACT of Optimus by more than 400 s in all cases",
    where="Section 6.2.1, Fig. 4(a)",
    tested="mean difference to Optimus-600 at every rate",
    chance=(CHANCE,),
)
def chic_seconds(m: Measured) -> list[Piece]:
    return [
        Piece(
            v.name,
            f"at {rate:g}/h",
            v.less(CHIC, OPTIMUS_600, "act", At(rate)),
            Bound(low=paper.CHIC_CUT_S, strict=True),
            "s",
            paper.CHIC_CUT_S,
            lower_bound=True,
            untrained=learning.untrained(CHIC, rate),
        )
        for v in m.views
        for rate in m.grid.rates
    ]


@stated(
    "chic-best",
    kind="order",
    text="Chic performs the best, before Chic-Pair and Optimus",
    where="Section 6.2.1, Fig. 4(a)",
    tested="Chic's cut of the ACT of either, at every rate",
    chance=(CHANCE, PAIR_CHANCE),
)
def chic_best(m: Measured) -> list[Piece]:
    return [piece for other in (CHIC_PAIR, OPTIMUS_600) for piece in _cuts(m, CHIC, other)]


@stated(
    "learning-needed",
    text="Chic owes its ACT to what it has learned",
    where="Sections 6.2.1 and 6.2.2, implied",
    tested="cut of the ACT of uniform-random actions, at every rate",
)
def learning_needed(m: Measured) -> list[Piece]:
    return _cuts(m, CHIC, RANDOM)


@stated(
    "pair-learning-needed",
    text="Chic-Pair owes its ACT to what it has learned",
    where="Section 6.2.2, implied",
    tested="cut of the ACT of uniform-random pairs, at every rate",
)
def pair_learning_needed(m: Measured) -> list[Piece]:
    view = m.views[0]  # random pairs run under the first interpretation only
    return [_cut(view, rate, CHIC_PAIR, RANDOM_PAIR, ABOVE_0) for rate in m.grid.rates]


@stated(
    "random-worse",
    text="Optimus, the state of the art, is better than actions drawn at random",
    where="Section 6.1, implied",
    tested="Optimus-600's cut of the ACT of uniform-random actions, at every rate",
)
def random_worse(m: Measured) -> list[Piece]:
    return _cuts(m, OPTIMUS_600, RANDOM)


@stated(
    "random-worse-at-events",
    text="Optimus is better than random actions if both decide at events",
    where="Section 6.1, implied",
    tested="event-triggered Optimus' cut of the ACT of uniform-random actions, at every rate",
)
def random_worse_at_events(m: Measured) -> list[Piece]:
    return _cuts(m, OPTIMUS, RANDOM)


@stated(
    "optimus-beats-drf",
    text="Optimus outperforms DRF",
    where="Section 6.1, citing Optimus (Tetris, which it names as well, is not measured)",
    tested="Optimus-600's cut of the ACT of DRF, decided every 600 s as well, at every rate",
)
def optimus_beats_drf(m: Measured) -> list[Piece]:
    return [
        _cut(v, rate, OPTIMUS_600, DRF_600, ABOVE_0)
        for v in m.views
        if v.has(DRF_600, At(m.grid.rates[0]))
        for rate in m.grid.rates
    ]


@stated(
    "optimus-300",
    kind="order",
    text="the best ACT of Optimus is with an interval of 300 s",
    where="Section 6.2.1, Fig. 5(b)",
    tested="its ACT with 300 s is below that with 600 s, with 150 s and at events",
)
def optimus_300(m: Measured) -> list[Piece]:
    return [
        Piece(v.name, f"Optimus-300 below {other.label}", v.cut(OPTIMUS_300, other, "act"), ABOVE_0, "%")
        for v in m.views
        for other in (OPTIMUS_600, optimus(150), OPTIMUS)
    ]


@stated(
    "optimus-cannot-catch-up",
    text="with 300 s, Optimus still cannot catch up with Chic and Chic-Pair",
    where="Section 6.2.1, Fig. 5(b)",
    tested="their cut of Optimus-300's ACT at 1.8/h",
    chance=(CHANCE, PAIR_CHANCE),
)
def cannot_catch_up(m: Measured) -> list[Piece]:
    return [_cut(v, m.grid.at, policy, OPTIMUS_300, ABOVE_0) for v in m.views for policy in (CHIC, CHIC_PAIR)]


@stated(
    "optimus-cannot-catch-up-at-events",
    text="Optimus cannot catch up with Chic and Chic-Pair even if it decides at events, as Chic does",
    where="Section 6.2.1, not tested there",
    tested="their cut of event-triggered Optimus' ACT, at every rate",
    chance=(CHANCE, PAIR_CHANCE),
)
def cannot_catch_up_at_events(m: Measured) -> list[Piece]:
    return [piece for policy in (CHIC, CHIC_PAIR) for piece in _cuts(m, policy, OPTIMUS)]


@stated(
    "shortest-median",
    text="Chic outperforms Optimus in the shortest and the median completion time",
    where="Section 6.2.1, Fig. 4(b)",
    tested="cut of Optimus-600's, at every rate",
    chance=(CHANCE,),
)
def shortest_median(m: Measured) -> list[Piece]:
    return [
        Piece(
            v.name,
            f"{metric} at {rate:g}/h",
            v.cut(CHIC, OPTIMUS_600, metric, At(rate)),
            ABOVE_0,
            "%",
            untrained=learning.untrained(CHIC, rate),
        )
        for v in m.views
        for rate in m.grid.rates
        for metric in ("shortest", "median")
    ]


STATEMENTS: tuple[Statement, ...] = (
    chic_cut,
    pair_cut,
    chic_seconds,
    chic_best,
    shortest_median,
    optimus_300,
    cannot_catch_up,
    cannot_catch_up_at_events,
    learning_needed,
    pair_learning_needed,
    random_worse,
    random_worse_at_events,
    optimus_beats_drf,
    *figures.STATEMENTS,
    *claims_learning.STATEMENTS,
)


#: Optimus is part of these claims, so its stopping rule is part of their interpretations.
OF_OPTIMUS = (
    chic_cut,
    pair_cut,
    chic_seconds,
    chic_best,
    shortest_median,
    optimus_300,
    cannot_catch_up,
    cannot_catch_up_at_events,
    random_worse,
    random_worse_at_events,
    optimus_beats_drf,
    figures.once_below_optimus,
    figures.runtime_pair,
    figures.runtime_pair_before,
    claims_learning.after_19,
)


#: Note on a claim against Optimus at full strength.
FULL_STRENGTH = " (Optimus at full strength)"


def full_name(name: str) -> str:
    """Return the name of a claim against Optimus at full strength."""
    return f"full-{name}"


#: All claims of `claims`, in its order.
ALL: tuple[Statement, ...] = (
    *STATEMENTS,
    *(
        dataclasses.replace(s, name=full_name(s.name), text=s.text + FULL_STRENGTH, where="ours")
        for s in STATEMENTS
        if s in OF_OPTIMUS
    ),
)


def claims(found: Measured) -> list[Claim]:
    """Return every claim with its evidence.

    First the claims about Optimus with the printed stopping rule, then those about each policy at full strength, which
    we add.
    """
    return beside_chance(by_strength([statement.judge(found) for statement in STATEMENTS]))


def by_strength(judged: Sequence[Claim]) -> list[Claim]:
    """Split the claims of Optimus in two: with the printed stopping rule, and, after all others, at full strength."""
    names = {statement.name for statement in OF_OPTIMUS}
    printed, full = [], []
    for claim in judged:
        weaker = tuple(piece for piece in claim.measurements if piece.interpretation in PRINTED)
        if claim.name not in names or not weaker:
            printed.append(claim)
            continue
        printed.append(dataclasses.replace(claim, measurements=weaker))
        stronger = tuple(piece for piece in claim.measurements if piece.interpretation not in PRINTED)
        name, text = full_name(claim.name), claim.text + FULL_STRENGTH
        full.append(dataclasses.replace(claim, name=name, text=text, where="ours", measurements=stronger))
    return printed + full
