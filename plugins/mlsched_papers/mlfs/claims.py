"""Claims of the MLFS paper's evaluation (Section 4.2), with their tests: its orders, its percentages, Figures 6 to 9.

A percentage is met if the improvement is at least the lower one of experiment and simulation, less five points.
Claims about MLF-RL are not trained until its weights meet their criterion. MLFS is measured as it is: with weights that
do not meet it, MLF-H places, as in the paper before the switch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlsched.learned.taskgraph.mlf_rl import trained_weights
from mlsched_papers.claim import Bound, Claim
from mlsched_papers.mlfs import grid as g
from mlsched_papers.mlfs import paper
from mlsched_papers.mlfs.grid import MLF_H, MLF_H_C, MLF_RL, MLFS, WITHOUT, Policy
from mlsched_papers.mlfs.measured import Measured
from mlsched_papers.statement import ABOVE_0, POINTS, Piece, Statement, stated

EVERY_LOAD = "at every load at which jobs wait"
AT_LEAST = f"at least what the paper prints, less {POINTS:g} points"
HIGHEST = f"improvement at the highest load, workload by workload: {AT_LEAST}"
WITH_AND_WITHOUT = f"improvement by the feature {EVERY_LOAD}: {AT_LEAST}"
#: Policies that may stop jobs early.
STOPPING = (MLFS, MLF_H_C)
UNTRAINED = "its weights do not meet the criterion of their training (Section 3.4)"


def compared_with_each(m: Measured, policy: Policy, others: Sequence[Policy], metric: str) -> list[Piece]:
    """Return the improvement of a policy on each of the others, at every load at which both ran."""
    return [
        _improvement_piece(m, policy, other, metric, ABOVE_0, at=x)
        for other in others
        if other in m.policies and policy in m.policies
        for x in m.loads(policy, other)
    ]


def _improvement_piece(
    m: Measured,
    policy: Policy,
    other: Policy,
    metric: str,
    bound: Bound,
    *,
    at: float | None = None,
    printed: float | None = None,
    untrained: str = "",
) -> Piece:
    """Return a policy's improvement on another at a load, by default the highest, with its reach."""
    x = m.here if at is None else at
    place = "" if at is None else f" at x = {x:g}"
    most = m.reach(policy, other, metric, x, stops=policy in STOPPING)
    return Piece(
        m.name,
        f"{policy.label} against {other.label}{place}",
        m.better(policy, other, metric, x) if {policy, other} <= set(m.policies) else None,
        bound,
        "%",
        printed,
        untrained=untrained,
        idle="" if at is None else m.idle(x),
        reach=None if most is None else Bound(high=most),
    )


#: Metric -> its words with a name before them, those of the claim on its percentages, and its figures.
METRICS = {
    "jct": ("'s average JCT is below that of", "average JCT", "4(b), 5(b)"),
    "soon": (" finishes more jobs within 100 minutes than", "share of jobs done in 100 minutes", "4(a), 5(a)"),
    "makespan": ("'s makespan is below that of", "makespan", "4(a), 5(a)"),
    "deadlines": (" meets more deadlines than", "deadlines met", "4(c), 5(c)"),
    "waiting": (" lets jobs wait less than", "waiting", "4(d), 5(d)"),
    "accuracy": (" has a higher accuracy by the deadline than", "accuracy", "4(e), 5(e)"),
    "guarantee": (" meets more accuracy requirements than", "requirements met", "4(f), 5(f)"),
    "bandwidth": (" sends less than", "volume", "4(g), 5(g)"),
}
ALL = "Graphene, Tiresias, HyperSched, RL, Gandiva, TensorFlow and SLAQ"


def _order_statement(name: str, policy: Policy, others: Sequence[Policy], metric: str, words: str) -> Statement:
    """State a claim that a policy comes before others."""
    verb, _, figures = METRICS[metric]

    @stated(
        f"{name}-{metric}",
        kind="order",
        text=f"{policy.label}{verb} {words}",
        where=f"Section 4.2.1, Fig. {figures}",
        tested=f"{policy.label}'s improvement on each of them, {EVERY_LOAD}",
    )
    def collect(m: Measured) -> list[Piece]:
        return compared_with_each(m, policy, others, metric)

    return collect


