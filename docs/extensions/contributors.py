"""Links to files outside the site, such as research notes, show the file: a code host has it, the site does not.

A page has `[why](../../research/notes/fronts.md#zones)`; the site shows "why (`research/notes/fronts.md`)".
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

LINK = re.compile(r"\[(?P<text>[^][]+)\]\((?:\.\./)+(?P<file>research/[\w/-]+\.md)(?:#[\w-]+)?\)")


def without_links(text: str) -> str:
    """Return the text of a page with links to notes replaced by their words and the file's place in the repository."""
    return LINK.sub(r"\g<text> (`\g<file>`)", text)


def read(app: Sphinx, page: str, source: list[str]) -> None:
    """Replace the links of a page before it is parsed."""
    source[0] = without_links(source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Run for every page."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
