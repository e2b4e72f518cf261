"""Arguments of the plug-ins' functions of a wrong type end in one line that says what they must be."""

from __future__ import annotations

import re

import pytest
from test_wrong_calls import numbers_and_truth_values

import mlsched
import mlsched_admission
import mlsched_papers
from mlsched_training import train
from mlsched_training.environments import harmony, placement, rounds, taskgraph, workers

MEANINGLESS = [
    (mlsched_admission.judge, {"time_limit": 0}, "time_limit: 0, expected above 0"),
    (mlsched_admission.judge, {"now": True}, "judge: now: True, expected a text, an integer or None"),
    (mlsched_papers.reproduce, {"seeds": True}, "reproduce: seeds: True, expected an integer or None"),
    (train, {"iterations": True}, "train: iterations: True, expected an integer or None"),
    (train, {"cpu_limit": 0}, "cpu_limit: 0, expected above 0 and at most 10000000"),
    (workers.WorkersEnv, {"pair": "yes"}, "Task: pair: 'yes', expected True or False"),
    (rounds.RoundsEnv, {"window": True}, "RoundsEnv: window: True, expected an integer"),
]
FUNCTIONS = (
    mlsched_admission.judge,
    mlsched_papers.reproduce,
    train,
    harmony.HarmonyEnv,
    placement.PlacementEnv,
    rounds.RoundsEnv,
    taskgraph.TaskGraphEnv,
    workers.WorkersVectorEnv,
)


def test_a_wrong_type_is_named_with_what_it_must_be():
    with pytest.raises(mlsched.InvalidInput, match="judge: states: 5, expected a path"):
        mlsched_admission.judge(5)


@pytest.mark.parametrize(("function", "arguments", "said"), MEANINGLESS, ids=[said for *_, said in MEANINGLESS])
def test_an_argument_that_means_nothing_is_refused_before_anything_is_done(function, arguments, said):
    with pytest.raises(mlsched.InvalidInput, match=re.escape(said)):
        function(**arguments)


@pytest.mark.parametrize(("function", "name", "value"), list(numbers_and_truth_values(FUNCTIONS)))
def test_no_function_takes_a_truth_value_for_a_number_or_a_number_for_a_truth_value(function, name, value):
    with pytest.raises(mlsched.InvalidInput, match=f"{function.__name__}: {name}: {value}, expected"):
        function(**{name: value})
