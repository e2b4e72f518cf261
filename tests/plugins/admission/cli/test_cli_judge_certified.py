"""`mlsched judge --certify`: the proof that the front is whole."""

from __future__ import annotations

import gzip
import importlib.util
import json
import re

import pytest
from admission_examples import one_node
from certificate_examples import needs_exact
from kubernetes_examples import kube_state
from kueue_examples import kueue_state
from slurm_examples import slurm_state
from state_examples import written

import mlsched
import mlsched_admission
from mlsched import api
from mlsched.core.errors import BackendError

#: A second job of 4 GPUs.
TWO_JOBS = {"shape_job": [0, 1], "shape_count": [1, 1], "shape_demand": [[4], [4]], "shape_nodes": [[1], [1]]}
TWO_JOBS["may"] = [[1, 1, 1], [1, 1, 1]]


@needs_exact
def test_a_front_is_certified_and_checked(cli, tmp_path, monkeypatch):
    """About one of two jobs: the folder asks about that job alone."""
    asked, folder = tmp_path / "asked.json", tmp_path / "judged"
    mlsched.save(one_node(job_priority=[1, 2], **TWO_JOBS), asked)
    done = cli("judge", asked, "--job", "0", "--certify", folder)
    assert (done.status, done.err) == (0, "")
    assert f"{folder}: certified: the front below is whole; mlsched check {folder}" in " ".join(done.out.split())
    document = cli("check", folder, "--json").document
    assert document["points"] == [{"victims": 1, "lost": 90, "waiting": 0}, {"victims": 2, "lost": 30, "waiting": 0}]
    assert len(api.check_certificate(folder).instance.job_priority) == 1
    assert "2 points are the whole front of victims and lost, after top_priority" in cli("check", folder).out
    cli("judge", asked, "--certify", folder).refused("exists already; name a new folder")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    cli("judge", asked, "--certify", tmp_path / "new").refused("certify: needs exact")


@needs_exact
def test_a_folder_of_the_files_name_is_refused_before_the_state_is_judged(cli, tmp_path, monkeypatch):
    small, made = tmp_path / "small.json", tmp_path / "made.csv"
    mlsched.save(mlsched.generate("quality", "small"), small)
    monkeypatch.setattr(mlsched_admission, "judge", lambda *given, **named: pytest.fail("judged"), raising=False)
    cli("judge", small, "--certify", made, "-o", made).refused("give them two names")
    assert not made.exists()


@needs_exact
@pytest.mark.parametrize("command", ["pareto", "judge"])
def test_a_front_is_printed_where_its_proof_is_not_found(cli, tmp_path, monkeypatch, command):
    file, made = tmp_path / "asked.json", tmp_path / "made"
    mlsched.save(one_node(job_priority=[1, 2], **TWO_JOBS), file)
    asked = (command, file, *(["victims", "lost"] if command == "pareto" else []))
    whole = cli(*asked, "--json").document

    def unproved(*given, **named):
        raise BackendError("no proof within the limits; give more time")

    monkeypatch.setattr("mlsched.api.certificates.bundle.certify_logic", unproved)
    said = cli(*asked, "--certify", made, "--json")
    assert said.status != 0
    assert "no proof within the limits" in said.err
    document, key = json.loads(said.out), "values" if command == "pareto" else "front"
    assert document[key] == whole[key]
    assert "certificate" not in document
    assert not made.exists()


def odd(name):
    """Whether a name is no word that a file may have anyway."""
    return bool(set(name) & set("-/._"))


@needs_exact
@pytest.mark.parametrize("system", ["kueue", "kubernetes", "slurm"])
def test_a_certificate_without_names_has_none(cli, tmp_path, system):
    """No name of the state is in any file of the folder, nor in the instance."""
    made = {"kueue": kueue_state, "kubernetes": kube_state, "slurm": slurm_state}[system]
    states = written(tmp_path, made())
    named = cli("judge", *states, "-o", tmp_path / "named.json")
    assert named.status == 0, named.err
    instance = mlsched.load(tmp_path / "named.json")
    fields = [field for field in instance.to_json() if field == "resources" or field.endswith("_names")]
    names = {name for field in fields for name in getattr(instance, field)}
    names |= {part for name in names for part in name.split("/")}
    names = {name for name in names if len(name) > 3 and not re.fullmatch("(node|unit|job)-[0-9]+", name)}
    assert names
    folder, alone = tmp_path / "folder", tmp_path / "alone.json"
    done = cli("judge", *states, "--anonymous", "--certify", folder, "-o", alone)
    assert done.status == 0, done.err
    files = [alone, *(path for path in folder.rglob("*") if path.is_file())]
    assert len(files) > 2
    for path in files:
        content = path.read_bytes()
        content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
        found = [name for name in names if f'"{name}"'.encode() in content or (odd(name) and name.encode() in content)]
        assert not found, (path.name, found)
    assert cli("check", folder).status == 0
