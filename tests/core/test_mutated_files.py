"""Every reader, given what once was a file of its format: it reads it, or refuses it in one line.

A small file of each format is changed by cutting, doubling, and replacing bytes, numbers and words. `FOUND` keeps what
once broke a reader. `pytest --hypothesis-profile=thorough` makes many.
"""

from __future__ import annotations

import random
import re
import time

import pytest
from draws import draws
from reader_examples import PARSERS, READERS, seeds

from mlsched.core.errors import InvalidInput
from mlsched.simulation.nodes import parse_cluster

#: What numbers and words are replaced by.
WORDS = (
    b"-1", b"0", b"1e999", b"NaN", b"null", b"true", b"[]", b"{}", b'""', b"9" * 25, b"9" * 5000, b"2.5", b"(((((((",
    b"\x00", b"\xff", b"a" * 400, b"\n\n", b"inf", b"0x10", b",", b'"\\ud800"', b"1e-320", b"[1, 2, 3]",
)  # fmt: skip

#: (reader, content) that ended in something else than a refusal.
FOUND = [
    ("gavel", b'{"v100": {"a": 3}}'),
    ("gavel", b'{"v100": {"a": {"null": 1, "a": [1, 2, 3]}}}'),
    ("gavel", b'{"v100": {"a": {"null": 1e-320, "a": 5}}}'),
    ("gavel", b'{"v100": {"a": {"null": 1e12, "a": [1e-320, 1]}}}'),
    ("gavel", b'{"v100": {"a": {"null": 1' + b"0" * 400 + b"}}}"),
    ("gavel", b'{"v100": {"(' + b"(" * 10**5 + b'": {}}}'),
    ("gavel", b"[" * 10**5),
    ("profiles", b'{"nodes": [{"id": null, "fpgaLatency": 1, "size": 1}], "edges": []}'),
    ("profiles", b'{"nodes": [{"id": 1, "fpgaLatency": 1' + b"0" * 400 + b', "size": 1}], "edges": []}'),
    ("profiles", b'{"nodes": ' + b"[" * 10**5),
    ("psplib", b"jobs (incl. supersource/sink ): " + b"9" * 5000),
    ("journal", b'{"kind": "mlsched.front", "check": ' + b"9" * 5000 + b"}\n"),
    ("pollux", b"progress,iteration,metric\n10,1,.5\n20,2," + b"9" * 30_000 + b"x\n"),  # quadratic
    ("jobshop", b"1 1000000\n" + b"0 1 " * 2000),
    ("jobshop", b"2000 1000000\n" + b"0 1\n" * 2000),
]


def mutated(content: bytes, rng: random.Random) -> bytes:
    """The content with up to four changes."""
    for _ in range(rng.randint(1, 4)):
        a, b = sorted((rng.randint(0, len(content)), rng.randint(0, len(content))))
        kind = rng.randrange(5)
        if kind == 0:
            content = content[:a]
        elif kind == 1:
            content = content[:b] + content[a:b] + content[b:]
        elif kind == 2:
            content = content[:a] + bytes([rng.randrange(256)]) + content[a + 1 :]
        else:
            places = list(re.finditer(rb"[0-9.]+" if kind == 3 else rb'"[^"]*"|\w+', content))
            if places:
                place = rng.choice(places)
                content = content[: place.start()] + rng.choice(WORDS) + content[place.end() :]
    return content


def read(name: str, path, content: bytes) -> bool:
    """Whether the reader takes the content; if not, it says so in one line."""
    path.write_bytes(content)
    try:
        (READERS | PARSERS)[name](path)
    except InvalidInput as refused:
        message = str(refused)
        assert message.isprintable()
        assert len(message) <= 300
        return False
    return True


@pytest.mark.parametrize(("name", "content"), FOUND, ids=range(len(FOUND)))
def test_what_once_broke_a_reader(name, content, tmp_path):
    started = time.process_time()
    assert not read(name, tmp_path / "file", content)
    assert time.process_time() - started < 5, "CPU seconds; those found took far less or far more"


def test_readers_take_their_files_and_refuse_changed_ones_in_one_line(tmp_path, report):
    rng, count, taken = random.Random(11), draws(40, 4000), 0
    files = seeds(tmp_path)
    for name, content in files:
        assert read(name, tmp_path / "file", content), name
        taken += sum(read(name, tmp_path / "file", mutated(content, rng)) for _ in range(count))
    report("mutated files", [f"{len(files)} formats x {count}: {taken} still valid, the others refused in one line"])


@pytest.mark.parametrize(
    "text",
    [
        "+".join(["99999x(8gpu)"] * 60), "9" * 5000 + "x(8gpu)", "2x(" + "9" * 5000 + "gpu)", "2x(" * 10**5,
        "a" * 10**6, "2x(8gpu)\0",
    ],
    ids=range(6),
)  # fmt: skip
def test_a_cluster_in_text(text):
    with pytest.raises(InvalidInput) as caught:
        parse_cluster(text)
    assert len(str(caught.value)) <= 300
