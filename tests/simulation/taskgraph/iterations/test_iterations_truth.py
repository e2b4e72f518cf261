"""What a scheduler is shown of a run by iterations is what has been seen or told, and never what is to come."""

from __future__ import annotations

import numpy as np
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

from mlsched import api
from mlsched.simulation.taskgraph.iterations.strategies import workloads
from mlsched.simulation.taskgraph.iterations.workload import WHOLE, Jobs
from mlsched.simulation.taskgraph.losses import error_rates

DRAWN = {"usage": "drawn", "usage_every": 2, "pausing": "keep"}


def told(load: Jobs, draw) -> Jobs:
    """The workload with estimates of its accuracies apart from the true ones, and tables of losses."""
    guess = np.minimum.accumulate(load.accuracy[:, ::-1], axis=1)[:, ::-1] // 2
    count = len(load.accuracy)
    return load.replace(
        accuracy=np.concatenate([load.accuracy, guess]),
        accuracy_told=load.accuracy_table + count,
        loss=error_rates(load.accuracy),
        loss_table=load.accuracy_table if draw(st.booleans()) else (),
    )


@settings(max_examples=draws(12, 400))
@given(drawn=workloads(gpus=True), data=st.data())
def test_another_future_changes_no_snapshot_before(drawn, data):
    """From some iteration on, accuracies and losses are others, and jobs that come later are others altogether."""
    load = told(drawn, data.draw)
    columns, last = load.accuracy.shape[1], len(load.arrival) - 1
    if not columns or last < 0:
        return
    at = data.draw(st.integers(0, columns - 1), label="iteration from which the truth is another")
    count = len(drawn.accuracy)
    later = np.arange(columns) >= at
    accuracy = load.accuracy.copy()
    accuracy[:count, later] = np.minimum(WHOLE, accuracy[:count, later] + 7)
    loss = np.where(later, load.loss + 3, load.loss)
    new = {name: getattr(load, name).copy() for name in ("user", "option", "payment", "scale", "deadline")}
    for name in new:
        new[name][last] = new[name][last] + 1 if name != "deadline" else 0
    other = load.replace(accuracy=accuracy, loss=loss, **new)
    runs = [api.simulate(w, "fifo", options=DRAWN, record=1.0) for w in (load, other)]
    assert [run.violations() for run in runs] == [[], []]
    seen = [[d.instance for d in run.recorded] for run in runs]
    until = [
        min((s.now for s in snapshots if (s.finished >= at).any() or last in s.job_id), default=10**9)
        for snapshots in seen
    ]
    first, second = ([s for s in snapshots if s.now < min(until)] for snapshots in seen)
    assert first == second


@settings(max_examples=draws(12, 400))
@given(drawn=workloads(gpus=True), data=st.data())
def test_estimates_are_never_truer_than_what_was_seen(drawn, data):
    """Until a job has run once its durations are those told; accuracies stay those told, losses end at what is done."""
    load = told(drawn, data.draw).replace(told=np.where(drawn.scale > WHOLE, drawn.scale // 2, drawn.scale * 3))
    run = api.simulate(load, "fifo", options=DRAWN, record=1.0)
    for snapshot in (d.instance for d in run.recorded):
        for job, name in enumerate(snapshot.job_id.tolist()):
            tasks = snapshot.task_job == job
            first, end = load.span(name)
            row = int(load.accuracy_told[load.template[name]])
            assert (snapshot.accuracy[snapshot.accuracy_table[job]] == load.accuracy[row]).all()
            done = int(snapshot.finished[job])
            factor, length = (load.scale, load.duration) if done else (load.told, load.estimate)
            ticks = np.maximum(np.rint(length[first:end] * (factor[name] / WHOLE)), np.minimum(length[first:end], 1))
            if load.max_iterations[name] == 1:
                ticks = -(-length[first:end] * int(factor[name]) // WHOLE)
            assert (snapshot.duration[tasks] == ticks).all()
            samples = snapshot.sample_job == job
            assert snapshot.sample_iteration[samples].tolist() in ([], list(range(done + 1)))
            waits = snapshot.state[tasks] != 1
            assert (snapshot.waiting_since[tasks][~waits] == snapshot.now).all()
            assert (snapshot.waiting_since[tasks] >= snapshot.arrival[job]).all()
            assert not snapshot.usage[tasks][waits].any()
