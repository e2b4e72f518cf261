"""Streams and policies: what construction refuses, what the judge finds, values by hand and ms by ms, and files."""

import itertools
import math

import numpy as np
import pytest
from draws import draws

import mlsched
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import ints
from mlsched.instances.workers import NEVER, Policy, Stream
from mlsched.instances.workers.stream_judge import realised

NS = 10**6


def stream(**changes):
    """2 GPUs; jobs of 2 iterations, 2 ms on one GPU and 1 ms on two; two jobs, the second after 2 ms on average."""
    fields = {
        "resources": ("gpu",),
        "models": ("m",),
        "capacity": ints([2]),
        "worker_demand": [[1]],
        "ps_demand": [[0]],
        "time": [[[2 * NS], [NS]]],
        "type_model": ints([0]),
        "type_iterations": ints([2]),
        "chance": ints([1]),
        "jobs": 2,
        "gap": 2,
    }
    return Stream(**{**fields, **changes})


def policy(*rows, slots=2):
    """Rows (coming, iterations left of the jobs, workers of each); one PS for whoever has workers."""

    def column(which, free):
        return [[*row[which], *[free] * (slots - len(row[which]))] for row in rows]

    workers = np.array(column(2, 0)).reshape(len(rows), slots)
    remaining = np.array(column(1, 0)).reshape(len(rows), slots)
    return Policy(
        coming=ints(row[0] for row in rows),
        model=np.where(remaining > 0, 0, -1),
        remaining=remaining,
        workers=workers,
        ps=(workers > 0).astype(np.int64),
    )


#: Alone on both GPUs; of two jobs the first has both.
BOTH = policy((1, [2], [2]), (0, [1, 2], [2, 0]), (0, [2], [2]))


def test_the_expectation_by_hand():
    """Alone, a job takes 2 ms. The second comes after 1 ms (1/2): 1 ms alone, 1 ms with two there, 2 ms alone: 5.

    Or after 2 ms (1/4) or later (1/4): 2 + 2 = 4.
    """
    assert stream().violations(BOTH) == []
    assert stream().evaluate(BOTH)["expected_total_jct"] == pytest.approx(4.5)
    assert realised(stream(), BOTH, [0, 1], [0, 0]) == 5
    assert realised(stream(), BOTH, [0, 2], [0, 0]) == 4


def test_a_started_iteration_is_lost():
    """On one GPU each: after 1 ms nothing is done. 1 + 2 x 4 = 9 ms; after 2 or 3 ms one of two iterations is."""
    share = policy((1, [2], [1]), (0, [2, 2], [1, 1]), (0, [1, 2], [1, 1]), (0, [2], [1]), (0, [1], [1]), (1, [1], [1]))
    assert realised(stream(), share, [0, 1], [0, 0]) == 1 + 2 * 4
    assert realised(stream(), share, [0, 3], [0, 0]) == 3 + 2 * 2 + 2
    expected = 9 / 2 + 8 / 4 + 9 / 8 + 8 / 8
    assert stream().evaluate(share)["expected_total_jct"] == pytest.approx(expected)


def test_types_are_drawn_by_their_chance():
    one = stream(jobs=1, type_model=ints([0, 0]), type_iterations=ints([2, 4]), chance=ints([3, 1]))
    both = policy((0, [2], [2]), (0, [4], [2]), slots=1)
    assert one.evaluate(both)["expected_total_jct"] == pytest.approx((3 * 2 + 4) / 4)


def test_where_nobody_is_there_the_next_job_is_waited_for():
    assert realised(stream(), BOTH, [0, 10], [0, 0]) == 2 + 2


def test_long_iterations_are_counted_to_the_ms():
    long = stream(jobs=1, time=[[[NS * NS], [NS * NS - 1]]])
    assert long.evaluate(policy((0, [2], [1]), slots=1))["expected_total_jct"] == 2 * NS
    assert long.evaluate(policy((0, [2], [2]), slots=1))["expected_total_jct"] == 2 * NS


