"""paper.md is in the form that the Journal of Open Source Software takes, and cites what paper.bib has."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import mlsched
from mlsched.certificates.prices.statement import statement_of
from mlsched.core.registry import registry

ROOT = Path(__file__).parents[2]
PAPER = (ROOT / "paper.md").read_text(encoding="utf-8")
BIB = (ROOT / "paper.bib").read_text(encoding="utf-8")
#: What a paper has, in this order.
SECTIONS = (
    "Summary",
    "Statement of need",
    "State of the field",
    "Software design",
    "What was verified, and how",
    "References",
)


def test_the_header_is_complete() -> None:
    yaml = pytest.importorskip("yaml")
    header = yaml.safe_load(PAPER.split("---\n")[1])
    assert header.keys() == {"title", "tags", "authors", "affiliations", "date", "bibliography"}
    known = {affiliation["index"] for affiliation in header["affiliations"]}
    assert all(author["name"] and author["affiliation"] in known for author in header["authors"])
    assert header["bibliography"] == "paper.bib"
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert header["date"] == f"{cited['date-released']:%d %B %Y}".lstrip("0")
    assert [author["name"] for author in header["authors"]] == [author["name"] for author in cited["authors"]]


def test_it_has_the_sections_and_is_short() -> None:
    body = PAPER.split("---\n", 2)[2]
    assert tuple(re.findall(r"^# (.*)$", body, re.MULTILINE)) == SECTIONS
    assert 500 <= len(body.split()) <= 1750, "JOSS asks for 750 to 1750 words"


def test_every_reference_is_there_and_cited() -> None:
    cited = set(re.findall(r"\[@([\w-]+)\]", PAPER))
    entries = dict(re.findall(r"^@\w+\{([\w-]+),\n(.*?)^\}", BIB, re.MULTILINE | re.DOTALL))
    assert cited == set(entries)
    for name, text in entries.items():
        fields = dict(re.findall(r"^  (\w+) = \{(.*)\},?$", text, re.MULTILINE))
        assert {"author", "title"} <= set(fields), name
        assert text.count("{") == text.count("}"), name
        assert {"doi", "booktitle", "eprint", "url"} & set(fields), name
        assert re.fullmatch(r"10\.\d{4,5}/\S+", fields.get("doi", "10.1000/x")), name


@pytest.mark.parametrize("problem", ["quality", "workers", "preemption", "placement", "taskgraph"])
def test_a_checker_has_at_most_500_lines_of_the_standard_library(problem: str) -> None:
    assert "a checker of at most 500 lines of standard-library Python" in " ".join(PAPER.split())
    text = statement_of(mlsched.generate(problem, "small", seed=0)).checker()
    assert len(text.splitlines()) <= 500
    assert set(re.findall(r"^\s*(?:import|from) (\w+)", text, re.MULTILINE)) <= sys.stdlib_module_names


def test_it_counts_the_problems() -> None:
    counts = {6: "six", 7: "seven", 8: "eight", 9: "nine"}
    assert f"states {counts[len(registry().problems)]} such" in " ".join(PAPER.split())
