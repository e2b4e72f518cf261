"""Horizons and stages: what construction refuses, what the judge finds, rule by rule, and files."""

import numpy as np
import pytest

import mlsched
from mlsched.core.errors import InvalidInput, UnknownName
from mlsched.core.fields import ints
from mlsched.instances.workers import NEVER, Horizon, Stages
from mlsched.instances.workers.horizons import HORIZONS, generate_horizon, horizon

S = 10**9


def two_jobs(**changes):
    """2 GPUs; job 0 (3 iterations) from 0 s, job 1 (1 iteration) from 2 s; an iteration: 2 s on one GPU, 1 s on two."""
    fields = {
        "resources": ("gpu",),
        "models": ("m",),
        "capacity": ints([2]),
        "worker_demand": [[1], [1]],
        "ps_demand": [[0], [0]],
        "time": [[[2 * S], [S]], [[2 * S], [S]]],
        "remaining": ints([3, 1]),
        "model": ints([0, 0]),
        "arrival": ints([0, 2000]),
    }
    return Horizon(**{**fields, **changes})


def stages(ends=(2, 3, 4), entries=((0, 0, 2, 2), (1, 0, 2, 1), (2, 1, 2, 1)), finish=(1, 2), shift=0, ps=1):
    """Stages from seconds: (stage, job, workers, seconds); job 0 to its end on two GPUs, then job 1."""
    rows = np.array(entries, dtype=np.float64).reshape(-1, 4)
    return Stages(
        ends=ints(int(e * S) for e in ends),
        stage=ints(rows[:, 0]),
        job=ints(rows[:, 1]),
        workers=ints(rows[:, 2]),
        ps=np.full(len(rows), ps),
        time=ints(int(t * S) + shift for t in rows[:, 3]),
        finish=ints(finish),
    )


def test_one_after_the_other():
    assert two_jobs().violations(stages()) == []
    assert two_jobs().evaluate(stages()) == {"total_jct": 5000.0}


def test_time_sharing_is_allowed():
    # Seconds 2 to 4: both jobs are on two GPUs half of the time.
    shared = stages((2, 4), ((0, 0, 2, 2), (1, 0, 2, 1), (1, 1, 2, 1)), (1, 1))
    assert two_jobs().violations(shared) == []
    assert two_jobs().evaluate(shared) == {"total_jct": 6000.0}
    mixture = stages((2, 4), ((0, 0, 2, 2), (1, 0, 1, 2), (1, 1, 1, 2)), (1, 1))
    assert two_jobs().violations(mixture) == []


FULL = ((0, 0, 2, 2), (1, 0, 2, 1))
WRONG = [
    ({"finish": (1,)}, "finish has 1 entries, expected 2"),
    ({"ends": (3, 2, 4)}, "stage 1 ends at 2000000000 ns, before it begins"),
    ({"finish": (1, 3)}, "job 1 finishes with stage 3: there are 3"),
    ({"entries": ((3, 0, 2, 1),)}, "entry 0 is of stage 3 and job 0"),
    ({"entries": ((0, 2, 2, 1),)}, "entry 0 is of stage 0 and job 2"),
    ({"entries": ((0, 0, 3, 1),)}, "its table ends at 2, 1"),
    ({"ps": 2}, "entry 0: job 0 has 2 workers and 2 PSs: its table ends at 2, 1"),
    ({"entries": (*FULL, (0, 1, 2, 1))}, "job 1 works in stage 0, which begins at 0"),
    ({"entries": ((0, 0, 2, 2), (2, 0, 2, 1), (2, 1, 2, 1))}, "job 0 works in stage 2: it has finished with stage 1"),
    ({"entries": (*FULL, (0, 0, 1, 1), (2, 1, 2, 1))}, "job 0 spends 3000000000 ns in stage 0"),
    ({"entries": (*FULL, (1, 0, 1, 1), (2, 1, 2, 1))}, "job 0 spends 2000000000 ns in stage 1, which lasts 1000000000"),
    ({"entries": (*FULL, (1, 1, 1, 1), (2, 1, 2, 1))}, "in stage 1 the jobs use 3000000000 ns of gpu"),
    ({"entries": ((0, 0, 2, 2), (1, 0, 2, 0.5), (2, 1, 2, 1))}, "job 0 has done 2.5 iterations by its finish"),
    ({"shift": -400}, "job 0 has done 2.9999992"),
    ({"entries": FULL, "finish": (1, 0)}, "job 1 has done 0 iterations"),
]


