"""Claims of the MLFS paper's evaluation (Section 4.2), with their tests.

Claims about MLF-RL and MLFS are about trained policies, and are not measured until these exist. Their numbers are of
MLFS. The paper's claims about MLF-H are its place in the orders of Section 4.2.1, and Figures 6 to 9.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlsched_papers.claim import Bound, Claim
from mlsched_papers.mlfs import grid as g
from mlsched_papers.mlfs import paper
from mlsched_papers.mlfs.grid import MLF_H, MLF_H_C, WITHOUT, Policy
from mlsched_papers.mlfs.measured import Measured
from mlsched_papers.statement import ABOVE_0, Piece, Statement, stated

HIGHEST = "improvement at the highest load, workload by workload"
ORDER = (
    "MLF-H's improvement on every scheduler that comes after it in the paper's order, at every load at which jobs wait"
)
WITH_AND_WITHOUT = (
    "improvement by the feature at every load at which jobs wait, within what the paper prints for its loads"
)


def _order(metric: str, text: str, figure: str) -> Statement:
    """State a claim that MLF-H comes before all compared schedulers."""

    @stated(f"order-{metric}", text=text, where=f"Section 4.2.1, Fig. {figure}", tested=ORDER)
    def collect(m: Measured) -> list[Piece]:
        return [
            Piece(
                m.name,
                f"MLF-H against {p.label} at x = {x:g}",
                m.better(MLF_H, p, metric, x),
                ABOVE_0,
                "%",
                idle=m.idle(x),
            )
            for p in g.PAPERS
            if p in m.policies
            for x in m.grid.loads
        ]

    return collect


ORDERS = tuple(
    _order(metric, text, figure)
    for metric, text, figure in (
        (
            "jct",
            "MLF-H's average JCT is below that of Graphene, Tiresias, HyperSched, RL, Gandiva, TensorFlow and SLAQ",
            "4(b)",
        ),
        (
            "deadlines",
            "MLF-H meets more deadlines than HyperSched, Graphene, Tiresias, RL, Gandiva, TensorFlow and SLAQ",
            "4(c)",
        ),
        ("waiting", "jobs wait less under MLF-H than under all that it is compared with", "4(d)"),
        ("accuracy", "accuracy by the deadline is higher under MLF-H than under all that it is compared with", "4(e)"),
        ("guarantee", "MLF-H meets more accuracy requirements than all that it is compared with", "4(f)"),
    )
)


@stated(
    "gandiva-bandwidth",
    text="Gandiva sends most between servers",
    where="Section 4.2.1, Fig. 4(g)",
    tested="what the others save of Gandiva's volume, at every load at which jobs wait",
)
def gandiva_bandwidth(m: Measured) -> list[Piece]:
    if g.GANDIVA not in m.policies:
        return []
    return [
        Piece(
            m.name,
            f"{p.label} against Gandiva at x = {x:g}",
            m.better(p, g.GANDIVA, "bandwidth", x),
            ABOVE_0,
            "%",
            idle=m.idle(x),
        )
        for p in (MLF_H, *g.PAPERS)
        if p in m.policies and p != g.GANDIVA
        for x in m.grid.loads
    ]


@stated(
    "jct-graphene",
    text="of the schedulers that it is compared with, Graphene has the lowest average JCT",
    where="Section 4.2.1, Fig. 4(b)",
    tested="Graphene's improvement on each of the others, at every load at which jobs wait",
)
def jct_graphene(m: Measured) -> list[Piece]:
    return [
        Piece(
            m.name,
            f"Graphene against {p.label} at x = {x:g}",
            m.better(g.GRAPHENE, p, "jct", x),
            ABOVE_0,
            "%",
            idle=m.idle(x),
        )
        for p in g.PAPERS[1:]
        if p in m.policies and g.GRAPHENE in m.policies
        for x in m.grid.loads
    ]


def _whole(name: str, metric: str, text: str, where: str, printed: Mapping[str, tuple[float, float]]) -> Statement:
    """State a claim about MLFS, by its improvement on others in percent."""

    @stated(name, text=text, where=where, tested=HIGHEST)
    def collect(m: Measured) -> list[Piece]:
        mlfs, others = g.OURS[0], {p.label: p for p in g.PAPERS}
        return [
            Piece(
                m.name,
                f"MLFS against {label}",
                m.better(mlfs, others[label], metric) if mlfs in m.policies else None,
                Bound(low=min(numbers)),
                "%",
                min(numbers),
            )
            for label, numbers in printed.items()
        ]

    return collect


MLFS = tuple(
    _whole(
        f"mlfs-{name}", name, f"MLFS improves {what} by what the paper prints", f"Section 4.2.1, Fig. {figure}", printed
    )
    for name, what, figure, printed in (
        ("jct", "the average JCT of Tiresias and SLAQ", "4(b), 5(b)", paper.JCT),
        ("makespan", "the makespan of Tiresias and SLAQ", "4(a), 5(a)", paper.MAKESPAN),
        ("deadlines", "the deadlines met of HyperSched and SLAQ", "4(c), 5(c)", paper.DEADLINES),
        ("waiting", "the waiting of Tiresias and SLAQ", "4(d), 5(d)", paper.WAITING),
        ("accuracy", "the accuracy of HyperSched and TensorFlow", "4(e), 5(e)", paper.ACCURACY),
        ("guarantee", "the requirements met of HyperSched and TensorFlow", "4(f), 5(f)", paper.GUARANTEE),
        ("bandwidth", "the volume of TensorFlow and Gandiva", "4(g), 5(g)", paper.BANDWIDTH),
    )
)


def _feature(
    name: str,
    text: str,
    figure: int,
    policy: Policy,
    other: Policy,
    printed: Mapping[str, tuple[float, float]],
    note: str = "",
) -> Statement:
    """State a claim about a feature's gain in each metric, from least to most over the paper's loads."""

    @stated(name, text=text, where=f"Section 4.2.2, Fig. {figure}", tested=WITH_AND_WITHOUT + note)
    def collect(m: Measured) -> list[Piece]:
        if policy not in m.policies or other not in m.policies:
            return []
        return [
            Piece(
                m.name,
                f"{policy.label} against {other.label} at x = {x:g}",
                m.better(policy, other, metric, x),
                Bound(low=low),
                "%",
                low,
                idle=m.idle(x),
            )
            for metric, (low, _) in printed.items()
            for x in m.grid.loads
        ]

    return collect


FEATURES = (
    _feature(
        "urgency",
        "to consider urgency meets 22 to 30 % more deadlines of urgent jobs",
        6,
        MLF_H,
        WITHOUT[0],
        {"urgent_deadlines": paper.URGENT_DEADLINES},
    ),
    _feature(
        "deadline",
        "to consider deadlines meets 13 to 25 % more of them",
        6,
        MLF_H,
        WITHOUT[1],
        {"deadlines": paper.DEADLINES_BY_DEADLINE},
    ),
    _feature(
        "bandwidth",
        "to consider bandwidth cuts what is sent by 20 to 35 %, and the JCT by 5 to 15 %",
        7,
        MLF_H,
        WITHOUT[2],
        {"bandwidth": paper.BANDWIDTH_BY_BANDWIDTH, "jct": paper.JCT_BY_BANDWIDTH},
    ),
    _feature(
        "migration",
        "migration cuts overload by 36 to 60 % and the JCT by 15 to 24 %, and raises accuracy by 8 to 10 %",
        8,
        MLF_H,
        WITHOUT[3],
        {
            "overload": paper.OVERLOAD_BY_MIGRATION,
            "jct": paper.JCT_BY_MIGRATION,
            "accuracy": paper.ACCURACY_BY_MIGRATION,
        },
        "; overload is the share of time of the resource that has most",
    ),
    _feature(
        "mlf-c",
        "MLF-C cuts the JCT by 28 to 42 % and meets 17 to 23 % more accuracy requirements",
        9,
        MLF_H_C,
        MLF_H,
        {"jct": paper.JCT_BY_MLF_C, "guarantee": paper.GUARANTEE_BY_MLF_C},
    ),
)


STATEMENTS: tuple[Statement, ...] = (*ORDERS, gandiva_bandwidth, jct_graphene, *MLFS, *FEATURES)


def claims(*measured: Measured) -> list[Claim]:
    """Return the claims with their verdicts, in the paper's order; `measured`: the runs under each interpretation."""
    return [statement.judge(*measured) for statement in STATEMENTS]
