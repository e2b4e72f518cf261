"""An untrusted folder: its allowed files, their sizes, and the released checkers.

Its contents are not trusted and never run. Oversized files are rejected before they are read. Files outside the
manifest are rejected because Python could run them: a file `re.py` next to `checker.py` would satisfy `import re`.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from mlsched.core.contract import Plan
from mlsched.core.errors import InvalidFile, shorten
from mlsched.core.files import check_header, parse_json
from mlsched.core.record import Record, specs
from mlsched.core.safe_open import open_file, read_bytes, shown_path

KIND, VERSION = "certificate", 1
#: Fields of a manifest -> their types.
TYPES = {"kind": str, "version": int, "problem": str, "instance_hash": str, "made_by": dict, "sha256": dict}
TYPES |= {"objectives": list, "first": list, "values": list, "proof": str, "lemma": str, "proofs": list}
#: SHA-256 of every `checker.py` that a release of mlsched wrote into a folder. From 1.0.0 on, entries are never
#: removed: old certificates stay readable. A change of a checker adds a line; a test names the checker.
RELEASED = {
    "4d339429d0b4bad85a5ce28a056784313b40b14c45bf385af57431aeb0282a50",  # formulas
    "15328218db29dd18cefdc3df7d16b979c65822425e122ac0ad7d9d9246bac8bf",  # prices: placement.instance
    "9d05b735e59d08eb50bfbafb0d2c2293291ec6f13b74c1305c576b9ae2606026",  # prices: preemption.instance
    "bf4243eee1ff69e5140338c98fff3620d7c22ebe3a59bad5e9a337ff66ca5a7c",  # prices: quality.instance
    "294d7d035c5bd10b82eab91a55ae1025f22b06b0d5b7c7fb59470a1f8368bb9b",  # prices: taskgraph.instance
    "3f21a54db1a291ad91d93cba373c3463afc376238f8bfc4e9e734a8e0649fe0e",  # prices: workers.instance
}
#: How to check a formula and its proof without a word from the folder; -I: nor a module from the current one.
OWN_CHECKER = "python -I -m mlsched.certificates.checker"
#: Bytes: of manifest and checker, of instance and plan, of the trees of prices, of a formula or a log.
MOST_SMALL, MOST_RECORD, MOST_TREE, MOST_LOG = 2**20, 2**23, 2**23, 2**28
#: Limits: characters of a name in a manifest, entries of a folder, and files named in a message.
MOST_NAME, MOST_ENTRIES, MOST_SHOWN = 100, 1000, 3
#: Bits of a bound.
MOST_BITS = 256
#: Limits: points of a front, and its objectives or those compared before.
MOST_POINTS, MOST_OBJECTIVES = 1000, 20
#: Kind of proof -> how many proofs a manifest may have.
MOST_PROOFS = {"dual": MOST_POINTS + 1, "logic": 100}
#: Fields of a manifest -> how long they may be: characters or entries.
MOST_OF = {"problem": MOST_NAME, "values": MOST_POINTS, "objectives": MOST_OBJECTIVES, "first": MOST_OBJECTIVES}


def manifest_of(folder: Path) -> dict[str, Any]:
    """Read the manifest and check the types and sizes of its fields."""
    path = folder / "manifest.json"
    if folder.is_dir() and not path.exists():
        raise InvalidFile(
            f"{shown_path(folder)}: manifest.json is missing, so it is not a certificate; "
            "give a folder that `mlsched certify` made"
        )
    name = shown_path(path)
    manifest = parse_json(path, read_bytes(path, most=MOST_SMALL))
    if not isinstance(manifest, dict):
        raise InvalidFile(f"{name}: is a JSON {type(manifest).__name__}, expected an object with a kind and a version")
    check_header(path, manifest, {KIND: VERSION})
    if set(manifest) != set(TYPES):
        odd = sorted(set(manifest) ^ set(TYPES))[0]
        raise InvalidFile(f"{name}: field {shorten(odd)!r}: is {'unknown' if odd in manifest else 'missing'}")
    for field, field_type in TYPES.items():
        if type(manifest[field]) is not field_type:
            raise InvalidFile(f"{name}: field {field!r}: expected type {field_type.__name__}")
    if manifest["proof"] not in MOST_PROOFS:
        raise InvalidFile(f"{name}: field 'proof': expected one of {', '.join(MOST_PROOFS)}")
    for field, most in {**MOST_OF, "proofs": MOST_PROOFS[manifest["proof"]]}.items():
        if (size := len(manifest[field])) > most:
            much = f"{most} characters" if field == "problem" else f"{most}"
            raise InvalidFile(f"{name}: field {field!r}: has {size}, expected at most {much}")
    for field in ("objectives", "first"):
        if any(type(word) is not str or len(word) > MOST_NAME for word in manifest[field]):
            raise InvalidFile(f"{name}: field {field!r}: expected names of at most {MOST_NAME} characters")
    return manifest


def record_of(path: Path, types: dict[str, type[Record]]) -> tuple[Any, object]:
    """Read the record in a file, and the hash of its instance."""
    return record_in(path, parse_json(path, read_bytes(path, most=MOST_RECORD)), types)


def plans_of(path: Path, plan_type: type[Plan]) -> tuple[list[Any], object]:
    """Read a file of plans; return them and the hash of their instance."""
    data = parse_json(path, read_bytes(path, most=MOST_RECORD))
    if not isinstance(data, dict) or set(data) != {"instance_hash", "plans"} or not isinstance(data["plans"], list):
        raise InvalidFile(f"{shown_path(path)}: expected an object with an instance_hash and a list of plans")
    if not 1 <= len(data["plans"]) <= MOST_POINTS:
        raise InvalidFile(f"{shown_path(path)}: has {len(data['plans'])} plans, expected 1 to {MOST_POINTS}")
    plans = [record_in(path, entry, {plan_type.kind: plan_type})[0] for entry in data["plans"]]
    return plans, data["instance_hash"]


def record_in(path: Path, data: object, types: dict[str, type[Record]]) -> tuple[Any, object]:
    """Convert the data of a file to a record, and return it with the hash of its instance."""
    if not isinstance(data, dict):
        raise InvalidFile(f"{shown_path(path)}: is a JSON {type(data).__name__}, expected an object")
    kind = check_header(path, data, {name: t.version for name, t in types.items()})
    answers = data.pop("instance_hash", None)
    try:
        return types[kind].from_json(data), answers
    except (ValueError, TypeError) as wrong:
        raise InvalidFile(f"{shown_path(path)}: {wrong}") from None


def differing_fields(path: Path, record: Record) -> Iterator[str]:
    """Yield the fields whose values in a file differ from the record, for example an abbreviated default.

    `checker.py` does not interpret abbreviations, so a file in a certificate must be explicit.
    """
    fields = specs(type(record))
    data = parse_json(path, read_bytes(path, most=MOST_RECORD))
    for field, value in data.items():
        if field in fields and value != fields[field].to_json(getattr(record, field)):
            yield f"{path.name}: field {field!r}: is not as mlsched writes it, and checker.py reads it as it stands"
            return


def wrong_files(folder: Path, manifest: dict[str, Any]) -> Iterator[str]:
    """Yield faults of the files themselves: extra files, an unknown checker, changed contents."""
    dual, names = manifest["proof"] == "dual", ["checker.py", "instance.json", "plans.json"]
    logs = [f"{k}.{end}" for k in range(1, len(manifest["proofs"]) + 1) for end in ("opb", "log")]
    names += ["tree.json"] if dual else logs
    yield from _unexpected_files(folder, {*names, "manifest.json"})
    if set(manifest["sha256"]) != set(names):
        yield f"the manifest must have hashes of {shorten(', '.join(sorted(names)), 200)}"
        return
    for name in names:
        actual = hash_of(folder / name, _size_limit(name))
        if manifest["sha256"][name] != actual:
            yield f"{name} is not the file that the manifest was written for"
        if name == "checker.py" and actual not in RELEASED:
            own = "mlsched check alone" if dual else OWN_CHECKER
            yield f"checker.py is none that mlsched released: do not run it; instead of it, run {own}"


def _size_limit(name: str) -> int:
    return MOST_SMALL if name == "checker.py" else MOST_RECORD if name.endswith(".json") else MOST_LOG


def _unexpected_files(folder: Path, expected_names: Collection[str]) -> Iterator[str]:
    """Yield messages about files in the folder that do not belong to a certificate."""
    strangers: list[str] = []
    with os.scandir(folder) as entries:
        for entry in itertools.islice(entries, MOST_ENTRIES):
            if entry.name not in expected_names:
                strangers.append(entry.name)
            elif not entry.is_file(follow_symlinks=False):
                yield f"{entry.name} is no regular file; a certificate has no links"
    if strangers:
        first_names = ", ".join(shorten(ascii(name)[1:-1], 40) for name in sorted(strangers)[:MOST_SHOWN])
        more = f" and {len(strangers) - MOST_SHOWN} more" if len(strangers) > MOST_SHOWN else ""
        why = "beside checker.py, it could be run in place of what that imports"
        yield f"{first_names}{more}: not in the manifest; {why}"


def hash_of(path: Path, most: int) -> str:
    """Compute the SHA-256 of a regular file of at most `most` bytes."""
    digest = hashlib.sha256()
    with open_file(path, most=most) as stream:
        try:
            while chunk := stream.read(2**20):
                digest.update(chunk)
        except OSError as error:
            raise InvalidFile(f"{shown_path(path)}: cannot be read: {error.strerror}; check the disk") from None
    return digest.hexdigest()
