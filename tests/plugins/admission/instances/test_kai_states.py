"""Snapshots of KAI become the instance that one works out by hand."""

from __future__ import annotations

from kai_examples import kai_state
from state_examples import asked, by_name, written

from mlsched_admission.instances.states import read_states


def test_kai_by_hand(tmp_path):
    instance = asked(tmp_path, {"snapshot.json": kai_state()})
    gangs = [instance.group_names[g] for g in instance.unit_group]
    assert dict(zip(instance.unit_names, gangs, strict=True)) == {
        "ml/big-0": "ml/big", "ml/big-1": "ml/big", "ml/small-0": "ml/small",
    }  # fmt: skip
    assert dict(zip(instance.group_names, instance.group_min.tolist(), strict=True)) == {"ml/big": 2, "ml/small": 1}
    # Team b holds 12 GPUs and deserves 6; team a would hold 10 of its 10. Of its own queue: none is lower.
    assert dict(zip(instance.unit_names, instance.may[0].tolist(), strict=True)) == {
        "ml/big-0": 1, "ml/big-1": 1, "ml/small-0": 0,
    }  # fmt: skip
    assert instance.unit_movable.tolist() == [1, 1, 1]
    assert by_name(instance, "unit_lost")["ml/small-0"] == 2 * 2 * 3600


def test_kai_does_not_reclaim_beyond_the_fair_share_of_the_queue(tmp_path):
    """Team a deserves 5 and team b 6 of 16; of the other 5, team a's share is 3, and it would hold 10."""
    snapshot = kai_state()
    snapshot["rawObjects"]["queues"][1]["spec"]["resources"]["gpu"]["quota"] = 5
    assert asked(tmp_path, {"snapshot.json": snapshot}).may.sum() == 0


def test_kai_shares_of_gpus_are_thousandths(tmp_path):
    snapshot = kai_state()
    small = next(pod for pod in snapshot["rawObjects"]["pods"] if pod["metadata"]["name"] == "small-0")
    small["metadata"]["annotations"]["gpu-fraction"] = "0.25"
    del small["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"]
    instance = asked(tmp_path, {"snapshot.json": snapshot})
    column = instance.resources.index("nvidia.com/gpu (250 thousandths)")
    assert instance.pod_demand[instance.unit_names.index("ml/small-0"), column] == 1
    assert instance.node_free[0, column] == 4 * 8 - 4 * 6 - 1


def test_what_kais_own_program_lacks_is_named(tmp_path):
    snapshot = kai_state()
    snapshot["config"] = {"tiers": [{"plugins": [{"name": "nodeplacement", "arguments": {"gpu": "spread"}}]}]}
    group = snapshot["rawObjects"]["podGroups"][0]
    group["metadata"].setdefault("annotations", {})["kai.scheduler/stale-podgroup-timestamp"] = "2026-11-24T11:00:00Z"
    (state,) = read_states(written(tmp_path, {"snapshot.json": snapshot}))
    assert state.model is None
    for what in ("spread placement of gpu", "stale gangs"):
        assert any(line.startswith(what) for line in state.assumed)
    assert any(line.startswith("stale gangs") for lines in state.unmodelled.values() for line in lines)