def test_what_is_sure_to_come_needs_no_other_row():
    """A job comes each ms, so that nobody asks what happens when none has come."""
    sure = stream(gap=1, jobs=3, capacity=ints([1]), type_iterations=ints([1]), time=[[[2 * NS]]])
    rows = [(2, [1], [1]), (1, [1, 1], [1, 0]), (0, [1, 1, 1], [1, 0, 0]), (0, [1, 1], [1, 0]), (0, [1], [1])]
    assert sure.evaluate(policy(*rows, slots=3))["expected_total_jct"] == realised(
        sure, policy(*rows, slots=3), [0, 1, 2], [0, 0, 0]
    )


# -- ms by ms ---------------------------------------------------------------------------------------------------------


def drawn(rng):
    """Three jobs of two models on two GPUs, with iterations of parts of ms and combinations that cannot train."""
    time = rng.integers(4 * 10**5, 17 * 10**5, (2, 2, 2))
    time[:, 1][rng.random((2, 2)) < 0.4] = NEVER
    time[:, :, 1][rng.random((2, 2)) < 0.4] = NEVER
    return stream(
        models=("m", "n"), capacity=ints([int(rng.integers(2, 5))]), worker_demand=[[1], [1]],
        ps_demand=rng.integers(0, 2, (2, 1)), time=time, type_model=ints([0, 1]),
        type_iterations=ints(rng.permutation([1, 2]).tolist()), chance=ints([2, 1]), jobs=3,
        gap=int(rng.integers(1, 4)),
    )  # fmt: skip


def offers(inst, jobs):
    """Everything that the jobs may be given, by rule 2."""
    _, workers, ps = inst.time.shape
    able = [[(0, 0)] for _ in jobs]
    for one, (m, _) in zip(able, jobs, strict=True):
        one += [(w + 1, p + 1) for w in range(workers) for p in range(ps) if inst.time[m, w, p] < NEVER]
    demand = [(int(inst.worker_demand[m, 0]), int(inst.ps_demand[m, 0])) for m, _ in jobs]
    for given in itertools.product(*able):
        used = sum(w * a + p * b for (w, p), (a, b) in zip(given, demand, strict=True))
        if used <= int(inst.capacity[0]) and any(w for w, _ in given):
            yield given


def after(inst, jobs, given, ms):
    """What the jobs have left after so many ms: whole iterations count."""
    left = []
    for (m, b), (w, p) in zip(jobs, given, strict=True):
        done = 0
        while w and done < b and (done + 1) * int(inst.time[m, w - 1, p - 1]) <= ms * NS:
            done += 1
        left.append((m, b - done))
    return tuple(left)


def chosen_rows(inst, pick):
    """State -> what its jobs get, of all offers the one that is picked, for every state that a run may come to."""
    kinds = [(int(m), int(b)) for m, b in zip(inst.type_model, inst.type_iterations, strict=True)]
    rows, waiting = {}, [(inst.jobs - 1, (kind,)) for kind in kinds]
    while waiting:
        coming, jobs = waiting.pop()
        if not jobs:
            waiting += [(coming - 1, (kind,)) for kind in kinds] if coming else []
        elif (coming, jobs) not in rows:
            given = rows[coming, jobs] = pick(list(offers(inst, jobs)))
            for ms in itertools.count(1):
                left = tuple(job for job in after(inst, jobs, given, ms) if job[1])
                waiting += [(coming - 1, (*left, kind)) for kind in kinds] if coming else []
                if len(left) < len(jobs):
                    waiting.append((coming, left))
                    break
    return rows


