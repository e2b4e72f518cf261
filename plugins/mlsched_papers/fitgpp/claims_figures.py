"""Claims of the FitGpp paper about Figures 4 to 7, the sensitivity analysis (Section 4.3)."""

from __future__ import annotations

import itertools

from mlsched_papers.claim import Bound
from mlsched_papers.fitgpp import grid as g
from mlsched_papers.fitgpp.measured import HERE, At, FitGppView
from mlsched_papers.statement import ABOVE_0, BELOW_0, Piece, stated
from mlsched_papers.view import Values, change

#: Tolerance, percent, within which "independent" and "saturates" are tested.
TOLERANCE = 2.0
FLAT = Bound(-TOLERANCE, TOLERANCE)
OTHERS = (g.LRTP, g.RAND)


def _compare(
    view: FitGppView, new: g.Policy, old: g.Policy, metric: str, new_at: At = HERE, old_at: At = HERE
) -> Values:
    return change(view.values(new, metric, new_at), view.values(old, metric, old_at))


@stated(
    "fig4-te-decreases",
    text="TE slowdown decreases as s grows",
    where="Fig. 4",
    tested="TE 95th lower at s = 4 than at s = 0; no step between rises",
)
def te_decreases(view: FitGppView) -> list[Piece]:
    weights = [s for s in view.grid.weights if s <= 4]
    overall = _compare(view, g.fitgpp(weights[-1]), g.fitgpp(weights[0]), "te_p95")
    pieces: list[Piece] = [Piece(view.name, f"TE 95th, s {weights[0]:g} to {weights[-1]:g}", overall, BELOW_0, "%")]
    for old, new in itertools.pairwise(weights):
        step = _compare(view, g.fitgpp(new), g.fitgpp(old), "te_p95")
        pieces.append(Piece(view.name, f"TE 95th, s {old:g} to {new:g}", step, Bound(high=0.0), "%"))
    return pieces


@stated(
    "fig4-te-saturates",
    kind="direction",
    text="TE slowdown saturates between s = 4 and s = 8",
    where="Fig. 4",
    tested="TE 95th changes by at most 2 % from s = 8 to s = 16",
)
def te_saturates(view: FitGppView) -> list[Piece]:
    return [Piece(view.name, "TE 95th, s 8 to 16", _compare(view, g.fitgpp(16.0), g.fitgpp(8.0), "te_p95"), FLAT, "%")]


@stated(
    "fig4-be-flat",
    kind="direction",
    text="BE slowdown seems independent of s",
    where="Fig. 4",
    tested="BE 50th and 95th within 2 % of those at s = 4",
)
def be_flat_in_s(view: FitGppView) -> list[Piece]:
    return [
        Piece(view.name, f"BE {p}th, s = {s:g} against 4", _compare(view, g.fitgpp(s), g.FITGPP, f"be_p{p}"), FLAT, "%")
        for s in view.grid.weights
        if s != 4
        for p in (50, 95)
    ]


@stated(
    "fig5-flat",
    kind="direction",
    text="TE and BE slowdown are independent of P",
    where="Fig. 5",
    tested="TE 95th, BE 50th and 95th within 2 % of those at P = 1",
)
def flat_in_limit(view: FitGppView) -> list[Piece]:
    return [
        Piece(
            view.name,
            f"{kind.upper()} {p}th, P = {limit} against 1",
            _compare(view, g.fitgpp(limit=limit), g.FITGPP, f"{kind}_p{p}"),
            FLAT,
            "%",
        )
        for limit in view.grid.limits
        if limit != "1"
        for kind, p in (("te", 95), ("be", 50), ("be", 95))
    ]


def _at_shares(view: FitGppView, shares: tuple[float, ...], others: tuple[g.Policy, ...], metric: str) -> list[Piece]:
    """Return a measurement per share and policy, except for shares without slowdown under both policies.

    Lower values are impossible at these shares.
    """
    pieces: list[Piece] = []
    for share in shares:
        at = At(te_share=share)
        for other in others:
            if all((view.values(policy, metric, at) == 1).all() for policy in (g.FITGPP, other)):
                continue
            values = _compare(view, g.FITGPP, other, metric, at, at)
            what = f"{metric[:2].upper()} 95th at {100 * share:.0f} % TE, FitGpp against {other.label}"
            pieces.append(Piece(view.name, what, values, BELOW_0, "%"))
    return pieces


