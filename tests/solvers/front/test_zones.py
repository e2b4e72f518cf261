"""The search region, against its definition."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mlsched.solvers.front.zones import Zones

points_of = st.integers(2, 4).flatmap(
    lambda p: st.lists(st.lists(st.integers(0, 4), min_size=p, max_size=p), max_size=8).map(lambda rows: (p, rows))
)


def antichain(rows):
    """The given points that no other one dominates, in the order given."""
    kept = []
    for row in rows:
        if row not in kept and not any(all(a <= b for a, b in zip(o, row, strict=True)) and o != row for o in rows):
            kept.append(row)
    return kept


@given(points_of)
def test_zones_cover_exactly_what_no_point_weakly_dominates(drawn):
    p, rows = drawn
    zones = Zones([0] * p, [4] * p)
    for row in (rows := antichain(rows)):
        zones.insert(np.array(row))
    for cell in itertools.product(range(5), repeat=p):
        free = not any(all(a <= b for a, b in zip(row, cell, strict=True)) for row in rows)
        assert bool((np.array(cell) < zones.upper).all(axis=1).any()) == free
    upper = zones.upper.tolist()
    for a, b in itertools.permutations(range(len(upper)), 2):
        assert not all(x <= y for x, y in zip(upper[a], upper[b], strict=True)), "a zone inside another"


@given(points_of, st.data())
def test_proofs_close_the_same_zones_before_and_after_the_points(drawn, data):
    p, rows = drawn
    proof = st.tuples(st.integers(0, p - 1), st.lists(st.integers(0, 5), min_size=p, max_size=p), st.integers(0, 5))
    proofs = data.draw(st.lists(proof, max_size=6))
    steps = [("point", r) for r in antichain(rows)] + [("proof", q) for q in proofs]
    found = []
    for order in (steps, steps[::-1], data.draw(st.permutations(steps))):
        zones = Zones([0] * p, [4] * p)
        for kind, what in order:
            if kind == "point":
                zones.insert(np.array(what))
            else:
                zones.prove(what[0], np.array([what[1]]), np.array([what[2]]))
        free = [
            c
            for c in itertools.product(range(5), repeat=p)
            if ((np.array(c) < zones.upper) & (np.array(c) >= zones.lower)).all(axis=1).any()
        ]
        found.append(free)
        # Nothing is closed that neither a point nor a proof closes.
        for cell in itertools.product(range(5), repeat=p):
            closed = any(all(a <= b for a, b in zip(r, cell, strict=True)) for r in antichain(rows)) or any(
                cell[k] < least and all(cell[j] < bounds[j] for j in range(p) if j != k) for k, bounds, least in proofs
            )
            assert cell in free or closed
    assert bool(found[0]) == bool(found[1]) == bool(found[2])


@given(points_of, st.data())
def test_what_is_under_way_is_not_asked_again_and_what_it_tells_of_last(drawn, data):
    p, rows = drawn
    zones = Zones([0] * p, [4] * p)
    for row in antichain(rows):
        zones.insert(np.array(row))
    asked = []
    while (selected := zones.select(np.zeros(p), 8, asked)) is not None:
        chosen, k = selected
        others = [j for j in range(p) if j != k]
        mine = {tuple(zones.upper[z]) for z in chosen}
        for before, bounds in asked:
            seen = [j for j in range(p) if j != before]
            same = {tuple(u) for u in zones.upper.tolist() for b in bounds.tolist() if all(u[j] == b[j] for j in seen)}
            assert not mine & same
        told = {tuple(u) for u in zones.upper.tolist() if any(within(u, b, j) for j, bounds in asked for b in bounds)}
        assert not mine & told or len(told) + len(asked) >= len(zones)
        asked.append((k, zones.upper[chosen]))
        assert len({tuple(zones.upper[z, others]) for z in chosen}) == len(chosen)
    assert len(asked) <= len(zones)


def within(zone, bounds, k) -> bool:
    return all(u <= b for j, (u, b) in enumerate(zip(zone, bounds, strict=True)) if j != k)
