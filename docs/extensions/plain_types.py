"""Signatures show the type of an argument, and its text what it may be: `float` for `Annotated[float, Range(0, 1)]`."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

RANGED = re.compile(r"~?(?:typing\.)?Annotated\[(\w+), ~?[\w.]*Range\([^()]*\)\]")


def shown(app: Sphinx, what: str, name: str, thing: Any, options: Any, signature: str | None, returns: Any) -> Any:
    """The signature without ranges; None leaves it as it is."""
    return (RANGED.sub(r"\1", signature), returns) if signature else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Let Sphinx show types so."""
    app.connect("autodoc-process-signature", shown)
    return {"parallel_read_safe": True}
