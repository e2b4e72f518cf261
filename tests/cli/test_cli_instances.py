"""`generate`, `solve`, `check` and `list`: what they print and write, and what they refuse."""

from __future__ import annotations

import json

import pytest
from preemption_examples import SCORES, small

from mlsched import __version__, api
from mlsched.core.registry import registry
from mlsched.instances.preemption import Plan

# -- generate ---------------------------------------------------------------------------------------------------------


def test_generate_prints_an_instance(cli):
    found = cli("generate", "preemption", "--seed", 3)
    assert found.status == 0
    assert type(api.generate("preemption")).from_json(found.document) == api.generate("preemption", seed=3)
    assert cli("generate", "preemption", "--seed", 3, "--json").document == found.document


def test_generate_writes_a_file(cli, tmp_path):
    path = tmp_path / "new.json"
    found = cli(
        "generate", "preemption", "--preset", "surge", "--size", "tes=2", "--size", "saturation=0.5", "-o", path
    )
    expected = api.generate("preemption", "surge", tes=2, saturation=0.5)
    assert (found.status, found.err) == (0, "")
    assert expected.hash[:12] in found.out
    assert api.load(path) == expected
    assert [p.name for p in tmp_path.iterdir()] == ["new.json"]
    document = cli("generate", "preemption", "-o", path, "--json").document
    assert document == {"file": str(path), "problem": "preemption", "instance_hash": api.load(path).hash}


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["nope"], "unknown problem 'nope'; there are "),
        (["preemption", "--preset", "huge"], "unknown preset 'huge' of preemption; there are small"),
        (["preemption", "--size", "speed=1"], "generate preemption: unknown parameter 'speed'; it has nodes"),
        (["preemption", "--size", "nodes"], "--size: nodes, expected KEY=VALUE"),
        (["preemption", "--size", "=1"], "--size: =1, expected KEY=VALUE"),
        (["preemption", "--size", "nodes=1", "--size", "nodes=2"], "--size nodes=2: nodes is given twice"),
        (["preemption", "--size", "nodes=two"], "nodes: 'two', expected an integer"),
        (["preemption", "--size", "nodes=0"], "nodes: 0, expected between 1 and"),
        (["preemption", "--size", "saturation=nan"], "saturation: nan, expected a finite number"),
        (["preemption", "--seed", "-1"], "see `mlsched generate --help`"),
        (["preemption", "--seed", "x"], "see `mlsched generate --help`"),
        ([], "see `mlsched generate --help`"),
        (["preemption", "--nope"], "see `mlsched generate --help`"),
    ],
)
def test_generate_refuses(cli, arguments, fragment):
    cli("generate", *arguments).refused(fragment)


# -- solve ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [a.name for a in registry().available("preemption") if a.called == "online"])
def test_solve_by_every_solver(cli, instance_file, name, tmp_path):
    plan = tmp_path / "p.json"
    result = cli("solve", instance_file, "--solver", name, "--json", "-o", plan).document
    assert (result["solver"], result["instance_hash"]) == (name, small().hash)
    assert api.load(plan) == Plan.from_json(result["plan"])
    values = small().evaluate(api.load(plan))
    assert values == result["sort_keys"]["values"]
    assert {**result["values"], "deferred": result["primary"]["count"]} == small().values(values)
    assert cli("check", instance_file, plan).status == 0


def test_solve_takes_the_exact_default_and_prints_a_table(cli, instance_file):
    found = cli("solve", instance_file)
    assert (found.status, found.err) == (0, "")
    assert f"{registry().problem('preemption').default}: optimal in" in found.out
    assert str(SCORES[2]) in found.out
    assert [line.split() for line in found.out.splitlines() if "suspended" in line] == [["BE", "2", "1", "suspended"]]
    assert [line.split()[-1] for line in found.out.splitlines() if line.lstrip().startswith("TE")] == ["starts"]


