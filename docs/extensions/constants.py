"""Constants of the reference are explained by the comment above them (`#:`), in whichever module they stand.

Without this a constant that a package re-exports would be explained by the docstring of its type: "dict() -> new empty
dictionary". Defaults that a dataclass makes anew are shown as `...`, private fields not at all.
"""

from __future__ import annotations

import inspect
import re
import sys
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import PycodeError
from sphinx.pycode import ModuleAnalyzer

PRIVATE = re.compile(r", _\w+: .*?(?=, [a-z]\w*: |\)$)")


def comment_of(name: str, value: Any) -> list[str]:
    """The comment above the constant of that name and value; [] where no module of mlsched has one."""
    for module in [m for known, m in sorted(sys.modules.items()) if known.startswith("mlsched")]:
        if vars(module).get(name) is not value:
            continue
        try:
            found = ModuleAnalyzer.for_module(module.__name__).find_attr_docs().get(("", name))
        except PycodeError:
            continue
        if found:
            return found
    return []


def explain(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Replace the docstring of a built-in type by the constant's own comment."""
    if what == "data" and "\n".join(lines).strip() == (inspect.getdoc(type(obj)) or "").strip():
        lines[:] = [*comment_of(name.rpartition(".")[2], obj), ""]


def shorten(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str | None, returns: str | None
) -> Any:
    """A signature that Sphinx can read."""
    if signature and "<factory>" in signature:
        return PRIVATE.sub("", signature).replace("<factory>", "..."), returns
    return None


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", explain, priority=100)
    app.connect("autodoc-process-signature", shorten)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
