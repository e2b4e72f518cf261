"""A state of a real scheduler is one instance, however it is printed."""

from __future__ import annotations

import copy
import gzip
import random
import zipfile

import pytest
from kai_examples import kai_state
from kubernetes_examples import kube_state
from kueue_examples import KUEUE_VERSIONS, kueue_state
from slurm_examples import SLURM_PARSERS, slurm_state
from state_examples import asked, written

from mlsched_admission.instances.states import instance_of, read_states


@pytest.mark.parametrize("topology", [False, True])
def test_kueue_versions_are_one_state(tmp_path, topology):
    hashes = {asked(tmp_path, kueue_state(v, topology=topology)).hash for v in KUEUE_VERSIONS}
    assert len(hashes) == 1


def test_slurm_versions_are_one_state(tmp_path):
    forms = [(parser, mode) for parser in SLURM_PARSERS for mode in (False, True)]
    hashes = {asked(tmp_path, slurm_state(p, complex_mode=mode)).hash for p, mode in forms}
    assert len(forms) == 12
    assert len(hashes) == 1


def test_order_of_objects_and_files_is_nothing(tmp_path):
    for make in (kueue_state, kube_state):
        documents = make()
        shuffled = copy.deepcopy(documents)
        for document in shuffled.values():
            random.Random(1).shuffle(document["items"])
        assert asked(tmp_path, dict(reversed(shuffled.items()))).hash == asked(tmp_path, documents).hash


def test_compressed_files_are_the_same(tmp_path):
    documents = kube_state()
    plain = asked(tmp_path, documents)
    packed = []
    for path in written(tmp_path, documents):
        packed.append(tmp_path / f"{path.name}.gz")
        packed[-1].write_bytes(gzip.compress(path.read_bytes()))
    assert instance_of(read_states(packed)[0]).hash == plain.hash


def test_single_objects_and_typed_lists_are_lists(tmp_path):
    documents = kube_state()
    plain = asked(tmp_path, documents)
    pods = documents["pods.json"]["items"]
    apart = {f"pod-{n}.json": pod for n, pod in enumerate(pods[1:])}
    typed = {"kind": "PodList", "apiVersion": "v1", "items": [{k: pods[0][k] for k in ("metadata", "spec", "status")}]}
    documents = {key: documents[key] for key in ("nodes.json", "budgets.json")} | apart | {"typed.json": typed}
    assert asked(tmp_path, documents).hash == plain.hash


def test_snapshot_zip_and_json_are_one(tmp_path):
    (path,) = written(tmp_path, {"snapshot.json": kai_state()})
    with zipfile.ZipFile(tmp_path / "snapshot.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(path, "snapshot.json")
    one, other = (instance_of(read_states([p])[0]) for p in (path, tmp_path / "snapshot.zip"))
    assert one.hash == other.hash
