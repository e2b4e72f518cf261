"""Messages of the library in the words of the command line: options instead of Python's keywords."""

from __future__ import annotations

import re
from collections.abc import Set

#: Options that take KEY=VALUE for what has no option of its own; a command has one of them at most.
OPEN = ("--set", "--size", "--read")
#: Options named like a keyword of the library that mean something else: the file that `simulate --jobs` writes.
OTHERS = frozenset({"--jobs"})
#: "trace: error = 'many'": how the library begins a message on what the command line takes with --set.
OF_SET = re.compile(r"^(?:trace|log|\w+ world): (\w+) = ('?)(.*?)\2(?=: must )")
NONE_OF_SET = re.compile(r"^(?:trace|log): has no parameter '(\w+)'; it has ")


def as_options(message: str, options: Set[str]) -> str:
    """The message as someone who typed `options` reads it.

    "time_limit = 0.0: must be above 0" becomes "--time-limit 0.0: must be above 0", where there is such an option;
    "give processors=4" becomes "give --read processors=4", where the command reads options of files so, and "trace:
    error = nan" becomes "--set error=nan".
    """
    options = options - OTHERS

    def assigned(match: re.Match[str]) -> str:
        option = _option(match[1])
        return match[0].replace(match[1], option).replace(" = ", " ") if option in options else match[0]

    def given(match: re.Match[str]) -> str:
        verb, name, value = match[1], match[2], match[3]
        if (option := _option(name)) in options:
            return f"{verb} {option}" + ("" if value == "True" else f" {value}")
        way = next((way for way in OPEN if way in options), None)
        return match[0] if way is None else f"{verb} {way} {name}={value}"

    if "--set" in options:
        message = OF_SET.sub(r"--set \1=\3", message)
        message = NONE_OF_SET.sub(r"--set \1: there are ", message)
    message = re.sub(r"^([a-z_]+)(?: = |(?=: ))", assigned, message)
    return re.sub(r"(?<!-)\b(give|set|with|needs) ([a-z_]+)=([\w.]+)", given, message)


def of_usage(message: str) -> str:
    """A message on an option's value, which Pydantic begins with "Value error," or "Input should be", in our words."""
    message = message.replace(": Value error, ", ": ", 1).replace(": Input should be ", ": must be ", 1)
    return re.sub(r"must be (an?) valid (\w+), unable to parse .*", r"must be \1 \2", message).replace(
        "must be a integer", "must be an integer"
    )


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
