"""Every way a state can be wrong is one line that says what, where and what to do; nothing hostile is unpacked."""

from __future__ import annotations

import copy
import functools
import gzip
import io
import json
import zipfile

import pytest
from draws import draws
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from kai_examples import kai_state
from kubernetes_examples import kube_state
from kueue_examples import kueue_state
from slurm_examples import slurm_state
from state_examples import written

from mlsched.core.errors import InvalidInput
from mlsched_admission.instances.states import Options, documents, instance_of, read_states


def one_line(paths, **options) -> str:
    """The message with which interpretation fails: one line with a remedy."""
    with pytest.raises(InvalidInput) as caught:
        list(map(instance_of, read_states(paths, Options(**options))))
    message = str(caught.value)
    assert message.isprintable()
    assert ": " in message or "; " in message
    return message


TEXTS = {
    "empty": ("", "is empty"),
    "yaml": ("apiVersion: v1\nkind: List\nitems:\n- a\n", "is YAML, which is not read; write JSON"),
    "yaml document": ("---\nkind: Pod\n", "is YAML"),
    "text": ("JOBID PARTITION NAME\n1 gpu x\n", "is neither JSON nor output of `scontrol show config`"),
    "list": ("[1]", "is a JSON list"),
    "broken": ('{"kind": "Pod", ', "is not JSON"),
    "twice": ('{"kind": "Pod", "kind": "Node"}', "given twice"),
    "deep": ('{"kind": ' + "[" * 100_000, "is not JSON"),
    "no state": ('{"a": 1, "b": 2}', "is not a known state (its fields: a, b)"),
    "sinfo": ('{"sinfo": []}', "scontrol show nodes --json"),
    "no kind": ('{"kind": "List", "items": [{"metadata": {}}]}', "kind is missing"),
    "items": ('{"kind": "List", "items": [3]}', "expected an object"),
    "no nodes": (
        '{"kind": "List", "items": []}',
        "nodes are missing in the state; add the output of `kubectl get nodes -o json`",
    ),
}


@pytest.mark.parametrize("case", TEXTS)
def test_files_that_are_no_states(tmp_path, case):
    text, message = TEXTS[case]
    path = tmp_path / "state.json"
    path.write_text(text)
    assert message in one_line([path])


def test_paths_that_are_no_files(tmp_path):
    assert "is a directory; give a regular file" in one_line([tmp_path])
    assert "file not found" in one_line([tmp_path / "none.json"])
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    assert "is neither JSON nor text" in one_line([tmp_path / "binary"])


def test_files_of_two_systems(tmp_path):
    paths = written(tmp_path, kube_state() | {"squeue.json": {"jobs": []}})
    assert "different systems (Kubernetes, Slurm)" in one_line(paths)


def test_bombs_are_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "MOST_STATE", 100_000)
    path = tmp_path / "bomb"
    path.write_bytes(gzip.compress(b" " * 1_000_000))
    assert "has more than 100000 bytes, uncompressed" in one_line([path])
    path.write_bytes(_zip({"snapshot.json": b" " * 1_000_000}))
    assert "has more than 100000 bytes, uncompressed" in one_line([path])
    path.write_bytes(_zip({f"{n}.json": b"" for n in range(70)}))
    assert "has more than 64 members" in one_line([path])
    path.write_bytes(_zip({"snapshot.json": b"{}"}, zipfile.ZIP_LZMA))
    assert "is encrypted or compressed in an unusual way" in one_line([path])
    path.write_bytes(_zip({"other.json": b"{}"}))
    assert "member snapshot.json is missing" in one_line([path])
    path.write_bytes(_zip({"snapshot.json": b"{}" * 100})[:60])
    assert "is a damaged zip archive" in one_line([path])
    monkeypatch.setattr(documents, "MOST_SIGNS", {"[": 3})
    path.write_text('{"kind": "List", "items": [[[[]]]]}')
    assert "has more than 3 of '['" in one_line([path])


def _zip(members, how=zipfile.ZIP_DEFLATED) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", how) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return whole.getvalue()


