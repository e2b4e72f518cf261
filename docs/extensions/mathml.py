"""Mathematics as MathML, which browsers draw themselves: no script, no font, no network."""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
#: Commands that docutils knows by another name alone.
ALIASES = {r"\dots": r"\ldots"}


def mathml(node: nodes.Element, *, as_block: bool = False) -> str:
    """The formula of a node; one that cannot be read is a warning, and shown as it was written."""
    tex = node.astext()
    for command, known in ALIASES.items():
        tex = tex.replace(command, known)
    try:
        return str(tex2mathml(tex, as_block=as_block))
    except MathError as error:
        LOGGER.warning("a formula cannot be read: %s", error, location=node, type="mathml")
        return f"<code>{escape(tex)}</code>"


def inline(writer: Any, node: nodes.math) -> None:
    """A formula in running text."""
    writer.body.append(mathml(node))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    """A formula on lines of its own."""
    writer.body.append(f'<div class="math">{mathml(node, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
