"""JSON documents with a kind and a version, read strictly and written atomically.

Files are data; their content is never executed. Errors name path, field, value and rule (InvalidFile). A write leaves
either the complete new file or the old file.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, TypeVar

from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidFile, shorten
from mlsched.core.safe_open import cannot_be_written, read_bytes, shown_path, target_of

T = TypeVar("T")
#: Largest document that is read, in bytes: a workload of a million jobs.
MAX_DOCUMENT_BYTES = 2**26
#: Most occurrences of a character in a document; they bound its memory before it is parsed.
MAX_CHARACTERS = {"[": 2_000_000, "{": 100_000, ":": 1_000_000, ",": 8_000_000}


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "w", *, folders: bool = False) -> Iterator[IO[Any]]:
    """Write to a temporary file and rename it over the target when the block ends without an error.

    Args:
        path: The target, a regular file, new or old; links are followed.
        mode: Mode in which the file is opened.
        folders: Create the parent folder.
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
    """Write one JSON document atomically, one field per line so that people can read and compare files.

    Args:
        path: The target.
        data: The document.
        folders: Create the parent folder.
    """
    fields = (f"{json.dumps(k)}: {json.dumps(v, allow_nan=False)}" for k, v in data.items())
    with atomic_write(path, folders=folders) as stream:
        stream.write("{\n" + ",\n".join(fields) + "\n}\n")


def read_json(path: str | os.PathLike[str]) -> Data:
    """Return the JSON object in a file; raise InvalidFile for anything else."""
    name = shown_path(path)
    data = parse_json(path, read_bytes(path, most=MAX_DOCUMENT_BYTES))
    if not isinstance(data, dict):
        raise InvalidFile(f"{name}: is a JSON {type(data).__name__}, expected an object with a kind and a version")
    return data


def parse_json(
    path: str | os.PathLike[str],
    content: bytes,
    *,
    max_characters: Mapping[str, int] = MAX_CHARACTERS,
    constant: Callable[[str], Any] | None = None,
    pairs: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """Parse the JSON text read from `path`; reject repeated fields and documents that would exhaust the memory.

    Args:
        path: Path for error messages.
        content: Content of the file.
        max_characters: Most occurrences per character.
        constant: Converts NaN and Infinity; by default they are rejected.
        pairs: Builds an object from its fields; by default a dictionary, rejecting repeated fields.

    Returns:
        The parsed document.

    Raises:
        InvalidFile: The content is not JSON, or exceeds a limit.
    """
    name = shown_path(path)
    for character, most in max_characters.items():
        if content.count(character.encode()) > most:
            raise InvalidFile(f"{name}: has more than {most} of {character!r}: too many for one document")
    try:
        return json.loads(
            content.decode("utf-8"),
            parse_constant=constant or _refuse_constant,
            object_pairs_hook=pairs or refuse_duplicates,
        )
    except UnicodeDecodeError as error:
        raise InvalidFile(f"{name}: is not text (byte {error.start} is not UTF-8), expected a JSON file") from None
    except json.JSONDecodeError as error:
        raise InvalidFile(f"{name}, line {error.lineno}: is not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidFile(f"{name}: is not JSON: {error}") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def refuse_duplicates(pairs: list[tuple[str, T]]) -> dict[str, T]:
    """Return the object of a JSON text as a dictionary; raise ValueError for a repeated field."""
    fields: dict[str, T] = {}
    for name, value in pairs:
        if name in fields:
            raise ValueError(f"field {shorten(name)!r} is given twice")
        fields[name] = value
    return fields


def check_header(path: str | os.PathLike[str], data: dict[str, Any], versions: dict[str, int]) -> str:
    """Return the document's kind after checking that kind and version are among `versions`."""
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in versions:
        raise InvalidFile(f"{path}: kind: {shorten(repr(kind))}, expected one of {', '.join(versions)}")
    version = data.get("version")
    version_text = shorten(repr(version))
    if type(version) is not int or version != versions[kind]:
        hint = "upgrade mlsched" if type(version) is int and version > versions[kind] else "write the file again"
        raise InvalidFile(f"{path}: version: {version_text}, expected {versions[kind]} for {kind}; {hint}")
    return str(kind)
