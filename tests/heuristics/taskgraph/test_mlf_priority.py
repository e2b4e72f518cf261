"""MLF-H's priorities (MLFS, Eq. 2-6) equal those worked out by hand for three task graphs.

With the paper's constants (alpha .3, gamma .8, gamma_d = gamma_r = .3, gamma_w .35), ten levels of urgency, and ten
ticks as the unit of time, the own priority of a task is

    .3 x urgency/10 x 1/I x share of the last loss reduction x share of the model
    + .7 x (3 / ticks to its deadline + 3 / ticks of work left + .035 x ticks waited)
"""

from __future__ import annotations

import numpy as np
import pytest
from mlf_examples import snapshot

from mlsched.heuristics.taskgraph._mlf_priority import Weights, loss_share, partition_share, priorities

SERVER = {"role": 1}


def table(seen, **changes):
    return priorities(seen, seen.stop_after, Weights(scale=10, **changes))


def chain():
    """Two partitions of 30 and 70 parameters and their server, now 100, deadline 160, two iterations to run."""
    tasks = [
        ((1,), {"duration": 4, "parameters": 30, "waiting_since": 95}),
        ((1,), {"duration": 6, "parameters": 70, "waiting_since": 95}),
        ((1,), {"duration": 1, "parameters": 100, "waiting_since": 95, **SERVER}),
    ]
    job = {"arrival": 90, "deadline": 160, "urgency": 5, "max_iterations": 2}
    edges = [(0, 1, 0, 5, 0), (1, 2, 0, 5, 0), (2, 0, 1, 5, 0), (2, 1, 1, 5, 0)]
    return snapshot(100, [(job, tasks)], nodes=[(4,)], edges=edges)


def test_a_chain_and_its_server():
    """After them come 7, 1 and 0 ticks: 53, 59 and 60 to their deadlines; two runs each: 8, 12 and 2 ticks left.

    own  0: .3 x .5 x .3 + .7 x (3/53 + 3/8  + .175) = .045 + .4246 = .4696
         1: .3 x .5 x .7 + .7 x (3/59 + 3/12 + .175) = .105 + .3331 = .4381
         2: .3 x .5 x 1  + .7 x (3/60 + 3/2  + .175) = .15  + 1.2075 = 1.3575
    P    1: .4381 + .8 x 1.3575 = 1.5241;   0: .4696 + .8 x 1.5241 = 1.6889;   the server: the highest, 1.6889
    """
    assert table(chain()) == pytest.approx([1.6889, 1.5241, 1.6889], abs=5e-5)


def replicas():
    """Two replicas of two partitions and a server, in the fourth of six iterations, with losses 1, .6, .4, .3."""
    worker = [((1,), {"duration": d, "parameters": p, "replica": r}) for r in (0, 1) for d, p in ((3, 40), (5, 60))]
    tasks = [*worker, ((1,), {"duration": 2, "parameters": 100, **SERVER})]
    edges = [(0, 1, 0, 5, 0), (2, 3, 0, 5, 0), (1, 4, 0, 5, 0), (3, 4, 0, 5, 0)]
    job = {"urgency": 10, "finished": 3, "max_iterations": 6}
    losses = [(0, 0, 10**6), (0, 1, 600_000), (0, 2, 400_000), (0, 3, 300_000)]
    return snapshot(100, [(job, tasks)], nodes=[(4,)], edges=edges, losses=losses)


def test_two_replicas_without_a_deadline():
    """The last reduction is .1 of .7; the model has 100 parameters however often it is replicated; three runs are left.

    own  first partition:  .3 x 1 x 1/4 x 1/7 x .4 + .7 x 3/9  = .0043 + .2333 = .2376
         second partition: .3 x 1 x 1/4 x 1/7 x .6 + .7 x 3/15 = .0064 + .14   = .1464
         server:           .3 x 1 x 1/4 x 1/7 x 1  + .7 x 3/6  = .0107 + .35   = .3607
    P    second: .1464 + .8 x .3607 = .4350;   first: .2376 + .8 x .4350 = .5856;   server: .5856
    """
    assert table(replicas()) == pytest.approx([0.5856, 0.4350, 0.5856, 0.4350, 0.5856], abs=5e-5)
    assert loss_share(replicas()) == pytest.approx([1 / 7])
    assert partition_share(replicas()) == pytest.approx([0.4, 0.6, 0.4, 0.6, 1.0])


def diamond():
    """0 before 1 and 2, both before 3; no parameters known, no server; the deadline is past, and 0 outlasts its two
    ticks; the others have waited for two.
    """
    tasks = [
        ((1,), {"duration": 2, "parameters": 0, "node": 0, "start": 93}),
        *(((1,), {"duration": d, "parameters": 0, "waiting_since": 98}) for d in (5, 3, 4)),
    ]
    edges = [(0, 1, 0, 5, 0), (0, 2, 0, 5, 0), (1, 3, 0, 5, 0), (2, 3, 0, 5, 0)]
    job = {"urgency": 2, "deadline": 50}
    return snapshot(100, [(job, tasks)], nodes=[(4,)], edges=edges)