def followed(inst, rows, arrival, kind):
    """The sum of the times from arrival to finish, ms by ms."""
    waiting = list(zip(arrival, kind, strict=True))
    jobs, given, since, total, now = (), (), 0, 0, 0
    while waiting or jobs:
        left = tuple(job for job in after(inst, jobs, given, since) if job[1])
        comes = bool(waiting) and waiting[0][0] == now
        if comes or len(left) < len(jobs):
            if comes:
                k = waiting.pop(0)[1]
                left = (*left, (int(inst.type_model[k]), int(inst.type_iterations[k])))
            jobs, since = left, 0
            given = rows[len(waiting), jobs] if jobs else ()
        since, total, now = since + 1, total + len(jobs), now + 1
    return total


#: Longer than all that three jobs of these streams may take.
LONG = 16


def plan_of(rows):
    """The rows as a plan."""
    width = max(len(jobs) for _, jobs in rows)

    def columns(lists, free):
        return np.array([[*pairs, *[free] * (width - len(pairs))] for pairs in lists]).transpose(2, 0, 1)

    model, remaining = columns([jobs for _, jobs in rows], (-1, 0))
    workers, ps = columns(rows.values(), (0, 0))
    coming = ints(coming for coming, _ in rows)
    return Policy(coming=coming, model=model, remaining=remaining, workers=workers, ps=ps)


def expected_of_runs(inst, rows, followed_until):
    """The expectation over all times of arrival and kinds; runs with early arrivals are followed ms by ms as well."""
    plan, stay, parts = plan_of(rows), 1 - 1 / inst.gap, []
    # A job that comes after all others are done costs the same, however late it comes.
    odds = [stay ** (t - 1) / inst.gap for t in range(1, LONG)]
    odds.append(1 - math.fsum(odds))
    shares = (inst.chance / inst.chance.sum()).tolist()
    for (first, a), (second, b) in itertools.product(enumerate(odds, 1), repeat=2):
        for kind in itertools.product(range(len(shares)), repeat=3) if a * b else ():
            times = [0, first, first + second]
            value = realised(inst, plan, times, list(kind))
            if times[2] < followed_until:
                assert value == followed(inst, rows, times, kind)
            parts.append(a * b * math.prod(shares[k] for k in kind) * value)
    return math.fsum(parts)


def test_values_are_those_of_runs_followed_ms_by_ms():
    rng = np.random.default_rng(0)
    for _ in range(draws(3, 5)):
        inst = drawn(rng)
        rows = chosen_rows(inst, lambda every: every[int(rng.integers(len(every)))])
        assert inst.violations(plan_of(rows)) == []
        value = inst.evaluate(plan_of(rows))["expected_total_jct"]
        assert value == pytest.approx(expected_of_runs(inst, rows, followed_until=7))


def test_iterations_that_end_after_the_first_job_are_of_the_next_state():
    """Both train; the short job is done after 1 ms, before the long one has done an iteration of 3 ms."""
    inst = stream(
        models=("m", "n"), time=[[[NS]], [[3 * NS]]], worker_demand=[[1], [1]], ps_demand=[[0], [0]], jobs=3,
        type_model=ints([0, 1]), type_iterations=ints([1, 2]), chance=ints([1, 1]), gap=3,
    )  # fmt: skip
    rows = chosen_rows(inst, lambda every: every[-1])
    value = inst.evaluate(plan_of(rows))["expected_total_jct"]
    assert value == pytest.approx(expected_of_runs(inst, rows, followed_until=5))


