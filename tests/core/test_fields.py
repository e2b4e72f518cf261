"""Field specifications: what they accept, and the sentence for what they refuse."""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import numpy as np
import pytest

from mlsched.core.errors import InvalidInput
from mlsched.core.fields import EXACT, array, as_int, field_error, integer, labels, record, text
from mlsched.core.record import Record


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Sample(Record):
    kind: ClassVar[str] = "test.sample"

    names: tuple[str, ...] = labels("cols")
    table: np.ndarray = array("rows", "cols", low=-1, high=100)
    column: np.ndarray = array("rows")
    count: int = integer(low=1, high=9, default=1)
    mode: str = text(choices=("on", "off"), default="on")


GOOD = {"names": ["a", "b"], "table": [[1, 2], [3, 4]], "column": [5, 6]}


def sample(**changes) -> Sample:
    return Sample(**{**GOOD, **changes})


def test_values_get_their_canonical_form():
    made = sample()
    assert made.names == ("a", "b")
    assert made.table.dtype == np.int64
    assert made.table.tolist() == [[1, 2], [3, 4]]
    assert made.count == 1


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.uint8, np.uint64])
def test_any_integer_array_is_accepted(kind):
    assert sample(table=np.array(GOOD["table"], dtype=kind)).table.dtype == np.int64


