"""States of real schedulers become the instance that one works out by hand, whichever version printed them."""

from __future__ import annotations

import copy
import gzip
import json
import random
import zipfile

import numpy as np
import pytest
import state_examples as examples
from draws import draws
from state_examples import KUEUE_VERSIONS, SLURM_PARSERS, written

import mlsched
from mlsched.core.errors import InvalidFile, InvalidInput
from mlsched.instances.admission.anonymous import anonymous
from mlsched.instances.admission.states import Options, instance_of, read_states, slurm_values
from mlsched.instances.admission.states.decision import evicting, read_decision
from mlsched.instances.admission.states.entries import Entry
from mlsched.instances.admission.states.state import State


def read(folder, documents, **options) -> State:
    """The one state that these documents hold."""
    (state,) = read_states(written(folder, documents), Options(**options))
    return state


def asked(folder, documents, **options):
    """The instance of that state."""
    return instance_of(read(folder, documents, **options))


def by_name(instance, field):
    """Unit -> its entry of a field."""
    return dict(zip(instance.unit_names, getattr(instance, field).tolist(), strict=True))


# One state, however it is printed ------------------------------------------------------------------------------------


@pytest.mark.parametrize("topology", [False, True])
def test_kueue_versions_are_one_state(tmp_path, topology):
    hashes = {asked(tmp_path, examples.kueue_state(v, topology=topology)).hash for v in KUEUE_VERSIONS}
    assert len(hashes) == 1


def test_slurm_versions_are_one_state(tmp_path):
    forms = [(parser, mode) for parser in SLURM_PARSERS for mode in (False, True)]
    hashes = {asked(tmp_path, examples.slurm_state(p, complex_mode=mode)).hash for p, mode in forms}
    assert len(forms) == 12
    assert len(hashes) == 1


def test_order_of_objects_and_files_is_nothing(tmp_path):
    for make in (examples.kueue_state, examples.kube_state):
        documents = make()
        shuffled = copy.deepcopy(documents)
        for document in shuffled.values():
            random.Random(1).shuffle(document["items"])
        assert asked(tmp_path, dict(reversed(shuffled.items()))).hash == asked(tmp_path, documents).hash


def test_compressed_files_are_the_same(tmp_path):
    documents = examples.kube_state()
    plain = asked(tmp_path, documents)
    packed = []
    for path in written(tmp_path, documents):
        packed.append(tmp_path / f"{path.name}.gz")
        packed[-1].write_bytes(gzip.compress(path.read_bytes()))
    assert instance_of(read_states(packed)[0]).hash == plain.hash


def test_single_objects_and_typed_lists_are_lists(tmp_path):
    documents = examples.kube_state()
    plain = asked(tmp_path, documents)
    pods = documents["pods.json"]["items"]
    apart = {f"pod-{n}.json": pod for n, pod in enumerate(pods[1:])}
    typed = {"kind": "PodList", "apiVersion": "v1", "items": [{k: pods[0][k] for k in ("metadata", "spec", "status")}]}
    documents = {key: documents[key] for key in ("nodes.json", "budgets.json")} | apart | {"typed.json": typed}
    assert asked(tmp_path, documents).hash == plain.hash


