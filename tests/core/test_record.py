"""Records: equality and hash by content, JSON round trip, strict reading, the trusted path."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis.vendor import pretty
from preemption_examples import SMALL, small

from mlsched.core import record
from mlsched.core.errors import InvalidInput
from mlsched.instances import strategies
from mlsched.instances.preemption import Instance, Plan

instances = strategies.preemption()


def test_tests_validate_trusted_records():
    assert record.validate_trusted
    with pytest.raises(InvalidInput, match="te_node\\[0\\]: -2"):
        Plan.trusted(te_node=np.array([-2]), victims=np.array([], dtype=np.int64))


def test_a_trusted_record_lacks_no_array():
    """Only validation fills one in: without it a rule would find an empty tuple."""
    from mlsched.instances.taskgraph import Snapshot

    with pytest.raises(
        TypeError, match=r"Snapshot\.trusted: .*user, option, permits, .*, expected a value for each array"
    ):
        Snapshot.trusted(now=0)


@given(instance=instances)
def test_json_round_trip(instance):
    text = json.dumps(instance.to_json())
    back = Instance.from_json(json.loads(text))
    assert back == instance
    assert back.hash == instance.hash
    assert hash(back) == hash(instance)
    assert json.dumps(back.to_json()) == text


@given(instance=instances)
def test_a_copy_made_from_fields_is_equal(instance):
    assert instance.replace() == instance


def test_hash_is_the_same_on_every_machine_and_in_every_process():
    code = "from preemption_examples import small; print(small().hash)"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=__file__.rsplit("/core", 1)[0]
    )
    assert found.stdout.strip() == small().hash
    # The hash is part of plan files and stores: changing it orphans them.
    assert small().hash == "5edf91bf8fd2cf7ff2cb19d699e3de8b6cc87e875dfefc64910f7110ad560a76"


@pytest.mark.parametrize("field", [*SMALL, "preemption_limit", "grace_weight", "max_size", "max_grace"])
def test_every_field_enters_equality_and_hash(field):
    base = small()
    changed = {
        "resources": ["cpu", "tpu"],
        "node_capacity": [[9, 4], [8, 4]],
        "node_free": [[0, 0], [2, 1]],
        "node_draining": [[0, 0], [0, 0]],
        "job_node": [0, 0, 1],
        "job_demand": [[3, 2], [3, 2], [6, 3]],
        "job_grace": [60, 120, 1],
        "job_preemptions": [1, 0, 0],
        "job_remaining": [1, 2, 3],
        "te_demand": [[5, 3]],
        "preemption_limit": 2,
        "grace_weight": 1,
        "max_size": 2 * 10**9,
        "max_grace": 500,
    }
    if field == "node_draining":
        base, other = (
            small(node_free=[[0, 0], [2, 1]]),
            small(node_free=[[0, 0], [2, 1]], node_draining=[[1, 0], [0, 0]]),
        )
    elif field == "job_node":
        roomy = {"node_capacity": [[99, 99], [99, 99]]}
        base, other = small(**roomy), small(**roomy, job_node=[0, 0, 0])
    else:
        other = small(**{field: changed[field]})
    assert other != base
    assert other.hash != base.hash


def test_records_of_different_types_are_unequal():
    plan = Plan(te_node=[0], victims=[])
    assert plan != small()
    assert plan != "plan"


@pytest.mark.parametrize("name", list(SMALL))
def test_a_missing_field_is_named(name):
    data = {k: v for k, v in small().to_json().items() if k != name}
    with pytest.raises(InvalidInput, match=f"{name}: is missing; a preemption.instance needs it"):
        Instance.from_json(data)


def test_fields_with_a_default_may_be_missing():
    data = small().to_json()
    assert "preemption_limit" not in data
    assert Instance.from_json(data).preemption_limit == 1


def test_an_unknown_field_is_named():
    with pytest.raises(InvalidInput, match=r"job_gracee: unknown field of a preemption.instance; it has resources, "):
        Instance.from_json({**small().to_json(), "job_gracee": []})


def test_instances_are_frozen():
    with pytest.raises(AttributeError):
        small().preemption_limit = 3


def test_replace_validates():
    with pytest.raises(InvalidInput, match="preemption_limit: -1"):
        small().replace(preemption_limit=-1)


def test_repr_is_readable_and_bounded():
    large = small(te_demand=[[1, 1]] * 50)
    assert re.fullmatch(r"<preemption.instance: 2 nodes, 2 resources, 3 jobs, 50 tes, hash \w{12}>", repr(large))
    assert "te_demand=<50x2 integers>" in large.whole()
    assert "job_grace=[60, 120, 0]" in large.whole()


def test_the_whole_of_a_small_record_is_shown_and_hypothesis_shows_it_of_all():
    plan = Plan(te_node=[1], victims=[2])
    assert repr(plan) == plan.whole() == "preemption.plan(te_node=[1], victims=[2])"
    large = small(te_demand=[[1, 1]] * 50)
    assert pretty.pretty(large) == large.whole()
