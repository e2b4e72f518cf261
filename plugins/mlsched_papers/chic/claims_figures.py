"""Claims of the Chic paper about Figures 4(c), 5 and 7 and about its runtime, with their tests."""

from __future__ import annotations

from mlsched_papers.chic import learning, paper
from mlsched_papers.chic.grid import (
    CHIC,
    CHIC_ONCE,
    CHIC_PAIR,
    CHIC_PAIR_ONCE,
    EPISODES,
    OPTIMUS_300,
    OPTIMUS_600,
    WINDOWS,
    Policy,
    optimus,
    windowed,
    with_episode,
)
from mlsched_papers.chic.measured import At, Measured
from mlsched_papers.claim import Bound
from mlsched_papers.statement import ABOVE_0, Piece, Statement, stated
from mlsched_papers.view import Values, change


def _behind(m: Measured, once: Policy, anew: Policy, rate: float) -> Values:
    """Return the percentage by which a policy trained once exceeds, in ACT, the one trained for the rate."""
    view = m.views[0]  # the same runs under every interpretation of Optimus
    return change(view.values(once, "act", At(rate)), view.values(anew, "act", At(rate)))


def _lower_rates(m: Measured) -> list[float]:
    """Return the rates of sparse arrivals: those below the common training rate."""
    return [rate for rate in m.grid.rates if rate < m.grid.at]


@stated(
    "trained-once-4.06",
    text="if arrivals are not dense, Chic trained once at 1.8/h is at most 4.06 % behind Chic trained for the rate",
    where="Section 6.2.1, Fig. 4(c)",
    tested="its ACT above that of Chic trained anew, at the rates below 1.8/h",
    chance=("learning-needed",),
)
def trained_once(m: Measured) -> list[Piece]:
    return [
        Piece(
            m.views[0].name,
            f"Chic (1.8/h) behind Chic at {rate:g}/h",
            _behind(m, CHIC_ONCE, CHIC, rate),
            Bound(high=paper.ONCE_BEHIND),
            "%",
            paper.ONCE_BEHIND,
            untrained=learning.untrained(CHIC_ONCE) or learning.untrained(CHIC, rate),
        )
        for rate in _lower_rates(m)
    ]


@stated(
    "pair-adapts",
    text="trained once at 1.8/h, Chic-Pair adapts to other rates better than Chic does",
    where="Section 6.2.1, Fig. 4(c)",
    tested="how much less it is behind itself trained anew than Chic is behind itself, at every other rate",
    chance=("learning-needed", "pair-learning-needed"),
)
def pair_adapts(m: Measured) -> list[Piece]:
    everyone = (CHIC_ONCE, CHIC, CHIC_PAIR_ONCE, CHIC_PAIR)
    result = []
    for rate in (rate for rate in m.grid.rates if rate != m.grid.at):
        chic, pair = (_behind(m, once, anew, rate) for once, anew in (everyone[:2], everyone[2:]))
        missing = [learning.untrained(p, rate if p.anew else None) for p in everyone]
        result.append(
            Piece(
                m.views[0].name,
                f"Chic's distance less Chic-Pair's at {rate:g}/h",
                chic - pair if chic.shape == pair.shape else None,
                ABOVE_0,
                "points",
                untrained=next(filter(None, missing), ""),
            )
        )
    return result


@stated(
    "trained-once-below-optimus",
    text="trained once at 1.8/h, Chic and Chic-Pair are below Optimus at every rate",
    where="Section 6.2.1, Fig. 4(c), implied",
    tested="their cut of Optimus-600's ACT, at every rate",
    chance=("learning-needed", "pair-learning-needed"),
)
def once_below_optimus(m: Measured) -> list[Piece]:
    return [
        Piece(
            v.name,
            f"{policy.label} below {OPTIMUS_600.label} at {rate:g}/h",
            v.cut(policy, OPTIMUS_600, "act", At(rate)),
            ABOVE_0,
            "%",
            untrained=learning.untrained(policy),
        )
        for v in m.views
        for policy in (CHIC_ONCE, CHIC_PAIR_ONCE)
        for rate in m.grid.rates
    ]


@stated(
    "runtime-ratio",
    text="Chic takes 3.00 times as long as Chic-Pair to schedule 30 jobs",
    where="Section 6.2.1, Fig. 5(a)",
    tested="CPU time of whole runs at 1.8/h, within a quarter",
)
def runtime_ratio(m: Measured) -> list[Piece]:
    bound = Bound(0.75 * paper.RUNTIME_RATIO, 1.25 * paper.RUNTIME_RATIO)
    return _runtimes(m, CHIC, CHIC_PAIR, bound, paper.RUNTIME_RATIO)