def test_snapshot_zip_and_json_are_one(tmp_path):
    (path,) = written(tmp_path, {"snapshot.json": examples.kai_state()})
    with zipfile.ZipFile(tmp_path / "snapshot.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(path, "snapshot.json")
    one, other = (instance_of(read_states([p])[0]) for p in (path, tmp_path / "snapshot.zip"))
    assert one.hash == other.hash


# Kueue ---------------------------------------------------------------------------------------------------------------


def test_kueue_by_hand(tmp_path):
    state = read(tmp_path, examples.kueue_state())
    instance = instance_of(state)
    assert instance.job_names == ("team-a/urgent",)
    assert instance.flavor_names == ("h100/nvidia.com/gpu",)
    assert dict(zip(instance.queue_names, instance.quota_used[:, 0].tolist(), strict=True)) == {
        "cohort:research": 0, "cq-a": 14, "cq-b": 12,
    }  # fmt: skip
    assert by_name(instance, "unit_lost") == {
        "team-a/train": 8 * 3 * 3600, "team-a/sweep": 4 * 2 * 3600, "team-a/notebook": 2 * 3600,
        "team-b/rent": 12 * 4 * 3600,
    }  # fmt: skip
    # Team b's borrows, so it may go, but only where urgent ends within its own queue's quota.
    may = dict(zip(instance.unit_names, instance.may[0].tolist(), strict=True))
    assert may == {"team-a/train": 1, "team-a/sweep": 1, "team-a/notebook": 1, "team-b/rent": 2}
    assert instance.above_nominal == 1
    assert by_name(instance, "unit_preempted") == {
        "team-a/train": 0, "team-a/sweep": 2, "team-a/notebook": 0, "team-b/rent": 1,
    }  # fmt: skip
    assert not state.unmodelled


def test_kueue_priority_boost_and_equal_priority(tmp_path):
    documents = examples.kueue_state()
    workloads = {item["metadata"]["name"]: item for item in documents["workloads.json"]["items"]}
    workloads["train"]["metadata"]["annotations"] = {"kueue.x-k8s.io/priority-boost": "90"}
    instance = asked(tmp_path, documents)
    assert by_name(instance, "unit_priority")["team-a/train"] == 100
    assert instance.may[0, instance.unit_names.index("team-a/train")] == 0
    # Of equal priority and queued later, it may go under LowerOrNewerEqualPriority.
    for queue in documents["queues.json"]["items"][:1]:
        queue["spec"]["preemption"]["withinClusterQueue"] = "LowerOrNewerEqualPriority"
    assert asked(tmp_path, documents).may[0, instance.unit_names.index("team-a/train")] == 0
    workloads["train"]["metadata"]["creationTimestamp"] = "2026-11-24T11:45:00Z"
    instance = asked(tmp_path, documents)
    assert instance.may[0, instance.unit_names.index("team-a/train")] == 1


def test_kueue_topology_by_hand(tmp_path):
    waiting = examples.pod_set(4, 2, topologyRequest={"required": "rack"})
    instance = asked(tmp_path, examples.kueue_state(topology=True, waiting=waiting))
    gpu = instance.resources.index("nvidia.com/gpu")
    assert dict(zip(instance.node_names, instance.node_free[:, gpu].tolist(), strict=True)) == {
        "node-0": 0, "node-1": 2, "node-2": 0, "node-3": 4,
    }  # fmt: skip
    rack = instance.node_domain[int(instance.shape_level[0])].tolist()
    assert rack[0] == rack[1] != rack[2] == rack[3]
    assert instance.shape_count.tolist() == [4]


def test_kueue_slices_ask_for_one_domain_each(tmp_path):
    request = {"podSetSliceRequiredTopology": "kubernetes.io/hostname", "podSetSliceSize": 2}
    instance = asked(
        tmp_path, examples.kueue_state(topology=True, waiting=examples.pod_set(4, 2, topologyRequest=request))
    )
    assert (instance.shape_slice.tolist(), instance.shape_level.tolist()) == ([2], [1])


def test_kueue_finished_pods_give_back_their_quota(tmp_path):
    documents = examples.kueue_state()
    train = next(i for i in documents["workloads.json"]["items"] if i["metadata"]["name"] == "train")
    train["status"]["reclaimablePods"] = [{"name": "main", "count": 3}]
    instance = asked(tmp_path, documents)
    assert by_name(instance, "unit_use")["team-a/train"] == [2]


def _two_flavors(documents, **fungibility):
    """Team a has a second flavor, spot, with 10 GPUs; nobody uses it."""
    queue = documents["queues.json"]["items"][0]
    group = queue["spec"]["resourceGroups"][0]
    group["flavors"].append({"name": "spot", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 10}]})
    queue["spec"]["flavorFungibility"] = fungibility
    return documents