@stated(
    "fig6-te-best",
    kind="order",
    text="FitGpp outperforms the others for any proportion of TE jobs",
    where="Fig. 6",
    tested="TE 95th below FIFO's, LRTP's and RAND's at every share; where all are 1, none can be below",
)
def te_best_at_every_share(view: FitGppView) -> list[Piece]:
    return _at_shares(view, view.grid.shares, (g.FIFO, *OTHERS), "te_p95")


@stated(
    "fig6-te-best-half",
    kind="order",
    text="FitGpp outperforms the others up to 50 % TE jobs",
    where="Fig. 6, in part",
    tested="TE 95th below FIFO's, LRTP's and RAND's at shares up to 50 %; where all are 1, none can be below",
)
def te_best_up_to_half(view: FitGppView) -> list[Piece]:
    return _at_shares(view, tuple(x for x in view.grid.shares if x <= 0.5), (g.FIFO, *OTHERS), "te_p95")


@stated(
    "fig6-be-low",
    kind="order",
    text="FitGpp keeps BE slowdown relatively low for any proportion of TE jobs",
    where="Fig. 6",
    tested="BE 95th below LRTP's and RAND's at every share",
)
def be_low_at_every_share(view: FitGppView) -> list[Piece]:
    return _at_shares(view, view.grid.shares, OTHERS, "be_p95")


@stated(
    "fig7-te-grows",
    text="TE slowdown grows with the length of grace periods",
    where="Fig. 7",
    tested="TE 95th rises at every step, for LRTP, RAND and FitGpp",
)
def te_grows(view: FitGppView) -> list[Piece]:
    return [
        Piece(
            view.name,
            f"TE 95th, {policy.label}, grace periods x {old:g} to {new:g}",
            _compare(view, policy, policy, "te_p95", At(grace_scale=new), At(grace_scale=old)),
            ABOVE_0,
            "%",
        )
        for policy in (*g.PREEMPTIVE, g.FITGPP_8)
        for old, new in itertools.pairwise(view.grid.scales)
    ]


@stated(
    "fig7-s8-beats-s4",
    text="With grace periods x 8, s = 8 gives lower TE slowdown than s = 4",
    where="Fig. 7",
    tested="TE 95th below, paired by seed",
)
def s8_beats_s4(view: FitGppView) -> list[Piece]:
    longest = At(grace_scale=view.grid.scales[-1])
    values = _compare(view, g.FITGPP_8, g.FITGPP, "te_p95", longest, longest)
    return [
        Piece(view.name, f"TE 95th, grace periods x {view.grid.scales[-1]:g}, s = 8 against 4", values, BELOW_0, "%")
    ]


@stated(
    "fig7-be-grows",
    text="Longer grace periods prolong BE slowdown under LRTP and RAND",
    where="Fig. 7",
    tested="BE 95th higher at the longest grace periods than at x 1",
)
def be_grows(view: FitGppView) -> list[Piece]:
    return [Piece(view.name, f"BE 95th, {p.label}", _growth(view, p), ABOVE_0, "%") for p in OTHERS]


@stated(
    "fig7-be-low",
    kind="order",
    text="FitGpp keeps BE slowdown low whatever the grace periods, for s = 4 and s = 8",
    where="Fig. 7",
    tested="BE 95th grows less than LRTP's and RAND's, and is below theirs at every length",
)
def be_low_at_every_length(view: FitGppView) -> list[Piece]:
    pieces: list[Piece] = []
    for mine in (g.FITGPP, g.FITGPP_8):
        for other in OTHERS:
            less = _growth(view, mine) - _growth(view, other)
            pieces.append(
                Piece(view.name, f"growth of BE 95th, {mine.label} less {other.label}", less, BELOW_0, "points")
            )
            for scale in view.grid.scales:
                values = _compare(view, mine, other, "be_p95", At(grace_scale=scale), At(grace_scale=scale))
                what = f"BE 95th, grace periods x {scale:g}, {mine.label} against {other.label}"
                pieces.append(Piece(view.name, what, values, BELOW_0, "%"))
    return pieces


def _growth(view: FitGppView, policy: g.Policy) -> Values:
    """Return the rise of the BE 95th percentile from the shortest to the longest grace periods, percent."""
    longest, shortest = At(grace_scale=view.grid.scales[-1]), At(grace_scale=view.grid.scales[0])
    return _compare(view, policy, policy, "be_p95", longest, shortest)


STATEMENTS = (
    te_decreases,
    te_saturates,
    be_flat_in_s,
    flat_in_limit,
    te_best_at_every_share,
    te_best_up_to_half,
    be_low_at_every_share,
    te_grows,
    s8_beats_s4,
    be_grows,
    be_low_at_every_length,
)
