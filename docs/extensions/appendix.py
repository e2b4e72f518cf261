"""Pages of results are left out of the site's full-text search: they are a generated appendix, reached by links.

Sphinx reads this from a page's metadata. A code host would show the metadata as a table, so the build adds it.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx


def read(app: Sphinx, page: str, source: list[str]) -> None:
    """Mark a page of results before it is parsed."""
    if page.startswith("results/"):
        source[0] = f"---\nnosearch: true\n---\n\n{source[0]}"


def setup(app: Sphinx) -> dict[str, Any]:
    """Run after the extensions that change a page's text."""
    app.connect("source-read", read, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
