"""Harmony-plus: feasible on anything, blind to interference, indifferent to order, and trained as it answers."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given, settings

import mlsched
from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.instances.placement import Instance, instances
from mlsched.instances.placement.pace import Pace
from mlsched.learned.placement.harmony_plus import complete_placements
from mlsched.learned.placement.plus_net import CANDIDATE, JOB, SERVER, WHOLE, PlusNet, tensor_shapes
from mlsched.learned.placement.plus_speeds import ALONE, PAIRS, Speeds
from mlsched.learned.placement.plus_state import Question, States, part_sizes
from mlsched.learned.weights import Weights, of, read, write

SECRETS = ("sigma_worker", "sigma_ps", "linear", "quadratic", "rho_ps", "rho_worker")


def shipped() -> Weights:
    return of("harmony-plus", "placement")


def untrained() -> PlusNet:
    """A network with random weights, which does what nobody would."""
    rng = np.random.default_rng(0)
    return PlusNet({k: rng.normal(size=s).astype(np.float32) for k, s in tensor_shapes(8).items()})


def true_speeds(inst: Instance) -> Speeds:
    """The speed model that has the instance's own pairwise coefficients."""
    fields = (inst.sigma_worker, inst.sigma_ps, inst.rho_ps, inst.rho_worker)
    return Speeds({n: (f / 1e6).astype(np.float32) for n, f in zip((*PAIRS, *ALONE), fields, strict=True)}, inst.types)


@given(instances())
@settings(max_examples=draws(24, 400))
def test_answers_are_feasible(inst):
    for samples in (1, 3):
        assert inst.violations(mlsched.solve(inst, "harmony-plus", samples=samples).plan) == []


@given(instances())
@settings(max_examples=draws(24, 400))
def test_whatever_the_network_says_the_plan_is_feasible_and_everything_is_finite(inst):
    question = Question(inst, true_speeds(inst))
    states = States(question, 3)
    for view in complete_placements(states, untrained(), np.random.default_rng(0)):
        assert [x.shape[1] for x in (view.candidates, view.jobs, view.servers, view.whole)] == [
            CANDIDATE,
            JOB,
            SERVER,
            WHOLE,
        ]
        for column in (view.candidates, view.jobs, view.servers, view.whole):
            assert np.isfinite(column).all()
    for k in range(3):
        assert inst.violations(states.plan(k)) == []
        assert (states.free[k] >= 0).all()


@given(instances())
@settings(max_examples=draws(18, 300))
def test_the_speed_model_with_true_pairwise_coefficients_is_the_judges(inst):
    inst = inst.replace(linear=np.zeros_like(inst.linear), quadratic=np.zeros_like(inst.quadratic))
    question = Question(inst, true_speeds(inst))
    states = States(question, 1)
    complete_placements(states, untrained(), np.random.default_rng(1))
    exact = Pace(inst).at_server(states.w[0].T.astype(np.int64), states.p[0].T.astype(np.int64)).T / 1000
    assert np.abs(question.slowdowns(states.w, states.p)[0] - exact).max(initial=0) < 2e-3
    value = inst.evaluate(states.plan(0))["total_speed"]
    assert states.total_speeds()[0] == pytest.approx(value, rel=3e-3, abs=10)


def test_a_candidates_features_are_what_placing_it_does():
    inst = mlsched.generate("placement", "6x5", seed=3)
    question = Question(inst, true_speeds(inst))
    states = States(question, 1)
    view, (b, j, s, k) = states.view_and_candidates()
    before = states.total_speeds()[0]
    for c in range(0, len(j), 7):
        then = States(question, 1)
        then.place_parts(b[[c]], j[[c]], s[[c]], k[[c]])
        assert view.candidates[c, 5] == pytest.approx((then.total_speeds()[0] - before) / question.scale, abs=1e-4)


def test_interference_is_not_looked_at():
    inst = mlsched.generate("placement", "6x5", seed=1)
    other = inst.replace(**{name: np.zeros_like(getattr(inst, name)) for name in SECRETS})
    for samples in (1, 4):
        plans = [mlsched.solve(i, "harmony-plus", samples=samples).plan for i in (inst, other)]
        assert plans[0] == plans[1]


