"""The site: a short sidebar that reaches every page, a home page that begins at the beginning, words that are found."""

from __future__ import annotations

import functools
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from documentation import DOCS

SITE = sorted(DOCS.rglob("*.md"))
#: What a guide gets beyond other pages.
BONUS = 9
TREE = re.compile(r"```\{toctree\}\n(.*?)```", re.DOTALL)


def _children(page: Path) -> list[Path]:
    """The pages that a page's tables of contents list."""
    found: list[Path] = []
    for tree in TREE.findall(page.read_text(encoding="utf-8")):
        globbed = ":glob:" in tree
        for line in filter(None, (re.sub(r".*<(.*)>", r"\1", line.strip()) for line in tree.splitlines())):
            if not line.startswith(":"):
                listed = sorted(page.parent.glob(f"{line}.md")) if globbed else [page.parent / f"{line}.md"]
                assert listed, f"{page.name}: {line} is no page"
                found += [path for path in listed if path != page]
    return found


#: The folders of pages, in the order of the navigation.
SECTIONS = ["learn", "guides", "problems", "reference", "explanation", "results", "contribute"]


def test_the_sidebar_has_seven_sections_and_reaches_every_page_once() -> None:
    top = _children(DOCS / "index.md")
    assert [page.relative_to(DOCS).as_posix() for page in top] == [f"{section}/index.md" for section in SECTIONS]
    assert {page.parent.name for page in SITE if page.parent != DOCS} <= {*SECTIONS, "internals"}
    reached, waiting = [DOCS / "index.md"], list(top)
    while waiting:
        page = waiting.pop()
        reached.append(page)
        waiting += _children(page)
    assert sorted(reached) == SITE, "a page is in no table of contents, or in two"


def test_the_home_page_installs_and_shows_a_picture_before_it_lists_pages() -> None:
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    lists = text.index("\n- ")
    assert text.index("pip install") < lists
    picture = re.search(r"!\[[^\]]{20,}\]\((pictures/\w+\.svg)\)", text[:lists])
    assert picture is not None
    assert (DOCS / picture[1]).is_file()


def test_lines_of_code_fit_beside_the_navigation() -> None:
    """site.css makes room for 120 characters, on a screen of 1280 pixels: a longer line is cut off until scrolled."""
    long = [
        f"{path.relative_to(DOCS)}: {line}"
        for path in SITE
        for block in re.findall(r"^```.*?^```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        for line in block.splitlines()
        if len(line) > 120
    ]
    assert not long


@functools.cache
def _stem(word: str) -> str:
    return _stemmer().stemWord(word)


@functools.cache
def _stemmer() -> Any:
    return pytest.importorskip("snowballstemmer").stemmer("english")


def _words(text: str) -> list[str]:
    """Words as the site's search knows them: stems."""
    return [_stem(word) for word in re.findall(r"[a-z0-9]+", text.lower())]


@functools.cache
def _found(page: Path) -> tuple[set[str], set[str]]:
    """The words of a page's headings, and all its words."""
    text = page.read_text(encoding="utf-8")
    return set(_words(" ".join(re.findall(r"^#+ (.*)$", text, re.MULTILINE)))), set(_words(text))


def _score(page: Path, query: list[str]) -> int:
    """As the site's search ranks (scorer.js): words in headings count 15, others 5, and guides come first."""
    headings, body = _found(page)
    if not set(query) <= body:
        return 0
    return sum(15 if word in headings else 5 for word in query) + (
        BONUS if page.parent.name in ("guides", "learn") else 0
    )


def test_the_sites_search_puts_guides_first() -> None:
    scorer = (DOCS / "static" / "scorer.js").read_text(encoding="utf-8")
    assert f'page.startsWith("guides/") || page.startsWith("learn/")) return score + {BONUS};' in scorer
    assert 'html_search_scorer = str(Path(__file__).parent / "static" / "scorer.js")' in (DOCS / "conf.py").read_text(
        encoding="utf-8"
    )


def test_the_search_leaves_out_results() -> None:
    read = runpy.run_path(str(DOCS / "extensions" / "appendix.py"))["read"]
    pages = {name: ["# A page\n"] for name in ("results/fitgpp", "guides/gap")}
    for name, source in pages.items():
        read(None, name, source)
    assert pages["results/fitgpp"] == ["---\nnosearch: true\n---\n\n# A page\n"]
    assert pages["guides/gap"] == ["# A page\n"]
    assert '"appendix"' in (DOCS / "conf.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("query", "guide"),
    [
        ("cancelled jobs", "replay"),
        ("consolidate", "judge"),
        ("gantt", "dag"),
        ("slurm array", "shards"),
        ("pareto front", "front"),
        ("certify", "certify"),
        ("worst case gap", "gap"),
    ],
)
def test_a_search_finds_the_guide_first(query: str, guide: str) -> None:
    wanted = _words(query)
    scores = {page: _score(page, wanted) for page in SITE if page.parent.name != "results"}
    best = max(scores.values())
    first = {page.relative_to(DOCS).as_posix() for page, score in scores.items() if score == best}
    assert f"guides/{guide}.md" in first
    assert all(name.startswith("guides/") for name in first), first


def test_cards_of_solvers_have_the_titles_of_the_columns() -> None:
    """On a phone the header is not shown: each cell says what it is, but for the name and what the solver does."""
    header = re.search(
        r"^\| (name \|.*) \|$", (DOCS / "reference" / "solvers.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert header is not None
    titles = header[1].split(" | ")
    style = (DOCS / "static" / "site.css").read_text(encoding="utf-8")
    shown = dict(re.findall(r'#solvers .*?nth-child\((\d)\)::before \{ content: "(.*?): "; \}', style))
    assert {int(k): title for k, title in shown.items()} == {
        k: title for k, title in enumerate(titles, 1) if title not in ("name", "what it does")
    }
    rules = re.findall(r"^@media \(max-width: (\d+)em\) \{\n(.*?)^\}", style, re.MULTILINE | re.DOTALL)
    (cards,) = (body for width, body in rules if "#solvers" in body)
    assert "display: none" in re.search(r"#solvers table.docutils thead \{(.*?)\}", cards)[1]  # type: ignore[index]
