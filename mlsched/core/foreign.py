"""Text from untrusted sources: checked when it is read, escaped for the format in which it is written."""

from __future__ import annotations

from typing import Any

from mlsched.core.errors import InvalidInput, shorten

#: Most characters of a text, most values of a document, and deepest nesting.
MOST_TEXT, MOST_VALUES, MOST_DEPTH = 1000, 1000, 8
#: First characters of a cell that a spreadsheet interprets as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_MARKDOWN = {"\\": "\\\\", "|": "\\|", "<": "&lt;", ">": "&gt;", "&": "&amp;", "`": "\\`"}
MARKDOWN = str.maketrans(_MARKDOWN)


def printable(value: object, where: str, most: int = MOST_TEXT) -> str:
    """Return the text if it is printable and has at most `most` characters; otherwise raise InvalidInput.

    Line breaks and escape codes are not printable.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{where}: is of type {type(value).__name__}, expected a text")
    if len(value) > most:
        raise InvalidInput(f"{where}: has {len(value)} characters, expected at most {most}")
    if not value.isprintable():
        raise InvalidInput(f"{where}: {shorten(ascii(value), 80)}, expected printable characters only")
    return value


def check_plain(value: object, where: str, depth: int = MOST_DEPTH) -> None:
    """Reject a JSON value with an unprintable text, too deep nesting, or too many values."""
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
        check_plain(part, where, depth - 1)


def csv_cell(value: object) -> Any:
    """Return a cell of a CSV file; a text that a spreadsheet would take for a formula gets an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def markdown_cell(text: str) -> str:
    """Escape a text for a cell of a Markdown table."""
    return " ".join(text.translate(MARKDOWN).replace("](", "]\\(").split())
