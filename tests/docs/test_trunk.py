"""The page for new contributors: its files exist, are read in an order without repetition, and stay few."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRUNK = ROOT / "docs" / "contribute" / "trunk.md"
#: Lines that a new contributor reads, blank ones not counted.
MOST = 2500


def test_the_trunk_has_at_most_2500_lines():
    files = re.findall(r"^\| `([^`]+)` \|", TRUNK.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(files) == len(set(files)) > 20
    lines = [line for name in files for line in (ROOT / name).read_text(encoding="utf-8").splitlines()]
    assert len([line for line in lines if line.strip()]) <= MOST


def test_the_example_runs(capsys):
    code = re.search(r"```python\n(.*?)```", TRUNK.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(code[1], "trunk.md", "exec"), {})
    rule, optimum, replay = capsys.readouterr().out.splitlines()
    assert 0 < int(rule) <= int(optimum)
    assert replay == "[]"


@pytest.mark.parametrize("page", ["architecture", "adding", "trunk"])
def test_files_and_folders_that_a_page_names_exist(page):
    text = (ROOT / "docs" / "contribute" / f"{page}.md").read_text(encoding="utf-8")
    # Code blocks show files that a reader writes.
    spans = re.findall(r"`([^`\n<>]*)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    named = {span for span in spans if re.fullmatch(r"[\w./-]+(\.py|/)", span)}
    there = {f"/{path.relative_to(ROOT).as_posix()}" for path in everything()}
    missing = sorted(name for name in named if not any(path.endswith(f"/{name.rstrip('/')}") for path in there))
    assert missing == []


def everything():
    """All files and folders that the pages are about."""
    for folder in ("docs", "examples", "measurements", "mlsched", "plugins", "release", "research", "tests", "tools"):
        yield ROOT / folder
        yield from (path for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts)
