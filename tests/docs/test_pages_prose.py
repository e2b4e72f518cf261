"""README, paper and the pages of the site are plain English: no forbidden phrase, few weak words, few words per page.

`python tests/prose.py PAGE...` prints each hit of a forbidden phrase and the rates of some pages.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from prose import ROOT, WEAK, prose_of

PAGES = sorted([ROOT / "README.md", ROOT / "paper.md", *(ROOT / "docs").rglob("*.md")])
#: Most words of running text of all pages, of a page of a folder, and of longer or shorter pages.
ALL = 32_000
LIMITS = {"guides": 600, "problems": 900, "explanation": 800, "results": 600}
PAGE_LIMITS = {
    "docs/guides/judge.md": 800,
    "docs/guides/formats.md": 800,
    "docs/guides/benchmark.md": 700,
    "docs/problems/simulator.md": 1200,
    "docs/explanation/bound.md": 1200,
    "docs/learn/concepts.md": 700,
    "docs/learn/log-to-table.md": 900,
    "docs/learn/start.md": 500,
    "docs/reference/glossary.md": 700,
    "docs/index.md": 200,
    "docs/results/mlfs.md": 700,  # the paper contradicts itself, which takes a section
}
LIMITED = [page for page in PAGES if page.parent.name in LIMITS or page.relative_to(ROOT).as_posix() in PAGE_LIMITS]


def name_of(page: Path) -> str:
    """Return the place of a page in the repository."""
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_has_no_forbidden_phrase(page: Path) -> None:
    assert not (prose := prose_of([page])).errors, "\n".join(prose.errors)


def test_all_pages_together_keep_to_the_budget() -> None:
    """Rates are at most twice the mean of seven well-written projects."""
    prose = prose_of(PAGES)
    over = [f"{rule}: {prose.rate(rule):.0f}" for rule, (_, most) in WEAK.items() if prose.rate(rule) > most]
    assert not over, "hits per 10,000 words"
    assert 100 * prose.relatives <= 5 * prose.sentences, "sentences with two relative clauses"
    assert prose.words <= ALL


@pytest.mark.parametrize("page", LIMITED, ids=name_of)
def test_a_page_is_short(page: Path) -> None:
    assert prose_of([page]).words <= PAGE_LIMITS.get(name_of(page), LIMITS.get(page.parent.name, 0))


def test_a_page_is_read_without_code_tables_and_headings(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# What it says\n\n<!-- what -->\n\nA [gap](what.md) is small.\n\n```bash\nwhat\n```\n\n| what | what |\n\n"
        "![what](what.svg)\n\nA plan says what it is.\n"
    )
    prose = prose_of([page])
    assert (prose.sentences, prose.words, prose.weak) == (2, 10, {"what": 1, "say, tell": 1})