#: Metrics by which the paper's text orders the schedulers.
ORDERED = tuple(metric for metric in METRICS if metric != "makespan")
ORDERS = (
    *(_order_statement("first", MLFS, (MLF_H, *g.PAPERS), metric, f"MLF-H, {ALL}") for metric in ORDERED),
    *(_order_statement("order", MLF_H, g.PAPERS, metric, ALL) for metric in ORDERED),
    *(
        _order_statement(
            "best", policy, [p for p in g.PAPERS if p != policy], metric, "the others that MLFS is compared with"
        )
        for policy, metric in (
            (g.GRAPHENE, "jct"),
            (g.GRAPHENE, "waiting"),
            (g.HYPERSCHED, "deadlines"),
            (g.HYPERSCHED, "accuracy"),
        )
    ),
)


def _last_place_statement(name: str, text: str, figure: str, policy: Policy, metric: str) -> Statement:
    """State a claim that a compared scheduler comes after MLF-H and all that it is compared with."""

    @stated(
        name,
        kind="order",
        text=text,
        where=f"Section 4.2.1, Fig. {figure}",
        tested=f"improvement of each of the others on {policy.label}, {EVERY_LOAD}",
    )
    def collect(m: Measured) -> list[Piece]:
        others = [p for p in (MLF_H, *g.PAPERS) if p != policy]
        return [piece for other in others for piece in compared_with_each(m, other, [policy], metric)]

    return collect


LAST = (
    _last_place_statement(
        "gandiva-bandwidth", "Gandiva sends most between servers", "4(g), 5(g)", g.GANDIVA, "bandwidth"
    ),
    _last_place_statement("slaq-jct", "SLAQ has the highest average JCT", "4(b), 5(b)", g.SLAQ, "jct"),
)


@stated(
    "overhead",
    kind="order",
    text="a decision takes Gandiva least, then TensorFlow, Tiresias, Graphene, HyperSched, SLAQ, MLF-H and MLFS",
    where="Section 4.2.1, Fig. 4(h)",
    tested="CPU time per decision of each against the next at the highest load; MLF-RL and RL are left out, because "
    "the printed numbers put them after MLF-H and the printed order before it",
)
def overhead(m: Measured) -> list[Piece]:
    order = (g.GANDIVA, g.TENSORFLOW, g.TIRESIAS, g.GRAPHENE, g.HYPERSCHED, g.SLAQ, MLF_H, MLFS)
    return [
        _improvement_piece(m, one, after, "overhead", ABOVE_0) for one, after in zip(order, order[1:], strict=False)
    ]


def _printed_improvement(
    m: Measured, policy: Policy, other: Policy, metric: str, numbers: Sequence[float], why: str = ""
) -> Piece:
    low = min(numbers)
    return _improvement_piece(m, policy, other, metric, Bound(low=low - POINTS), printed=low, untrained=why)


def _mlfs_statement(metric: str, printed: Mapping[str, tuple[float, float]]) -> Statement:
    """State a claim about MLFS, by its improvement on others in percent."""
    _, name, figures = METRICS[metric]

    @stated(
        f"mlfs-{metric}",
        text=f"MLFS improves the {name} of {' and '.join(printed)} by what the paper prints",
        where=f"Section 4.2.1, Fig. {figures}",
        tested=HIGHEST,
    )
    def collect(m: Measured) -> list[Piece]:
        others = {p.label: p for p in g.PAPERS}
        return [_printed_improvement(m, MLFS, others[label], metric, numbers) for label, numbers in printed.items()]

    return collect


def _mlf_rl_statement(metric: str, printed: Mapping[str, tuple[float, float]]) -> Statement:
    """State a claim about MLF-RL: its improvement on MLF-H, and MLFS's on it."""
    _, name, figures = METRICS[metric]

    @stated(
        f"mlf-rl-{metric}",
        text=f"MLF-RL improves the {name} of MLF-H, and MLFS that of MLF-RL, by what the paper prints",
        where=f"Section 4.2.1, Fig. {figures}",
        tested=f"{HIGHEST}; MLF-RL is also better than each of {ALL}",
    )
    def collect(m: Measured) -> list[Piece]:
        if MLF_RL not in m.policies:
            return []
        queueing = "held" if m.name == g.HELD else "iteration"
        why = "" if trained_weights("", queueing).card.get("trained") is True else UNTRAINED
        return [
            _printed_improvement(m, MLF_RL, MLF_H, metric, printed["MLF-H"], why),
            _printed_improvement(m, MLFS, MLF_RL, metric, printed["MLF-RL"], why),
            *(_improvement_piece(m, MLF_RL, p, metric, ABOVE_0, untrained=why) for p in g.PAPERS if metric in ORDERED),
        ]

    return collect


