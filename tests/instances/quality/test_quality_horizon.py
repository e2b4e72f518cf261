"""Horizons of quality: what construction refuses, what the judge finds, rule by rule, and files."""

import numpy as np
import pytest

import mlsched
from mlsched.core.errors import InvalidInput
from mlsched.core.fields import ints
from mlsched.instances.quality import Epochs, Horizon


def two_jobs(**changes):
    """2 cores, epochs of 1 s. Job 0: 2 iterations of 1 core-second, 100, 40, 0; job 1, from 1 s: one of 2, 90, 0."""
    fields = {
        "cores": 2,
        "epoch": 1,
        "submit": ints([0, 1]),
        "work": ints([1000, 2000]),
        "iterations": ints([2, 1]),
        "goal": ints([1, 1]),
        "loss": [[100, 40, 0], [90, 0, 0]],
        "family": ints([0, 0]),
        "weight": ints([1, 1]),
        "most": ints([2, 2]),
    }
    return Horizon(**{**fields, **changes})


def rows(*given):
    return Epochs(cores=np.array(given, dtype=np.int64).reshape(len(given), 2))


def test_losses_count_at_the_beginning_of_epochs_and_goals_to_the_ms():
    """Epochs begin with losses 100; 40 and 90; 0 + 45. Job 0's first iteration ends at 1 s, job 1's at 3 s."""
    slow = rows((1, 0), (1, 1), (0, 1))
    assert two_jobs().violations(slow) == []
    assert two_jobs().evaluate(slow) == {"total_loss": 275, "total_worst_loss": 235, "total_time_to_goal": 3000}
    quick = rows((2, 0), (0, 2))
    assert two_jobs().evaluate(quick) == {"total_loss": 190, "total_worst_loss": 190, "total_time_to_goal": 1500}


def test_weights_multiply_losses_and_times():
    values = two_jobs(weight=ints([3, 0])).evaluate(rows((1, 0), (1, 1), (0, 1)))
    assert values == {"total_loss": 420, "total_worst_loss": 420, "total_time_to_goal": 3000}


def test_between_two_iterations_a_loss_is_rounded_up():
    """After a third of the first iteration the loss is 100 - 60 / 3 = 80; of one that falls by 50, 84 (83.3)."""
    third = two_jobs(work=ints([3000, 2000]), iterations=ints([1, 1]), most=ints([1, 2]), submit=ints([0, 9]))
    plan = rows((1, 0), (1, 0), (1, 0), *[(0, 0)] * 6, (0, 2))
    assert third.evaluate(plan)["total_loss"] == third.evaluate(plan)["total_worst_loss"] == 100 + 80 + 60 + 90
    assert third.replace(loss=[[100, 50, 0], [90, 0, 0]]).evaluate(plan)["total_loss"] == 100 + 84 + 67 + 90


WRONG = [
    ([(1, 0)], "jobs are not done after 1 epochs: there must be more rows"),
    ([(2, 0), (0, 2), (0, 0)], "epoch 2 comes after the last job is done: there are 3 rows"),
    ([(1, 1)], "epoch 0: job 1 gets 1 cores: it is not there, or waits"),
    ([(1, 0), (2, 1)], "epoch 1: the jobs get 3 cores: there are 2"),
    ([(1, 0), (1, 0)], "epoch 1: job 1 gets 0 cores: the least is 1"),
    ([(3, 0)], "epoch 0: job 0 gets 3 cores: its cap is 2 / epoch 0: the jobs get 3 cores: there are 2"),
    ([(2, 0), (1, 1)], "epoch 1: job 0 gets 1 cores: it is not there, or waits"),
]


@pytest.mark.parametrize(("given", "sentence"), WRONG)
def test_the_judge_names_what_is_wrong(given, sentence):
    assert two_jobs().violations(rows(*given)) == sentence.split(" / ")
    with pytest.raises(InvalidInput, match="the plan cannot be evaluated"):
        two_jobs().evaluate(rows(*given))


def test_where_there_are_fewer_cores_than_jobs_the_later_wait():
    one = two_jobs(cores=1, submit=ints([0, 0]))
    assert one.violations(rows((0, 1))) == [
        "epoch 0: job 0 gets 0 cores: the least is 1",
        "epoch 0: job 1 gets 1 cores: it is not there, or waits",
    ]
    assert one.violations(rows((1, 0), (1, 0), (0, 1), (0, 1))) == []
    two_each = two_jobs(cores=3, least=2, submit=ints([0, 0]))
    assert two_each.violations(rows((2, 0), (0, 2))) == []
    assert two_each.violations(rows((2, 1))) == ["epoch 0: job 1 gets 1 cores: it is not there, or waits"]
    none = Epochs(cores=np.zeros((0, 0), dtype=np.int64))
    assert two_jobs().violations(none) == ["jobs are not done after 0 epochs: there must be more rows"]
    assert two_jobs().violations(Epochs(cores=[[1]])) == ["cores has 1 columns, expected 2, one for each job"]
    assert two_jobs().violations(None) == ["the answer is a NoneType, expected a quality.epochs"]


REFUSED = [
    ({"loss": [[100, 40, 50], [90, 0, 0]]}, r"loss\[0\]\[2\]: 50, must not increase"),
    ({"goal": ints([3, 1])}, r"goal\[0\]: 3, expected at most iterations"),
    ({"iterations": ints([3, 1])}, r"iterations\[0\]: 3, expected at most 2"),
    ({"least": 3, "most": ints([3, 3])}, "least: 3, expected at most the 2 cores"),
    ({"most": ints([1, 2]), "least": 2}, r"most\[0\]: 1, expected at least 2"),
    ({"submit": ints([2, 1])}, "submit"),
    ({"work": ints([2**51, 1])}, "total_loss can reach"),
    ({"normalise": "unit"}, "expected one of change, range"),
]


@pytest.mark.parametrize(("changes", "sentence"), REFUSED)
def test_construction_refuses(changes, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        two_jobs(**changes)


def test_presets_files_and_hashes(tmp_path):
    first = mlsched.generate("quality", "epochs", seed=3)
    assert first == mlsched.generate("quality", "epochs", seed=3)
    assert first.hash[:12] == "1528b5291d95"
    mlsched.save(first, tmp_path / "run.json")
    assert mlsched.load(tmp_path / "run.json") == first
    plan = mlsched.solve(first, "slaq").plan
    mlsched.save(plan, tmp_path / "plan.json", instance=first)
    assert mlsched.load(tmp_path / "plan.json") == plan
    assert list(first.table(plan)) == ["epoch", "job 0", "job 1", "job 2", "job 3"]
    smooth = mlsched.generate("quality", "epochs-smooth", seed=3)
    assert (np.diff(smooth.loss, axis=1) < 0).all()