def test_arrays_are_private_read_only_copies():
    mine = np.array([[1, 2], [3, 4]])
    made = sample(table=mine)
    mine[0, 0] = 99
    assert made.table[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        made.table[0, 0] = 7


def test_no_rows_take_the_dimensions_of_other_fields():
    made = sample(table=[], column=[])
    assert made.table.shape == (0, 2)


REFUSED = [
    ({"table": [[1, 2], [3]]}, "table: rows have different lengths, expected rows x cols"),
    ({"table": [1, 2]}, "table: has 1 dimension(s), expected 2: rows x cols"),
    ({"table": [[1], [2]]}, "table: length of dimension 1 is 1, expected 2 (the number of cols)"),
    ({"table": []}, None),
    ({"column": [1]}, "column: length is 1, expected 2 (the number of rows)"),
    ({"column": [[1], [2]]}, "column: has 2 dimension(s), expected 1: rows"),
    ({"column": []}, "column"),
    ({"column": 5}, "column: 5, expected a list of integers (1-dimensional: rows)"),
    ({"column": "56"}, "column: '56', expected a list of integers"),
    ({"column": None}, "column: None, expected a list"),
    ({"column": {"0": 5}}, "expected a list of integers"),
    ({"column": [1, -1]}, "column[1]: -1, expected >= 0"),
    ({"table": [[1, 2], [3, 101]]}, "table[1][1]: 101, expected between -1 and 100"),
    ({"table": [[-2, 2], [3, 4]]}, "table[0][0]: -2, expected between -1 and 100"),
    ({"column": [1, 2.0]}, "column[1]: 2.0, expected an integer"),
    ({"column": [1, 2.5]}, "column[1]: 2.5, expected an integer"),
    ({"column": [1, math.nan]}, "column[1]: nan, expected an integer"),
    ({"column": [1, math.inf]}, "column[1]: inf, expected an integer"),
    ({"column": [1, None]}, "column[1]: None, expected an integer"),
    ({"column": [1, "2"]}, "column[1]: '2', expected an integer"),
    ({"column": [True, False]}, "column[0]: True, expected an integer"),
    ({"column": [1, True]}, "column[1]: True, expected an integer"),
    ({"column": [1, EXACT + 1]}, f"column[1]: {EXACT + 1}, expected >= 0"),
    ({"column": [1, 2**63]}, f"column[1]: {2**63}, expected"),
    ({"column": [1, -(2**70)]}, f"column[1]: {-(2**70)}, expected"),
    ({"column": [1, {}]}, "column[1]: {}, expected an integer"),
    ({"count": 0}, "count: 0, expected between 1 and 9"),
    ({"count": 10}, "count: 10, expected between 1 and 9"),
    ({"count": True}, "count: True, expected an integer"),
    ({"count": 2.0}, "count: 2.0, expected an integer"),
    ({"count": "2"}, "count: '2', expected an integer"),
    ({"count": None}, "count: None, expected an integer"),
    ({"count": [2]}, "count: [2], expected an integer"),
    ({"mode": "half"}, "mode: 'half', expected one of on, off"),
    ({"mode": 1}, "mode: 1, expected a string"),
    ({"names": ["a", "a"]}, "names: ['a', 'a'], must not name anything twice"),
    ({"names": ["a", 1]}, "names: ['a', 1], expected a list of strings"),
    ({"names": "ab"}, "names: 'ab', expected a list of strings"),
    ({"names": ["a", "b", "c"]}, "table: length of dimension 1 is 2, expected 3"),
]


@pytest.mark.parametrize(("changes", "message"), [case for case in REFUSED if case[1]])
def test_what_is_wrong_is_said_in_one_line(changes, message):
    with pytest.raises(InvalidInput) as caught:
        sample(**changes)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_row_missing_is_not_taken_for_no_rows():
    with pytest.raises(InvalidInput, match="table: is empty, expected rows x cols = \\(2, 2\\)"):
        dataclasses.replace(Reversed(column=[1, 2], names=["a", "b"], table=[[1, 2], [3, 4]]), table=[])


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Reversed(Record):
    column: np.ndarray = array("rows")
    names: tuple[str, ...] = labels("cols")
    table: np.ndarray = array("rows", "cols")


def test_the_largest_exact_integer_is_accepted_and_the_next_refused():
    assert sample(column=[EXACT, 0]).column[0] == EXACT
    with pytest.raises(InvalidInput):
        sample(column=[EXACT + 1, 0])


def test_long_values_are_shortened():
    assert len(str(field_error("f", "x" * 1000, "rule"))) < 80


def test_as_int_takes_numpy_integers_and_no_numpy_bool():
    assert as_int("n", np.int32(3)) == 3
    with pytest.raises(InvalidInput):
        as_int("n", np.bool_(True))


def test_a_field_without_specification_is_a_programming_error():
    @dataclasses.dataclass(frozen=True, eq=False, repr=False)
    class Forgot(Record):
        bare: int

    with pytest.raises(TypeError, match="Forgot: fields without a specification: bare"):
        Forgot(bare=1)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Outer(Record):
    kind: ClassVar[str] = "test.outer"

    inner: Sample = record(Sample)
    other: Sample | None = record(Sample, optional=True)
    count: int = integer(default=2)


def test_a_record_in_a_record_survives_its_file_and_counts_for_equality_and_hash():
    outer = Outer(inner=sample())
    assert Outer.from_json(outer.to_json()) == outer
    assert Outer(inner=sample()).hash == outer.hash
    other = Outer(inner=sample(count=3))
    assert other != outer
    assert other.hash != outer.hash


def test_an_optional_record_is_left_out_where_there_is_none():
    without, outer = Outer(inner=sample()), Outer(inner=sample(), other=sample())
    assert "other" not in without.to_json()
    assert Outer.from_json(outer.to_json()) == outer != without
    assert outer.hash != without.hash
    assert outer.replace(other=None) == without


@pytest.mark.parametrize(
    ("inner", "message"),
    [
        (3, "inner: 'int', expected a test.sample"),
        ({"kind": "test.outer", "version": 1}, "expected a test.sample of version 1"),
        ({**sample().to_json(), "version": 9}, "expected a test.sample of version 1"),
        ({**sample().to_json(), "count": 99}, "inner: count: 99, expected between 1 and 9"),
    ],
)
def test_a_wrong_record_in_a_record_is_refused(inner, message):
    with pytest.raises(InvalidInput, match=message):
        Outer(inner=inner)
