"""States of Kubernetes, without a queue's own scheduler, become the instance that one works out by hand."""

from __future__ import annotations

import pytest
from kubernetes_examples import kube_node, kube_pod, kube_state
from state_examples import NOW, asked, by_name, listed, read, written

import mlsched_admission
from mlsched.core.errors import InvalidInput
from mlsched_admission.instances.states import instance_of, read_states


def test_kubernetes_by_hand(tmp_path):
    instance = asked(tmp_path, kube_state())
    gpu = instance.resources.index("nvidia.com/gpu")
    assert instance.node_free[:, gpu].tolist() == [0, 0]
    may = dict(zip(instance.unit_names, instance.may[0].tolist(), strict=True))
    assert may == {"ml/web-0": 1, "ml/web-1": 1, "ml/batch-0": 1, "ml/batch-1": 1, "ml/serving-0": 0}
    assert instance.budget_left.tolist() == [1]
    covered = [instance.unit_names[u] for u in instance.pod_unit[instance.pod_budget[0] == 1]]
    assert covered == ["ml/batch-0", "ml/batch-1"]


def test_kubernetes_pods_on_their_way_out_are_draining(tmp_path):
    documents = kube_state()
    documents["pods.json"]["items"][0]["metadata"]["deletionTimestamp"] = NOW
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
        "nodes.json": listed(kube_node("node-0", gpus=8, **node)),
        "pods.json": listed(kube_pod("urgent", gpus=4, priority=1, spec=pod)),
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
        "nodes.json": listed(kube_node("node-0", gpus=8)),
        "pods.json": listed(kube_pod("urgent", gpus=0, priority=1, spec=spec)),
    }
    state = read(tmp_path, documents)
    # The init container runs beside the sidecar before it: 3.2 CPUs, more than 1.7 of the containers with it.
    assert state.jobs["ml/urgent"].shapes[0].demand["cpu"] == 3300


def test_the_first_in_line_is_asked_about_and_others_by_name(tmp_path):
    documents = kube_state()
    documents["pods.json"]["items"].append(kube_pod("later", gpus=1, priority=50))
    state = read(tmp_path, documents)
    assert list(state.jobs) == ["ml/urgent"]
    assert any("the first of 2 in line" in line for line in state.assumed)
    assert list(read(tmp_path, documents, jobs=("later",)).jobs) == ["ml/later"]
    assert list(read(tmp_path, documents, jobs=("later", "ml/urgent", "later")).jobs) == ["ml/later", "ml/urgent"]
    with pytest.raises(InvalidInput, match="did you mean"):
        read(tmp_path, documents, jobs=("urgnt",))


def test_an_overfull_node_gives_room_once_enough_has_left(tmp_path):
    """8 GPUs of 6 are in use: 4 are free when both pods have left, 2 when one has."""
    documents = kube_state()
    documents["nodes.json"]["items"][0]["status"]["allocatable"] |= {"nvidia.com/gpu": "6"}
    documents["nodes.json"]["items"].pop()
    documents["pods.json"]["items"] = [one for n, one in enumerate(documents["pods.json"]["items"]) if n in (0, 1, 5)]
    paths = written(tmp_path, documents)
    instance = instance_of(read(tmp_path, documents))
    assert instance.node_free[0, instance.resources.index("nvidia.com/gpu")] == -2
    assert mlsched_admission.judge(*paths, decision=["web-0", "web-1"]).verdict.kind == "on the front"
    assert mlsched_admission.judge(*paths, decision=["web-0"]).verdict.kind == "does not start"
    assert mlsched_admission.judge(*paths, rule="kube").verdict.kind == "on the front"


def test_what_a_pod_does_not_ask_for_may_be_over_committed(tmp_path):
    documents = kube_state()
    for node in documents["nodes.json"]["items"]:
        node["status"]["allocatable"]["memory"] = "1Gi"
    for pod in documents["pods.json"]["items"][:2]:
        pod["spec"]["containers"][0]["resources"]["requests"]["memory"] = "4Gi"
    found = mlsched_admission.judge(*written(tmp_path, documents), decision=["web-1"])
    assert found.verdict.kind == "on the front"


def test_lost_work_follows_what_is_said_of_checkpoints(tmp_path):
    documents = kube_state()
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
        "nodes.json": listed(kube_node("node-0", gpus=0)),
        "pods.json": listed(
            kube_pod("small-0", gpus=0, priority=1, node="node-0", hour=11), kube_pod("urgent", gpus=0, priority=9)
        ),
    }
    state = read(tmp_path, documents)
    assert state.units["ml/small-0"].lost == 2 * 3600
    assert any("CPU-seconds" in line for line in state.assumed)


def test_files_of_different_times_are_named(tmp_path):
    documents = kube_state()
    for node in documents["nodes.json"]["items"]:
        node["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-11-17T12:00:00Z"
    (state,) = read_states(written(tmp_path, documents))
    assert state.assumed[0].startswith("files of different times: 6 d 23 h apart")
    (state,) = read_states(written(tmp_path, kube_state()))
    assert not any("different times" in line for line in state.assumed)
