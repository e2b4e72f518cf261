"""The documentation agrees with the library."""

from __future__ import annotations

import importlib.util
import re
import runpy
import sys
from pathlib import Path

import pytest

import mlsched
from mlsched.core.registry import registry

ROOT = Path(__file__).parents[2]


def test_the_table_of_solvers_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("make_solvers", ROOT / "tools" / "make_solvers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    written = (ROOT / "docs" / "reference" / "solvers.md").read_text(encoding="utf-8")
    assert written == module.table(), "run python tools/make_solvers.py"


def test_the_readme_names_every_solver_of_every_problem() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = {row[1]: row[0] for row in re.finditer(r"^\| \[`(\w+)`\].*$", text, re.MULTILINE)}
    assert set(rows) == set(registry().problems)
    for problem, row in rows.items():
        named = set(re.findall(r"`([^`]+)`", row))
        ours = {a.name for a in registry().available(problem) if a.function.__module__.startswith("mlsched")}
        assert ours <= named, f"README's row of {problem} lacks {', '.join(sorted(ours - named))}"


def test_a_picture_is_made_smaller_without_a_change_of_its_words() -> None:
    smaller = runpy.run_path(str(ROOT / "tools" / "make_pictures.py"))["smaller"]
    bar = '<g id="patch_7">\n  <path d="M 1.2345 2 \nL 3 4.5678 \nz\n" style="fill: red"/>\n</g>\n'
    drawn = f"<svg><style>*{{}}</style>\n{bar}{bar}<text>loss 0.1625</text></svg>"
    small = '<g>\n<path d="M 1.2 2 L 3 4.6 z\n" class="s0"/>\n</g>\n'
    assert smaller(drawn) == f"<svg><style>*{{}}.s0{{fill: red}}</style>\n{small}{small}<text>loss 0.1625</text></svg>"


@pytest.mark.parametrize(
    "page",
    [
        "explanation/fronts",
        *(f"problems/{name}" for name in ("clairvoyant", "placement", "preemption", "quality", "taskgraph", "workers")),
    ],
)
def test_the_examples_of_a_problem_print_what_their_page_says(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"), re.DOTALL)
    code = "\n".join(block for block in blocks if re.search(r"^print\(.*\)  # ", block, re.MULTILINE))
    promised = re.findall(r"^print\(.*\)  # (.*)", code, re.MULTILINE)
    assert promised
    exec(compile(code, f"{page}.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == promised


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