def _set(document, path, value):
    """`document` with what a path of keys leads to replaced; a missing value removes it."""
    *keys, last = path
    for key in keys:
        document = document[key]
    if value is None:
        del document[last]
    else:
        document[last] = value


#: System -> (where, what, the message).
WRONG = {
    "kueue": [
        (("workloads.json", "items", 2, "spec", "priority"), "high", "Workload team-a/train: spec.priority: 'high'"),
        (("workloads.json", "items", 2, "apiVersion"), "kueue.x-k8s.io/v1alpha1", "v1beta1 and v1beta2 are read"),
        (("workloads.json", "items", 2, "metadata", "name"), "sweep", "is given twice, in different words"),
        (("workloads.json", "items", 0, "spec", "clusterQueue"), "cq-aa", "did you mean 'cq-a'?"),
        (("workloads.json", "items", 0, "metadata", "name"), "x", "kubectl get localqueues -A -o json"),
        (("queues.json", "items", 0, "spec", "preemption", "withinClusterQueue"), "Some", "expected one of Never"),
        (
            ("queues.json", "items", 0, "spec", "resourceGroups", 0, "flavors", 0, "resources", 0, "nominalQuota"),
            "lots",
            "expected a quantity such as 500m",
        ),
        (
            ("queues.json", "items"),
            [],
            "ClusterQueue is missing in the state; add the output of `kubectl get clusterqueues",
        ),
        (
            ("workloads.json", "items", 2, "status", "admission", "clusterQueue"),
            "gone",
            "was admitted by ClusterQueue 'gone', which is missing in the state",
        ),
        (
            ("workloads.json", "items", 2, "status", "conditions", 0, "lastTransitionTime"),
            "yesterday",
            "expected a time such as",
        ),
    ],
    "kubernetes": [
        (
            ("pods.json", "items", 0, "spec", "containers", 0, "resources", "requests", "cpu"),
            "-1",
            "expected a quantity",
        ),
        (
            ("pods.json", "items", 0, "spec", "containers", 0, "resources", "requests", "cpu"),
            "1e99",
            "expected a quantity",
        ),
        (("pods.json", "items", 0, "spec", "containers"), {}, "expected a list"),
        (("pods.json", "items", 0, "metadata", "name"), "a\nb", "expected printable text"),
        (("nodes.json", "items", 0, "status", "allocatable"), [], "expected an object of texts"),
        (("budgets.json", "items", 0, "status", "disruptionsAllowed"), 1.5, "expected an integer >= 0"),
        (("pods.json", "items", 5, "spec", "priority"), 2**60, "expected an integer"),
    ],
    "slurm": [
        (("jobs.json", "meta", "plugin", "data_parser"), "data_parser/v0.0.39", "0.0.40 to 0.0.45 are read"),
        (("jobs.json", "jobs", 0, "state"), {"current": ["RUNNING"]}, "is output of `sacct --json`"),
        (("jobs.json", "jobs", 0, "priority"), "soon", "expected a number as Slurm writes it"),
        (("jobs.json", "jobs", 0, "gres_detail"), ["gpu:8", "gpu:8"], "an entry for each of its 1 nodes"),
        (("jobs.json", "jobs", 0, "gres_detail"), ["!"], "expected a generic resource"),
        (("jobs.json", "jobs", 1, "tres_alloc_str"), "cpu=lots", "expected TRES such as"),
        (("jobs.json", "jobs", 0, "job_id"), 8, "job 8 is given twice"),
        (("jobs.json", "jobs", 2, "partition"), "fast", "waits in partition 'fast'"),
        (("jobs.json", "jobs", 2, "excluded_nodes"), "n[1-999999999]", "stands for more than"),
        (("jobs.json", "jobs", 2, "excluded_nodes"), "n[1-", "expected a list of hosts"),
        (("nodes.json", "nodes"), [], "nodes are missing in the state; add the output of `scontrol show nodes --json`"),
        (("nodes.json", "nodes", 0, "name"), "m1", "job 7 runs on node n1, which is missing in the state"),
        (("qos.json", "qos"), [], "QOS is missing in the state"),
        (("config.txt",), "PreemptType=preempt/none2\nPreemptMode=OFF", "PreemptType: none2"),
    ],
}
MAKERS = {"kueue": kueue_state, "kubernetes": kube_state, "slurm": slurm_state}


