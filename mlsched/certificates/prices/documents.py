"""The files of a certificate, as `checker.py` reads them: it refuses what mlsched would not read."""

import json
from pathlib import Path
from typing import Any

from mlsched.certificates.prices.core import Wrong

MOST = 2**53  # of an instance's numbers, which are integers from 0 on


def documents(folder: str, kind: str, known: set[str]) -> list[Any]:
    """Instance, manifest and trees; Wrong where the instance is of another kind, or a number or a field is wrong.

    known: the fields that an instance may have.
    """

    def whole(text: str) -> int:
        if not 0 <= (number := int(text)) <= MOST:
            raise Wrong(f"instance.json has a number below 0 or above 2^53: {text[:40]}")
        return number

    def refused(text: str) -> None:
        raise Wrong(f"a number is no integer: {text[:40]}")

    def once(fields: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(found := dict(fields)) < len(fields):
            raise Wrong("an object has a field twice")
        return found

    found = [
        json.loads(
            (Path(folder) / f"{name}.json").read_text(encoding="utf-8"),
            parse_int=reads,
            parse_float=refused,
            parse_constant=refused,
            object_pairs_hook=once,
        )
        for name, reads in (("instance", whole), ("manifest", int), ("tree", int))
    ]
    if found[0]["kind"] != kind:
        raise Wrong(f"instance.json is no {kind}")
    if odd := sorted(set(found[0]) - known):
        raise Wrong(f"instance.json has a field that no {kind} has: {odd[0][:40]}")
    return found