@stated(
    "runtime-pair-as-optimus",
    kind="direction",
    text="Chic-Pair's runtime is similar to that of Optimus with 600 s",
    where="Section 6.2.1, Fig. 5(a)",
    tested="CPU time of whole runs at 1.8/h over Optimus-600's, within a quarter of 1",
)
def runtime_pair(m: Measured) -> list[Piece]:
    return _runtimes(m, CHIC_PAIR, OPTIMUS_600, Bound(0.75, 1.25), None)


@stated(
    "runtime-pair-before-optimus",
    kind="direction",
    text="with shorter intervals, Chic-Pair outperforms Optimus in runtime",
    where="Section 6.2.1, Fig. 5(a)",
    tested="CPU time of whole runs at 1.8/h over Optimus' with 300 s and with 150 s, below 1",
)
def runtime_pair_before(m: Measured) -> list[Piece]:
    below_1 = Bound(high=1.0, strict=True)
    return [piece for other in (OPTIMUS_300, optimus(150)) for piece in _runtimes(m, CHIC_PAIR, other, below_1, None)]


def _runtimes(m: Measured, policy: Policy, other: Policy, bound: Bound, printed: float | None) -> list[Piece]:
    """Return the ratios of the CPU times of two policies, one piece per interpretation."""
    result: list[Piece] = []
    for v in m.views:
        ours, theirs = (v.values(one, "runtime_s") for one in (policy, other))
        measurement = ours / theirs if len(ours) == len(theirs) else None
        missing = learning.untrained(policy) or learning.untrained(other)
        what = f"{policy.label} over {other.label}"
        result.append(Piece(v.name, what, measurement, bound, "", printed, untrained=missing))
    return result


@stated(
    "step-0.78-ms",
    text="a time step of Chic takes no more than 0.78 ms on one core",
    where="Section 4.2",
    tested="CPU time of its decisions over the actions in them, at 1.8/h, on the machine at hand",
)
def step_time(m: Measured) -> list[Piece]:
    view = m.views[0]  # the same runs under every interpretation of Optimus
    bound = Bound(high=paper.STEP_MS)
    return [Piece(view.name, "an action", view.values(CHIC, "step_ms"), bound, "ms", paper.STEP_MS)]


@stated(
    "episode-60",
    kind="direction",
    text="training with W = 60 jobs per episode yields a slightly better result than with W = 30",
    where="Section 6.2.3, Fig. 7(a)",
    tested="cut of the ACT of the one trained with W = 30, above 0 and at most 5 %, at 1.8/h, test sequences of either "
    "length",
)
def episode_60(m: Measured) -> list[Piece]:
    view = m.views[0]
    result = []
    for policy in (CHIC, CHIC_PAIR):
        longer = with_episode(policy, EPISODES[-1])
        for length, jobs in m.grid.lengths.items():
            measurement = view.cut(longer, policy, "act", At(m.grid.at, jobs))
            missing = learning.untrained(longer) or learning.untrained(policy)
            what = f"{policy.label}, sequences of {length} jobs"
            result.append(Piece(view.name, what, measurement, Bound(0.0, 5.0, strict=True), "%", untrained=missing))
    return result


@stated(
    "window-4",
    text="at 2.7/h, Chic-Pair with I = 4 has an ACT of 71.28 s less than with I = 3; I = 2 is worse",
    where="Section 6.2.3, Fig. 7(b)",
    tested="differences to I = 3: within a quarter of 71.28 s, and above 0; a Chic-Pair trained for each I at 2.7/h",
)
def window_4(m: Measured) -> list[Piece]:
    view, at, gain = m.views[0], At(m.grid.rates[-1]), paper.WINDOW_GAIN_S
    two, three, four = (windowed("Chic-Pair", f"chic-pair:window={w}", w, anew=True) for w in WINDOWS)
    return [
        Piece(
            view.name,
            f"{better.label} below {worse.label}",
            view.less(better, worse, "act", at),
            bound,
            "s",
            printed,
            untrained=learning.untrained(better, at.rate) or learning.untrained(worse, at.rate),
        )
        for better, worse, bound, printed in (
            (four, three, Bound(0.75 * gain, 1.25 * gain), gain),
            (three, two, ABOVE_0, None),
        )
    ]


STATEMENTS: tuple[Statement, ...] = (
    trained_once,
    pair_adapts,
    once_below_optimus,
    runtime_ratio,
    runtime_pair,
    runtime_pair_before,
    step_time,
    episode_60,
    window_4,
)