@pytest.mark.parametrize(("system", "case"), [(system, n) for system in WRONG for n in range(len(WRONG[system]))])
def test_fields_that_are_wrong(tmp_path, system, case):
    where, what, message = WRONG[system][case]
    made = copy.deepcopy(MAKERS[system]())
    _set(made, where, what)
    assert message in one_line(written(tmp_path, made))


def test_an_uneven_split_is_refused_where_nothing_says_how(tmp_path):
    made = slurm_state()
    job = made["jobs.json"]["jobs"][1]
    job["gres_detail"], job["tres_alloc_str"] = [], "cpu=32,mem=32G,node=2,gres/gpu=7"
    assert "uses 7 gres/gpu on 2 nodes, but the number on each node is missing" in one_line(written(tmp_path, made))


def test_topologies_stand_for_a_bounded_number_of_pods(tmp_path):
    made = kueue_state(topology=True)
    slices = made["workloads.json"]["items"][2]["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"]
    slices["slices"][0]["podCounts"] = {"universal": 10**9}
    assert "must give the pods of each" in one_line(written(tmp_path, made))
    slices["slices"][0] |= {"domainCount": 10**9, "podCounts": {"universal": 1}}
    assert "expected at most 1000000" in one_line(written(tmp_path, made))


def test_cohorts_in_a_circle(tmp_path):
    made = kueue_state()
    for name, parent in (("research", "above"), ("above", "research")):
        cohort = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "metadata": {"name": name}}
        made["queues.json"]["items"].append({**cohort, "spec": {"parentName": parent}})
    assert "form a cycle" in one_line(written(tmp_path, made))


JUNK = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.just([]), st.just({}), st.just([{}]))


def _places(value, path=()):
    """Every path of keys in a document."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield (*path, key)
        yield from _places(item, (*path, key))


@functools.cache
def state_and_places(system, topology):
    """A state as JSON, and a strategy of the places in it."""
    if system == "kai":
        made = {"snapshot.json": kai_state()}
    else:
        made = kueue_state(topology=True) if topology else MAKERS[system]()
    text = json.dumps(made)
    return text, st.sampled_from([path for path in _places(json.loads(text)) if len(path) > 1])


@settings(max_examples=draws(70, 5000), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data(), system=st.sampled_from(("kueue", "kubernetes", "slurm", "kai")))
def test_any_field_replaced_by_anything_is_read_or_refused(tmp_path, data, system):
    """Never another exception: a state with junk somewhere is an instance, or one line."""
    text, places = state_and_places(system, system == "kueue" and data.draw(st.booleans()))
    made = json.loads(text)
    where = data.draw(places)
    junk = data.draw(JUNK)
    if junk is None:
        _set(made, where[:-1], data.draw(JUNK.filter(lambda value: value is not None)))
    else:
        _set(made, where, junk)
    try:
        for state in read_states(written(tmp_path, made)):
            instance_of(state)
    except InvalidInput as refused:
        event(f"refused: {system}")
        if not str(refused).isprintable():
            raise


def test_marks_of_encodings_are_read_or_refused(tmp_path):
    paths = written(tmp_path, kube_state())
    for path in paths:
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    (state,) = read_states(paths)
    assert state.jobs
    paths[0].write_text(paths[0].read_text(encoding="utf-8-sig"), encoding="utf-16")
    with pytest.raises(InvalidInput, match="is UTF-16, expected UTF-8; write it again"):
        read_states(paths)


def test_a_quota_of_400_digits_is_one_line(tmp_path):
    documents = kueue_state()
    resource = documents["queues.json"]["items"][0]["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]
    for quota in ("9" * 400, int("9" * 400)):
        resource["nominalQuota"] = quota
        with pytest.raises(InvalidInput, match="expected a quantity such as 500m, 8 or 16Gi") as caught:
            read_states(written(tmp_path, documents))
        assert len(str(caught.value)) < 400
