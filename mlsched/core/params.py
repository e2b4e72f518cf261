"""Parameters of solvers: declared by keyword-only arguments of a function, written as `name:key=value,...`.

The signature is the declaration: `def answer(instance, *, rng, s: float = 4.0)` has one parameter, `s`. `inf` is
accepted for integers and means unlimited. Parameters that several functions share are declared once, in a dataclass: an
argument `given: Settings` of a solver declares the fields of `Settings`.

The type of a parameter also states its allowed values: `s: Annotated[float, Range(0, 10**6)]`, `fill: Literal["packed",
"first-fit"]`, or `model: Annotated[str, KINDS]` for the texts in a tuple or the keys of a mapping. `resolve` rejects
other values. So do functions with `validate_arguments` and dataclasses derived from `ValidatedFields`.
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

from mlsched.core.aliases import Data
from mlsched.core.errors import InvalidInput, UnknownName, shorten
from mlsched.core.fields import UNLIMITED

F = TypeVar("F", bound=Callable[..., Any])

#: Keyword arguments that the library passes; they are not parameters.
RESERVED = frozenset({"rng", "memory", "objective", "objectives", "limits", "hint", "at_worst"})

#: Most jobs, nodes or tasks of a generator, and most numbers in one of its tables.
MAX_SIZE, MAX_NUMBERS = 10**6, 10**7
#: Largest integer that is converted to a float.
MAX_FLOAT = 10**300


@dataclasses.dataclass(frozen=True)
class Range:
    """Numbers in [low, high], or in (low, high] with `open_low`: `Annotated[float, Range(0, 1)]`."""

    low: float
    high: float = math.inf
    open_low: bool = False


#: Allowed values: in a range, one of some texts, or anything of the type.
Rule = Range | Collection[str] | None

#: Value of a parameter; NumPy numbers count as numbers.
Value = bool | int | float | str

#: In this order: a fraction; a real number above 0; a real number of at least 0; an integer of at least 1; threads of a
#: solver; a random seed; a number of things to draw; a number of things that may be 0.
Share = Annotated[float, Range(0, 1)]
Positive = Annotated[float, Range(0, open_low=True)]
NotNegative = Annotated[float, Range(0)]
Number = Annotated[int, Range(1)]
Threads = Annotated[int, Range(1, 10_000)]
Seed = Annotated[int, Range(0)]
Count = Annotated[int, Range(1, MAX_SIZE)]
CountOrNone = Annotated[int, Range(0, MAX_SIZE)]


@dataclasses.dataclass(frozen=True)
class Parameter:
    """Keyword of a solver, a generator or a simulator: name, type, default and rule."""

    name: str
    type: type
    default: Any
    rule: Rule = None

    def parse(self, owner: str, text: str) -> Any:
        """Return the typed value of `text`."""
        return self.check(owner, _parse_text(self.type, text))

    def check(self, owner: str, value: object) -> Any:
        """Convert `value` to the parameter's type, or raise InvalidInput.

        Integers are accepted as floats, and NumPy numbers as numbers.
        """
        number = {int: numbers.Integral, float: numbers.Real}.get(self.type)
        if number is not None and type(value) is not bool and isinstance(value, number):
            value = self.type(value)
        if type(value) is not self.type:
            raise InvalidInput(f"{owner}: {self.name}: {value!r}, expected {_TYPE_NAMES[self.type]}")
        if isinstance(value, float) and math.isnan(value):
            raise InvalidInput(f"{owner}: {self.name}: {value!r}, expected a finite number")
        check_rule(self.rule, f"{owner}: {self.name}", value)
        if isinstance(value, float) and math.isinf(value):
            raise InvalidInput(f"{owner}: {self.name}: {value!r}, expected a finite number")
        return value


#: Type -> its name in messages.
_TYPE_NAMES: dict[type, str] = {bool: "true or false", int: "an integer", float: "a number", str: "a text"}


def _parse_text(kind: type, text: str) -> Value:
    """Parse `text` as `kind`; return the text itself if that fails, for `check` to reject."""
    try:
        if kind is bool:
            return {"true": True, "false": False}[text.lower()]
        if kind is int:
            return UNLIMITED if text == "inf" else int(text)
        parsed: Value = kind(text)
        return parsed
    except (ValueError, KeyError):
        return text


def parameters_of(function: Callable[..., Any]) -> dict[str, Parameter]:
    """Return the parameters of a function: its keyword-only arguments with defaults, without the reserved ones."""
    parameters = {}
    for name, kind, default in _declared_arguments(function):
        if _is_group(kind):
            parameters.update(parameters_of(kind))
            continue
        kind, rule = split_annotation(kind)
        if default is inspect.Parameter.empty or kind not in (int, float, bool, str):
            raise TypeError(
                f"{function.__module__}: parameter {name} needs a default and a type int, float, bool or str"
            )
        parameters[name] = Parameter(name, kind, default, rule=rule)
    return parameters


def _is_group(kind: object) -> bool:
    return isinstance(kind, type) and dataclasses.is_dataclass(kind)


def _declared_arguments(function: Callable[..., Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield (name, type, default) of the keyword-only arguments that are not reserved, or of a dataclass's fields."""
    # A functools.partial has its own signature, but the annotations of the wrapped function.
    hints = typing.get_type_hints(getattr(function, "func", function), include_extras=True)
    fields = _is_group(function)
    for name, p in inspect.signature(function).parameters.items():
        kind, reserved = hints.get(name), name in RESERVED
        if reserved and typing.get_origin(kind) is Literal:  # a choice of texts, which the library never passes
            reserved = False
        if (fields or p.kind is inspect.Parameter.KEYWORD_ONLY) and not reserved:
            yield name, kind, p.default