FIRST = "model 0 with 2 iterations; 1 to come"
SECOND = "model 0 with 1 iterations, model 0 with 2 iterations; 0 to come"
WRONG = [
    (policy((1, [2], [2]), (0, [2], [2])), f"a row is missing for {SECOND}"),
    (policy((1, [2], [0])), f"{FIRST}: all jobs wait, expected one that trains"),
    (policy((1, [2], [3])), f"{FIRST}: a job of model 0 cannot train with 3 workers and 1 PSs"),
    (
        policy((1, [2], [2])).replace(ps=np.array([[2, 0]])),
        f"{FIRST}: a job of model 0 cannot train with 2 workers and 2 PSs",
    ),
    (policy((1, [2], [2]), (1, [2], [1])), f"row 1 is of a state that has a row already: {FIRST}"),
    (policy((1, [2], [2]), (0, [1, 2], [2, 1]), (0, [2], [2])), f"{SECOND}: the jobs need 3 gpu: there are 2"),
    (
        BOTH.replace(ps=np.zeros((3, 2), dtype=np.int64)),
        f"{FIRST}: a job has 2 workers and 0 PSs, expected both, or neither",
    ),
]


@pytest.mark.parametrize(("plan", "sentence"), WRONG)
def test_the_judge_names_what_is_wrong(plan, sentence):
    assert stream().violations(plan) == [sentence]
    with pytest.raises(InvalidInput, match="the plan cannot be evaluated"):
        stream().evaluate(plan)


@pytest.mark.parametrize(
    ("changes", "workers", "sentence"),
    [
        ({"time": [[[NEVER], [NS]]]}, [1], "a job of model 0 cannot train with 1 workers and 1 PSs"),
        ({"time": [[[NS], [NEVER]]]}, [2], "a job of model 0 cannot train with 2 workers and 1 PSs"),
        ({"ps_demand": [[1]]}, [2], "the jobs need 3 gpu: there are 2"),
        ({"worker_demand": [[2]]}, [2], "the jobs need 4 gpu: there are 2"),
    ],
)
def test_what_a_job_cannot_have(changes, workers, sentence):
    one = stream(jobs=1, **changes)
    assert one.violations(policy((0, [2], workers), slots=1)) == [f"model 0 with 2 iterations; 0 to come: {sentence}"]


def test_whoever_waits_may_be_unable_to_train_with_all():
    one = stream(time=[[[NS], [NEVER]]])
    rows = [(1, [2], [1]), (0, [1, 2], [1, 0]), (0, [2], [1])]
    assert one.violations(policy(*rows)) == []
    assert one.evaluate(policy(*rows)) == stream().evaluate(BOTH)


def test_another_plan_is_no_policy():
    assert stream().violations(None) == ["the answer is a NoneType, expected a workers.policy"]


REFUSED = [
    ({"type_model": ints([1])}, r"type_model\[0\]: 1, expected below 1"),
    ({"capacity": ints([0])}, "fits in no configuration"),
    ({"type_model": ints([]), "type_iterations": ints([]), "chance": ints([])}, "expected at least one type of job"),
    ({"jobs": 7}, "jobs: 7, expected between 0 and 6"),
    ({"type_iterations": ints([2**52])}, "jobs may take"),
    ({"gap": 0}, "gap"),
]


@pytest.mark.parametrize(("changes", "sentence"), REFUSED)
def test_construction_refuses(changes, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        stream(**changes)


def test_a_stream_without_jobs_costs_nothing():
    empty = stream(jobs=0)
    for solver in ("backward-induction", "every-policy", "optimus"):
        assert mlsched.solve(empty, solver).sort_key == 0


def test_presets_files_and_hashes(tmp_path):
    first = mlsched.generate("workers", "stream-3", seed=3)
    assert first == mlsched.generate("workers", "stream-3", seed=3)
    assert first.hash[:12] == "81e9d0dc3eaf"
    mlsched.save(first, tmp_path / "stream.json")
    assert mlsched.load(tmp_path / "stream.json") == first
    plan = mlsched.solve(first, "optimus").plan
    mlsched.save(plan, tmp_path / "plan.json", instance=first)
    assert mlsched.load(tmp_path / "plan.json") == plan
    assert list(first.table(plan)) == ["coming", "jobs (iterations)", "workers + PSs"]
    with pytest.raises(InvalidInput, match="long: 5, expected at least short, 10"):
        mlsched.generate("workers", "stream-3", short=10, long=5)
