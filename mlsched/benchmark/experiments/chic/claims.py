"""What the Chic paper claims, and how each claim is tested. Claims of policies that are not there are not measured."""

from __future__ import annotations

from mlsched.benchmark.experiments.chic import paper
from mlsched.benchmark.experiments.chic.grid import (
    CHIC,
    CHIC_PAIR,
    DRF_600,
    EPISODES,
    OPTIMUS,
    OPTIMUS_300,
    OPTIMUS_600,
    RANDOM,
    RANDOM_PAIR,
    WINDOWS,
    Policy,
    optimus,
    windowed,
    with_episode,
)
from mlsched.benchmark.experiments.chic.measured import At, Measured
from mlsched.benchmark.experiments.claim import Bound, Claim
from mlsched.benchmark.experiments.statement import ABOVE_0, Piece, Statement, stated

PAIRED = "mean over sequences of the cut of Optimus-600's ACT, sequence by sequence"


def _cuts(
    m: Measured, policy: Policy, bound: Bound, printed: float | None, against: Policy = OPTIMUS_600
) -> list[Piece]:
    return [
        Piece(
            v.name,
            f"{policy.label} below {against.label} at {rate:g}/h",
            v.cut(policy, against, "act", At(rate)),
            bound,
            "%",
            printed,
        )
        for v in m.views
        for rate in m.grid.rates
    ]


@stated(
    "chic-12.65",
    text="Chic cuts Optimus' ACT by at least 12.65 %",
    where="Section 6.2.1, Fig. 4(a)",
    tested=f"{PAIRED}, at every rate",
)
def chic_cut(m: Measured) -> list[Piece]:
    return _cuts(m, CHIC, Bound(low=paper.CHIC_CUT), paper.CHIC_CUT)


@stated(
    "chic-pair-10.08",
    text="Chic-Pair cuts Optimus' ACT by at least 10.08 %",
    where="Section 6.2.1, Fig. 4(a)",
    tested=f"{PAIRED}, at every rate",
)
def pair_cut(m: Measured) -> list[Piece]:
    return _cuts(m, CHIC_PAIR, Bound(low=paper.PAIR_CUT), paper.PAIR_CUT)


@stated(
    "chic-400-s",
    text="Chic reduces the ACT of Optimus by more than 400 s in all cases",
    where="Section 6.2.1, Fig. 4(a)",
    tested="mean difference to Optimus-600 at every rate",
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
        )
        for v in m.views
        for rate in m.grid.rates
    ]


@stated(
    "chic-best",
    text="Chic performs the best, before Chic-Pair",
    where="Section 6.2.1, Fig. 4(a)",
    tested="Chic's cut of Chic-Pair's ACT, at every rate",
)
def chic_best(m: Measured) -> list[Piece]:
    return _cuts(m, CHIC, ABOVE_0, None, against=CHIC_PAIR)


@stated(
    "learning-needed",
    text="Chic owes its ACT to what it has learned",
    where="Sections 6.2.1 and 6.2.2, implied",
    tested="cut of the ACT of uniform-random actions, the policy before training, at every rate",
)
def learning_needed(m: Measured) -> list[Piece]:
    return _cuts(m, CHIC, ABOVE_0, None, against=RANDOM)


@stated(
    "pair-learning-needed",
    text="Chic-Pair owes its ACT to what it has learned",
    where="Section 6.2.2, implied",
    tested="cut of the ACT of uniform-random pairs, the policy before training, at every rate",
)
def pair_learning_needed(m: Measured) -> list[Piece]:
    view = m.views[0]  # random pairs run under the first reading only
    return [
        Piece(view.name, f"at {rate:g}/h", view.cut(CHIC_PAIR, RANDOM_PAIR, "act", At(rate)), ABOVE_0, "%")
        for rate in m.grid.rates
    ]


@stated(
    "untrained-worse",
    text="Optimus, the state of the art, is better than actions drawn at random",
    where="Section 6.1, implied",
    tested="Optimus-600's cut of the ACT of uniform-random actions, at every rate",
)
def untrained_worse(m: Measured) -> list[Piece]:
    return _cuts(m, OPTIMUS_600, ABOVE_0, None, against=RANDOM)


@stated(
    "untrained-worse-at-events",
    text="so is it when both decide at events",
    where="Section 6.1, implied",
    tested="event-triggered Optimus' cut of the ACT of uniform-random actions, at every rate",
)
def untrained_worse_at_events(m: Measured) -> list[Piece]:
    return _cuts(m, OPTIMUS, ABOVE_0, None, against=RANDOM)


