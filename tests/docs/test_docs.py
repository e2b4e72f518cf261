"""The documentation agrees with the library."""

from __future__ import annotations

import json
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

import mlsched
from mlsched.certificates.by_prices import statement_of
from mlsched.cli.main import run
from mlsched.core.registry import registry

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("tool", "make", "page"),
    [
        ("make_solvers", "table", "solvers"),
        ("make_fields", "page", "fields"),
        ("make_columns", "page", "log-columns"),
        ("make_api", "page", "api"),
        ("make_command_line", "page", "command-line"),
    ],
)
def test_a_generated_page_is_up_to_date(tool: str, make: str, page: str) -> None:
    module = runpy.run_path(str(ROOT / "tools" / f"{tool}.py"))
    written = (ROOT / "docs" / "reference" / f"{page}.md").read_text(encoding="utf-8")
    assert written == module[make](), f"run python tools/{tool}.py"


def test_the_page_of_solvers_names_every_solver_of_every_problem() -> None:
    page = (ROOT / "docs" / "reference" / "solvers.md").read_text(encoding="utf-8")
    for problem in registry().problems:
        section = page.split(f"\n## {problem}\n")[1].partition("\n## ")[0]
        assert all(f"| `{solver.name}` |" in section for solver in registry().available(problem)), problem


def test_the_readme_is_one_page_and_names_every_problem() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 700
    assert set(re.findall(r"^\| \[`(\w+)`\]", text, re.MULTILINE)) == set(registry().problems)


@pytest.mark.parametrize("problem", sorted(registry().problems))
def test_the_default_solver_is_that_of_the_command_line(problem: str, tmp_path: Path, capsys: Any) -> None:
    """As learn/start.md promises: `mlsched.solve(inst)` and `mlsched solve` answer alike."""
    inst = mlsched.generate(problem, "small", seed=0)
    mlsched.save(inst, tmp_path / "inst.json")
    assert run(["solve", str(tmp_path / "inst.json"), "--json"]) == 0
    shown, found = json.loads(capsys.readouterr().out), mlsched.solve(inst)
    assert (shown["solver"], shown["status"]) == (found.solver, found.status) == (found.solver, "optimal")


def test_a_picture_is_made_smaller_without_a_change_of_its_words() -> None:
    smaller = runpy.run_path(str(ROOT / "tools" / "make_pictures.py"))["smaller"]
    bar = '<g id="patch_7">\n  <path d="M 1.2345 2 \nL 3 4.5678 \nz\n" style="fill: red"/>\n</g>\n'
    drawn = f"<svg><style>*{{}}</style>\n{bar}{bar}<text>loss 0.1625</text></svg>"
    small = '<g>\n<path d="M 1.2 2 L 3 4.6 z\n" class="s0"/>\n</g>\n'
    assert smaller(drawn) == f"<svg><style>*{{}}.s0{{fill: red}}</style>\n{small}{small}<text>loss 0.1625</text></svg>"


def test_the_tables_of_options_are_up_to_date() -> None:
    made = runpy.run_path(str(ROOT / "tools" / "make_options.py"))
    page = made["TARGET"].read_text(encoding="utf-8")
    assert made["with_tables"](page) == page, "run python tools/make_options.py"
    assert set(re.findall(r"<!-- options (\w+) -->", page)) == set(made["OPTIONS"])


def test_public_names_exist() -> None:
    for name in mlsched.__all__:
        assert getattr(mlsched, name) is not None


#: Arguments that make an example short.
FEWER = {"search_keys.py": ["", "16x(8gpu)", "10"]}


@pytest.mark.usefixtures("bounds_to_show")
@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(example: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [str(example), *FEWER.get(example.name, [])])
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.parametrize("problem", ["placement", "preemption", "quality", "taskgraph", "workers"])
def test_checkers_are_as_short_as_the_explanation_promises(problem: str) -> None:
    checker = statement_of(mlsched.generate(problem, "small", 1)).checker()
    assert len(checker.splitlines()) <= 500
    statement = (ROOT / "mlsched" / "certificates" / problem / "prices.py").read_text(encoding="utf-8")
    assert len(statement.splitlines()) <= 160
