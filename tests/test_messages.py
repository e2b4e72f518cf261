"""Messages of errors: plain English, at most 160 characters, "PLACE: VALUE, expected RULE; REMEDY"."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from prose import ROOT, WEAK, Prose

#: Most characters of a message, with each inserted value counted as VALUE, and with the longest list of values.
LONGEST, LONGEST_WITH_LIST = 160, 220
#: Files that certificates contain: their text is part of what a checker's hash stands for.
HASHED = re.compile(r"mlsched/certificates/(checker|limits|prices/.*|\w+/prices)\.py")

#: Values of options, which are not words of a sentence: `header=no`, `'none'`, `preempt/none`.
VALUES = re.compile(r"\b\w+=\w+|'\w+'|\b\w+/\w+")


def text(node: ast.AST) -> str | None:
    """The text of a string, with VALUE for what is inserted."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "VALUE" for part in node.values)
    return None


def sources(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the expressions with texts of errors: raised exceptions, and arguments of methods `fail`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            yield node.exc
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "fail":
            yield node


def messages() -> Iterator[tuple[str, str]]:
    """Yield the texts of errors, each with its place."""
    for folder in ("mlsched", "plugins"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            place, seen = str(path.relative_to(ROOT)), set[int]()
            if HASHED.match(place):
                continue
            for source in sources(ast.parse(path.read_text(encoding="utf-8"))):
                for node in ast.walk(source):
                    found = text(node)
                    if id(node) not in seen and found is not None and " " in found:
                        seen |= {id(inner) for inner in ast.walk(node)}
                        yield f"{place}:{node.lineno}", found


ALL = list(messages())


def test_messages_are_plain_english() -> None:
    prose = Prose()
    for place, message in ALL:
        prose.read(VALUES.sub("CODE", message), place)
    assert len(ALL) > 1000
    assert not prose.errors, "\n".join(prose.errors)
    assert prose.relatives <= 0.02 * prose.sentences
    over = [f"{rule}: {prose.rate(rule):.0f}" for rule, (_, most) in WEAK.items() if prose.rate(rule) > most]
    assert not over, f"hits per 10,000 words: {over}"


def test_messages_are_short() -> None:
    long = [f"{place}: {len(message)}: {message}" for place, message in ALL if len(message) > LONGEST]
    assert [line for line in long if "`mlsched train" not in line] == []
    assert all(len(message) <= LONGEST_WITH_LIST for _, message in ALL)


def test_a_wrong_value_is_followed_by_the_rule() -> None:
    """`seed: -1, expected at least 0`, not `seed = -1: must be at least 0`."""
    assert [f"{place}: {message}" for place, message in ALL if re.search(r": must (be|have) ", message)] == []