@stated(
    "optimus-beats-drf",
    text="Optimus outperforms DRF",
    where="Section 6.1, citing Optimus",
    tested="Optimus-600's cut of the ACT of DRF, decided every 600 s as well, at every rate",
)
def optimus_beats_drf(m: Measured) -> list[Piece]:
    return [
        Piece(v.name, f"at {rate:g}/h", v.cut(OPTIMUS_600, DRF_600, "act", At(rate)), ABOVE_0, "%")
        for v in m.views
        if v.has(DRF_600, At(m.grid.rates[0]))
        for rate in m.grid.rates
    ]


@stated(
    "optimus-300",
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
)
def cannot_catch_up(m: Measured) -> list[Piece]:
    return [
        Piece(v.name, policy.label, v.cut(policy, OPTIMUS_300, "act"), ABOVE_0, "%")
        for v in m.views
        for policy in (CHIC, CHIC_PAIR)
    ]


@stated(
    "optimus-cannot-catch-up-at-events",
    text="nor can it when it decides at events, as Chic does",
    where="Section 6.2.1, not tested there",
    tested="their cut of event-triggered Optimus' ACT, at every rate",
)
def cannot_catch_up_at_events(m: Measured) -> list[Piece]:
    return [piece for policy in (CHIC, CHIC_PAIR) for piece in _cuts(m, policy, ABOVE_0, None, against=OPTIMUS)]


@stated(
    "shortest-median",
    text="Chic outperforms Optimus in the shortest and the median completion time",
    where="Section 6.2.1, Fig. 4(b)",
    tested="cut of Optimus-600's, at every rate",
)
def shortest_median(m: Measured) -> list[Piece]:
    return [
        Piece(v.name, f"{metric} at {rate:g}/h", v.cut(CHIC, OPTIMUS_600, metric, At(rate)), ABOVE_0, "%")
        for v in m.views
        for rate in m.grid.rates
        for metric in ("shortest", "median")
    ]


@stated(
    "runtime-ratio",
    text="Chic takes 3.00 times as long as Chic-Pair to schedule 30 jobs",
    where="Section 6.2.1, Fig. 5(a)",
    tested="CPU time of whole runs at 1.8/h, within a quarter",
)
def runtime_ratio(m: Measured) -> list[Piece]:
    found: list[Piece] = []
    for v in m.views:
        ours, theirs = (v.values(policy, "runtime_s") for policy in (CHIC, CHIC_PAIR))
        bound = Bound(0.75 * paper.RUNTIME_RATIO, 1.25 * paper.RUNTIME_RATIO)
        found.append(
            Piece(v.name, "ratio", ours / theirs if len(ours) == len(theirs) else [], bound, "", paper.RUNTIME_RATIO)
        )
    return found


@stated(
    "episode-60",
    text="training with W = 60 jobs an episode yields a slightly better result than with W = 30",
    where="Section 6.2.3, Fig. 7(a)",
    tested="cut of the ACT of the one trained with W = 30, at 1.8/h, test sequences of either length",
)
def episode_60(m: Measured) -> list[Piece]:
    view = m.views[0]
    return [
        Piece(
            view.name,
            f"{policy.label}, sequences of {length} jobs",
            view.cut(with_episode(policy, EPISODES[-1]), policy, "act", At(m.grid.at, jobs)),
            ABOVE_0,
            "%",
        )
        for policy in (CHIC, CHIC_PAIR)
        for length, jobs in m.grid.lengths.items()
    ]


@stated(
    "window-4",
    text="at 2.7/h, Chic-Pair with I = 4 has an ACT of 71.28 s less than with I = 3; I = 2 is worse",
    where="Section 6.2.3, Fig. 7(b)",
    tested="differences to I = 3, above 0; a Chic-Pair trained for each I",
)
def window_4(m: Measured) -> list[Piece]:
    view, rate = m.views[0], m.grid.rates[-1]
    pairs = [windowed("Chic-Pair", f"chic-pair:window={w}", w) for w in WINDOWS]
    two, three, four = pairs
    return [
        Piece(
            view.name,
            f"{four.label} below {three.label}",
            view.less(four, three, "act", At(rate)),
            ABOVE_0,
            "s",
            paper.WINDOW_GAIN_S,
        ),
        Piece(view.name, f"{three.label} below {two.label}", view.less(three, two, "act", At(rate)), ABOVE_0, "s"),
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
    untrained_worse,
    untrained_worse_at_events,
    optimus_beats_drf,
    runtime_ratio,
    episode_60,
    window_4,
)


def claims(found: Measured) -> list[Claim]:
    """Every claim with its evidence."""
    return [statement.judge(found) for statement in STATEMENTS]
