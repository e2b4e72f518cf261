"""Parameters: declared by the signature, written as text, checked by name and type."""

from __future__ import annotations

import dataclasses
import math
from typing import Annotated, Literal

import numpy as np
import pytest

from mlsched.core.arguments import validate_arguments
from mlsched.core.errors import InvalidInput, UnknownName
from mlsched.core.fields import UNLIMITED
from mlsched.core.params import Number, Range, flatten_groups, parameters_of, resolve, split_settings


def rule(instance, *, rng, s: float = 4.0, P: int = 0, name: str = "x", strict: bool = False):
    """A rule with one parameter of each type."""


DECLARED = parameters_of(rule)


def test_keyword_arguments_are_parameters_and_reserved_ones_are_not():
    assert {p.name: (p.type, p.default) for p in DECLARED.values()} == {
        "s": (float, 4.0),
        "P": (int, 0),
        "name": (str, "x"),
        "strict": (bool, False),
    }


def test_a_parameter_without_default_or_with_an_unknown_type_is_a_programming_error():
    def no_default(instance, *, s: float): ...
    def odd_type(instance, *, s: list = ()): ...

    for wrong in (no_default, odd_type):
        with pytest.raises(TypeError, match="parameter s needs a default and a type"):
            parameters_of(wrong)


@dataclasses.dataclass(frozen=True)
class Shared:
    s: float = 4.0
    P: int = 0


def grouped(instance, *, rng, given: Shared, memory: Shared | None = None, last: str = "x"):
    return instance, rng, given, memory, last


def test_a_dataclass_declares_its_fields_and_is_made_of_them():
    assert list(parameters_of(grouped)) == ["s", "P", "last"]
    assert parameters_of(grouped)["s"] == DECLARED["s"]
    call = flatten_groups(grouped)
    assert call(1, rng=2, P=3, last="y") == (1, 2, Shared(P=3), None, "y")
    assert call(1, rng=2) == (1, 2, Shared(), None, "x")
    assert flatten_groups(rule) is rule
    with pytest.raises(TypeError, match="unexpected keyword argument 'Q'"):
        call(1, rng=2, Q=3)


def test_split():
    assert split_settings("fitgpp") == ("fitgpp", {})
    assert split_settings("fitgpp:s=8,P=2") == ("fitgpp", {"s": "8", "P": "2"})


@pytest.mark.parametrize("text", ["a:s", "a:=3", "a:s=1,s=2", "a:s=1,P"])
def test_text_that_is_not_key_value_is_refused(text):
    with pytest.raises(InvalidInput, match="write name:key=value"):
        split_settings(text)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {}),
        ({"s": "4", "P": 0, "name": "x", "strict": "false"}, {}),
        ({"s": "8"}, {"s": 8.0}),
        ({"s": 8}, {"s": 8.0}),
        ({"P": "inf"}, {"P": UNLIMITED}),
        ({"P": 3}, {"P": 3}),
        ({"strict": "True"}, {"strict": True}),
        ({"name": "5"}, {"name": "5"}),
    ],
)
def test_values_are_parsed_and_those_at_their_default_left_out(given, expected):
    values = resolve("rule", DECLARED, given)
    assert values == expected
    assert all(type(values[k]) is DECLARED[k].type for k in values)


@pytest.mark.parametrize(
    "given",
    [
        {"s": "fast"},
        {"s": True},
        {"s": None},
        {"P": "2.5"},
        {"P": 2.0},
        {"P": True},
        {"strict": "maybe"},
        {"strict": 1},
        {"name": 3},
    ],
)
def test_wrong_values_name_owner_parameter_value_and_what_it_must_be(given):
    (name,) = given
    words = {"s": "a number", "P": "an integer", "strict": "true or false", "name": "a text"}
    with pytest.raises(InvalidInput, match=f"rule: {name}: .*, expected {words[name]}$"):
        resolve("rule", DECLARED, given)


@pytest.mark.parametrize("given", [math.nan, "nan", math.inf, "-inf"])
def test_numbers_must_be_finite(given):
    with pytest.raises(InvalidInput, match=r"rule: s: -?(nan|inf), expected a finite number$"):
        resolve("rule", DECLARED, {"s": given})


def test_numpys_numbers_are_numbers_and_become_pythons():
    values = resolve("rule", DECLARED, {"s": np.float32(0.5), "P": np.int64(2)})
    assert (values["s"], values["P"]) == (0.5, 2)
    assert (type(values["s"]), type(values["P"])) == (float, int)


def test_an_unknown_parameter_lists_the_known_ones():
    with pytest.raises(UnknownName, match="rule: unknown parameter 'p'; it has s, P, name, strict"):
        resolve("rule", DECLARED, {"p": 1})
    with pytest.raises(UnknownName, match="it has none"):
        resolve("rule", {}, {"p": 1})


KINDS = {"pairwise": 1, "linear": 2}


@validate_arguments
def bounded(
    instance,
    *,
    s: Annotated[float, Range(0, 10, open_low=True)] = 4.0,
    n: Number = 1,
    fill: Literal["packed", "first-fit"] = "packed",
    model: Annotated[str, KINDS] = "linear",
):
    return s, n, fill, model


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"s": 0.0}, "s: 0.0, expected above 0 and at most 10"),
        ({"s": 11}, "s: 11(.0)?, expected above 0 and at most 10"),
        ({"n": 0}, "n: 0, expected at least 1"),
        ({"fill": "loose"}, "fill: 'loose', expected one of packed, first-fit"),
        ({"model": "cubic"}, "model: 'cubic', expected one of pairwise, linear"),
    ],
)
def test_what_a_type_does_not_allow_is_refused_by_name_wherever_it_comes_from(given, sentence):
    with pytest.raises(InvalidInput, match=f"^fill it: {sentence}$"):
        resolve("fill it", parameters_of(bounded), {key: str(value) for key, value in given.items()})
    with pytest.raises(InvalidInput, match=f"^{sentence}$"):
        bounded(1, **given)


def test_what_a_type_allows_is_kept():
    declared = parameters_of(bounded)
    assert {name: p.type for name, p in declared.items()} == {"s": float, "n": int, "fill": str, "model": str}
    assert bounded(1, **resolve("", declared, {"s": "10", "fill": "first-fit"})) == (10.0, 1, "first-fit", "linear")
