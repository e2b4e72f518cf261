"""Parameters of solvers: declared by a function's keyword-only arguments, written as text as `name:key=value,...`.

The signature is the declaration: `def answer(instance, *, rng, s: float = 4.0)` has one parameter, `s`. `inf` is
accepted for integers and means no limit. Parameters that several functions have in common are stated once, as a
dataclass: an argument `given: Settings` of a solver declares the fields of `Settings`.

A parameter's type also says what it may be, once: `s: Annotated[float, Range(0, 10**6)]`, `fill: Literal["packed",
"first-fit"]`, or `model: Annotated[str, KINDS]` for texts that a tuple or the keys of a mapping hold. `resolve` refuses
anything else; so do functions that are `checked` and dataclasses that are `Checked`, whoever calls them.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import numbers
import typing
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Annotated, Any, Literal, TypeVar

from mlsched.core.errors import InvalidInput, UnknownName, shorten
from mlsched.core.fields import UNLIMITED

F = TypeVar("F", bound=Callable[..., Any])

#: Keyword arguments that the library passes and that are therefore not parameters.
RESERVED = frozenset({"rng", "memory", "objective", "objectives", "limits", "hint", "at_worst"})

#: Most jobs, nodes, tasks or the like that a generator is asked for, and most numbers in a table of theirs.
MOST_SIZE, MOST_NUMBERS = 10**6, 10**7
#: Whole numbers beyond this do not become floats.
MOST_FLOAT = 10**300


@dataclasses.dataclass(frozen=True)
class Range:
    """Within a type, `Annotated[float, Range(0, 1)]`: the numbers in [low, high], or in (low, high] with `open_low`."""

    low: float
    high: float = math.inf
    open_low: bool = False


#: What a value may be: in a range, one of some texts, or anything of its type.
Rule = Range | Collection[str] | None

#: A share of a whole; a real number above 0, or at least 0; a whole number of at least 1, threads as solvers take them,
#: and a whole number of at least 0 from which random numbers start; how many of what something is drawn for, and how
#: many where there may be none.
Share = Annotated[float, Range(0, 1)]
Positive = Annotated[float, Range(0, open_low=True)]
NotNegative = Annotated[float, Range(0)]
Number = Annotated[int, Range(1)]
Threads = Annotated[int, Range(1, 10_000)]
Seed = Annotated[int, Range(0)]
Count = Annotated[int, Range(1, MOST_SIZE)]
CountOrNone = Annotated[int, Range(0, MOST_SIZE)]


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One keyword of a solver, a generator or a world: name, type, default, and what else it may be."""

    name: str
    type: type
    default: Any
    rule: Rule = None

    def parse(self, owner: str, text: str) -> Any:
        """The typed value of `text`."""
        return self.check(owner, _parse(self.type, text))

    def check(self, owner: str, value: Any) -> Any:
        """`value` as this parameter's type (an integer is a float too, and so are NumPy's numbers), or InvalidInput."""
        number = {int: numbers.Integral, float: numbers.Real}.get(self.type)
        if number is not None and type(value) is not bool and isinstance(value, number):
            value = self.type(value)
        if type(value) is not self.type:
            raise InvalidInput(f"{owner}: {self.name} = {value!r}: must be {_IN_WORDS[self.type]}")
        if isinstance(value, float) and math.isnan(value):
            raise InvalidInput(f"{owner}: {self.name} = {value!r}: must be a finite number")
        keep_to(self.rule, f"{owner}: {self.name}", value)
        if isinstance(value, float) and math.isinf(value):
            raise InvalidInput(f"{owner}: {self.name} = {value!r}: must be a finite number")
        return value


#: What a value of a type is called in messages.
_IN_WORDS: dict[type, str] = {bool: "true or false", int: "an integer", float: "a number", str: "a text"}


def _parse(kind: type, text: str) -> Any:
    """`text` as `kind` where it reads as one; else the text itself, which `check` then refuses by name."""
    try:
        if kind is bool:
            return {"true": True, "false": False}[text.lower()]
        if kind is int:
            return UNLIMITED if text == "inf" else int(text)
        return kind(text)
    except (ValueError, KeyError):
        return text


def parameters_of(function: Callable[..., Any]) -> dict[str, Parameter]:
    """The parameters a function declares: its keyword-only arguments with defaults, less the reserved ones."""
    parameters = {}
    for name, kind, default in _declared(function):
        if _is_group(kind):
            parameters.update(parameters_of(kind))
            continue
        kind, rule = ruled(kind)
        if default is inspect.Parameter.empty or kind not in (int, float, bool, str):
            raise TypeError(
                f"{function.__module__}: parameter {name} needs a default and a type int, float, bool or str"
            )
        parameters[name] = Parameter(name, kind, default, rule=rule)
    return parameters