def split_annotation(kind: object) -> tuple[Any, Rule]:
    """Split an annotation into the type of a parameter and the rule for its values."""
    if typing.get_origin(kind) is Literal:
        return str, typing.get_args(kind)
    if typing.get_origin(kind) is Annotated:
        return typing.get_args(kind)[:2]
    return kind, None


def check_rule(rule: Rule, name: str, value: Any) -> None:
    if isinstance(rule, Range):
        check_range(name, value, rule.low, rule.high, open_low=rule.open_low)
    elif rule is not None:
        check_choice(name, value, rule)


def flatten_groups(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that fields of dataclass arguments are passed as separate keywords."""
    groups = {
        name: (kind, tuple(parameters_of(kind))) for name, kind, _ in _declared_arguments(function) if _is_group(kind)
    }
    if not groups:
        return function

    @functools.wraps(function)
    def call(*args: object, **arguments: object) -> object:
        for name, (kind, keys) in groups.items():
            arguments[name] = kind(**{key: arguments.pop(key) for key in keys if key in arguments})
        return function(*args, **arguments)

    return call


def split_settings(text: str) -> tuple[str, dict[str, str]]:
    """Split `"fitgpp:s=8,P=2"` into `("fitgpp", {"s": "8", "P": "2"})`."""
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


def resolve(owner: str, declared: Mapping[str, Parameter], settings: Mapping[str, object]) -> Data:
    """Check parameters; return those that differ from their default, in the order of declaration.

    Omitting defaults, as in `Record`, keeps files, row keys and hashes unchanged when a parameter is added. Text values
    are parsed, unknown names rejected.

    Args:
        owner: Begin of error messages.
        declared: Name -> declaration of each parameter.
        settings: Name -> given value.
    """
    for name in settings:
        if name not in declared:
            names = ", ".join(declared) or "none"
            raise UnknownName(f"{owner}: unknown parameter '{name}'; it has {names}")
    values = {}
    for name, parameter in declared.items():
        if name in settings:
            value = settings[name]
            values[name] = parameter.parse(owner, value) if isinstance(value, str) else parameter.check(owner, value)
    return {name: value for name, value in values.items() if value != declared[name].default}


def check_choice(name: str, value: str, choices: Collection[str]) -> None:
    """Raise InvalidInput unless `value` is among `choices`."""
    if value not in choices:
        raise InvalidInput(f"{name}: {value!r}, expected one of {', '.join(choices)}")


def check_size(what: str, numbers: float) -> None:
    """Raise InvalidInput if drawing or reading this many numbers would exhaust the memory."""
    if not numbers <= MAX_NUMBERS:
        raise InvalidInput(f"{what}: {short_number(numbers)} numbers: expected at most {MAX_NUMBERS}; reduce the size")


def short_number(value: float) -> str:
    """Format a number for a message, shortened; Python cannot format integers of thousands of digits."""
    try:
        return shorten(str(value), 40)
    except ValueError:
        return "a number of thousands of digits"


def check_range(name: str, value: float, low: float, high: float = math.inf, *, open_low: bool = False) -> None:
    """Raise InvalidInput for NaN or a number outside [low, high]; with `open_low`, outside (low, high]."""
    if not low <= value <= high or (open_low and value == low):
        rule = f"above {low}" if open_low else f"at least {low}"
        if high < math.inf:
            rule = f"{rule} and at most {high}" if open_low else f"between {low} and {high}"
        raise InvalidInput(f"{name}: {short_number(value)}, expected {rule}")
    if isinstance(value, int) and abs(value) > MAX_FLOAT:
        raise InvalidInput(f"{name}: {short_number(value)}, expected at most {MAX_FLOAT:.0e}")
