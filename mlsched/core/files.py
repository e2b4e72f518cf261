"""Files: JSON documents with a kind and a version, read strictly and written atomically.

A file is data: nothing in it is ever executed. What is wrong with one is said in a line that names path, field, value
and rule (InvalidFile). A write either leaves the complete new file or the old one.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from mlsched.core.errors import InvalidFile, shortened
from mlsched.core.opening import cannot_be_written, read_bytes, shown_path, target_of

#: Largest document that is read, in bytes: a workload of a million jobs.
MOST_DOCUMENT = 2**26
#: How often a document may have each of these characters: what it would fill in memory, known before it is read.
MOST_SIGNS = {"[": 2_000_000, "{": 100_000, ":": 1_000_000, ",": 8_000_000}


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "w", *, folders: bool = False) -> Iterator[IO[Any]]:
    """Write to a temporary file and rename it over the target when the block ends without an error.

    The target is a regular file, new or old; where `path` is a link, what it leads to. folders: make its folder.
    """
    target = target_of(path, folders=folders)
    temporary: Path | None = None
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
        temporary = Path(name)
        with os.fdopen(descriptor, mode, encoding=None if "b" in mode else "utf-8") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        temporary.replace(target)
    except OSError as error:
        raise cannot_be_written(path, error) from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_json(path: str | os.PathLike[str], data: dict[str, Any], *, folders: bool = False) -> None:
    """Write one JSON document atomically, one field per line so that files can be read and compared.

    folders: make the file's folder.
    """
    fields = (f"{json.dumps(k)}: {json.dumps(v, allow_nan=False)}" for k, v in data.items())
    with atomic_write(path, folders=folders) as stream:
        stream.write("{\n" + ",\n".join(fields) + "\n}\n")


def read_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The JSON object in a file; anything else is InvalidFile."""
    name = shown_path(path)
    data = parse_json(path, read_bytes(path, most=MOST_DOCUMENT))
    if not isinstance(data, dict):
        raise InvalidFile(f"{name}: holds a JSON {type(data).__name__}; must be an object with a kind and a version")
    return data


def parse_json(
    path: str | os.PathLike[str],
    content: bytes,
    *,
    most_signs: Mapping[str, int] = MOST_SIGNS,
    constant: Callable[[str], Any] | None = None,
    pairs: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """What the JSON text read from `path` says; refused where it repeats a field or would fill the memory.

    For documents of others: how often one may have each sign; what NaN and Infinity stand for (default: refused); what
    an object is made of its fields (default: a dictionary, no field given twice).
    """
    name = shown_path(path)
    for sign, most in most_signs.items():
        if content.count(sign.encode()) > most:
            raise InvalidFile(f"{name}: has more than {most} of {sign!r}: too many for a document that is read whole")
    try:
        return json.loads(
            content.decode("utf-8"),
            parse_constant=constant or _refuse_constant,
            object_pairs_hook=pairs or refuse_duplicates,
        )
    except UnicodeDecodeError as error:
        raise InvalidFile(f"{name}: is not text (byte {error.start} is not UTF-8); expected a JSON file") from None
    except json.JSONDecodeError as error:
        raise InvalidFile(f"{name}, line {error.lineno}: is not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidFile(f"{name}: is not JSON: {error}") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of a JSON text as a dictionary; ValueError where it gives a field twice."""
    seen: dict[str, Any] = {}
    for name, value in pairs:
        if name in seen:
            raise ValueError(f"field {shortened(name)!r} is given twice")
        seen[name] = value
    return seen


def check_header(path: str | os.PathLike[str], data: dict[str, Any], versions: dict[str, int]) -> str:
    """The document's kind, if it is one of `versions` and of that version."""
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in versions:
        raise InvalidFile(f"{path}: kind = {shortened(repr(kind))}: must be one of {', '.join(versions)}")
    version = data.get("version")
    given = shortened(repr(version))
    if type(version) is not int or version != versions[kind]:
        hint = "upgrade mlsched" if type(version) is int and version > versions[kind] else "write the file anew"
        raise InvalidFile(f"{path}: version = {given}: this mlsched reads version {versions[kind]} of {kind}; {hint}")
    return str(kind)
