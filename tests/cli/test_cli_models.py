"""`mlsched model` and `mlsched fields`: files for other solvers, and what their indices refer to."""

from __future__ import annotations

import pytest

import mlsched


@pytest.mark.parametrize("suffix", [".mps", ".lp", ".pb", ".json"])
def test_a_model_is_written_and_its_groups_are_listed(cli, instance_file, tmp_path, suffix):
    target = tmp_path / f"model{suffix}"
    call = ("model", instance_file, "--objective", "victim_count", "-o", target)
    found = cli(*call, "--json").document
    assert target.stat().st_size > 100
    assert found["form"] == ("linear" if suffix in (".mps", ".lp") else "cp-sat")
    assert (found["pruned"], found["left_out"]) == (False, "")
    groups = {group["name"]: group["index"] for group in found["groups"]}
    assert (groups["victim"], groups["place"], groups["capacity"]) == (["job"], ["te", "node"], ["node", "resource"])
    shown = cli(*call).out
    assert f"{found['variables']} variables, {found['constraints']} constraints" in shown


def test_a_pruned_model_says_what_it_leaves_out(cli, instance_file):
    assert "left out: victims on nodes where no TE job fits" in cli("model", instance_file, "--pruned").out


def test_wrong_calls_are_refused_in_one_line(cli, instance_file, tmp_path):
    cli("model", instance_file, "-o", tmp_path / "m.txt").refused("m.txt: suffix '.txt', expected one of .mps, .lp")
    cli("model", instance_file, "--objective", "victims").refused("unknown objective 'victims'")
    cli("model", instance_file, "--most-variables", "1").refused(
        "--most-variables: 1, expected 5 for the complete model"
    )
    cli("fields", "qualitty").refused("unknown problem 'qualitty' (did you mean 'quality'?)")


def test_fields_have_shapes_and_units(cli):
    found = cli("fields", "preemption", "--json").document
    assert [*found][:2] == ["preemption.instance", "preemption.plan"]
    fields = {field["name"]: field for field in found["preemption.instance"]}
    assert "jobs x resources" in fields["job_demand"]["form"]
    assert fields["job_grace"]["doc"] == "grace period, s"
    saved = {*mlsched.generate("preemption", "small").to_json()} - {"kind", "version"}
    assert saved <= set(fields)
    printed = cli("fields", "preemption").out
    assert "grace period, s" in printed
    lines = printed.partition("preemption.plan")[2].splitlines()
    header = next(line for line in lines if "shape and range" in line)
    row = next(line for line in lines if line.split()[:1] == ["victims"])
    assert header.index("shape and range") == row.index("int64"), "text is aligned left, in plans as well"