def _is_group(kind: Any) -> bool:
    return isinstance(kind, type) and dataclasses.is_dataclass(kind)


def _declared(function: Callable[..., Any]) -> Iterator[tuple[str, Any, Any]]:
    """(name, type, default) of the keyword-only arguments that are not reserved, or of a dataclass's fields."""
    # A functools.partial has a signature of its own, but its annotations are those of what it wraps.
    hints = typing.get_type_hints(getattr(function, "func", function), include_extras=True)
    fields = _is_group(function)
    for name, p in inspect.signature(function).parameters.items():
        kind, passed = hints.get(name), name in RESERVED
        if passed and typing.get_origin(kind) is Literal:  # one of some texts: nothing that the library passes
            passed = False
        if (fields or p.kind is inspect.Parameter.KEYWORD_ONLY) and not passed:
            yield name, kind, p.default


def ruled(kind: Any) -> tuple[Any, Rule]:
    """The type that a value must have, and what it may be, of a parameter's annotation."""
    if typing.get_origin(kind) is Literal:
        return str, typing.get_args(kind)
    if typing.get_origin(kind) is Annotated:
        return typing.get_args(kind)[:2]
    return kind, None


def keep_to(rule: Rule, name: str, value: Any) -> None:
    if isinstance(rule, Range):
        within(name, value, rule.low, rule.high, open_low=rule.open_low)
    elif rule is not None:
        one_of(name, value, rule)


def ungrouped(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, to be called with each parameter by its own name, also where a dataclass declares it."""
    groups = {name: (kind, tuple(parameters_of(kind))) for name, kind, _ in _declared(function) if _is_group(kind)}
    if not groups:
        return function

    @functools.wraps(function)
    def call(*args: Any, **given: Any) -> Any:
        for name, (kind, keys) in groups.items():
            given[name] = kind(**{key: given.pop(key) for key in keys if key in given})
        return function(*args, **given)

    return call


def split(text: str) -> tuple[str, dict[str, str]]:
    """`"fitgpp:s=8,P=2"` -> `("fitgpp", {"s": "8", "P": "2"})`."""
    name, _, rest = text.partition(":")
    settings: dict[str, str] = {}
    for item in filter(None, rest.split(",")):
        key, equals, value = item.partition("=")
        if not equals or not key or key in settings:
            raise InvalidInput(
                f"{text}: '{item}' is not KEY=VALUE, or names a key twice; write name:key=value,key=value"
            )
        settings[key] = value
    return name, settings


def resolve(owner: str, declared: Mapping[str, Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """The given parameters, in the order of their declaration, but those at their default: the rule of `Record`.

    So a parameter may be added, and files, keys of rows and hashes stay what they were. Text values are parsed, unknown
    names refused.
    """
    for name in given:
        if name not in declared:
            known = ", ".join(declared) or "none"
            raise UnknownName(f"{owner}: has no parameter '{name}'; it has {known}")
    values = {}
    for name, parameter in declared.items():
        if name in given:
            value = given[name]
            values[name] = parameter.parse(owner, value) if isinstance(value, str) else parameter.check(owner, value)
    return {name: value for name, value in values.items() if value != declared[name].default}


def one_of(name: str, value: str, choices: Collection[str]) -> None:
    """Refuse a value that is not among `choices`."""
    if value not in choices:
        raise InvalidInput(f"{name} = {value!r}: must be one of {', '.join(choices)}")


def not_too_many(what: str, numbers: float) -> None:
    """Refuse to draw or read so many numbers that they would fill the memory."""
    if not numbers <= MOST_NUMBERS:
        raise InvalidInput(f"{what}: {shown_number(numbers)} numbers: must be at most {MOST_NUMBERS}; ask for less")


def shown_number(value: float) -> str:
    """A number for a message, shortened; Python does not write integers of thousands of digits."""
    try:
        return shorten(str(value), 40)
    except ValueError:
        return "a number of thousands of digits"


def within(name: str, value: float, low: float, high: float = math.inf, *, open_low: bool = False) -> None:
    """Refuse a number outside [low, high], or outside (low, high] with `open_low`; NaN is outside of everything."""
    if not low <= value <= high or (open_low and value == low):
        rule = f"above {low}" if open_low else f"at least {low}"
        if high < math.inf:
            rule = f"{rule} and at most {high}" if open_low else f"between {low} and {high}"
        raise InvalidInput(f"{name} = {shown_number(value)}: must be {rule}")
    if isinstance(value, int) and abs(value) > MOST_FLOAT:
        raise InvalidInput(f"{name} = {shown_number(value)}: must be at most {MOST_FLOAT:.0e}")