def test_a_diamond_past_its_deadline_sums_over_paths():
    """Every task is a quarter of the model, and a tick from its deadline.

    own  0: .3 x .2 x .25 + .7 x (3 + 3/1 + 0)   = .015 + 4.2   = 4.215
         1: .015          + .7 x (3 + 3/5 + .07) = .015 + 2.569 = 2.584
         2: .015          + .7 x (3 + 3/3 + .07) = .015 + 2.849 = 2.864
         3: .015          + .7 x (3 + 3/4 + .07) = .015 + 2.674 = 2.689
    P    1: 2.584 + .8 x 2.689 = 4.7352;   2: 2.864 + .8 x 2.689 = 5.0152
         0: 4.215 + .8 x (4.7352 + 5.0152) = 12.0153
    """
    assert table(diamond()) == pytest.approx([12.0153, 4.7352, 5.0152, 2.689], abs=5e-5)


def test_what_is_overdue_counts_as_due_at_once_as_printed_or_not_at_all():
    """The deadline was 50; task 3 comes last, so that now, at 100, its term is 3 / 1, 3 / -50 or 0 of .7."""
    own = {how: table(diamond(), gamma=0.0, overdue=how)[3] for how in ("tick", "printed", "none")}
    assert own["tick"] == pytest.approx(2.689, abs=5e-5)
    assert own["none"] == pytest.approx(2.689 - 0.7 * 3, abs=5e-5)
    assert own["printed"] == pytest.approx(2.689 - 0.7 * (3 + 3 / 50), abs=5e-5)
    before = [table(chain(), overdue=how).tolist() for how in ("tick", "printed", "none")]
    assert before[0] == before[1] == before[2]


def test_several_jobs_do_not_mix():
    """One snapshot of all three graphs has the three tables below each other."""
    parts = [chain(), replicas(), diamond()]
    columns = {}
    names = {"task_job": 0, "edge_from": 1, "edge_to": 1, "sample_job": 0}
    base = [(0, 0), (1, 3), (2, 8)]
    for name in (*_JOBS, *_TASKS, *_EDGES, "sample_job", "sample_iteration", "sample_loss"):
        shift = [b[names[name]] if name in names else 0 for b in base]
        columns[name] = np.concatenate([getattr(p, name) + s for p, s in zip(parts, shift, strict=True)])
    columns["job_id"] = [0, 1, 2]
    columns["in_use"] = [[1]]
    together = chain().replace(**columns)
    assert table(together) == pytest.approx(np.concatenate([table(p) for p in parts]))


_JOBS = ["job_id", "arrival", "deadline", "urgency", "required", "min_iterations", "max_iterations", "stop_after"]
_JOBS += ["accuracy_table", "accuracy_seen", "finished", "on_time", "service", "executed", "idle_since", "first_start"]
_JOBS += ["preemptions", "gang", "user", "option", "permits", "payment", "time_limit"]
_TASKS = ["task_job", "duration", "demand", "task_class", "parameters", "state", "node", "start", "end", "progress"]
_TASKS += ["home", "last_end", "role", "replica", "waiting_since", "usage", "gpu"]
_EDGES = ["edge_from", "edge_to", "edge_lag", "edge_volume", "edge_delay"]


def test_features_can_be_left_out():
    """Without urgency the first chain's job counts as most urgent; without the deadline its term is gone."""
    assert table(chain(), levels=0)[1] - table(chain())[1] == pytest.approx(0.3 * 0.5 * (0.7 + 0.8))
    assert table(chain())[2] - table(chain(), gamma_d=0.0)[2] == pytest.approx(
        0.7 * (3 / 53 + 0.8 * (3 / 59 + 0.8 * 3 / 60))
    )


def test_without_a_loss_seen_the_ratio_is_one_and_without_a_fall_zero():
    seen = replicas()
    assert loss_share(seen.replace(finished=[1], sample_iteration=[0, 1, 1, 1][:0], sample_job=[], sample_loss=[])) == 1
    flat = seen.replace(sample_loss=[10**6] * 4)
    assert loss_share(flat) == 0
    thinned = seen.replace(sample_job=[0, 0], sample_iteration=[0, 3], sample_loss=[10**6, 700_000])
    assert loss_share(thinned) == pytest.approx(1 / 3)


def test_the_scale_is_by_default_the_mean_running_time():
    seen = chain()  # twice 4, 6 and 1 ticks: 22/3 on average
    assert priorities(seen, seen.stop_after, Weights()) == pytest.approx(
        priorities(seen, seen.stop_after, Weights(scale=22 / 3))
    )