def test_renamed_jobs_and_servers_get_the_same_scores():
    inst = mlsched.generate("placement", "6x5", seed=2)
    rng = np.random.default_rng(0)
    servers, jobs = rng.permutation(6), rng.permutation(5)
    renamed = inst.replace(
        server_capacity=inst.server_capacity[servers],
        server_free=inst.server_free[servers],
        run_workers=inst.run_workers[:, servers],
        run_ps=inst.run_ps[:, servers],
        **{n: getattr(inst, n)[jobs] for n in ("job_type", "job_speed", "job_workers", "job_ps")},
        **{n: getattr(inst, n)[jobs] for n in ("worker_demand", "ps_demand")},
    )
    net, speeds = PlusNet(shipped().tensors), Speeds(shipped().tensors, shipped().card["data"]["models"])
    scores = [net(States(Question(i, speeds), 1).view_and_candidates()[0]) for i in (inst, renamed)]
    assert np.allclose(np.sort(scores[0][0]), np.sort(scores[1][0]), atol=1e-3)
    assert np.allclose(scores[0][1], scores[1][1], atol=1e-3)


def test_a_state_beside_others_is_scored_as_alone():
    inst = mlsched.generate("placement", "6x5", seed=4)
    net, speeds = PlusNet(shipped().tensors), Speeds(shipped().tensors, shipped().card["data"]["models"])
    one, four = (States(Question(inst, speeds), n) for n in (1, 4))
    alone, beside = net(one.view_and_candidates()[0])[0], net(four.view_and_candidates()[0])[0]
    assert np.allclose(np.tile(alone, 4), beside, atol=1e-4)


def test_more_samples_are_never_worse_by_the_model_and_the_first_is_the_greedy_one():
    for seed in range(5):
        inst = mlsched.generate("placement", "6x5", seed=seed)
        question = Question(inst, true_speeds(inst))
        net, few, many = PlusNet(shipped().tensors), States(question, 1), States(question, 6)
        complete_placements(few, net, np.random.default_rng(0))
        complete_placements(many, net, np.random.default_rng(0))
        assert few.plan(0) == many.plan(0)
        assert many.total_speeds().max() >= few.total_speeds()[0]


def test_a_type_without_history_is_like_the_mean():
    card = shipped().card["data"]["models"]
    speeds = Speeds(shipped().tensors, card)
    inst = mlsched.generate("placement", "small")
    unknown = inst.replace(types=("what", *inst.types[1:]))
    worker, _, remote, _ = speeds.tables_for(unknown)
    assert remote[0] == pytest.approx(float(shipped().tensors["speeds.remote_ps"].mean()))
    assert worker[0, 0] == pytest.approx(float(shipped().tensors["speeds.worker"].mean()))
    assert unknown.violations(mlsched.solve(unknown, "harmony-plus").plan) == []


def test_all_numbers_of_tasks_can_be_placed():
    for most in (0, 1, 2, 3, 5, 40, 1000):
        found = part_sizes(most)
        assert found == sorted(set(found))
        assert max(found) <= most
        assert set(range(min(most, 3) + 1)) <= set(found)
    big = mlsched.generate("placement", servers=12, jobs=2, most_tasks=12, contention=0.3, seed=3)
    found = mlsched.solve(big, "harmony-plus").plan
    assert big.violations(found) == []
    assert found.workers.any()


def test_foreign_weights_and_wrong_calls_are_refused_in_one_line(tmp_path):
    inst, path = mlsched.generate("placement", "small"), tmp_path / "w.safetensors"
    for name, value in (("edge.bias", np.zeros(3)), ("speeds.worker", np.zeros((2, 2)))):
        write(path, Weights({**shipped().tensors, name: value.astype(np.float32)}, shipped().card))
        with pytest.raises(InvalidFile, match=r"weights: .*") as error:
            mlsched.solve(inst, "harmony-plus", weights=str(path))
        assert "\n" not in str(error.value)
    write(path, Weights(shipped().tensors, {**shipped().card, "policy": "chic"}))
    with pytest.raises(InvalidFile, match="expected of harmony-plus"):
        mlsched.solve(inst, "harmony-plus", weights=str(path))
    with pytest.raises(InvalidInput, match="samples"):
        mlsched.solve(inst, "harmony-plus", samples=0)