PERCENTAGES = (
    *(_mlfs_statement(metric, printed) for metric, printed in paper.MLFS.items()),
    *(_mlf_rl_statement(metric, printed) for metric, printed in paper.MLF_RL.items()),
)


def _feature_statement(
    name: str,
    text: str,
    figure: int,
    pair: tuple[Policy, Policy],
    printed: Mapping[str, tuple[float, float]],
    note: str = "",
) -> Statement:
    """State a claim about a feature's gain in each metric, from least to most over the paper's loads.

    A printed loss is a pair of negative numbers; the loss is met within five points of it.
    """
    policy, other = pair

    @stated(name, text=text, where=f"Section 4.2.2, Fig. {figure}", tested=WITH_AND_WITHOUT + note)
    def collect(m: Measured) -> list[Piece]:
        if not {policy, other} <= set(m.policies):
            return []
        bounds = {
            metric: Bound(low=low - POINTS, high=None if low >= 0 else high + POINTS)
            for metric, (low, high) in printed.items()
        }
        return [
            _improvement_piece(m, policy, other, metric, bounds[metric], at=x, printed=low)
            for metric, (low, _) in printed.items()
            for x in m.loads(policy, other)
        ]

    return collect


FEATURES = (
    _feature_statement(
        "urgency",
        "to consider urgency meets 22 to 30 % more deadlines of urgent jobs",
        6,
        (MLF_H, WITHOUT[0]),
        {"urgent_deadlines": paper.URGENT_DEADLINES},
    ),
    _feature_statement(
        "deadline",
        "to consider deadlines meets 13 to 25 % more of them",
        6,
        (MLF_H, WITHOUT[1]),
        {"deadlines": paper.DEADLINES_BY_DEADLINE},
    ),
    _feature_statement(
        "bandwidth",
        "to consider bandwidth cuts what is sent by 20 to 35 %, and the JCT by 5 to 15 %",
        7,
        (MLF_H, WITHOUT[2]),
        {"bandwidth": paper.BANDWIDTH_BY_BANDWIDTH, "jct": paper.JCT_BY_BANDWIDTH},
    ),
    _feature_statement(
        "migration",
        "migration cuts overload by 36 to 60 % and the JCT by 15 to 24 %, and raises accuracy by 8 to 10 %",
        8,
        (MLF_H, WITHOUT[3]),
        {
            "overload": paper.OVERLOAD_BY_MIGRATION,
            "jct": paper.JCT_BY_MIGRATION,
            "accuracy": paper.ACCURACY_BY_MIGRATION,
        },
        "; overload is the share of time of the resource that has most",
    ),
    _feature_statement(
        "migration-bandwidth",
        "migration raises what is sent by 10 to 14 %",
        8,
        (MLF_H, WITHOUT[3]),
        {"bandwidth": (-paper.BANDWIDTH_BY_MIGRATION[1], -paper.BANDWIDTH_BY_MIGRATION[0])},
        ", and at most the most that it prints, plus 5 points",
    ),
    _feature_statement(
        "mlf-c",
        "MLF-C cuts the JCT by 28 to 42 % and meets 17 to 23 % more accuracy requirements",
        9,
        (MLF_H_C, MLF_H),
        {"jct": paper.JCT_BY_MLF_C, "guarantee": paper.GUARANTEE_BY_MLF_C},
    ),
)


def _stronger_statement(name: str, policy: Policy) -> Statement:
    """State our claim that a policy is also before baselines that are stronger than in the paper."""

    @stated(
        f"ours-{name}",
        text=f"{policy.label}'s average JCT is also below that of baselines that preempt or place near",
        where="ours",
        tested=f"{policy.label}'s improvement on each of them, {EVERY_LOAD}",
    )
    def collect(m: Measured) -> list[Piece]:
        return compared_with_each(m, policy, g.STRONGER, "jct")

    return collect


OURS = (_stronger_statement("first", MLFS), _stronger_statement("order", MLF_H))

STATEMENTS: tuple[Statement, ...] = (*ORDERS, *LAST, overhead, *PERCENTAGES, *FEATURES, *OURS)


def claims(*measured: Measured) -> list[Claim]:
    """Return the claims with their verdicts, in the paper's order; `measured`: the runs under each interpretation."""
    return [statement.judge(*measured) for statement in STATEMENTS]