def test_solve_for_another_objective_with_parameters(cli, instance_file):
    assert cli("solve", instance_file, "--objective", "victim_count", "--json").document["value"] == 1
    assert cli("solve", instance_file, "--solver", "fitgpp:s=8", "--json").document["params"]["s"] == 8.0


@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("PDF", b"%PDF")])
def test_solve_paints_the_plan(cli, instance_file, tmp_path, suffix, magic):
    path = tmp_path / f"plan.{suffix}"
    assert cli("solve", instance_file, "--plot", path).status == 0
    assert path.read_bytes().startswith(magic)


def test_solve_refuses_other_pictures(cli, instance_file, tmp_path):
    cli("solve", instance_file, "--plot", tmp_path / "plan.xyz").refused("expected a name ending in .png, .svg or .pdf")
    assert not (tmp_path / "plan.xyz").exists()


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["--solver", "nope"], "unknown solver 'nope' for preemption; there are brute-force, columns, cp-sat"),
        (["--solver", "fitgpp:z=1"], "fitgpp: unknown parameter 'z'; it has s, P"),
        (["--solver", "fitgpp:s=many"], "fitgpp: s: 'many', expected a number"),
        (["--solver", ""], "unknown solver '' for preemption; there are"),
        (["--seed", "x"], "--seed: 'x', expected an integer; see `mlsched solve --help`"),
        (["--time-limit", "soon"], "--time-limit: 'soon', expected a number; see `mlsched solve --help`"),
        (["--solver", "fitgpp:s"], "'s' is not KEY=VALUE"),
        (["--objective", "speed"], "unknown objective 'speed' of preemption; there are total_score"),
        (["--solver", "fitgp"], "unknown solver 'fitgp' for preemption (did you mean 'fitgpp'?); there are"),
        (["--solver", "tetris"], "unknown solver 'tetris' for preemption (there is one for placement); there are"),
        (["--objective", "total_scor"], "unknown objective 'total_scor' of preemption (did you mean 'total_score'?)"),
        (["--time-limit", "0"], "--time-limit: 0.0, expected above 0"),
        (["--time-limit", "nan"], "--time-limit: nan, expected above 0"),
        (["--threads", "0"], "--threads: 0, expected between 1 and 10000"),
        (["--time-limt", "3"], "No such option: --time-limt (Possible options: --memory-limit, --time-limit)"),
        (["--threads", "x"], "see `mlsched solve --help`"),
        (["more"], "see `mlsched solve --help`"),
    ],
)
def test_solve_refuses_a_wrong_call(cli, instance_file, arguments, fragment):
    cli("solve", instance_file, *arguments).refused(fragment)


BAD_TEXT = {
    "empty": ("", "is not JSON"),
    "csv": ("a,b\n1,2\n", "line 1: is not JSON"),
    "cut": ('{"kind": "preemption.instance",\n "version"', "line 2: is not JSON"),
    "list": ("[1, 2]", "is a JSON list, expected an object with a kind"),
    "nan": ('{"kind": NaN}', "NaN is not a JSON number"),
    "twice": ('{"kind": 1, "kind": 2}', "field 'kind' is given twice"),
    "no kind": ("{}", "kind: None, expected one of"),
    "deep": ("[" * 100_000, "is not JSON"),
}


@pytest.mark.parametrize("name", list(BAD_TEXT))
@pytest.mark.parametrize("command", ["solve", "check"])
def test_files_that_are_no_documents_are_refused(cli, tmp_path, command, name):
    text, fragment = BAD_TEXT[name]
    path = tmp_path / "bad.json"
    path.write_text(text)
    cli(*([command, path] if command == "solve" else [command, path, path])).refused(str(path), fragment)


