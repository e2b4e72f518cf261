"""Claims of the Harmony paper about its training (Section VI-D): Table II and Figure 10."""

from __future__ import annotations

from collections.abc import Mapping

from mlsched_papers.claim import Bound
from mlsched_papers.harmony import paper, training
from mlsched_papers.harmony.measured import Measured
from mlsched_papers.statement import ABOVE_0, Piece, Statement, near, stated
from mlsched_papers.view import change

PAIRED = (
    "percent by which the average completion time is above the other training's, mean over the same workloads, one "
    "training seed each"
)


def _longer(m: Measured, bounds: Mapping[str, Bound], than: str, printed: Mapping[str, float]) -> list[Piece]:
    """Return by how much completion times of some trainings exceed those of another; not measured without both.

    Args:
        m: Measurements.
        bounds: Label of a training -> bound on the rise, percent.
        than: Label of the training that they are compared with.
        printed: Label of a training -> the paper's number.
    """
    view = m.views[0]
    output = {policy.label: policy for policy in view.of_kind("variant")}
    result = []
    for name, bound in bounds.items():
        there = name in output and than in output
        values = (
            change(view.values(output[name], view.metric), view.values(output[than], view.metric)) if there else None
        )
        why = next((why for p in (name, than) if there and (why := training.untrained(output[p]))), "")
        what = f"{name}, above {than}"
        result.append(Piece(view.name, what, values, bound, "%", printed.get(name), untrained=why))
    return result


LONGER = {name: percent for name, (_, percent) in paper.TABLE_II.items()}


@stated(
    "training-techniques",
    text="Without value network, exploration or experience replay jobs take 49.3, 68.2 and 37.7 % longer",
    where="Section VI-D, Table II",
    tested=f"{PAIRED}, within 5 points of what is printed",
)
def techniques(m: Measured) -> list[Piece]:
    return _longer(m, {name: near(percent) for name, percent in LONGER.items()}, training.FULL, LONGER)


@stated(
    "training-techniques-help",
    text="Each of the three techniques shortens completion times",
    where="Section VI-D, weaker",
    tested=f"{PAIRED}, above 0",
)
def techniques_help(m: Measured) -> list[Piece]:
    return _longer(m, dict.fromkeys(LONGER, ABOVE_0), training.FULL, LONGER)


@stated(
    "neurons-128",
    kind="order",
    text="The best performance is achieved with 128 neurons",
    where="Section VI-D, Fig. 10(a)",
    tested=f"{PAIRED}, above 0",
)
def neurons(m: Measured) -> list[Piece]:
    return _longer(m, dict.fromkeys(("64 neurons", "256 neurons"), ABOVE_0), "128 neurons", {})


@stated(
    "layers-3",
    kind="order",
    text="The network with 3 hidden layers performs the best",
    where="Section VI-D, Fig. 10(b)",
    tested=f"{PAIRED}, above 0",
)
def layers(m: Measured) -> list[Piece]:
    fewer_or_more = [name for name in training.NETWORKS if "layer" in name]
    return _longer(m, dict.fromkeys(fewer_or_more, ABOVE_0), training.FULL, {})


STATEMENTS: tuple[Statement, ...] = (techniques, techniques_help, neurons, layers)
