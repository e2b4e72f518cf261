"""Names in code font that the reference explains become links; links into the glossary show its first sentence.

A name is linked when it is public in full (`mlsched.solve`) or when one object alone ends with it and it has a dot
(`Result.gap_to`). What follows in parentheses does not matter: `mlsched.solve(inst, rule)`.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

CALL = re.compile(r"(?P<name>[A-Za-z_][\w.]*)(\(.*\))?", re.DOTALL)
GLOSSARY = "reference/glossary"


def places(app: Sphinx) -> dict[str, Any]:
    """Every name by which an object of the reference may be meant, and its entry."""
    objects = app.env.domains.python_domain.objects
    ends: Counter[str] = Counter()
    found: dict[str, Any] = {}
    for full, entry in objects.items():
        parts = full.split(".")
        for start in range(1, len(parts) - 1):
            end = ".".join(parts[start:])
            ends[end] += 1
            found[end] = entry
    return {name: entry for name, entry in found.items() if ends[name] == 1} | dict(objects)


def meanings(app: Sphinx) -> dict[str, str]:
    """Anchor in the glossary -> the first sentence below it."""
    if GLOSSARY not in app.env.found_docs:
        return {}
    found = {}
    for section in app.env.get_doctree(GLOSSARY).findall(nodes.section):
        paragraph = next(iter(section.findall(nodes.paragraph)), None)
        if paragraph is not None:
            sentence = re.split(r"(?<=\.)\s", paragraph.astext().replace("\n", " "))[0]
            found.update(dict.fromkeys((*section["ids"], section.get("slug", "")), sentence))
    return found


class LinkedNames(SphinxPostTransform):
    """See the module."""

    default_priority = 200

    def run(self, **kwargs: Any) -> None:
        if not hasattr(self.app, "_linked_names"):
            self.app._linked_names = places(self.app), meanings(self.app)
        names, words = self.app._linked_names
        self._link_names(names)
        self._explain_words(words)

    def _link_names(self, names: dict[str, Any]) -> None:
        for literal in list(self.document.findall(nodes.literal)):
            call = CALL.fullmatch(literal.astext())
            entry = names.get(call["name"]) if call else None
            if entry is None or self._is_inside(literal, (nodes.reference, nodes.title)):
                continue
            link = make_refnode(self.app.builder, self.env.docname, entry.docname, entry.node_id, literal.deepcopy())
            literal.replace_self(link)

    def _explain_words(self, words: dict[str, str]) -> None:
        for link in self.document.findall(nodes.reference):
            page, _, anchor = link.get("refuri", "").partition("#")
            if page.rsplit("/", 1)[-1] in (f"{GLOSSARY}.html", f"{GLOSSARY}.md") and anchor in words:
                link["reftitle"] = words[anchor]
                link["classes"].append("glossary-term")

    @staticmethod
    def _is_inside(node: nodes.Node, kinds: tuple[type[nodes.Node], ...]) -> bool:
        parent = node.parent
        while parent is not None:
            if isinstance(parent, kinds):
                return True
            parent = parent.parent
        return False


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_post_transform(LinkedNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
