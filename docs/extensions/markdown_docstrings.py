"""Docstrings are Markdown, like the pages: they are read by the same parser.

Sections as Google writes them (`Args:`, `Raises:`, ...) become lists.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils import new_document
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

SECTIONS = {
    "Examples": "Examples",
    "Args": "Arguments",
    "Attributes": "Attributes",
    "Raises": "Raises",
    "Returns": "Returns",
}
#: Beginning of an entry of a section: "name: text" or "name (type): text".
ENTRY = re.compile(r"(?P<name>[\w.*, ]+?)(?: \([^)]*\))?: (?P<text>.*)")


class Markdown(SphinxDirective):
    """`.. markdown::`, whose content is read as a page would be."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        document = new_document(self.get_source_info()[0], self.state.document.settings)
        MystParser().parse("\n".join(self.content), document)
        return document.children


def with_lists(lines: list[str]) -> list[str]:
    """The docstring with the sections of `SECTIONS` as a bold title and a list.

    An entry starts at the least indentation of its section; what is indented deeper goes on with it.
    """
    found: list[str] = []
    at = 0
    while at < len(lines):
        title = SECTIONS.get(lines[at][:-1]) if lines[at].endswith(":") else None
        if title is None:
            found.append(lines[at])
            at += 1
            continue
        end = at + 1
        while end < len(lines) and (not lines[end].strip() or lines[end].startswith(" ")):
            end += 1
        content = lines[at + 1 : end]
        found += [f"**{title}**", "", *(_code(content) if title == "Examples" else _list(content)), ""]
        at = end
    return found


def _code(lines: list[str]) -> list[str]:
    """Examples with prompts, as a block of code."""
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return ["```pycon", *"\n".join(line[margin:] for line in lines).strip().split("\n"), "```"]


def _list(lines: list[str]) -> list[str]:
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    entries: list[str] = []
    for line in (line[margin:] for line in lines if line.strip()):
        if line.startswith(" ") and entries:
            entries.append("  " + line.strip())
            continue
        entry = ENTRY.fullmatch(line)
        entries.append(f"- `{entry['name']}`: {entry['text']}" if entry else f"- {line}")
    return entries


def as_markdown(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Wrap a docstring, whatever of it other listeners have added, into the directive."""
    if any(line.strip() for line in lines):
        lines[:] = [".. markdown::", "", *(f"   {line}".rstrip() for line in with_lists(lines)), ""]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("markdown", Markdown)
    app.connect("autodoc-process-docstring", as_markdown, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
