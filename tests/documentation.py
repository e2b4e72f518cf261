"""The pages of the documentation, and the blocks of code in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
#: Everything that is written in Markdown for readers.
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "research").rglob("*.md")])
#: Pages whose blocks of code are run as they stand.
RUN = [
    ROOT / "README.md",
    DOCS / "index.md",
    *(DOCS / "learn" / f"{name}.md" for name in ("start", "concepts", "log-to-table")),
    *sorted(DOCS.glob("guides/*.md")),
    *(page for page in sorted(DOCS.glob("problems/*.md")) if not page.stem.endswith("-model")),
    *sorted(DOCS.glob("explanation/*.md")),
]

FENCE = re.compile(r"(?P<fence>`{3,}|~{3,})(?P<language>[^\n`]*)")
#: A comment on the line before a block: `<!-- not run: needs a Gurobi licence -->`, `<!-- thorough -->` (run in the
#: thorough profile alone), `<!-- needs: sb3_contrib -->` (run where that module is installed).
MARK = re.compile(r"<!-- (?P<kind>not run|thorough|needs|file)(?:: (?P<what>.+?))? -->")
#: The first line of a block that is a file: its name as a comment.
FILE = re.compile(r"# (?P<name>[\w./-]+\.(?:py|toml|csv|lp|mps|json|txt))")


class Block(NamedTuple):
    """A fenced block of a page: the line it begins on, its language, its text, and how it is marked."""

    line: int
    language: str
    text: str
    mark: str | None
    what: str

    @property
    def file(self) -> str | None:
        """The name of the file that the block is; None for one that is run."""
        if self.mark == "file":
            return self.what
        first = FILE.fullmatch(self.text.partition("\n")[0])
        return first["name"] if first else None


def name_of(page: Path) -> str:
    """A page as tests call it."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    lines = page.read_text(encoding="utf-8").splitlines()
    at = 0
    while at < len(lines):
        opened = FENCE.match(lines[at].lstrip())
        if opened is None:
            at += 1
            continue
        margin = len(lines[at]) - len(lines[at].lstrip())
        end = next(k for k in range(at + 1, len(lines)) if lines[k].strip() == opened["fence"])
        mark = MARK.fullmatch(lines[at - 1].strip()) if at else None
        kind, what = (mark["kind"], mark["what"] or "") if mark else (None, "")
        text = "\n".join(line[margin:] for line in lines[at + 1 : end]) + "\n"
        yield Block(at + 1, opened["language"].strip(), text, kind, what)
        at = end + 1


def prose(page: Path) -> str:
    """The page without its fenced blocks and without code in running text."""
    text, inside = [], None
    for line in page.read_text(encoding="utf-8").splitlines():
        fence = FENCE.match(line.lstrip())
        if inside is None and fence:
            inside = fence["fence"]
        elif inside is not None:
            inside = None if line.strip() == inside else inside
        else:
            text.append(line)
    return re.sub(r"`[^`]*`", "", "\n".join(text))