def test_kueue_chooses_flavors_in_its_order(tmp_path):
    """Of the first flavor it would have to evict; whether it looks further is whenCanPreempt's to say."""
    next_one = asked(tmp_path, _two_flavors(examples.kueue_state(), whenCanPreempt="TryNextFlavor"))
    assert next_one.flavor_names == ("spot/nvidia.com/gpu",)
    stays = asked(tmp_path, _two_flavors(examples.kueue_state(), whenCanPreempt="MayStopSearch"))
    assert stays.flavor_names == ("h100/nvidia.com/gpu",)


def test_kueue_free_flavors_are_all_asked_about(tmp_path):
    paths = written(tmp_path, _two_flavors(examples.kueue_state()))
    states = read_states(paths, Options(flavors="free"))
    assert [instance_of(state).flavor_names for state in states] == [
        ("h100/nvidia.com/gpu",), ("spot/nvidia.com/gpu",),
    ]  # fmt: skip


def test_kueue_flavor_whose_taint_is_not_tolerated_is_skipped(tmp_path):
    documents = _two_flavors(examples.kueue_state(), whenCanPreempt="TryNextFlavor")
    taint = {"key": "spot", "value": "true", "effect": "NoSchedule"}
    spot = {
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "spot"},
        "spec": {"nodeTaints": [taint]},
    }  # fmt: skip
    documents["queues.json"]["items"].append(spot)
    assert asked(tmp_path, documents).flavor_names == ("h100/nvidia.com/gpu",)
    spot["spec"]["tolerations"] = [{"key": "spot", "operator": "Exists"}]
    assert asked(tmp_path, documents).flavor_names == ("spot/nvidia.com/gpu",)


def test_kueue_says_what_is_not_modelled(tmp_path):
    documents = examples.kueue_state(waiting=examples.pod_set(4, 2, minCount=2))
    documents["queues.json"]["items"][0]["spec"]["admissionChecksStrategy"] = {"admissionChecks": [{"name": "quota"}]}
    lines = read(tmp_path, documents).unmodelled["team-a/urgent"]
    assert any("minCount" in line for line in lines)
    assert any("admission check quota" in line for line in lines)


def test_kueue_fair_sharing_is_refused_by_name(tmp_path):
    config = "apiVersion: config.kueue.x-k8s.io/v1beta1\nfairSharing:\n  enable: {}\n  preemptionStrategies: []\n"
    entry = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kueue-manager-config"}}
    documents = examples.kueue_state()
    documents["config.json"] = {**entry, "data": {"controller_manager_config.yaml": config.format("true")}}
    with pytest.raises(InvalidInput, match="fairSharing"):
        read(tmp_path, documents)
    documents["config.json"] = {**entry, "data": {"controller_manager_config.yaml": config.format("false")}}
    assert not any("fair sharing" in line for line in read(tmp_path, documents).assumed)


# Kubernetes ----------------------------------------------------------------------------------------------------------


def test_kubernetes_by_hand(tmp_path):
    instance = asked(tmp_path, examples.kube_state())
    gpu = instance.resources.index("nvidia.com/gpu")
    assert instance.node_free[:, gpu].tolist() == [0, 0]
    may = dict(zip(instance.unit_names, instance.may[0].tolist(), strict=True))
    assert may == {"ml/web-0": 1, "ml/web-1": 1, "ml/batch-0": 1, "ml/batch-1": 1, "ml/serving-0": 0}
    assert instance.budget_left.tolist() == [1]
    covered = [instance.unit_names[u] for u in instance.pod_unit[instance.pod_budget[0] == 1]]
    assert covered == ["ml/batch-0", "ml/batch-1"]


