"""Weights files: what is written is read, and what is damaged, cut short or foreign is refused in one line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save

from mlsched.core.errors import InvalidFile
from mlsched.learned import weights as w

CARD = {
    "kind": w.KIND,
    "version": w.VERSION,
    "policy": "chic",
    "problem": "workers",
    "recipe": {"window": 3},
    "seed": 0,
    "iterations": 1,
    "data": {},
    "versions": {},
    "scores": {"validation": 1.5},
}
TENSORS = {"0.weight": np.arange(6, dtype=np.float32).reshape(2, 3), "0.bias": np.ones(2, dtype=np.float32)}


def bytes_of(tmp_path, tensors=TENSORS, card=CARD, name="a.safetensors"):
    w.write(tmp_path / name, w.Weights(tensors, card))
    return (tmp_path / name).read_bytes()


def one_line(error):
    assert "\n" not in str(error.value)
    return str(error.value)


def test_round_trip(tmp_path):
    bytes_of(tmp_path)
    found = w.read(tmp_path / "a.safetensors", "chic")
    assert found.card == CARD
    assert {k: v.tolist() for k, v in found.tensors.items()} == {k: v.tolist() for k, v in TENSORS.items()}
    assert not found.tensors["0.bias"].flags.writeable


def test_equal_weights_are_equal_bytes(tmp_path):
    turned = dict(reversed(list(TENSORS.items())))
    assert bytes_of(tmp_path) == bytes_of(tmp_path, turned, dict(reversed(list(CARD.items()))), "b.safetensors")


@given(st.data())
def test_damage_is_refused_or_harmless(tmp_path_factory, data):
    content = bytearray(bytes_of(tmp_path_factory.mktemp("w")))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = w.parse(bytes(content), "x")
    except InvalidFile:
        return
    assert found.card == CARD
    assert all(found.tensors[k].tobytes() == v.tobytes() for k, v in TENSORS.items())
    assert found.tensors.keys() == TENSORS.keys()


def test_every_single_byte_of_the_tensors_is_sealed(tmp_path):
    content = bytes_of(tmp_path)
    for at in range(len(content) - sum(v.nbytes for v in TENSORS.values()), len(content)):
        broken = bytearray(content)
        broken[at] ^= 1
        with pytest.raises(InvalidFile, match=r"damaged|no weights"):
            w.parse(bytes(broken), "x")


def test_truncated_files_are_refused(tmp_path):
    content = bytes_of(tmp_path)
    for end in range(len(content)):
        with pytest.raises(InvalidFile):
            w.parse(content[:end], "x")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "damaged"),
        (b"\x80\x04not a pickle either", "damaged"),
        (b"{}", "damaged"),
        (save(TENSORS), "the model card of mlsched is missing"),
        (save(TENSORS, metadata={"mlsched": "[]"}), "damaged"),
        (save(TENSORS, metadata={"mlsched": json.dumps({"card": 1, "sha256": ""})}), "damaged"),
        (save(TENSORS, metadata={"mlsched": json.dumps({"card": "{}", "sha256": "0"})}), "checksum"),
    ],
)
def test_foreign_files_are_refused(content, says):
    with pytest.raises(InvalidFile, match=says) as error:
        w.parse(content, "some.file")
    assert one_line(error).startswith("some.file: ")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "other"}, "not a mlsched.weights"),
        ({"version": 99}, "version: 99"),
        ({"seed": "0"}, "seed"),
        ({"recipe": None}, "recipe"),
    ],
)
def test_cards_of_other_kinds_are_refused(tmp_path, change, says):
    bytes_of(tmp_path, card={**CARD, **change})
    with pytest.raises(InvalidFile, match=says) as error:
        w.read(tmp_path / "a.safetensors")
    one_line(error)


def test_numbers_that_are_none_are_refused(tmp_path):
    bytes_of(tmp_path, {"0.weight": np.array([np.nan], dtype=np.float32)})
    with pytest.raises(InvalidFile, match=r"0\.weight"):
        w.read(tmp_path / "a.safetensors")


def test_other_policies_missing_files_and_folders_are_refused(tmp_path):
    bytes_of(tmp_path)
    with pytest.raises(InvalidFile, match="weights of chic, expected of chic-pair"):
        w.read(tmp_path / "a.safetensors", "chic-pair")
    with pytest.raises(InvalidFile, match="file not found"):
        w.of("chic", "workers", str(tmp_path / "b.safetensors"))
    with pytest.raises(InvalidFile, match="is a directory"):
        w.read(tmp_path)


def test_a_changed_file_is_read_anew(tmp_path):
    path = tmp_path / "a.safetensors"
    w.write(path, w.Weights(TENSORS, CARD))
    first = w.of("chic", "workers", str(path))
    assert w.of("chic", "workers", str(path)) is first
    w.write(path, w.Weights(TENSORS, {**CARD, "seed": 12345}))
    assert w.of("chic", "workers", str(path)).card["seed"] == 12345
