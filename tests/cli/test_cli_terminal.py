"""What people see on a terminal: widths, the words of messages, what is offered for a word that does not exist."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import installed
import pytest
from preemption_examples import small
from rich.console import Console

import mlsched
from mlsched.cli import inventory, output, words
from mlsched.core.registry import registry


@pytest.mark.parametrize("what", ["problems", "solvers"])
def test_lists_fit_80_columns_and_cut_no_word(cli, monkeypatch, what):
    monkeypatch.setenv("COLUMNS", "80")
    out = cli("list", what).out
    assert max(map(len, out.splitlines())) <= 80
    for entry in inventory.entries(what):
        assert any(line.startswith(f"{entry['name']}: ") for line in out.splitlines())
        assert all(word in out for word in entry["about"].split())


def test_the_plan_of_solve_fits_80_columns(cli, monkeypatch, instance_file):
    monkeypatch.setenv("COLUMNS", "80")
    assert max(len(line) for line in cli("solve", instance_file).out.splitlines()) <= 80


def test_too_many_policies_share_no_line():
    """Every figure of every policy is there, whole, in tables below one another."""
    header = ["", *(f"policy-{i}" for i in range(9))]
    rows = [[f"figure {r}", *(str(10**9 + 10 * r + i) for i in range(9))] for r in range(4)]
    text = io.StringIO()
    Console(file=text, width=80).print(output.table("", header, rows))
    assert max(map(len, text.getvalue().splitlines())) <= 80
    found = text.getvalue().split()
    for row in [header[1:], *(row[1:] for row in rows)]:
        assert all(found.count(cell) == 1 for cell in row)
    assert text.getvalue().count("figure 0") > 1


def test_names_are_not_broken_and_sentences_are():
    names = ["conservative-backfill", "tiresias-gittins:queues=4,threshold=3600"]
    rows = [
        [name, "1234567", "a sentence that is longer than the rest of the line has room for, and then some"]
        for name in names
    ]
    text = io.StringIO()
    Console(file=text, width=80).print(output.table("title", ["solver", "number", "why"], rows))
    assert max(map(len, text.getvalue().splitlines())) <= 80
    assert all(text.getvalue().count(word) >= 1 for word in (*names, "1234567", "sentence", "room"))


def test_a_pipe_has_no_trailing_blanks(cli):
    for call in (["list", "problems"], ["simulate", "fifo", "fitgpp", "--trace", "synthetic:z:jobs=20,nodes=1"]):
        lines = cli(*call).out.splitlines()
        assert len(lines) > 5
        assert all(line == line.rstrip() for line in lines)


def test_lists_of_one_problem(cli):
    assert [e["name"] for e in cli("list", "problems", "--problem", "quality", "--json").document["problems"]] == [
        "quality"
    ]
    assert {e["problem"] for e in cli("list", "solvers", "--problem", "quality", "--json").document["solvers"]} == {
        "quality"
    }
    cli("list", "suites", "--problem", "quality").refused("--problem: suites do not belong to a problem")
    cli("list", "problems", "--problem", "qualty").refused("unknown problem 'qualty' (did you mean 'quality'?)")


def test_what_is_kept_of_lists_is_what_there_is(tmp_path, monkeypatch):
    """A second call asks no registry; a file that changes, or another package's solvers, make it ask again."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = inventory.entries("solvers")
    assert [e["name"] for e in first] == [a.name for a in registry().available()]
    monkeypatch.setattr(inventory, "_solvers", lambda: [{"name": "new"}])
    assert inventory.entries("solvers") == json.loads(json.dumps(first))
    place = inventory._cache_folder()
    monkeypatch.setattr(inventory, "_files", lambda folder: iter([("a.py", 1, 2)]))
    assert inventory._cache_folder() != place
    assert inventory.entries("solvers") == [{"name": "new"}]
    (next(tmp_path.glob("mlsched/list-*/solvers.json"))).write_text("{")
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert [e["name"] for e in inventory.entries("solvers")] == [a.name for a in registry().available()]


