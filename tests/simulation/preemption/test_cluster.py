"""The preemption world's books: what is free, draining and reserved on each node."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mlsched.simulation.preemption.cluster import Cluster


@given(st.data())
def test_the_books_never_promise_the_same_room_twice(data):
    """Random takes, drains, releases and reservations, each where the world may make it."""
    capacity = np.array(
        data.draw(st.lists(st.lists(st.integers(0, 6), min_size=2, max_size=2), min_size=1, max_size=2))
    )
    cluster, running, draining, held = Cluster(capacity), [], [], []
    for _ in range(data.draw(st.integers(1, 30))):
        node = data.draw(st.integers(0, len(capacity) - 1))
        demand = np.array(data.draw(st.lists(st.integers(0, 4), min_size=2, max_size=2)))
        action = data.draw(st.sampled_from(["take", "take", "drain", "end", "release", "reserve", "start", "cancel"]))
        if action == "take" and cluster.fits(node, demand):
            cluster.take(node, demand)
            running.append((node, demand))
        elif action == "drain" and running:
            draining.append(running.pop())
            cluster.drain(*draining[-1])
        elif action == "end" and running:
            cluster.give(*running.pop(0), drained=False)
        elif action == "release" and draining:
            cluster.give(*draining.pop(0), drained=True)
        elif action == "reserve" and (cluster.promised()[:, node] >= demand).all():
            cluster.reserve(node, demand)
            held.append((node, demand))
        elif action in ("start", "cancel") and held:
            home, wanted = held.pop(0)
            cluster.cancel(home, wanted)
            if action == "start" and cluster.fits(home, wanted):
                cluster.take(home, wanted)
                running.append((home, wanted))
        busy, leaving, kept = (np.zeros_like(capacity.T) for _ in range(3))
        for books, entries in ((busy, running + draining), (leaving, draining), (kept, held)):
            for n, d in entries:
                books[:, n] += d
        assert (cluster.free == capacity.T - busy).all()
        assert (cluster.draining == leaving).all()
        assert (cluster.reserved == kept).all()
        assert (cluster.free + leaving >= kept).all()  # every reservation is covered
        assert (cluster.usable == np.maximum(cluster.free - np.maximum(kept - leaving, 0), 0)).all()
        assert (cluster.usable <= cluster.free).all()
        assert (cluster.promised() == cluster.free + leaving - kept).all()
        fitting = [n for n in range(len(capacity)) if (cluster.usable[:, n] >= demand).all()]
        assert cluster.first_fit(tuple(demand.tolist())) == (fitting[0] if fitting else -1)
