"""Where models put runs: single nodes, or classes of identical nodes of which each run takes one whole.

P|prec|Cmax is the extreme case: m machines are one place of capacity m. Which machine a run takes is then recovered by
colouring an interval graph: in order of starts, any machine of the class that is free will do.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from mlsched.formulations.taskgraph._layout import Layout


@dataclasses.dataclass(frozen=True)
class Place:
    """Nodes that a model does not tell apart; `whole`: each run takes one of them for itself."""

    nodes: tuple[int, ...]
    whole: bool


def places(layout: Layout, traffic: bool) -> list[Place]:
    """One place a node, or one per class of identical nodes where that loses nothing.

    It loses nothing when (a) two runs never fit on one node, (b) no delay and no asked-for traffic depends on which
    node of a class a run takes, and (c) a run may take any node whatever those before it took.
    """
    classes = _classes(layout)
    if len(classes) == layout.nodes or not (_free(layout) and _indifferent(layout, traffic) and _exclusive(layout)):
        return single_places(layout)
    return [Place(nodes, True) for nodes in classes]


def single_places(layout: Layout) -> list[Place]:
    """One place for each node."""
    return [Place((n,), False) for n in range(layout.nodes)]


def is_job_shop(layout: Layout) -> bool:
    """Whether each task has one node, of several, and no node holds two tasks at once."""
    return layout.nodes > 1 and all(len(nodes) == 1 for nodes in layout.allowed) and _exclusive(layout)


def _classes(layout: Layout) -> list[tuple[int, ...]]:
    """Nodes of equal capacities that may run the same tasks."""
    eligible = layout.instance.eligible
    groups: dict[tuple[tuple[int, ...], bytes], list[int]] = {}
    for n in range(layout.nodes):
        groups.setdefault((tuple(layout.capacity[n]), eligible[:, n].tobytes()), []).append(n)
    return [tuple(nodes) for nodes in groups.values()]


def _free(layout: Layout) -> bool:
    """Whether no run is bound to the node of another (c)."""
    single = all(most - first <= 1 for most, first in zip(layout.maximum, layout.finished, strict=True))
    homeless = all(home < 0 for home in layout.home)
    return not layout.sticky or (single and homeless)


def _indifferent(layout: Layout, traffic: bool) -> bool:
    """Whether nothing depends on which nodes of a class runs take (b)."""
    i = layout.instance
    matters = (i.edge_delay > 0) | ((i.edge_volume > 0) & traffic)
    return not bool((matters & ~((i.edge_from == i.edge_to) & layout.sticky)).any())


def _exclusive(layout: Layout) -> bool:
    """Whether any two runs exceed some resource of every node (a)."""
    i = layout.instance
    lasting = i.demand[i.duration > 0]
    return len(lasting) > 0 and bool((2 * lasting.min(axis=0) > i.node_capacity.max(axis=0)).any())


def symmetric(layout: Layout) -> list[tuple[int, ...]]:
    """Classes of at least two nodes that may be renamed at will.

    Delays and traffic depend only on whether two nodes are equal, so a permutation of nodes that are equal in capacity
    and eligibility, and that neither a home nor a fixed run names, maps plans to plans of equal values.
    """
    named = set(layout.home) | {node for node, _ in layout.fixed.values()}
    unnamed = [tuple(n for n in nodes if n not in named) for nodes in _classes(layout)]
    return [nodes for nodes in unnamed if len(nodes) > 1]


def colour(
    layout: Layout, group: Sequence[Place], at: dict[tuple[int, int], int], start: dict[tuple[int, int], int]
) -> dict[tuple[int, int], int]:
    """A node for every run, from its place (index into `group`) and start.

    Fixed runs keep their nodes: they started by now and no other run starts before, so in order of starts a class of m
    nodes, at most m of them busy at any time, always has a free one.
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