@pytest.mark.parametrize(("changes", "sentence"), WRONG)
def test_the_judge_names_what_is_wrong(changes, sentence):
    found = two_jobs().violations(stages(**changes))
    assert any(sentence in said for said in found), found


def test_a_stage_of_no_length_and_an_entry_of_no_time_are_fine():
    assert two_jobs().violations(stages((2, 2, 3, 4), ((0, 0, 2, 2), (2, 0, 2, 1), (3, 1, 2, 1)), (2, 3))) == []
    assert two_jobs().violations(stages(entries=(*FULL, (0, 1, 2, 0), (2, 1, 2, 1)))) == []


def test_a_job_that_arrives_with_nothing_left_to_do_may_finish_at_once():
    """Rounding is granted: an iteration of a ns is done in none."""
    tiny = two_jobs(time=[[[2], [1]]] * 2, remaining=ints([1, 1]), arrival=ints([0, 0]))
    at_once = Stages(
        ends=ints([0]), stage=ints([0, 0]), job=ints([0, 1]), workers=ints([2, 2]), ps=ints([1, 1]), time=ints([0, 0]),
        finish=ints([0, 0]),
    )  # fmt: skip
    assert tiny.violations(at_once) == []


def test_parameter_servers_need_room_and_each_number_of_them_has_its_time():
    """Two GPUs; a worker and a PS need one each. With one PS a job cannot train, with two it can."""
    one = two_jobs(
        worker_demand=[[1]], ps_demand=[[1]], time=[[[NEVER, S], [NEVER, S]]], remaining=ints([1]), model=ints([0]),
        arrival=ints([0]), capacity=ints([3]),
    )  # fmt: skip
    alone = stages((1,), ((0, 0, 1, 1),), (0,), ps=2)
    assert one.violations(alone) == []
    assert one.violations(alone.replace(ps=ints([1]))) == [
        "entry 0: job 0 has 1 workers and 1 PSs: it cannot train with so many"
    ]
    full = one.violations(alone.replace(workers=ints([2])))
    assert full == ["in stage 0 the jobs use 4000000000 ns of gpu: there are 3000000000"]


def test_a_finish_before_the_arrival_is_found_even_without_work():
    late = two_jobs(arrival=ints([0, 9000]))
    assert any("job 1 finishes at 4000000000 ns: it arrives at" in found for found in late.violations(stages()))


def test_rounding_of_whole_ns_is_granted_and_no_more():
    assert two_jobs().violations(stages(shift=-2)) == []
    tiny = two_jobs(time=[[[2000], [1000]]] * 2, arrival=ints([0, 0]))
    plan = Stages(
        ends=ints([3000, 4000]),
        stage=ints([0, 1]),
        job=ints([0, 1]),
        workers=ints([2, 2]),
        ps=ints([1, 1]),
        time=ints([2998, 998]),
        finish=ints([0, 1]),
    )
    assert tiny.violations(plan) == []
    assert any("job 0 has done" in found for found in tiny.violations(plan.replace(time=ints([2997, 998]))))