def test_kubernetes_pods_on_their_way_out_are_draining(tmp_path):
    documents = examples.kube_state()
    documents["pods.json"]["items"][0]["metadata"]["deletionTimestamp"] = examples.NOW
    instance = asked(tmp_path, documents)
    gpu = instance.resources.index("nvidia.com/gpu")
    assert "ml/web-0" not in instance.unit_names
    assert instance.node_draining[:, gpu].tolist() == [4, 0]


@pytest.mark.parametrize(
    ("node", "pod", "allowed"),
    [
        ({"unschedulable": True}, {}, False),
        ({"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]}, {}, False),
        ({"taints": [{"key": "gpu", "value": "yes", "effect": "PreferNoSchedule"}]}, {}, True),
        (
            {"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]},
            {"tolerations": [{"key": "gpu", "operator": "Equal", "value": "yes"}]},
            True,
        ),
        ({"taints": [{"key": "gpu", "effect": "NoExecute"}]}, {"tolerations": [{"operator": "Exists"}]}, True),
        ({}, {"nodeSelector": {"rack": "elsewhere"}}, False),
        ({}, {"nodeSelector": {"rack": "r0"}}, True),
        ({}, {"affinity": [("rack", "NotIn", ["r0"])]}, False),
        ({}, {"affinity": [("rack", "In", ["r0", "r1"])]}, True),
        ({}, {"affinity": [("none", "DoesNotExist", [])]}, True),
        ({}, {"affinity": [("rack", "Gt", ["3"])]}, False),
    ],
)
def test_kubernetes_nodes_that_a_pod_may_use(tmp_path, node, pod, allowed):
    if "affinity" in pod:
        expressions = [{"key": key, "operator": op, "values": values} for key, op, values in pod["affinity"]]
        terms = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
        pod = {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}
    documents = {
        "nodes.json": examples.listed(examples.kube_node("node-0", gpus=8, **node)),
        "pods.json": examples.listed(examples.kube_pod("urgent", gpus=4, priority=1, spec=pod)),
    }
    assert asked(tmp_path, documents).shape_nodes.tolist() == [[int(allowed)]]


def test_kubernetes_requests_are_added_up_as_the_scheduler_does(tmp_path):
    def container(cpu, **more):
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    spec = {
        "containers": [container("500m"), {"resources": {"limits": {"cpu": "1"}}}],
        "initContainers": [container("200m", restartPolicy="Always"), container("3")],
        "overhead": {"cpu": "100m"},
    }
    documents = {
        "nodes.json": examples.listed(examples.kube_node("node-0", gpus=8)),
        "pods.json": examples.listed(examples.kube_pod("urgent", gpus=0, priority=1, spec=spec)),
    }
    state = read(tmp_path, documents)
    # The init container runs beside the sidecar before it: 3.2 CPUs, more than 1.7 of the containers with it.
    assert state.jobs["ml/urgent"].shapes[0].demand["cpu"] == 3300


def test_the_first_in_line_is_asked_about_and_others_by_name(tmp_path):
    documents = examples.kube_state()
    documents["pods.json"]["items"].append(examples.kube_pod("later", gpus=1, priority=50))
    state = read(tmp_path, documents)
    assert list(state.jobs) == ["ml/urgent"]
    assert any("the first of 2 in line" in line for line in state.assumed)
    assert list(read(tmp_path, documents, jobs=("later",)).jobs) == ["ml/later"]
    assert list(read(tmp_path, documents, jobs=("later", "ml/urgent", "later")).jobs) == ["ml/later", "ml/urgent"]
    with pytest.raises(InvalidInput, match="did you mean"):
        read(tmp_path, documents, jobs=("urgnt",))


def test_an_overfull_node_takes_nothing_new(tmp_path):
    documents = examples.kube_state()
    documents["nodes.json"]["items"][0]["status"]["allocatable"]["nvidia.com/gpu"] = "6"
    state = read(tmp_path, documents)
    instance = instance_of(state)
    assert instance.shape_nodes.tolist() == [[0, 1]]
    assert any("node-0 has given out more nvidia.com/gpu" in line for line in state.assumed)


# Checkpoints ---------------------------------------------------------------------------------------------------------


def test_lost_work_follows_what_is_said_of_checkpoints(tmp_path):
    documents = examples.kube_state()
    web = documents["pods.json"]["items"][0]
    assert by_name(asked(tmp_path, documents), "unit_lost")["ml/web-0"] == 4 * 4 * 3600
    often = asked(tmp_path, documents, checkpoint_every=1800)
    assert by_name(often, "unit_lost")["ml/web-0"] == 4 * 1800
    web["metadata"]["annotations"] = {"saved-at": "2026-11-24T11:50:00Z"}
    noted = asked(tmp_path, documents, checkpoint_annotation="saved-at")
    assert by_name(noted, "unit_lost")["ml/web-0"] == 4 * 600
    assert by_name(noted, "unit_lost")["ml/web-1"] == 4 * 3600  # does not say: all since its start
    later = asked(tmp_path, documents, now=1_795_521_600 + 60)
    assert by_name(later, "unit_lost")["ml/web-0"] == 4 * (4 * 3600 + 60)


def test_without_gpus_cpus_are_counted(tmp_path):
    documents = {
        "nodes.json": examples.listed(examples.kube_node("node-0", gpus=0)),
        "pods.json": examples.listed(
            examples.kube_pod("small-0", gpus=0, priority=1, node="node-0", hour=11),
            examples.kube_pod("urgent", gpus=0, priority=9),
        ),
    }
    state = read(tmp_path, documents)
    assert state.units["ml/small-0"].lost == 2 * 3600
    assert any("CPU-seconds" in line for line in state.assumed)


# KAI -----------------------------------------------------------------------------------------------------------------


def test_kai_by_hand(tmp_path):
    instance = asked(tmp_path, {"snapshot.json": examples.kai_state()})
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


def test_kai_does_not_reclaim_beyond_what_a_queue_deserves(tmp_path):
    snapshot = examples.kai_state()
    snapshot["rawObjects"]["queues"][1]["spec"]["resources"]["gpu"]["quota"] = 9
    assert asked(tmp_path, {"snapshot.json": snapshot}).may.sum() == 0


def test_kai_shares_of_gpus_are_thousandths(tmp_path):
    snapshot = examples.kai_state()
    small = next(pod for pod in snapshot["rawObjects"]["pods"] if pod["metadata"]["name"] == "small-0")
    small["metadata"]["annotations"]["gpu-fraction"] = "0.25"
    del small["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"]
    instance = asked(tmp_path, {"snapshot.json": snapshot})
    column = instance.resources.index("nvidia.com/gpu (250 thousandths)")
    assert instance.pod_demand[instance.unit_names.index("ml/small-0"), column] == 1
    assert instance.node_free[0, column] == 4 * 8 - 4 * 6 - 1


# Slurm ---------------------------------------------------------------------------------------------------------------


def test_slurm_by_hand(tmp_path):
    instance = asked(tmp_path, examples.slurm_state())
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
    documents = examples.slurm_state()
    _job(documents, 7)["time_limit"] = {"set": False, "infinite": True, "number": 0}
    assert asked(tmp_path, documents).unit_ends.tolist() == [-1, 21 * 3600]


def test_slurm_who_may_be_preempted(tmp_path):
    documents = examples.slurm_state()
    now = documents["jobs.json"]["last_update"]["number"]
    _job(documents, 7)["preemptable_time"] = {"set": True, "infinite": False, "number": now + 60}
    assert asked(tmp_path, documents).may.tolist() == [[0, 1]]
    documents["qos.json"]["qos"][1]["preempt"]["list"] = []
    assert asked(tmp_path, documents).may.tolist() == [[0, 0]]
    documents = examples.slurm_state()
    documents["config.txt"] = examples.CONFIG.replace("preempt/qos", "preempt/none")
    assert asked(tmp_path, documents).may.tolist() == [[0, 0]]
    documents["config.txt"] = examples.CONFIG.replace("preempt/qos", "preempt/partition_prio")
    assert asked(tmp_path, documents).may.tolist() == [[0, 0]]  # one partition, one tier
    documents["config.txt"] = examples.CONFIG.replace("(null)", "min_exempt_priority=107")
    assert asked(tmp_path, documents).may.tolist() == [[1, 0]]


def test_slurm_modes_decide_what_is_lost_and_given_back(tmp_path):
    documents = examples.slurm_state()
    documents["config.txt"] = examples.CONFIG.replace("REQUEUE", "SUSPEND,GANG")
    suspended = asked(tmp_path, documents)
    gpu, cpu = suspended.resources.index("gres/gpu"), suspended.resources.index("cpu")
    assert suspended.unit_lost.tolist() == [0, 0]
    assert suspended.pod_demand[:, gpu].tolist() == [0, 0, 0]
    assert suspended.pod_demand[:, cpu].tolist() == [32, 16, 16]
    documents["config.txt"] = examples.CONFIG.replace("REQUEUE", "CANCEL")
    _job(documents, 7)["comment"] = f"saved={documents['jobs.json']['last_update']['number'] - 60}"
    cancelled = asked(tmp_path, documents, checkpoint_annotation="saved")
    assert cancelled.unit_lost.tolist() == [8 * 5 * 3600, 8 * 3 * 3600]
    documents["config.txt"] = examples.CONFIG
    assert asked(tmp_path, documents, checkpoint_annotation="saved").unit_lost.tolist() == [8 * 60, 8 * 3 * 3600]


def test_slurm_limits_climb_the_accounts(tmp_path):
    documents = examples.slurm_state()
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
    documents = examples.slurm_state()
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
    documents = examples.slurm_state()
    documents["nodes.json"]["nodes"][1]["state"] = states
    assert asked(tmp_path, documents).shape_nodes.tolist() == [[1, takes, 1]]


def test_slurm_heterogeneous_job_has_a_shape_per_component(tmp_path):
    documents = examples.slurm_state()
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
    documents = examples.slurm_state()
    del documents["config.txt"]
    with pytest.raises(InvalidInput, match="PreemptType"):
        read(tmp_path, documents)
    conf = "# ours\nClusterName=c\nPreemptType=preempt/qos\nPreemptMode=REQUEUE # as told\n"
    assert asked(tmp_path, documents, slurm_conf=conf).hash == asked(tmp_path, examples.slurm_state()).hash


def test_slurm_config_as_json(tmp_path):
    documents = examples.slurm_state()
    documents["config.txt"] = {"configuration": {"preempt_type": "preempt/qos", "preempt_mode": ["REQUEUE"]}}
    assert asked(tmp_path, documents).hash == asked(tmp_path, examples.slurm_state()).hash


# Decisions, names ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        "team-a/train\n# and\nsweep\n",
        '["train", "team-a/sweep"]',
        {"evict": ["train", "sweep"], "start": ["urgent"]},
        examples.listed(
            *(
                {"apiVersion": "v1", "kind": "Event", "reason": "Preempted",
                 "involvedObject": {"kind": "Workload", "namespace": "team-a", "name": name}}
                for name in ("train", "sweep")
            ),
            {"apiVersion": "v1", "kind": "Event", "reason": "Pulled", "involvedObject": {"name": "x"}},
        ),
        examples.listed(
            *(
                {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
                 "metadata": {"namespace": "team-a", "name": name},
                 "status": {"conditions": [{"type": "Preempted", "status": "True"}]}}
                for name in ("train", "sweep")
            ),
        ),
    ],
)  # fmt: skip
def test_decisions_by_name(tmp_path, content):
    instance = asked(tmp_path, examples.kueue_state())
    path = tmp_path / "decision"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    made = read_decision(path, instance)
    assert [instance.unit_names[u] for u in made.evict] == ["team-a/sweep", "team-a/train"]
    assert made.start == ((0,) if isinstance(content, dict) and "start" in content else None)


def test_decision_names_of_slurm_and_of_gangs(tmp_path):
    slurm = asked(tmp_path, examples.slurm_state())
    path = tmp_path / "later.json"
    path.write_text(
        json.dumps({"jobs": [{"job_id": 8, "job_state": ["PREEMPTED"]}, {"job_id": 7, "job_state": "RUNNING"}]})
    )
    assert read_decision(path, slurm).evict == (1,)
    kai = asked(tmp_path, {"snapshot.json": examples.kai_state()})
    assert [kai.unit_names[u] for u in evicting(kai, ["ml/big"]).evict] == ["ml/big-0", "ml/big-1"]


def test_an_empty_decision_evicts_nobody(tmp_path):
    instance = asked(tmp_path, examples.kueue_state())
    (tmp_path / "none.txt").write_text("# nobody\n")
    assert read_decision(tmp_path / "none.txt", instance).evict == ()


def test_anonymous_instances_have_numbers_for_names(tmp_path):
    instance = asked(tmp_path, examples.kueue_state(topology=True))
    without = anonymous(instance)
    text = json.dumps(without.to_json())
    for name in ("train", "team-a", "cq-a", "research", "h100", "nvidia", "urgent", "racks"):
        assert name not in text
    numbers = {k: v for k, v in instance.to_json().items() if k != "resources" and not k.endswith("_names")}
    assert numbers == {k: v for k, v in without.to_json().items() if k in numbers}


def test_what_is_wrong_with_a_decision_is_said(tmp_path):
    instance = asked(tmp_path, examples.kueue_state())
    path = tmp_path / "d.json"
    for content, message in (
        ('["trian"]', "did you mean 'train'"),
        ('{"evict": "train"}', "must be a list of names"),
        ("{}", "names no victim"),
        ('{"evict": [], "start": ["train"]}', "no waiting job"),
    ):
        path.write_text(content)
        with pytest.raises((InvalidFile, InvalidInput), match=message):
            read_decision(path, instance)


# Kueue's own answers -------------------------------------------------------------------------------------------------


def test_states_that_kueue_answered_get_its_answers(tmp_path, shared_data):
    """From the JSON of a cluster to the victims that Kueue's own code chose, in its classical preemption."""
    answered = json.loads(gzip.decompress((shared_data / "kueue" / "questions.json.gz").read_bytes()))
    for number in range(0, 100, draws(5, 1)):
        instance = asked(tmp_path, examples.kueue_question(answered["questions"][number]))
        plan = mlsched.solve(instance, "kueue").plan
        victims = {instance.unit_names[u].removeprefix("team/") for u in plan.evict.nonzero()[0]}
        assert victims == set(answered["victims"][number] or []), number


def test_a_generic_resource_counts_the_same_in_both_of_slurms_notations():
    entry = Entry(
        {"gres": "bandwidth:4G,gpu:h100:2(S:0-1)", "tres": "gres/bandwidth=4G,gres/gpu=2,gres/gpu:h100=2"}, "x"
    )
    assert slurm_values.gres(entry, entry.text("gres"), "gres") == slurm_values.tres(entry, "tres")


def test_an_amount_beyond_all_bounds_is_refused_in_a_line(tmp_path):
    for text, much in (("gpu:h100:8", "gpu:h100:999999999T"), ("gres/gpu=8", "gres/gpu=999999999999T")):
        texts = {k: one if isinstance(one, str) else json.dumps(one) for k, one in examples.slurm_state().items()}
        documents = {name: one.replace(text, much) for name, one in texts.items()}
        assert any(much in one for one in documents.values())
        with pytest.raises(InvalidFile, match=r"is more than 2\^53: no node holds so much$") as caught:
            read_states(written(tmp_path, documents))
        assert "\n" not in str(caught.value)
