"""Arguments are held against annotations: plain values before a call, others where the call fails of them."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Literal

import numpy as np
import pytest

from mlsched.core.arguments import ValidatedFields, validate_arguments
from mlsched.core.errors import InvalidInput
from mlsched.core.params import Number, Positive, Share


@validate_arguments
def plain(number: Positive | None = None, *, kind: Literal["a", "b"] = "a", flag: bool = False, text: str | int = ""):
    return number, kind, flag, text


@pytest.mark.parametrize("number", [1, 0.5, np.int64(3), np.float32(0.5), Fraction(1, 3), math.inf, None])
def test_whatever_is_such_a_number_is_taken_as_it_is(number):
    assert plain(number, flag=np.True_, text=5) == (number, "a", True, 5)
    assert plain(number, text=5)[0] is number


def test_arguments_by_place_are_looked_at_too():
    with pytest.raises(InvalidInput, match="number: 0, expected above 0"):
        plain(0)
    with pytest.raises(InvalidInput, match="plain: number: 'x', expected a number or None"):
        plain("x")
    with pytest.raises(InvalidInput, match="plain: kind: 5, expected 'a' or 'b'"):
        plain(kind=5)
    with pytest.raises(TypeError, match="unexpected keyword"):
        plain(other=5)


def test_an_error_from_inside_is_left_as_it_is():
    """Only where an argument is of another type than annotated is it blamed."""

    @validate_arguments
    def broken(numbers: list[int]) -> int:
        return len(numbers) + None

    with pytest.raises(TypeError, match="unsupported operand"):
        broken([5])
    with pytest.raises(InvalidInput, match=r"broken: numbers: 5, expected a list \(each an integer\)") as caught:
        broken(5)
    assert isinstance(caught.value.__cause__, TypeError)
    with pytest.raises(TypeError, match="missing 1 required"):
        broken()


def test_types_that_are_unknown_at_run_time_blame_nobody():
    @validate_arguments
    def odd(thing: NotThere[str] | not_there.Frame | None, number: int):  # noqa: F821
        return thing.name + number

    with pytest.raises(AttributeError):
        odd(5, 6)
    with pytest.raises(InvalidInput, match="odd: number: None, expected an integer"):
        odd(5, None)


@dataclasses.dataclass(frozen=True)
class Bounded(ValidatedFields):
    share: Share = 0.5
    n: Number = 1


def test_fields_of_a_dataclass_are_held_to_their_types():
    assert Bounded(share=1.0) == Bounded(1.0, 1)
    with pytest.raises(InvalidInput, match=r"^share: 1\.5, expected between 0 and 1$"):
        Bounded(share=1.5)
    with pytest.raises(InvalidInput, match=r"^n: 0, expected at least 1$"):
        Bounded(n=0)
    with pytest.raises(InvalidInput, match=r"^Bounded: n: True, expected an integer$"):
        Bounded(n=True)
