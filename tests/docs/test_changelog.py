"""The changelog: at most 60 entries for version 1.0, each in one line of at most 25 words."""

from __future__ import annotations

import re

from documentation import ROOT

TEXT = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
GROUPS = {"Added", "Changed", "Fixed", "Performance", "Removed"}


def test_entries_are_few_and_short() -> None:
    entries = re.findall(r"^- (.*)$", TEXT, re.MULTILINE)
    assert 40 <= len(entries) <= 60
    assert [entry for entry in entries if len(entry.split()) > 25] == []


def test_an_entry_is_one_line_in_a_group() -> None:
    lines = TEXT.partition("## [Unreleased]")[2].splitlines()
    assert [line for line in lines if line and not line.startswith(("- ", "## ", "### "))] == []
    assert set(re.findall(r"^### (.*)$", TEXT, re.MULTILINE)) <= GROUPS
