"""Links to the notes for contributors name the file: the site has no pages of them, a code host shows them.

A page says `[why](notes/fronts.md#zones)`; the site shows "why (`docs/notes/fronts.md`)".
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

LINK = re.compile(r"\[(?P<text>[^][]+)\]\((?:\.\./)?(?P<file>notes/[\w-]+\.md)(?:#[\w-]+)?\)")


def without_links(text: str) -> str:
    """The text of a page with links to notes as their words and the file's place in the repository."""
    return LINK.sub(r"\g<text> (`docs/\g<file>`)", text)


def read(app: Sphinx, page: str, source: list[str]) -> None:
    """Replace the links of a page before it is parsed."""
    source[0] = without_links(source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Run for every page."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
