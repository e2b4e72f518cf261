"""Weights files: a policy's tensors and its model card in one safetensors file.

The card records the origin of the weights: policy, recipe with every parameter, seed, training data, versions, scores.
One SHA-256 digest seals tensors and card, so that a corrupted file is rejected and never answers differently. A file is
data, never executed. The same weights and card always give the same bytes.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mlsched.core.errors import InvalidFile
from mlsched.core.files import atomic_write
from mlsched.core.safe_open import read_bytes, shown_path

Floats = npt.NDArray[np.float32]
KIND, VERSION = "mlsched.weights", 1
#: The only key of the file's metadata; several keys would be written in varying order.
KEY = "mlsched"
#: All our policies are far smaller; a larger file is rejected.
MOST_BYTES = 64 * 2**20
#: Keys of every card, and their types.
FIELDS: dict[str, type] = {
    "kind": str,
    "version": int,
    "policy": str,
    "problem": str,
    "recipe": dict,
    "seed": int,
    "iterations": int,
    "data": dict,
    "versions": dict,
    "scores": dict,
}


@dataclasses.dataclass(frozen=True, eq=False)
class Weights:
    """tensors: name -> float32 array. card: JSON data about them. source: the file they were read from, if any.

    Compared and hashed by identity.
    """

    tensors: Mapping[str, Floats]
    card: Mapping[str, Any]
    source: str = ""


def write(path: str | os.PathLike[str], weights: Weights) -> None:
    """Write a weights file atomically."""
    from safetensors.numpy import save

    tensors = {name: np.ascontiguousarray(value) for name, value in sorted(weights.tensors.items())}
    card = json.dumps({**weights.card, "kind": weights.card.get("kind", KIND)}, sort_keys=True, allow_nan=False)
    sealed = json.dumps({"card": card, "sha256": _digest_of(card, tensors)}, sort_keys=True)
    with atomic_write(path, "wb") as stream:
        stream.write(save(tensors, metadata={KEY: sealed}))


def read(path: str | os.PathLike[str], policy: str | None = None, *, kind: str = KIND) -> Weights:
    """Read the weights in a file; raise InvalidFile if it is damaged, of another format, or not of `policy`."""
    content = read_bytes(path, most=MOST_BYTES, remedy="`mlsched train POLICY -o FILE` writes one")
    result = parse(content, shown_path(path), kind=kind)
    if policy is not None and result.card["policy"] != policy:
        raise InvalidFile(f"{path}: weights of {result.card['policy']}, expected of {policy}; train them again")
    return result


def parse(content: bytes, name: str, *, kind: str = KIND) -> Weights:
    """Parse the bytes of a weights file; `name` is used in messages."""
    card, digest = _read_card(content, name)
    tensors = _read_tensors(content, name)
    if digest != _digest_of(card, tensors):
        raise InvalidFile(f"{name}: is damaged: its contents do not match their checksum; get or train it again")
    try:
        data = json.loads(card)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict) or data.get("kind") != kind:
        raise InvalidFile(f"{name}: its card is not a {kind}; `mlsched train` writes one")
    if data.get("version") != VERSION:
        raise InvalidFile(f"{name}: version: {data.get('version')!r}, expected {VERSION}; train it again")
    for field, type_ in FIELDS.items():
        if type(data.get(field)) is not type_:
            raise InvalidFile(f"{name}: its card's {field} is not a {type_.__name__}; train it again")
    return Weights(tensors, data, name)


def _read_card(content: bytes, name: str) -> tuple[str, str]:
    """Return the original text of the card, and the digest, from the header only."""
    length = int.from_bytes(content[:8], "little")
    try:
        if len(content) < 8 or length > len(content) - 8:
            raise ValueError("is truncated")
        header = json.loads(content[8 : 8 + length].decode("utf-8"))
        if not isinstance(header, dict) or "__metadata__" not in header or KEY not in header["__metadata__"]:
            raise InvalidFile(f"{name}: the model card of mlsched is missing; `mlsched train` writes it")
        sealed = json.loads(header["__metadata__"][KEY])
        card, digest = sealed["card"], sealed["sha256"]
    except InvalidFile:
        raise
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InvalidFile(f"{name}: is not a weights file, or is damaged; get or train it again") from None
    if not isinstance(card, str) or not isinstance(digest, str):
        raise InvalidFile(f"{name}: is not a weights file, or is damaged; get or train it again")
    return card, digest


def _read_tensors(content: bytes, name: str) -> dict[str, Any]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        tensors: dict[str, Any] = load(content)
    except (SafetensorError, ValueError, TypeError, KeyError) as error:
        raise InvalidFile(f"{name}: is not a weights file, or is damaged: {' '.join(str(error).split())}") from None
    for key, value in tensors.items():
        if value.dtype not in (np.float32, np.uint8, np.int64) or not np.isfinite(value).all():
            raise InvalidFile(f"{name}: tensor {key} has values other than weights; train it again")
        value.flags.writeable = False
    return tensors


def _digest_of(card: str, tensors: Mapping[str, Any]) -> str:
    """Compute the SHA-256 of the card and of every tensor with its name, type and shape."""
    digest = hashlib.sha256(card.encode())
    for key in sorted(tensors):
        value = tensors[key]
        digest.update(json.dumps([key, str(value.dtype), list(value.shape)]).encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    return digest.hexdigest()


@functools.lru_cache(maxsize=16)
def _shipped_weights(problem: str, policy: str, variant: str) -> Weights:
    place = resources.files("mlsched.learned").joinpath(problem, "weights", f"{policy}{variant}.safetensors")
    try:
        content = place.read_bytes()
    except OSError:
        raise InvalidFile(f"{place}: the weights that come with mlsched are missing; reinstall mlsched") from None
    return parse(content, f"the weights of {policy} that come with mlsched")


@functools.lru_cache(maxsize=64)
def _cached_weights(path: str, policy: str, stamp: tuple[int, int]) -> Weights:
    return read(path, policy)


def of(policy: str, problem: str, path: str = "", variant: str = "") -> Weights:
    """Return the cached weights of a policy.

    Args:
        policy: Name of the policy.
        problem: Name of its problem.
        path: File of the weights; "" for the weights that come with mlsched.
        variant: Suffix of the variant, if several come with mlsched.
    """
    if not path:
        return _shipped_weights(problem, policy, variant)
    try:
        stat = Path(path).stat()
    except (OSError, ValueError):
        return read(path, policy)  # raises the precise error
    return _cached_weights(path, policy, (stat.st_mtime_ns, stat.st_size))
