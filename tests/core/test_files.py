"""Files: atomic writes, strict reads, every refusal one line that names the path."""

from __future__ import annotations

import os
import stat

import pytest

from mlsched.core.errors import InvalidFile
from mlsched.core.files import atomic_write, check_header, read_json, write_json


def test_write_then_read(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"kind": "k", "version": 1, "rows": [[1, 2], [3, 4]]})
    assert read_json(path) == {"kind": "k", "version": 1, "rows": [[1, 2], [3, 4]]}
    assert path.read_text().count("\n") == 5, "one field per line"


@pytest.mark.parametrize("bad", [object(), float("nan"), float("inf")])
def test_a_failure_in_the_middle_leaves_the_old_file(tmp_path, bad):
    path = tmp_path / "a.json"
    write_json(path, {"old": 1})
    with pytest.raises((TypeError, ValueError)):
        write_json(path, {"new": 2, "broken": bad})
    assert read_json(path) == {"old": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"], "no temporary file stays behind"


def test_an_interrupted_write_leaves_no_file(tmp_path):
    def interrupted() -> None:
        with atomic_write(tmp_path / "a.json") as stream:
            stream.write("half of")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_the_mode_of_the_old_file_is_kept_and_a_new_one_obeys_the_umask(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("x")
    old.chmod(0o640)
    mask = os.umask(0o027)
    try:
        for path in (old, new):
            write_json(path, {})
    finally:
        os.umask(mask)
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert stat.S_IMODE(new.stat().st_mode) == 0o640


def test_binary_mode(tmp_path):
    with atomic_write(tmp_path / "b", "wb") as stream:
        stream.write(b"\x00\xff")
    assert (tmp_path / "b").read_bytes() == b"\x00\xff"


def test_a_folder_that_does_not_exist_or_is_a_file_is_named(tmp_path):
    with pytest.raises(InvalidFile, match=r"no/a\.json: cannot be written: No such file or directory; choose another"):
        write_json(tmp_path / "no" / "a.json", {})
    (tmp_path / "folder").mkdir()
    with pytest.raises(InvalidFile, match="folder: is a directory; give a regular file"):
        write_json(tmp_path / "folder", {})


UNREADABLE = [
    (b"", "line 1: is not JSON"),
    (b"{", "line 1: is not JSON"),
    (b'{"a": 1,\n "b": }', "line 2: is not JSON"),
    (b'{"a": NaN}', "NaN is not a JSON number"),
    (b'{"a": -Infinity}', "-Infinity is not a JSON number"),
    (b'{"a": 1, "a": 2}', "field 'a' is given twice"),
    (b'{"x": {"a": 1, "a": 2}}', "field 'a' is given twice"),
    (b"[1, 2]", "is a JSON list, expected an object"),
    (b"3", "is a JSON int"),
    (b"null", "is a JSON NoneType"),
    (b"\xff\xfe", "is not text \\(byte 0 is not UTF-8\\)"),
    (b'{"a": ' + b"9" * 5000 + b"}", "is not JSON"),
    (b'{"a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "is not JSON"),
]


@pytest.mark.parametrize(("content", "message"), UNREADABLE, ids=range(len(UNREADABLE)))
def test_what_is_wrong_with_a_file_is_one_line(tmp_path, content, message):
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(InvalidFile, match=message) as caught:
        read_json(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_no_file_and_no_permission(tmp_path):
    with pytest.raises(InvalidFile, match="file not found; check the path"):
        read_json(tmp_path / "none.json")
    with pytest.raises(InvalidFile, match="is a directory; give a regular file"):
        read_json(tmp_path)


VERSIONS = {"preemption.instance": 1, "preemption.plan": 2}


def test_a_good_header_gives_the_kind():
    assert check_header("f", {"kind": "preemption.plan", "version": 2}, VERSIONS) == "preemption.plan"


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({}, "kind: None, expected one of preemption.instance, preemption.plan"),
        ({"kind": "other", "version": 1}, "kind: 'other', expected one of"),
        ({"kind": ["preemption.plan"], "version": 1}, "expected one of"),
        ({"kind": {}, "version": 1}, "expected one of"),
        ({"kind": "preemption.plan"}, "version: None, expected 2 for preemption.plan; write the file"),
        ({"kind": "preemption.plan", "version": 1}, "version: 1, .*write the file again"),
        ({"kind": "preemption.plan", "version": 3}, "version: 3, .*upgrade mlsched"),
        ({"kind": "preemption.instance", "version": True}, "version: True"),
        ({"kind": "preemption.instance", "version": 1.0}, "version: 1.0"),
        ({"kind": "preemption.instance", "version": "1"}, "version: '1'"),
    ],
)
def test_a_wrong_header_is_refused(header, message):
    with pytest.raises(InvalidFile, match=message):
        check_header("f", header, VERSIONS)