def test_a_list_that_was_kept_loads_nothing_heavy(tmp_path):
    """What makes `list` quick, as modules and not as a clock."""
    code = (
        "import sys\nfrom mlsched.cli.main import run\nassert run(['list', 'solvers', '--json']) == 0\n"
        "print(' '.join(m for m in ('numpy', 'mlsched.core.registry', 'mlsched.api') if m in sys.modules), "
        "file=sys.stderr)"
    )
    call = [sys.executable, "-c", code]
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    done = [subprocess.run(call, capture_output=True, text=True, check=True, env=environment) for _ in range(2)]
    assert done[0].stdout == done[1].stdout
    assert done[0].stderr.split()
    assert done[1].stderr.split() == []


@pytest.mark.parametrize(
    ("message", "options", "said"),
    [
        ("time_limit: 0, expected above 0", {"--time-limit"}, "--time-limit: 0, expected above 0"),
        ("nodes: 0, expected at least 1", {"--size"}, "nodes: 0, expected at least 1"),
        ("jobs: 0, expected at least 1", {"--jobs"}, "jobs: 0, expected at least 1"),
        ("no machines; give processors=4, say", {"--read"}, "no machines; give --read processors=4, say"),
        ("drop such jobs with oversize=drop", {"--set", "--read"}, "drop such jobs with --set oversize=drop"),
        ("give processors=4", {"--json"}, "give processors=4"),
        ("`train chic --set rate=2`", {"--read", "--rate"}, "`train chic --set rate=2`"),
        (
            "memory_limit: needs isolate=True; only",
            {"--isolate", "--memory-limit"},
            "--memory-limit: needs --isolate; only",
        ),
    ],
)
def test_messages_name_options_where_there_are_some(message, options, said):
    assert words.as_options(message, options) == said


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["slove"], "No such command 'slove'. Did you mean 'solve'?; see `mlsched --help`"),
        (["collection", "card", "."], "Missing option '--url'; see `mlsched collection card --help`"),
        (["collection", "crad", "."], "see `mlsched collection --help`"),
        (["generate", "preemptoin"], "unknown problem 'preemptoin' (did you mean 'preemption'?)"),
        (
            ["generate", "preemption", "--preset", "smal"],
            "unknown preset 'smal' of preemption (did you mean 'small'?); there are",
        ),
        (["list", "solvers", "--problem", "qualiti"], "unknown problem 'qualiti' (did you mean 'quality'?)"),
    ],
)
def test_a_misspelt_word_gets_the_right_one(cli, arguments, fragment):
    cli(*arguments).refused(fragment)


#: What is typed -> what is offered.
COMPLETED = {
    "solve x --solver fit": "fitgpp",
    "generate pre": "preemption",
    "generate preemption --preset si": "single",
    "bench qui": "quick",
} | ({"reproduce fi": "fitgpp findings"} if installed.commands("reproduce") else {})


def test_the_shell_completes_names():
    """As bash asks typer's completion script to, one after the other in one process."""
    code = (
        "import os, sys\nfrom mlsched.cli.main import complete_app\n"
        "for words in sys.argv[1:]:\n"
        "    os.environ |= {'COMP_WORDS': f'mlsched {words}', 'COMP_CWORD': str(len(words.split()))}\n"
        "    try:\n        complete_app()(prog_name='mlsched')\n"
        "    except SystemExit:\n        print('.')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *COMPLETED],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"_MLSCHED_COMPLETE": "complete_bash"},
    )
    offered = [set(answer.split()) for answer in done.stdout.split(".")]
    assert offered == [*(set(names.split()) for names in COMPLETED.values()), set()], done.stderr


def test_a_result_file_can_be_checked(cli, tmp_path, instance_file):
    mlsched.save(mlsched.solve(small(), "fitgpp"), tmp_path / "result.json")
    assert "feasible" in cli("check", instance_file, tmp_path / "result.json").out
