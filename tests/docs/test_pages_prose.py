"""README, paper and the pages of the site are plain English; pages that are not rewritten yet get no worse.

`python tests/docs/test_pages_prose.py --write` writes the counts of unfinished pages to `prose_counts.txt`: pages with
a forbidden phrase or with too many weak words. A page that is not listed there is finished.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from prose import ROOT, WEAK, Prose, prose_of

COUNTS = Path(__file__).with_name("prose_counts.txt")
PAGES = sorted([ROOT / "README.md", ROOT / "paper.md", *(ROOT / "docs").rglob("*.md")])
RULES = ("errors", "weak", "relatives")
#: Most words of a guide's running text, and of longer ones.
GUIDE, LONGER = 600, {"docs/guides/judge.md": 800, "docs/guides/formats.md": 800, "docs/guides/benchmark.md": 700}


def name_of(page: Path) -> str:
    """Return the place of a page in the repository."""
    return page.relative_to(ROOT).as_posix()


def allowed_counts() -> dict[str, dict[str, int]]:
    """Read `prose_counts.txt`: page -> rule -> number of hits that it may have."""
    rows = [line.split() for line in COUNTS.read_text(encoding="utf-8").splitlines()[1:]]
    return {page: dict(zip(RULES, map(int, counts), strict=True)) for page, *counts in rows}


def counts(prose: Prose) -> dict[str, int]:
    """Return the counts of an unfinished page, which may only fall."""
    return {rule: prose.counts()[rule] for rule in RULES}


def excess(prose: Prose) -> list[str]:
    """Return the rates above twice the mean of seven well-written projects, and the share of nested sentences."""
    over = [f"{rule}: {prose.rate(rule):.0f}" for rule, (_, most) in WEAK.items() if prose.rate(rule) > most]
    relatives = 100 * prose.relatives / max(1, prose.sentences)
    return over + [f"sentences with two relative clauses: {relatives:.1f} %"] * (relatives > 5)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_has_no_forbidden_phrase(page: Path) -> None:
    prose, allowed = prose_of([page]), allowed_counts().get(name_of(page))
    if allowed is None:
        assert not prose.errors, "\n".join(prose.errors)
    else:
        risen = {rule: (allowed[rule], n) for rule, n in counts(prose).items() if n > allowed[rule]}
        assert not risen, f"hits rose (before, now): {risen}; `python tests/prose.py {name_of(page)}` lists phrases"


def test_finished_pages_together_keep_to_the_budget() -> None:
    unfinished = allowed_counts()
    prose = prose_of(page for page in PAGES if name_of(page) not in unfinished)
    assert prose.words > 1000
    assert not excess(prose), "hits per 10,000 words"


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "guides").glob("*.md")), ids=name_of)
def test_a_guide_is_short(page: Path) -> None:
    if name_of(page) in allowed_counts():
        pytest.skip("not rewritten yet")
    assert prose_of([page]).words <= LONGER.get(name_of(page), GUIDE)


def test_a_page_is_read_without_code_tables_and_headings(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# What it says\n\n<!-- what -->\n\nA [gap](what.md) is small.\n\n```bash\nwhat\n```\n\n| what | what |\n\n"
        "![what](what.svg)\n\nA plan says what it is.\n"
    )
    prose = prose_of([page])
    assert (prose.sentences, prose.words, prose.weak) == (2, 10, {"what": 1, "say, tell": 1})


def write() -> None:
    """Write `prose_counts.txt` from the pages as they are."""
    rows = [" ".join(["page", *RULES])]
    for page in PAGES:
        prose = prose_of([page])
        found = counts(prose)
        weak = any(prose.weak[rule] > 3 + most * prose.words / 1e4 for rule, (_, most) in WEAK.items())
        if (
            prose.errors
            or weak
            or 200 * found["weak"] > prose.words + 200 * (prose.words > 60)
            or 20 * prose.relatives > prose.sentences + 20
        ):
            rows.append(" ".join([name_of(page), *map(str, found.values())]))
    COUNTS.write_text("\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    write()
