"""Messages of the library in the terms of the command line: options instead of Python's keywords."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from mlsched.core.errors import shorten

#: Options that take KEY=VALUE for settings without their own option; a command has at most one.
OPEN = ("--set", "--size", "--read")
#: Options named like a keyword of the library with another meaning: the file that `simulate --jobs` writes.
OTHER_MEANING = frozenset({"--jobs"})
#: "trace: error: 'many', expected ...": beginning of a library message about a setting of --set.
OF_SET = re.compile(r"^(?:trace|log|\w+ world): (\w+): ('?)(.*?)\2(?=, expected )")
NONE_OF_SET = re.compile(r"^(?:trace|log): unknown parameter '(\w+)'; it has ")


def as_options(message: str, options: Set[str]) -> str:
    """Return a message with options in place of keywords, for a command with the given `options`.

    "time_limit: 0.0, expected above 0" becomes "--time-limit: 0.0, expected above 0" if there is such an option. "give
    processors=4" becomes "give --read processors=4" if the command reads options of files with --read. "read
    start=BEGIN" becomes "give --read start=BEGIN", and "trace: error: nan, expected ..." becomes "--set: error=nan,
    expected ...".
    """
    options = options - OTHER_MEANING

    def rewrite_beginning(match: re.Match[str]) -> str:
        option = _option(match[1])
        return option if option in options else match[0]

    def rewrite_remedy(match: re.Match[str]) -> str:
        verb, name, value = match[1], match[2], match[3]
        if (option := _option(name)) in options:
            return f"{verb} {option}" + ("" if value == "True" else f" {value}")
        open_option = next((open_option for open_option in OPEN if open_option in options), None)
        return match[0] if open_option is None else f"{verb} {open_option} {name}={value}"

    if "--set" in options:
        message = OF_SET.sub(r"--set: \1=\3", message)
        message = NONE_OF_SET.sub(r"--set \1: there are ", message)
    if "--read" in options:
        message = re.sub(r"(?<!-)\bread (?=[a-z_]+=)", "give --read ", message)
    message = re.sub(r"^([a-z_]+) = (.*?): ", r"\1: \2, ", message)
    message = re.sub(r"^([a-z_]+)(?=: )", rewrite_beginning, message)
    return re.sub(r"(?<!-)\b(give|set|with|needs) ([a-z_]+)=([\w.]+)", rewrite_remedy, message)


def of_usage(message: str, arguments: Sequence[str]) -> str:
    """Return a message of typer or Pydantic on an option's value as "--seed: 'x', expected an integer"."""
    message = message.replace(": Value error, ", ": ", 1).replace(": Input should be ", ": expected ", 1)
    message = re.sub(r"expected (an?) valid (\w+), unable to parse .*", r"expected \1 \2", message)
    message = message.replace("expected a integer", "expected an integer")
    for symbol, words in (("greater than or equal to", "at least"), ("less than or equal to", "at most")):
        message = message.replace(f"expected {symbol}", f"expected {words}")
    invalid = re.match(r"Invalid value for '?(?P<place>[^':]+)'?: (?P<rule>expected .*)", message)
    if invalid is None:
        return message
    place, rule = invalid["place"], invalid["rule"]
    value = _value(place, arguments)
    return f"{place}: {rule}" if value is None else f"{place}: '{shorten(value)}', {rule}"


def _value(option: str, arguments: Sequence[str]) -> str | None:
    """Return the value that follows an option on the command line."""
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        if word == option:
            return following
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
    return None


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