@pytest.mark.parametrize(("missing", "fine"), [(3, True), (4, False)])
def test_a_tenth_of_a_millionth_of_the_work_is_granted_and_no_more(missing, fine):
    """Ten million iterations of a ns each; 2 ns are granted for rounding, 1 ns is the share."""
    one = two_jobs(
        worker_demand=[[1]], ps_demand=[[0]], time=[[[1]]], remaining=ints([10**7]), model=ints([0]), arrival=ints([0])
    )
    plan = Stages(
        ends=ints([10**7]),
        stage=ints([0]),
        job=ints([0]),
        workers=ints([1]),
        ps=ints([1]),
        time=ints([10**7 - missing]),
        finish=ints([0]),
    )
    assert (one.violations(plan) == []) is fine


def test_no_time_may_be_spent_where_a_job_cannot_train():
    half = two_jobs(time=[[[NEVER], [S]], [[2 * S], [S]]])
    plan = stages(entries=((0, 0, 2, 2), (1, 0, 2, 1), (1, 0, 1, 0), (2, 1, 2, 1)))
    assert any("job 0 has 1 workers and 1 PSs: it cannot train" in found for found in half.violations(plan))


def test_a_plan_of_the_other_form_is_refused():
    assert "expected a workers.stages" in two_jobs().violations(mlsched.solve(decision(), "fair").plan)[0]


def decision():
    return mlsched.generate("workers", "paper", 0)


def test_a_malformed_plan_has_no_value():
    with pytest.raises(InvalidInput, match="cannot be evaluated: finish has 1"):
        two_jobs().evaluate(stages(finish=(1,)))


BAD = [
    ({"arrival": ints([2000, 0])}, r"arrival\[1\]: 0, must not precede"),
    ({"model": ints([0, 1])}, r"model\[1\]: 1, expected below 1"),
    ({"time": [[[2 * S], [S]], [[NEVER], [NEVER]]]}, r"remaining\[1\]: 1, .* never finishes"),
    ({"worker_demand": [[1], [3]]}, r"remaining\[1\]: 1, .* add capacity"),
    ({"remaining": ints([2**50, 1])}, r"expected below 2\^53 \(104 days\)"),
    ({"remaining": ints([0, 1])}, r"remaining\[0\]: 0, expected >= 1"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_construction_refuses(change, message):
    with pytest.raises(InvalidInput, match=message):
        two_jobs(**change)


def test_files_keep_horizons_and_stages(tmp_path):
    for question in (horizon("poisson-6", 0), generate_horizon(np.random.default_rng(0), jobs=0)):
        mlsched.save(question, tmp_path / "horizon.json")
        assert mlsched.load(tmp_path / "horizon.json") == question
        found = mlsched.solve(question, "clairvoyant")
        mlsched.save(found, tmp_path / "stages.json")
        assert mlsched.load(tmp_path / "stages.json") == found


def test_presets_are_frozen():
    assert {name: dict(p.sizes) for name, p in HORIZONS.items()} == {
        "poisson-6": {"jobs": 6, "rate": 2.7},
        "poisson-8": {"jobs": 8, "rate": 2.7},
        "poisson-10": {"jobs": 10, "rate": 2.7},
        "burst-4": {"jobs": 4, "rate": 3600.0},
    }
    first = horizon("poisson-6", 0)
    assert first.arrival.tolist() == [0, 906576, 2266039, 2292448, 2295473, 3029264]
    assert first.remaining.tolist() == [163, 154, 156, 194, 128, 182]
    with pytest.raises(UnknownName, match="unknown horizon 'nope'"):
        horizon("nope")


def test_larger_tables_would_change_nothing():
    """The paper's models gain nothing from more workers than GPUs and more than 18 PSs."""
    wide = generate_horizon(np.random.default_rng(3), jobs=6, most_workers=12, most_ps=24)
    narrow = generate_horizon(np.random.default_rng(3), jobs=6)
    assert wide.alone == narrow.alone
    fastest = [np.unravel_index(t[:10].argmin(), t[:10].shape) for t in wide.time]
    assert max(p + 1 for _, p in fastest) <= 18
