"""Text that a stranger wrote: printable and bounded when it is read, escaped for the format that it is written in."""

from __future__ import annotations

from typing import Any

from mlsched.core.errors import InvalidInput, shortened

#: Characters of a text, values of a document, and how deep its parts lie in each other.
MOST_TEXT, MOST_VALUES, MOST_DEPTH = 1000, 1000, 8
#: Beginnings of a cell that a spreadsheet takes for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_MARKDOWN = {"\\": "\\\\", "|": "\\|", "<": "&lt;", ">": "&gt;", "&": "&amp;", "`": "\\`"}
MARKDOWN = str.maketrans(_MARKDOWN)


def printable(value: Any, where: str, most: int = MOST_TEXT) -> str:
    """The text, which must have printable characters only (no line breaks, no escape codes), `most` at most."""
    if not isinstance(value, str):
        raise InvalidInput(f"{where}: is of type {type(value).__name__}, expected a text")
    if len(value) > most:
        raise InvalidInput(f"{where}: has {len(value)} characters, expected at most {most}")
    if not value.isprintable():
        raise InvalidInput(f"{where}: {shortened(ascii(value), 80)}, expected printable characters only")
    return value


def plain(value: Any, where: str, depth: int = MOST_DEPTH) -> None:
    """Refuse a JSON value in which a text is not printable, or which is too deep or has too many values."""
    if isinstance(value, str):
        printable(value, where)
        return
    if not isinstance(value, (dict, list)):
        return
    if depth == 0 or len(value) > MOST_VALUES:
        raise InvalidInput(f"{where}: is too deep or too large, expected {MOST_VALUES} values at most in a part")
    for name in value if isinstance(value, dict) else ():
        printable(name, where)
    for part in value.values() if isinstance(value, dict) else value:
        plain(part, where, depth - 1)


def cell(value: Any) -> Any:
    """A cell of a CSV file, which a spreadsheet must not take for a formula: such a text gets an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def markdown(text: str) -> str:
    """A text in a cell of a Markdown table."""
    return " ".join(text.translate(MARKDOWN).replace("](", "]\\(").split())
