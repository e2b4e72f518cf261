"""`certify`, and `check` of a folder."""

from __future__ import annotations

import importlib.util
import json
import re

import pytest
from certificate_examples import needs_exact

import mlsched
from mlsched import api
from mlsched.core.errors import BackendError
from mlsched.solvers.prices import search
from mlsched.solvers.prices.listed import ListedOptions


@pytest.fixture
def folder(cli, tmp_path, instance_file):
    made = tmp_path / "certificate"
    assert cli("certify", instance_file, "-o", made).status == 0
    return made


def test_certify_writes_a_folder_that_check_accepts(cli, tmp_path, instance_file, plan_file):
    best = api.solve(api.load(instance_file), "brute-force", objective="victim_count")
    made = tmp_path / "made"
    said = cli("certify", instance_file, "--objective", "victim_count", "-o", made, "--json").document
    again = cli("check", made, "--json").document
    for document in (said, again):
        assert (document["value"], document["evidence"], document["violations"]) == (best.sort_key, "certified", [])
        assert (document["folder"], document["objective"]) == (str(made), "victim_count")
    found = cli("check", made)
    assert (found.status, found.err) == (0, "")
    assert f"{made}: certified: victim_count = {best.sort_key} jobs, no plan has less" in found.out
    cli("certify", instance_file, "-o", made).refused("exists already; name a new folder")
    given = cli("certify", instance_file, "--plan", plan_file, "-o", tmp_path / "given", "--json").document
    assert given["value"] == api.load(instance_file).evaluate(api.load(plan_file))["total_score"]
    api.save(api.solve(api.load(instance_file), "cp-sat"), tmp_path / "result.json")
    result = cli("certify", instance_file, "--plan", tmp_path / "result.json", "-o", tmp_path / "again", "--json")
    assert result.document["evidence"] == "certified"


def test_check_says_what_is_wrong_with_a_folder(cli, folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "values": [[5]]}))
    found = cli("check", folder)
    assert found.status == 1
    assert "the manifest claims [5]" in found.out
    assert found.err.startswith(f"mlsched: {folder}: not certified: plan 1 has ")
    document = json.loads(cli("check", folder, "--json").out)
    assert (document["evidence"], len(document["violations"])) == (None, 1)
    (folder / "manifest.json").unlink()
    cli("check", folder).refused(f"{folder}: manifest.json is missing, so it is not a certificate; give a folder that")


@pytest.mark.parametrize("name", ["instance.json", "plans.json", "checker.py"])
def test_a_folder_without_one_of_its_files_is_a_certificate_still(cli, folder, name):
    """A reference has neither an instance nor a checker."""
    (folder / name).unlink()
    cli("check", folder).refused(f"{name}: file not found")


