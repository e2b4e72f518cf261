"""Files: JSON documents with a kind and a version, read strictly and written atomically.

A file is data: nothing in it is ever executed. What is wrong with one is said in a line that names path, field, value
and rule (InvalidFile). A write either leaves the complete new file or the old one.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from mlsched.core.errors import InvalidFile


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Write to a temporary file beside `path` and rename it over `path` when the block ends without an error."""
    target = Path(path)
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise InvalidFile(f"{target}: cannot be written: {error.strerror}; choose another place") from None
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, mode, encoding=None if "b" in mode else "utf-8") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        try:
            temporary.replace(target)
        except OSError as error:
            raise InvalidFile(f"{target}: cannot be written: {error.strerror}; choose another place") from None
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_json(path: str | os.PathLike[str], data: dict[str, Any]) -> None:
    """Write one JSON document atomically, one field a line so that files can be read and compared."""
    fields = (f"{json.dumps(k)}: {json.dumps(v, allow_nan=False)}" for k, v in data.items())
    with atomic_write(path) as stream:
        stream.write("{\n" + ",\n".join(fields) + "\n}\n")


def read_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The JSON object in a file; anything else is InvalidFile."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InvalidFile(f"{path}: no such file; check the path") from None
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InvalidFile(f"{path}: is not text (byte {error.start} is not UTF-8); expected a JSON file") from None
    try:
        data = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_duplicates)
    except json.JSONDecodeError as error:
        raise InvalidFile(f"{path}, line {error.lineno}: is not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidFile(f"{path}: is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise InvalidFile(f"{path}: holds a JSON {type(data).__name__}; must be an object with a kind and a version")
    return data


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"field {next(n for n in names if names.count(n) > 1)!r} is given twice")
    return found


def check_header(path: str | os.PathLike[str], data: dict[str, Any], versions: dict[str, int]) -> str:
    """The document's kind, if it is one of `versions` and of that version."""
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in versions:
        raise InvalidFile(f"{path}: kind = {kind!r}: must be one of {', '.join(versions)}")
    version = data.get("version")
    if type(version) is not int or version != versions[kind]:
        hint = "upgrade mlsched" if type(version) is int and version > versions[kind] else "write the file anew"
        raise InvalidFile(
            f"{path}: version = {version!r}: this mlsched reads version {versions[kind]} of {kind}; {hint}"
        )
    return str(kind)
