"""Places of runs in models: single nodes, or classes of identical nodes with at most one run per node.

P|prec|Cmax is the extreme case: m machines are one place of capacity m. The machine of a run is then recovered by
colouring an interval graph: in order of starts, each run takes any free machine of the class.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from mlsched.formulations.taskgraph._layout import Layout


@dataclasses.dataclass(frozen=True)
class Place:
    """Nodes that a model treats as one; `whole`: each run takes one of them for itself."""

    nodes: tuple[int, ...]
    whole: bool


def places(layout: Layout, traffic: bool) -> list[Place]:
    """Return one place per node, or one per class of identical nodes if that is exact.

    It is exact if (a) two runs never fit on one node, (b) delays and required traffic do not depend on the node
    within a class, and (c) a run may take any node for all choices of earlier runs.
    """
    classes = _equal_node_classes(layout)
    if len(classes) == layout.nodes or not (
        _all_unbound(layout) and _nodes_do_not_matter(layout, traffic) and _pairs_never_fit(layout)
    ):
        return single_places(layout)
    return [Place(nodes, True) for nodes in classes]


def single_places(layout: Layout) -> list[Place]:
    """Return one place for each node."""
    return [Place((n,), False) for n in range(layout.nodes)]


def is_job_shop(layout: Layout) -> bool:
    """Return if each task has one node, of several, and nodes never run two tasks at once."""
    return layout.nodes > 1 and all(len(nodes) == 1 for nodes in layout.allowed) and _pairs_never_fit(layout)


def _equal_node_classes(layout: Layout) -> list[tuple[int, ...]]:
    """Return classes of nodes with equal capacities that may run the same tasks."""
    eligible = layout.instance.eligible
    groups: dict[tuple[tuple[int, ...], bytes], list[int]] = {}
    for n in range(layout.nodes):
        groups.setdefault((tuple(layout.capacity[n]), eligible[:, n].tobytes()), []).append(n)
    return [tuple(nodes) for nodes in groups.values()]


def _all_unbound(layout: Layout) -> bool:
    """Return if runs are never bound to the node of another run (c)."""
    single = all(most - first <= 1 for most, first in zip(layout.maximum, layout.finished, strict=True))
    homeless = all(home < 0 for home in layout.home)
    return not layout.sticky or (single and homeless)


def _nodes_do_not_matter(layout: Layout, traffic: bool) -> bool:
    """Return if the nodes of runs within a class do not matter (b)."""
    i = layout.instance
    matters = (i.edge_delay > 0) | ((i.edge_volume > 0) & traffic)
    return not bool((matters & ~((i.edge_from == i.edge_to) & layout.sticky)).any())


def _pairs_never_fit(layout: Layout) -> bool:
    """Return if any two runs exceed some resource of every node (a)."""
    i = layout.instance
    lasting = i.demand[i.duration > 0]
    return len(lasting) > 0 and bool((2 * lasting.min(axis=0) > i.node_capacity.max(axis=0)).any())


def symmetric(layout: Layout) -> list[tuple[int, ...]]:
    """Return classes of at least two nodes that may be renamed.

    Delays and traffic depend only on the equality of two nodes. Consider nodes that are equal in capacity and
    eligibility, and are not the home of a task or the node of a fixed run. A permutation of them maps plans to plans
    of equal values.
    """
    plan_columns = set(layout.home) | {node for node, _ in layout.fixed.values()}
    unnamed = [tuple(n for n in nodes if n not in plan_columns) for nodes in _equal_node_classes(layout)]
    return [nodes for nodes in unnamed if len(nodes) > 1]


def colour(
    layout: Layout, group: Sequence[Place], at: dict[tuple[int, int], int], start: dict[tuple[int, int], int]
) -> dict[tuple[int, int], int]:
    """Return a node for every run, from its place (index into `group`) and start.

    Fixed runs keep their nodes: they started by now, before all other runs. In order of starts, a class of m nodes,
    at most m of them busy at any time, always has a free node.
    """
    node: dict[tuple[int, int], int] = {}
    until = [[0] * len(place.nodes) for place in group]

    def key(run: tuple[int, int]) -> tuple[int, bool, tuple[int, int]]:
        return start[run], not layout.is_fixed(*run), run

    for run in sorted(start, key=key):
        place, busy = group[at[run]], until[at[run]]
        duration = layout.duration[run[0]]
        if layout.is_fixed(*run):
            c = place.nodes.index(layout.fixed[run[0]][0])
        elif not duration or not place.whole:
            c = 0
        else:
            c = next(c for c, end in enumerate(busy) if end <= start[run])
        node[run] = place.nodes[c]
        if duration:
            busy[c] = max(busy[c], start[run] + duration)
    return node