def test_without_exact_one_line_says_what_to_install(cli, tmp_path, instance_file, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    made = tmp_path / "made"
    asked = ("certify", instance_file, "--proof", "logic", "-o", made)
    cli(*asked).refused("certify: needs exact", "; ")
    assert not made.exists()


def test_solve_looks_for_a_proof_in_passing(cli, tmp_path):
    path = tmp_path / "i.json"
    api.save(api.generate("quality", "small", seed=1), path)
    assert cli("solve", path, "--certify", "--json").document["evidence"] == "certified"
    assert cli("solve", path, "--json").document["evidence"] == "unconfirmed"
    assert "certified" in cli("solve", path, "--certify").out


def test_solve_says_why_an_optimum_is_not_certified(cli, tmp_path, monkeypatch):
    """Where the objective has dual proofs, that they take longer."""

    def said(problem, objective) -> str:
        path = tmp_path / f"{problem}.json"
        api.save(api.generate(problem, "small" if problem != "taskgraph" else "six-tight", seed=1), path)
        call = ("solve", path, "--objective", objective, "--certify")
        return " ".join(cli(*call).out.split())

    assert "not certified: total_loss_reduction" not in said("quality", "total_loss_reduction")

    def never(*args):
        raise BackendError("a bound was not proved in time; give more")

    monkeypatch.setattr("mlsched.api.certified.prices.trees", never)
    assert "not certified: prices did not prove it within the time that solving took" in said(
        "quality", "total_loss_reduction"
    )


def test_solve_says_where_there_is_no_optimum_to_certify(cli, instance_file):
    said = "nothing to certify: no optimum is proved; `mlsched certify`"
    assert said in " ".join(cli("solve", instance_file, "--solver", "fitgpp", "--certify").out.split())
    assert said not in " ".join(cli("solve", instance_file, "--solver", "fitgpp").out.split())
    assert said not in " ".join(cli("solve", instance_file, "--certify").out.split())


def test_solve_says_where_there_is_no_optimum_to_confirm(cli, instance_file):
    said = "nothing to confirm: no optimum is proved"
    assert said in " ".join(cli("solve", instance_file, "--solver", "fitgpp", "--confirm").out.split())
    assert said not in " ".join(cli("solve", instance_file, "--solver", "fitgpp").out.split())
    assert said not in " ".join(cli("solve", instance_file, "--confirm").out.split())


def test_calls_that_do_not_fit_are_refused(cli, tmp_path, instance_file, plan_file):
    cli("check", instance_file).refused("is not a folder of a certificate; give an instance file and a plan file")
    cli("check", tmp_path, plan_file).refused("is a folder with its own plan")
    cli("check", tmp_path).refused(
        f"{tmp_path}: manifest.json is missing, so it is not a certificate; give a folder that"
    )
    cli("check", tmp_path / "none").refused("none: file or folder not found; check the path")
    cli("check", tmp_path, "--log", "log.csv").refused(f"{tmp_path}: is not a reference; give --log with a folder that")
    cli("check", tmp_path / "none", "--log", "log.csv").refused("none: folder not found; check the path")
    cli("certify", instance_file).refused("see `mlsched certify --help`")
    cli("certify", instance_file, "--proof", "faith", "-o", tmp_path / "new").refused("expected one of dual, logic")


@needs_exact
def test_formulas_are_made_where_they_are_asked_for(cli, tmp_path, instance_file):
    made = tmp_path / "made"
    said = cli("certify", instance_file, "--proof", "logic", "-o", made, "--json").document
    assert (said["proof"], said["value"], said["evidence"]) == ("logic", said["bound"], "certified")
    assert (made / "1.opb").exists()
    assert cli("check", made).out.startswith(f"{made}: certified: total_score = ")


def test_what_falls_short_of_a_proof_says_by_how_much_at_most(cli, tmp_path, monkeypatch):
    """Here since the proof may only look at one node of its tree."""
    monkeypatch.setattr(search, "STEPS", 0)
    monkeypatch.setattr(ListedOptions, "branch", lambda self, taken, price: None)
    file, made = tmp_path / "instance.json", tmp_path / "made"
    instance = mlsched.generate("quality", "floored", seed=1)
    mlsched.save(instance, file)
    assert cli("certify", file, "-o", made).status == 0
    said = cli("check", made, "--json").document
    assert (said["evidence"], said["violations"]) == (None, [])
    assert said["bound"] > said["value"]
    line = cli("check", made).out.splitlines()[0]
    assert re.match(rf"{made}: certified: at most 0\.\d+ % from the best: total_loss_reduction = [\d,]+ ppm, ", line)


@needs_exact
def test_a_front_is_certified_and_checked(cli, tmp_path, monkeypatch):
    small, made = tmp_path / "quality.json", tmp_path / "made"
    mlsched.save(mlsched.generate("quality", "small", seed=9), small)
    said = cli("pareto", small, "total_loss_reduction", "worst_loss", "--certify", made, "--json").document
    again = cli("check", made, "--json").document
    assert again["points"] == said["certificate"]["points"]
    assert (again["evidence"], again["violations"], again["sort_keys"]) == ("certified", [], said["sort_keys"])
    cli("pareto", small, "total_loss_reduction", "worst_loss", "--certify", made).refused("exists already")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    asked = ("pareto", small, "total_loss_reduction", "worst_loss", "--certify", tmp_path / "new")
    cli(*asked).refused("certify: needs exact")


@needs_exact
def test_a_front_that_is_not_complete_is_not_certified(cli, tmp_path):
    file, made = tmp_path / "quality.json", tmp_path / "made"
    mlsched.save(mlsched.generate("quality", "small", seed=9), file)
    asked = ("pareto", file, "total_loss_reduction", "worst_loss", "--time-limit", "0", "--certify", made)
    assert cli(*asked).status != 0
    assert not made.exists()


@needs_exact
def test_what_cannot_be_certified_is_refused_before_the_front_is_sought(cli, tmp_path, monkeypatch):
    """Neither search nor file: of a problem without certified fronts, and where a file would take the folder's name."""
    graph, small, made = tmp_path / "graph.json", tmp_path / "small.json", tmp_path / "made.csv"
    mlsched.save(mlsched.generate("taskgraph", "small"), graph)
    mlsched.save(mlsched.generate("quality", "small"), small)
    monkeypatch.setattr(api, "pareto", lambda *given, **named: pytest.fail("the front was sought"))
    cli("pareto", graph, "makespan", "traffic", "--certify", made).refused("traffic of a taskgraph.instance cannot")
    asked = ("pareto", small, "total_loss_reduction", "worst_loss", "--certify", made)
    cli(*asked, "-o", made).refused("give them two names")
    cli(*asked, "--resume", made).refused("give them two names")
    assert not made.exists()


@needs_exact
def test_a_front_is_printed_where_its_proof_is_not_found(cli, tmp_path, monkeypatch):
    file, made = tmp_path / "quality.json", tmp_path / "made"
    mlsched.save(mlsched.generate("quality", "small", seed=9), file)
    asked = ("pareto", file, "total_loss_reduction", "worst_loss")
    whole = cli(*asked, "--json").document

    def unproved(*given, **named):
        raise BackendError("no proof within the limits; give more time")

    monkeypatch.setattr("mlsched.api.certificates.bundle.certify_logic", unproved)
    said = cli(*asked, "--certify", made, "--json")
    assert said.status != 0
    assert "no proof within the limits" in said.err
    document = json.loads(said.out)
    assert document["values"] == whole["values"]
    assert "certificate" not in document
    assert not made.exists()