def test_answers_need_no_torch():
    import subprocess
    import sys

    code = """import sys; sys.modules['torch'] = None
import mlsched
assert mlsched.solve(mlsched.generate("placement"), "harmony-plus").plan is not None
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# -- training ---------------------------------------------------------------------------------------------------------

SMALL = {
    "history": 60,
    "hidden": 8,
    "questions": 4,
    "walks": 1,
    "imitation": 2,
    "steps": 3,
    "batch": 8,
    "own": 2,
    "asked": 2,
    "samples": 2,
    "servers": 3,
    "jobs": 2,
    "validation": 2,
    "every": 2,
}


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def test_the_same_seed_gives_the_same_bytes_and_resumed_ones_too(torch, tmp_path):
    from mlsched_training import train

    a, b, c = (tmp_path / f"{name}.safetensors" for name in "abc")
    train("harmony-plus", iterations=4, seed=3, output=a, keep=str(tmp_path / "answers"), **SMALL)
    train("harmony-plus", iterations=2, seed=3, output=b, **SMALL)
    train("harmony-plus", iterations=2, seed=4, output=c, **SMALL)
    ours, others = (read(path, "harmony-plus").tensors for path in (b, c))
    assert any((values != others[name]).any() for name, values in ours.items()), "another seed, other weights"
    train("harmony-plus", iterations=4, seed=3, output=b, resume=True, **SMALL)
    assert a.read_bytes() == b.read_bytes()
    card = read(a, "harmony-plus").card
    assert "keep" not in card["recipe"], "where files are is no part of what a training is"
    assert card["data"]["models"] == list(mlsched.generate("placement").types)
    inst = mlsched.generate("placement", "6x5")
    assert inst.violations(mlsched.solve(inst, "harmony-plus", weights=str(a)).plan) == []


def test_the_network_in_torch_is_that_in_numpy(torch):
    from mlsched_training.placement._plus import Learner, PlusParams, joined_view

    learner = Learner(PlusParams(**SMALL), 0, "cpu")
    net, trail = PlusNet(learner.weights()), []
    for seed in range(3):
        inst = mlsched.generate("placement", "6x5", seed=seed)
        trail += complete_placements(States(Question(inst, true_speeds(inst)), 2), net, np.random.default_rng(0))
    scores, stop = learner.scores(joined_view([(view, np.zeros(len(view.state) + 1)) for view in trail], "cpu")[0])
    for mine, its in ((scores, 0), (stop, 1)):
        expected = np.concatenate([net(view)[its] for view in trail])
        assert np.allclose(mine.detach().numpy(), expected, atol=1e-4)


def test_chances_of_all_that_may_be_done_sum_to_one(torch):
    from mlsched_training.placement._plus import Learner, PlusParams, joined_view

    learner = Learner(PlusParams(**SMALL), 0, "cpu")
    inst = mlsched.generate("placement", "6x5", seed=0)
    view, _ = States(Question(inst, true_speeds(inst)), 2).view_and_candidates()
    chances, stop = learner.log_chances(joined_view([(view, np.zeros(len(view.state) + 1))], "cpu")[0])
    total = stop.exp().detach().numpy()
    np.add.at(total, view.state, chances.exp().detach().numpy())
    assert np.allclose(total, 1, atol=1e-4)


def test_steps_towards_an_exact_answer_reach_it(torch):
    from mlsched_training.placement._plus import ANSWERS, PlusParams, exact_answers
    from mlsched_training.placement._plus_examples import steps_to_plan

    reached = 0
    for asked, plan, _ in exact_answers(ANSWERS, 6, PlusParams(**SMALL)):
        assert asked.instance.violations(plan) == []
        found = steps_to_plan(asked, plan, np.random.default_rng(1))
        for view, target in found:
            assert len(target) == len(view.state) + 1
            assert target.any()
        parts = int(((plan.workers + plan.ps) > 0).sum())
        assert len(found) <= parts + 1
        reached += len(found)
    assert reached


@pytest.mark.parametrize(("kind", "most"), [("pairwise", 1e-3), ("linear", 1e-3), ("quadratic", 0.2)])
def test_a_history_without_noise_tells_the_coefficients_where_the_model_has_their_form(kind, most):
    from mlsched_training.placement._plus_history import fit_tables, synthetic_instances

    found, types, error = fit_tables(np.random.default_rng(0), 600, synthetic_instances(kind))
    assert error < most
    assert set(found) == {*PAIRS, *ALONE}
    assert len(types) == 6
    if kind == "pairwise":
        inst = mlsched.generate("placement")
        assert np.abs(found["speeds.worker"] - inst.sigma_worker / 1e6).max() < 0.02


def test_wrong_calls_are_refused(torch):
    from mlsched_training import train

    for wrong in ({"interference": "x"}, {"samples": 1}, {"history": 0}, {"learning_rate": 0.0}):
        with pytest.raises(InvalidInput, match=next(iter(wrong))) as error:
            train("harmony-plus", iterations=1, **wrong)
        assert "\n" not in str(error.value)
