"""The pooled clusters that MLF-RL-plus learns on, against the same world written plainly, one cluster at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlsched_training.taskgraph._plus_world import Clusters, clusters, mean_jct

PRICE, STRETCH, EVERY = 0.25, 1.5, 1.0


def by_time(at):
    return at.left + at.price * np.where(at.runs, -1, at.begun)


def batch_of(rows):
    """Clusters of rows (arrival, true, told, size)."""
    arrival, true, told, size = (
        np.array([[job[k] for job in row] for row in rows], dtype=np.float32) for k in range(4)
    )
    one = np.ones_like(true)
    return Clusters(arrival, true, told, 4 * one, arrival + 5, one, size, size[None])


def plainly(row):
    """The mean time from arrival to end of one cluster, serving by what is left."""
    jobs = [
        {
            "at": a,
            "left": t * STRETCH,
            "all": t * STRETCH,
            "told": told,
            "size": s,
            "runs": False,
            "begun": False,
            "owed": 0.0,
        }
        for a, t, told, s in row
    ]
    now, waiting, present, took = row[0][0], list(jobs), [], []
    while waiting or present:
        present += [job for job in waiting if job["at"] <= now + 1e-6]
        waiting = [job for job in waiting if job["at"] > now + 1e-6]

        def key(job):
            part = job["left"] / job["all"]
            seen = job["left"] / STRETCH if (1 - part) * 4 >= 1 - 1e-7 else part * job["told"]
            return seen + PRICE * (-1 if job["runs"] else job["begun"])

        room = 1 + 1e-5
        for job in sorted(present, key=lambda job: (key(job), job["at"])):
            fits = job["size"] <= room
            if fits:
                room -= job["size"]
                if not job["runs"] and job["begun"]:
                    job["owed"] = PRICE
            job["runs"] = fits
            job["begun"] = job["begun"] or fits
        times = [job["left"] + job["owed"] for job in present if job["runs"]] + [job["at"] - now for job in waiting]
        if any(not job["runs"] for job in present):
            times.append((np.floor(now / EVERY + 1e-9) + 1) * EVERY - now)
        step = min(times)
        now += step
        for job in present:
            if job["runs"]:
                paid = min(job["owed"], step)
                job["owed"] -= paid
                job["left"] -= step - paid
        took += [now - job["at"] for job in present if job["runs"] and job["left"] + job["owed"] <= 1e-6]
        present = [job for job in present if not (job["runs"] and job["left"] + job["owed"] <= 1e-6)]
    return float(np.mean(took))


#: Times that are no sums of each other, so that no two events coincide by rounding.
job = st.tuples(
    st.integers(0, 40).map(lambda k: k * 0.173),
    st.integers(1, 60).map(lambda k: k * 0.1037),
    st.integers(1, 60).map(lambda k: k * 0.1109),
    st.sampled_from([0.24, 0.31, 0.52, 0.9]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(job, min_size=5, max_size=5).map(sorted), min_size=1, max_size=3))
def test_a_batch_is_what_each_of_its_clusters_is_plainly(rows):
    found = mean_jct(batch_of(rows), by_time, price=PRICE, stretch=STRETCH, every=EVERY)
    assert found == pytest.approx([plainly(row) for row in rows], rel=2e-4, abs=2e-3)


def test_copies_of_a_batch_come_out_alike_and_a_pause_costs_time():
    batch = clusters([5, 6], 8, 1, 1.0, 2.0)
    once = mean_jct(batch, by_time, price=0.5, stretch=1.0, every=0.5)
    thrice = mean_jct(batch.repeated(3), by_time, price=0.5, stretch=1.0, every=0.5)
    assert thrice.tolist() == once.tolist() * 3
    assert (once >= batch.true.mean(axis=1) - 1e-4).all()


def test_what_a_job_asks_for_is_no_more_than_the_cluster():
    batch = clusters([5, 6], 8, 2, 1.0, 2.0)
    assert (batch.amount.max(axis=0) >= batch.share - 1e-6).all()
    assert 0 < batch.amount.max() <= 1
