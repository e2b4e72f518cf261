"""Links between pages, to headings and into the source tree lead somewhere."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from documentation import DOCS, PAGES, ROOT, name_of, prose

LINK = re.compile(r"\]\((?P<target>[^()\s]*(?:\([^()\s]*\))?)\)")
HEADING = re.compile(r"#{1,6} (?P<title>.+)")


def anchors(page: Path) -> set[str]:
    """The headings of a page as link targets, by the rule of code hosts: lower case, no punctuation, - for blanks."""
    found: set[str] = set()
    inside = False
    for line in page.read_text(encoding="utf-8").splitlines():
        inside ^= line.startswith("```")
        heading = HEADING.fullmatch(line)
        if heading and not inside:
            title = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading["title"]).strip().lower()
            slug = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
            count = sum(1 for known in found if re.fullmatch(rf"{re.escape(slug)}(-\d+)?", known))
            found.add(f"{slug}-{count}" if count else slug)
    return found


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.finditer(prose(page)):
        target, _, anchor = link["target"].partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        file = page if not target else (page.parent / target).resolve()
        assert file.exists(), f"links to {link['target']}"
        assert file.is_relative_to(ROOT), f"links to {link['target']}, outside the repository"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"links to {link['target']}; there are {', '.join(sorted(anchors(file)))}"


def test_anchors_are_those_of_code_hosts(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# The `Front`, and *what* it is\n\n## Two: a/b\n\n```\n# no heading\n```\n\n## Two: a/b\n")
    assert anchors(page) == {"the-front-and-what-it-is", "two-ab", "two-ab-1"}


def test_every_page_is_in_the_navigation() -> None:
    """A page that nothing leads to would be a warning of the build; here it is found in a moment."""
    entries = set()
    for page in DOCS.rglob("*.md"):
        for toctree in re.findall(r"```{toctree}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for entry in (line.strip() for line in toctree.splitlines()):
                entry = re.sub(r".*<(.*)>", r"\1", entry)
                if entry and not entry.startswith(":"):
                    entries |= {found.resolve() for found in page.parent.glob(f"{entry}.md")}
    pages = {page.resolve() for page in DOCS.rglob("*.md")} - {(DOCS / "index.md").resolve()}
    assert entries == pages


def test_no_page_of_the_site_links_to_a_note_that_it_does_not_have() -> None:
    """What is left of a link to a note on the site: its words and the file."""
    without_links = runpy.run_path(str(DOCS / "extensions" / "contributors.py"))["without_links"]
    assert without_links("It closes ([why\nthat is](../../research/notes/fronts.md#zones)).") == (
        "It closes (why\nthat is (`research/notes/fronts.md`))."
    )
    for page in DOCS.rglob("*.md"):
        left = without_links(page.read_text(encoding="utf-8"))
        assert not re.search(r"\]\([./]*research/", left), name_of(page)
