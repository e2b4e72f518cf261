"""Messages of the library in the words of the command line: options instead of Python's keywords."""

from __future__ import annotations

import re
from collections.abc import Set

#: Options that take KEY=VALUE for what has no option of its own; a command has one of them at most.
OPEN = ("--set", "--size", "--read")
#: Options named like a keyword of the library that mean something else: the file that `simulate --jobs` writes.
OTHERS = frozenset({"--jobs"})


def as_options(message: str, options: Set[str]) -> str:
    """The message as someone who typed `options` reads it.

    "time_limit = 0.0: must be above 0" becomes "--time-limit 0.0: must be above 0", where there is such an option;
    "give processors=4" becomes "give --read processors=4", where the command reads options of files so.
    """
    options = options - OTHERS

    def assigned(found: re.Match[str]) -> str:
        option = _option(found[1])
        return found[0].replace(found[1], option).replace(" = ", " ") if option in options else found[0]

    def given(found: re.Match[str]) -> str:
        verb, name, value = found[1], found[2], found[3]
        if (option := _option(name)) in options:
            return f"{verb} {option}" + ("" if value == "True" else f" {value}")
        way = next((way for way in OPEN if way in options), None)
        return found[0] if way is None else f"{verb} {way} {name}={value}"

    message = re.sub(r"^([a-z_]+)(?: = |(?=: needs ))", assigned, message)
    return re.sub(r"\b(give|set|with|needs) ([a-z_]+)=([\w.]+)", given, message)


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
