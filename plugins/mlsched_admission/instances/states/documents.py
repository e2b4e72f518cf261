"""Files of a cluster's state, as documents: opened within bounds, recognised by their content, never executed.

`kubectl get -o json` (one object, or a list of them), a snapshot of KAI (zip, or the JSON in it), `--json` of Slurm's
commands, and the text of `scontrol show config`. All may be gzip. YAML is not read: its references can expand without a
bound known in advance, and every command that writes it writes JSON, too.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from mlsched.core.aliases import Data
from mlsched.core.collector import collector_paused
from mlsched.core.errors import InvalidFile, shorten
from mlsched.core.files import parse_json, refuse_duplicates
from mlsched.core.safe_open import gunzipped, read_bytes, shown_path
from mlsched_admission.instances.states.entries import Entry
from mlsched_admission.instances.states.incident import is_incident

#: Largest state, in bytes, uncompressed: the pods of 4,000 nodes take about 200 MB.
MOST_STATE = 2**28
#: Largest compressed file.
MOST_COMPRESSED = 2**26
#: Most occurrences of each of these characters: they limit the memory of a state before it is parsed.
MOST_SIGNS = {"[": 4_000_000, "{": 8_000_000, ":": 40_000_000, ",": 40_000_000}
#: Entries of an archive; KAI's has one.
MOST_MEMBERS = 64
#: Unused fields, which make most of an object: dropped while it is read.
IGNORED = frozenset({"managedFields", "images", "env", "envFrom", "volumeMounts"})
_MEMBER = "snapshot.json"
_CONFIG = re.compile(r"^\s*(Configuration data as of|ClusterName\s*=|SlurmctldHost\s*=|Preempt\w+\s*=)", re.M | re.I)
#: Kinds of mlsched's own files; kinds of Kubernetes lack a dot.
_RECORD = re.compile(r"[a-z]+\.[a-z]+")
_YAML = re.compile(r"\s*(---|apiVersion:|kind:|items:|metadata:|%YAML)")

What = Literal["kubernetes", "kai", "slurm", "config", "own", "incident"]


@dataclass(frozen=True)
class Document:
    """One file: `entry` is its JSON (`config`: {"text": the complete text})."""

    what: What
    path: str
    entry: Entry


def read_documents(paths: Iterable[str | os.PathLike[str]]) -> list[Document]:
    """Return the documents in these files, in their order; raise InvalidFile for any other file."""
    with collector_paused():
        return [_read_document(path) for path in paths]


def _read_document(path: str | os.PathLike[str]) -> Document:
    name = shown_path(path)
    content = read_bytes(path, most=MOST_STATE)
    if content[:2] == b"\x1f\x8b":
        if len(content) > MOST_COMPRESSED:
            raise InvalidFile(f"{name}: has {len(content)} bytes of gzip, expected at most {MOST_COMPRESSED}")
        content = gunzipped(path, content, most=MOST_STATE)
    if content[:2] == b"PK":
        content = _unzip_snapshot(path, content)
    content = _decode_content(name, content)
    if not content.strip():
        raise InvalidFile(f"{name}: is empty; write it again, e.g. kubectl get workloads -A -o json > {name}")
    if content.lstrip()[:1] not in (b"{", b"["):
        return _text_documents(name, content)
    data = parse_json(path, content, max_characters=MOST_SIGNS, constant=_finite_constant, pairs=_without_ignored)
    if not isinstance(data, dict):
        raise InvalidFile(f"{name}: is a JSON list, expected the complete document that the command printed")
    return _recognised(name, Entry(data, name))


def _decode_content(name: str, content: bytes) -> bytes:
    """Return the content without a byte-order mark; UTF-16 is refused, with the remedy."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff") and len(content) > 3:
        raise InvalidFile(f"{name}: is UTF-16, expected UTF-8; write it again, e.g. with iconv -f UTF-16 -t UTF-8")
    return content.removeprefix(b"\xef\xbb\xbf")


def _finite_constant(name: str) -> str:
    """Convert Slurm's "infinite" numbers, which it prints as constants outside JSON."""
    return name