BAD_FIELDS = [
    ({"kind": "preemption.map"}, "kind: 'preemption.map', expected one of"),
    ({"version": 99}, "version: 99, expected 1 for preemption.instance; upgrade mlsched"),
    ({"version": "1"}, "version: '1'"),
    ({"job_node": None}, "job_node: is missing; a preemption.instance needs it"),
    ({"speed": 1}, "speed: unknown field of a preemption.instance"),
    ({"job_node": "abc"}, "job_node: 'abc', expected a list of integers"),
    ({"job_node": [0, 0, 1.5]}, "job_node[2]: 1.5, expected an integer"),
    ({"job_node": [0, 0, 2]}, "job_node[2]: 2, expected below 2"),
    ({"job_node": [0, 0, -1]}, "job_node[2]: -1, expected >= 0"),
    ({"job_node": [0, 0]}, "expected 2 (the number of jobs)"),
    ({"node_free": [[1, 0], [99, 1]]}, "free + draining + running demand must not exceed node_capacity"),
    ({"preemption_limit": True}, "preemption_limit: True, expected an integer"),
]


@pytest.mark.parametrize(("changes", "fragment"), BAD_FIELDS)
def test_wrong_fields_are_refused_by_name(cli, edited, changes, fragment):
    path = edited(**changes)
    cli("solve", path).refused(str(path), fragment)


def test_what_is_not_there_or_no_instance_is_refused(cli, tmp_path, plan_file, instance_file):
    cli("solve", tmp_path / "none.json").refused("none.json: file not found; check the path")
    cli("solve", tmp_path).refused(f"{tmp_path}: is a directory; give a regular file")
    cli("solve", plan_file).refused("kind: 'preemption.plan', expected an instance")
    cli("check", plan_file, plan_file).refused("expected an instance")
    cli("check", instance_file, instance_file).refused("expected a plan; `mlsched solve -o` writes one")
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe\x00")
    cli("solve", binary).refused("binary.json: is not text (byte 0 is not UTF-8)")


# -- output -----------------------------------------------------------------------------------------------------------


def test_every_figure_has_its_unit(cli, instance_file, plan_file):
    units = {goal.name: goal.unit for goal in small().objectives} | {"deferred": "TE jobs"}
    for shown in (cli("solve", instance_file).out, cli("check", instance_file, plan_file).out):
        for name, unit in units.items():
            (line,) = (line.rstrip() for line in shown.splitlines() if line.strip(" *").startswith(f"{name} "))
            assert line.endswith(f" {unit}"), line


def test_an_output_that_cannot_be_written_leaves_nothing(cli, instance_file, tmp_path):
    before = sorted(tmp_path.iterdir())
    for command in (["generate", "preemption"], ["solve", instance_file]):
        cli(*command, "-o", tmp_path / "none" / "x.json").refused(
            "x.json: cannot be written: No such file or directory"
        )
        cli(*command, "-o", instance_file / "x.json").refused("cannot be written: Not a directory")
        cli(*command, "-o", tmp_path).refused("is a directory; give a regular file")
    assert sorted(tmp_path.iterdir()) == before


def test_a_failed_command_leaves_the_old_output(cli, instance_file, edited, tmp_path):
    old = tmp_path / "old.json"
    old.write_text("old")
    cli("solve", edited(version=99), "-o", old).refused("version: 99")
    cli("generate", "preemption", "--size", "nodes=0", "-o", old).refused("nodes: 0")
    assert old.read_text() == "old"
    assert cli("solve", instance_file, "-o", old).status == 0
    assert api.load(old) == Plan(te_node=[1], victims=[2])


def test_paths_are_no_markup(cli, tmp_path):
    folder = tmp_path / "[bold]:cat: [red"
    folder.mkdir()
    found = cli("generate", "preemption", "-o", folder / "x.json")
    assert found.status == 0
    assert str(folder / "x.json") in found.out


# -- check ------------------------------------------------------------------------------------------------------------


