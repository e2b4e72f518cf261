"""Run-time checks of arguments by mlsched, beartype and pydantic: cost and messages for one call.

    python measurements/argument_checks.py mlsched|beartype|pydantic

Prints the CPU time of the import, of a decoration and of a call, then each value: taken, or the lines of the message.
Run each in an environment that has the package (`pip install beartype pydantic`).
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

CALLS = 20_000
VALUES = {
    "seconds": [3, np.int64(3), np.float32(0.5), Fraction(1, 3), "5", 0, True],
    "threads": [3, np.int64(3), "5", 2.0, True, None],
    "confirm": [True, np.True_, 1, "yes"],
}


def library(name: str) -> tuple[Any, Any]:
    """Return the decorator of a library, and its type of a number above 0."""
    if name == "beartype":
        from beartype import BeartypeConf, beartype
        from beartype.vale import Is

        return beartype(conf=BeartypeConf(is_pep484_tower=True, is_color=False)), Annotated[float, Is[lambda x: x > 0]]
    if name == "pydantic":
        from pydantic import ConfigDict, Field, validate_call

        strict = ConfigDict(arbitrary_types_allowed=True, strict=True)
        return validate_call(config=strict), Annotated[float, Field(gt=0)]
    from mlsched.core.arguments import validate_arguments
    from mlsched.core.params import Positive

    return validate_arguments, Positive


def main(name: str) -> None:
    begin = time.process_time()
    decorate, positive = library(name)
    imported = time.process_time()

    def call(*, seconds=None, threads=1, confirm=False):
        return seconds if seconds is not None else threads if threads != 1 else confirm

    call.__annotations__ = {"seconds": positive | None, "threads": int, "confirm": bool}
    decorate(call)
    first = time.process_time()
    function = decorate(call)
    decorated = time.process_time()
    for _ in range(CALLS):
        function(seconds=1.0, threads=2)
    called = (time.process_time() - decorated) / CALLS
    print(f"{name}: import {1e3 * (imported - begin):.0f} ms, decorate {1e3 * (decorated - first):.2f} ms, ", end="")
    print(f"call {1e6 * called:.1f} µs")
    for argument, values in VALUES.items():
        for value in values:
            try:
                found = f"taken as {type(function(**{argument: value})).__name__}"
            except Exception as error:
                found = f"{len(str(error).splitlines())} lines: {str(error).splitlines()[0]}"
            print(f"  {argument} = {value!r}: {found}")


if __name__ == "__main__":
    main(sys.argv[1])
