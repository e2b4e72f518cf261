"""States of Slurm become the instance that one works out by hand."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
from slurm_examples import CONFIG, slurm_state
from state_examples import asked, read, written

from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched_admission.instances.states import read_states, slurm_values
from mlsched_admission.instances.states.entries import Entry


def test_slurm_by_hand(tmp_path):
    instance = asked(tmp_path, slurm_state())
    assert instance.unit_names == ("7", "8")
    gpu = instance.resources.index("gres/gpu")
    assert instance.node_free[:, gpu].tolist() == [0, 4, 4]
    assert np.bincount(instance.pod_unit).tolist() == [1, 2]
    assert instance.unit_lost.tolist() == [8 * 5 * 3600, 8 * 3 * 3600]
    assert instance.unit_grace.tolist() == [60, 60]
    assert instance.unit_preempted.tolist() == [0, 1]
    assert instance.unit_ends.tolist() == [19 * 3600, 21 * 3600]
    assert (instance.shape_count.tolist(), instance.shape_spread.tolist()) == ([2], [1])
    # GrpTRES gres/gpu=16 of its QOS leaves room for its 16.
    assert (instance.limit_left.tolist(), instance.limit_job.tolist()) == ([16], [[16]])
    assert instance.may.tolist() == [[1, 1]]


def _job(documents, number):
    return next(job for job in documents["jobs.json"]["jobs"] if job["job_id"] == number)


def test_slurm_infinite_is_asked_first(tmp_path):
    """{"set": false, "infinite": true, "number": 0}: a job without a time limit has no end."""
    documents = slurm_state()
    _job(documents, 7)["time_limit"] = {"set": False, "infinite": True, "number": 0}
    assert asked(tmp_path, documents).unit_ends.tolist() == [-1, 21 * 3600]


def test_slurm_who_may_be_preempted(tmp_path):
    documents = slurm_state()
    now = documents["jobs.json"]["last_update"]["number"]
    _job(documents, 7)["preemptable_time"] = {"set": True, "infinite": False, "number": now + 60}
    assert asked(tmp_path, documents).may.tolist() == [[0, 1]]
    documents["qos.json"]["qos"][1]["preempt"]["list"] = []
    assert asked(tmp_path, documents).may.tolist() == [[0, 0]]
    documents = slurm_state()
    documents["config.txt"] = CONFIG.replace("preempt/qos", "preempt/none")
    assert asked(tmp_path, documents).may.tolist() == [[0, 0]]
    documents["config.txt"] = CONFIG.replace("preempt/qos", "preempt/partition_prio")
    assert asked(tmp_path, documents).may.tolist() == [[0, 0]]  # one partition, one tier
    documents["config.txt"] = CONFIG.replace("(null)", "min_exempt_priority=107")
    assert asked(tmp_path, documents).may.tolist() == [[1, 0]]


def test_slurm_modes_decide_what_is_lost_and_given_back(tmp_path):
    documents = slurm_state()
    documents["config.txt"] = CONFIG.replace("REQUEUE", "SUSPEND,GANG")
    suspended = asked(tmp_path, documents)
    gpu, cpu = suspended.resources.index("gres/gpu"), suspended.resources.index("cpu")
    assert suspended.unit_lost.tolist() == [0, 0]
    assert suspended.pod_demand[:, gpu].tolist() == [0, 0, 0]
    assert suspended.pod_demand[:, cpu].tolist() == [32, 16, 16]
    documents["config.txt"] = CONFIG.replace("REQUEUE", "CANCEL")
    _job(documents, 7)["comment"] = f"saved={documents['jobs.json']['last_update']['number'] - 60}"
    cancelled = asked(tmp_path, documents, checkpoint_annotation="saved")
    assert cancelled.unit_lost.tolist() == [8 * 5 * 3600, 8 * 3 * 3600]
    documents["config.txt"] = CONFIG
    assert asked(tmp_path, documents, checkpoint_annotation="saved").unit_lost.tolist() == [8 * 60, 8 * 3 * 3600]


def test_slurm_limits_climb_the_accounts(tmp_path):
    documents = slurm_state()
    total = [{"type": "gres", "name": "gpu", "id": 1001, "count": 20}]
    documents["assoc.json"]["associations"] = [
        {"account": "root", "user": "", "parent_account": "", "partition": "", "max": {"tres": {"total": total}}},
        {"account": "lab", "user": "", "parent_account": "root", "partition": "", "max": {"tres": {"total": []}}},
        {"account": "lab", "user": "ann", "parent_account": "", "partition": "", "max": {"tres": {"total": []}}},
    ]
    instance = asked(tmp_path, documents)
    rows = dict(
        zip(
            instance.limit_names,
            zip(instance.limit_left.tolist(), instance.limit_unit.tolist(), strict=True),
            strict=True,
        )
    )
    assert rows["account root: gres/gpu"] == (20 - 16, [8, 8])


def test_slurm_constraints_choose_nodes(tmp_path):
    documents = slurm_state()
    for node, features in zip(documents["nodes.json"]["nodes"], (["ib", "a"], ["ib"], ["b"]), strict=True):
        node["features"] = node["active_features"] = features
    for text, nodes in (("ib", [1, 1, 0]), ("ib&a", [1, 0, 0]), ("a|b", [1, 0, 1])):
        _job(documents, 9)["features"] = text
        assert asked(tmp_path, documents).shape_nodes.tolist() == [nodes]
    _job(documents, 9)["features"] = "[a*1&b*1]"
    assert "constraint" in read(tmp_path, documents).unmodelled["9"][0]
    _job(documents, 9).update(features="", excluded_nodes="n[2-3]")
    assert asked(tmp_path, documents).shape_nodes.tolist() == [[1, 0, 0]]


@pytest.mark.parametrize(
    ("states", "takes"),
    [(["IDLE", "DRAIN"], 0), (["DOWN"], 0), (["IDLE", "CLOUD", "POWERED_DOWN"], 1), (["MIXED", "PLANNED"], 1)],
)
def test_slurm_nodes_that_take_jobs(tmp_path, states, takes):
    documents = slurm_state()
    documents["nodes.json"]["nodes"][1]["state"] = states
    assert asked(tmp_path, documents).shape_nodes.tolist() == [[1, takes, 1]]


def test_slurm_heterogeneous_job_has_a_shape_per_component(tmp_path):
    documents = slurm_state()
    waiting = _job(documents, 9)
    other = copy.deepcopy(waiting) | {"job_id": 10, "node_count": {"set": True, "infinite": False, "number": 1}}
    for offset, job in enumerate((waiting, other)):
        job["het_job_id"] = {"set": True, "infinite": False, "number": 9}
        job["het_job_offset"] = {"set": True, "infinite": False, "number": offset}
    documents["jobs.json"]["jobs"].append(other)
    instance = asked(tmp_path, documents)
    assert instance.job_names == ("9",)
    assert instance.shape_count.tolist() == [2, 1]


def test_slurm_conf_of_the_user_stands_in(tmp_path):
    documents = slurm_state()
    del documents["config.txt"]
    with pytest.raises(InvalidInput, match="PreemptType"):
        read(tmp_path, documents)
    conf = "# ours\nClusterName=c\nPreemptType=preempt/qos\nPreemptMode=REQUEUE # as told\n"
    assert asked(tmp_path, documents, slurm_conf=conf).hash == asked(tmp_path, slurm_state()).hash


def test_slurm_config_as_json(tmp_path):
    documents = slurm_state()
    documents["config.txt"] = {"configuration": {"preempt_type": "preempt/qos", "preempt_mode": ["REQUEUE"]}}
    assert asked(tmp_path, documents).hash == asked(tmp_path, slurm_state()).hash


def test_a_generic_resource_counts_the_same_in_both_of_slurms_notations():
    entry = Entry(
        {"gres": "bandwidth:4G,gpu:h100:2(S:0-1)", "tres": "gres/bandwidth=4G,gres/gpu=2,gres/gpu:h100=2"}, "x"
    )
    assert slurm_values.gres_amounts(entry, entry.text("gres"), "gres") == slurm_values.tres_amounts(entry, "tres")


def test_an_amount_beyond_all_bounds_is_refused_in_a_line(tmp_path):
    for text, much in (("gpu:h100:8", "gpu:h100:999999999T"), ("gres/gpu=8", "gres/gpu=999999999999T")):
        texts = {k: one if isinstance(one, str) else json.dumps(one) for k, one in slurm_state().items()}
        documents = {name: one.replace(text, much) for name, one in texts.items()}
        assert any(much in one for one in documents.values())
        with pytest.raises(InvalidFile, match=r"is more than 2\^53: no node holds so much$") as caught:
            read_states(written(tmp_path, documents))
        assert "\n" not in str(caught.value)


def test_files_of_different_times_and_newer_versions_are_named(tmp_path):
    documents = slurm_state(parser=46)
    updated = documents["nodes.json"]["last_update"]
    documents["nodes.json"]["last_update"] = {**updated, "number": updated["number"] - 7 * 86400}
    (state,) = read_states(written(tmp_path, documents))
    assert any(line.startswith("files of different times: 7 d 0 h apart") for line in state.assumed)
    assert any("data_parser/v0.0.46: newer than data_parser 0.0.45" in line for line in state.assumed)
    (state,) = read_states(written(tmp_path, slurm_state()))
    assert not any("different times" in line or "newer" in line for line in state.assumed)
