"""The page of the eight tasks: its blocks are those of the guides, which are run, and its counts are right."""

from __future__ import annotations

import re

import pytest
from documentation import DOCS, RUN, blocks

PAGE = DOCS / "notes" / "eight-tasks.md"
TEXT = PAGE.read_text(encoding="utf-8")
ROW = re.compile(
    r"^\| \[(?P<task>\d)\. (?P<title>[^\]]+)\]\(#[\w-]+\) \| (?P<commands>\d+) \| (?P<lines>\d+) \|$", re.MULTILINE
)
ROWS = list(ROW.finditer(TEXT))
SECTIONS = dict(re.findall(r"^## (\d)\. .*?\n(.*?)(?=^## )", TEXT, re.DOTALL | re.MULTILINE))


def test_there_are_eight() -> None:
    assert [row["task"] for row in ROWS] == list(SECTIONS) == list("12345678")
    assert all(f"## {row['task']}. {row['title']}\n" in TEXT for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["title"])
def test_a_task_is_typed_as_its_guide_says_and_counted(row: re.Match[str]) -> None:
    section = SECTIONS[row["task"]]
    named = re.search(r"^Page: \[.*?\]\((.*?)\)", section, re.MULTILINE)
    assert named is not None
    guide = (PAGE.parent / named[1]).resolve()
    assert guide in RUN
    run = {(block.language, block.text) for block in blocks(guide)}
    used = re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL)
    assert used
    assert set(used) <= run, "the blocks are those of the guide, letter by letter"
    typed = {"bash": 0, "python": 0}
    for language, text in used:
        typed[language] += len(_lines(text))
    assert typed == {"bash": int(row["commands"]), "python": int(row["lines"])}


def test_the_first_task_takes_at_most_fifteen_lines_and_the_second_one_command() -> None:
    assert int(ROWS[0]["commands"]) == 0
    assert int(ROWS[0]["lines"]) <= 15
    assert (int(ROWS[1]["commands"]), int(ROWS[1]["lines"])) == (1, 0)


def _lines(text: str) -> list[str]:
    """What is typed: lines that go on after a backslash are one, empty ones and comments none."""
    return [line for line in text.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")]