def test_check_a_feasible_plan(cli, instance_file, plan_file):
    found = cli("check", instance_file, plan_file)
    assert (found.status, found.err) == (0, "")
    assert found.out.startswith("feasible\n")
    assert cli("check", instance_file, plan_file, "--json").document == {
        "instance_hash": small().hash,
        "feasible": True,
        "violations": [],
        "values": {"total_score": SCORES[2], "victim_count": 1, "max_grace_period": 0},
        "counts": {"deferred": 0},
        "sort_keys": {"total_score": SCORES[2], "victim_count": 1, "max_grace_period": 0},
    }


def test_who_waits_is_named_and_counted_apart(cli, instance_file, tmp_path):
    path = tmp_path / "plan.json"
    api.save(Plan(te_node=[-1], victims=[]), path)
    found = cli("check", instance_file, path)
    assert (found.status, found.err) == (0, "")
    assert "TE job 0 waits\n" in found.out
    document = cli("check", instance_file, path, "--json").document
    assert document["values"] == {"total_score": 0, "victim_count": 0, "max_grace_period": 0}
    assert document["counts"] == {"deferred": 1}
    assert document["sort_keys"] == small().evaluate(api.load(path))


def test_check_an_infeasible_plan(cli, instance_file, tmp_path):
    path = tmp_path / "plan.json"
    api.save(Plan(te_node=[1], victims=[]), path)
    sentence = "node 1: its TE jobs need 5 cpu, free and released are 2"
    found = cli("check", instance_file, path)
    assert found.status == 1
    assert found.err == f"mlsched: {path}: infeasible: {sentence}\n"
    found = cli("check", instance_file, path, "--json")
    assert found.status == 1
    document = json.loads(found.out)
    assert (document["feasible"], document["values"]) == (False, None)
    assert sentence in document["violations"]


def test_check_the_plan_of_another_instance(cli, edited, plan_file):
    found = cli("check", edited(preemption_limit=3), plan_file)
    assert found.status == 1
    assert f"the plan answers another instance (hash {small().hash[:12]})" in found.err


@pytest.mark.parametrize(
    ("body", "fragment"),
    [
        ({"te_node": [1]}, "victims: is missing"),
        ({"te_node": [-2], "victims": []}, "te_node[0]: -2, expected >= -1"),
        ({"te_node": [1], "victims": [], "instance_hash": 7}, "instance_hash: 7, expected a string"),
    ],
)
def test_check_refuses_files_that_are_no_plans(cli, instance_file, tmp_path, body, fragment):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"kind": "preemption.plan", "version": 1, **body}))
    cli("check", instance_file, path).refused(str(path), fragment)


def test_check_a_plan_of_the_wrong_shape(cli, instance_file, tmp_path):
    path = tmp_path / "plan.json"
    api.save(Plan(te_node=[1, 0], victims=[9]), path)
    assert cli("check", instance_file, path).status == 1


# -- list, and the application ----------------------------------------------------------------------------------------


def test_list_problems_and_solvers(cli):
    problems = cli("list", "problems", "--json").document["problems"]
    assert [p["name"] for p in problems] == sorted(registry().problems)
    solvers = cli("list", "solvers", "--json").document["solvers"]
    assert [s["name"] for s in solvers] == [a.name for a in registry().available()]
    mine = [s for s in solvers if s["problem"] == "preemption"]
    assert cli("list", "solvers", "--problem", "preemption", "--json").document["solvers"] == mine
    for what in ("problems", "solvers"):
        found = cli("list", what)
        assert (found.status, found.err) == (0, "")
        assert "preemption" in found.out


def test_list_refuses(cli):
    cli("list", "things").refused("unknown list 'things'; there are problems, solvers, suites")
    cli("list").refused("see `mlsched list --help`")
    cli("list", "solvers", "--problem", "nope").refused("unknown problem 'nope'")


def test_help_version_and_wrong_commands(cli):
    assert cli("--version").out == f"mlsched {__version__}\n"
    for arguments in (["--help"], ["solve", "--help"], ["simulate", "--help"]):
        found = cli(*arguments)
        assert (found.status, found.err) == (0, "")
        assert "Usage: mlsched" in found.out
    cli("slove").refused("slove", "see `mlsched")