def _without_ignored(pairs: list[tuple[str, Any]]) -> Data:
    return refuse_duplicates([pair for pair in pairs if pair[0] not in IGNORED])


def _text_documents(name: str, content: bytes) -> Document:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidFile(f"{name}: is neither JSON nor text (byte {error.start} is not UTF-8)") from None
    if _YAML.match(text):
        raise InvalidFile(f"{name}: is YAML, which is not read; write JSON: kubectl get ... -o json")
    if not _CONFIG.search(text[:100_000]):
        raise InvalidFile(
            f"{name}: is neither JSON nor output of `scontrol show config` (it begins "
            f"{shorten(text.split(chr(10))[0], 40)!r}); write JSON: kubectl get -o json, squeue --json"
        )
    return Document("config", name, Entry({"text": text}, name))


def _unzip_snapshot(path: str | os.PathLike[str], content: bytes) -> bytes:
    """Return `snapshot.json` of a snapshot's archive, within the bound; other entries are not opened."""
    import io

    name = shown_path(path)
    if len(content) > MOST_COMPRESSED:
        raise InvalidFile(f"{name}: has {len(content)} bytes of zip, expected at most {MOST_COMPRESSED}")
    if content.count(b"PK\x01\x02") > MOST_MEMBERS:  # counted before the directory is read into memory
        raise InvalidFile(f"{name}: has more than {MOST_MEMBERS} members: KAI's snapshot has one, {_MEMBER}")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if _MEMBER not in archive.namelist():
                raise InvalidFile(
                    f"{name}: member {_MEMBER} is missing: only snapshots of KAI are read from zip archives"
                )
            member = archive.getinfo(_MEMBER)
            # Only these two are decompressed piece by piece: of the others, the first piece may be of any size.
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 1:
                raise InvalidFile(f"{name}: {_MEMBER} is encrypted or compressed in an unusual way; zip it again")
            with archive.open(member) as stream:
                plain = stream.read(MOST_STATE + 1)
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError, ValueError) as error:
        if isinstance(error, InvalidFile):
            raise
        raise InvalidFile(f"{name}: is a damaged zip archive ({error}); fetch the snapshot again") from None
    if len(plain) > MOST_STATE:
        raise InvalidFile(f"{name}: {_MEMBER} has more than {MOST_STATE} bytes, uncompressed")
    return plain


def _recognised(name: str, entry: Entry) -> Document:
    """Recognise the system of a document by its fields."""
    value = entry.value
    kind = value.get("kind")
    if "rawObjects" in value:
        return Document("kai", name, entry)
    if isinstance(kind, str) and kind.startswith("admission."):
        return Document("own", name, entry)
    if is_incident(value):
        return Document("incident", name, entry)
    if isinstance(kind, str) and _RECORD.fullmatch(kind):
        raise InvalidFile(
            f"{name}: is a {kind}, expected the state of a cluster; `mlsched check` judges plans of instances"
        )
    if isinstance(kind, str):
        return Document("kubernetes", name, entry)
    if isinstance(value.get("sinfo"), list):
        raise InvalidFile(
            f"{name}: is output of `sinfo --json`, which groups nodes by partition and state; "
            f"give nodes one by one: scontrol show nodes --json"
        )
    if any(key in value for key in ("jobs", "nodes", "partitions", "qos", "associations")):
        return Document("slurm", name, entry)
    if any("preempttype" in _plain_name(key) for key in _field_names(value)):
        return Document("config", name, entry)
    field_names = ", ".join(list(value)[:4])
    raise InvalidFile(
        f"{name}: is not a known state (its fields: {shorten(field_names, 60)}); give kubectl get -o json, "
        f"squeue --json, scontrol show nodes --json, or a KAI snapshot"
    )


def _field_names(value: Data) -> Iterator[str]:
    """Yield the names of fields, of the object and of the objects in it."""
    for key, inner in value.items():
        yield key
        if isinstance(inner, dict):
            yield from inner


def _plain_name(key: str) -> str:
    return key.replace("_", "").lower()
