"""Files of others on the command line: what they are solved for where no objective is named."""

import pytest

import mlsched

#: Two jobs that go through machine 0, then 1. The first job first: makespan 8, completions 7 + 8; the second first: 9
#: and 3 + 9.
JOBSHOP = "2 2\n0 3 1 4\n0 2 1 1\n"
STG = "2\n0 0 0\n1 4 1 0\n2 3 1 0\n3 0 2 1 2\n"
PSPLIB = """jobs (incl. supersource/sink ):  3
  - renewable : 1 R
  - nonrenewable : 0 N
  - doubly constrained : 0 D
PRECEDENCE RELATIONS:
jobnr. #modes #successors successors
1 1 1 2
2 1 1 3
3 1 0
REQUESTS/DURATIONS:
jobnr. mode duration R 1
------------------------
1 1 0 0
2 1 5 1
3 1 0 0
RESOURCEAVAILABILITIES:
R 1
1
"""
EXACT = ("--solver", "brute-force")
FILES = [("shop.txt", JOBSHOP, (), 8), ("graph.stg", STG, ("--read", "processors=2"), 4), ("p.sm", PSPLIB, (), 5)]


@pytest.mark.parametrize(("name", "text", "options", "makespan"), FILES)
@pytest.mark.parametrize("solver", ["brute-force", "cp-sat"])
def test_published_files_are_solved_for_the_makespan(cli, tmp_path, name, text, options, makespan, solver):
    (tmp_path / name).write_text(text)
    found = cli("solve", tmp_path / name, "--solver", solver, *options, "--json").document
    assert (found["objective"], found["status"], found["value"]) == ("makespan", "optimal", makespan)


def test_another_objective_may_be_named(cli, tmp_path):
    (tmp_path / "shop.txt").write_text(JOBSHOP)
    found = cli("solve", tmp_path / "shop.txt", *EXACT, "--objective", "total_jct", "--json").document
    assert (found["objective"], found["value"]) == ("total_jct", 12)


def test_an_instance_does_not_know_of_its_file(cli, tmp_path):
    (tmp_path / "shop.txt").write_text(JOBSHOP)
    instance = mlsched.load(tmp_path / "shop.txt")
    assert mlsched.solve(instance, "brute-force").objective == "total_jct"
    mlsched.save(instance, tmp_path / "ours.json")
    assert cli("solve", tmp_path / "ours.json", *EXACT, "--json").document["objective"] == "total_jct"


def test_a_file_of_ours_may_have_any_name(cli, tmp_path):
    mlsched.save(mlsched.generate("taskgraph", preset="small"), tmp_path / "ours.txt")
    assert cli("solve", tmp_path / "ours.txt", *EXACT, "--json").document["objective"] == "total_jct"


def test_what_a_file_does_not_say_is_asked_for_in_options(cli, tmp_path):
    (tmp_path / "graph.stg").write_text(STG)
    cli("solve", tmp_path / "graph.stg").refused(
        "the number of machines is missing; give --read processors=4, for example"
    )


def test_a_plan_is_shown_with_the_names_of_the_file(cli, tmp_path):
    (tmp_path / "p.sm").write_text(PSPLIB)
    out = cli("solve", tmp_path / "p.sm", *EXACT).out
    assert ["job", "0", "2", "0", "0", "0", "5"] in [line.split() for line in out.splitlines()], "PSPLIB's job 2"
