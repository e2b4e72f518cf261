"""`mlsched judge --free`: nodes and levels of a state, and wrong calls in one line."""

from __future__ import annotations

import pytest
from kueue_examples import kueue_state
from state_examples import written

import mlsched


@pytest.fixture
def instance_file(tmp_path):
    path = tmp_path / "state.json"
    mlsched.save(mlsched.generate("admission", "small", seed=1), path)
    return path


def test_nodes_and_levels_of_an_instance(cli, instance_file):
    shown = cli("judge", instance_file, "--free", "node=2")
    assert shown.status == 0
    assert "whole nodes to free" in shown.out
    document = cli("judge", instance_file, "--free", "0=1", "--json").document
    assert [way["count"] for way in document["ways"]] == [1]
    assert document["ways"][0]["proved"]


def test_nodes_and_levels_of_a_state(cli, tmp_path):
    files = written(tmp_path, kueue_state(topology=True))
    for what in ("node", "rack"):
        document = cli("judge", *files, "--free", f"{what}=1", "--json").document
        assert document["level"] == what
        assert document["ways"][0]["possible"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("rack", "--free: 'rack', expected LEVEL=NUMBER"),
        ("node=0", "most: 0, expected 1 to 64"),
        ("node=9", "expected at most 3"),
        ("rack=1", "free: 'rack', expected one of node, 0"),
    ],
)
def test_wrong_values_are_refused(cli, instance_file, value, message):
    cli("judge", instance_file, "--free", value).refused(message)


def test_it_judges_no_decision(cli, instance_file):
    cli("judge", instance_file, "--free", "node=1", "--rule", "kueue").refused("--free: does not judge a decision")
