"""Validation of call arguments against annotations.

Plain values (numbers, texts, booleans) are checked before the call: `solve: threads = True: must be an integer`. If the
annotation also limits the values (`Annotated[int, Range(1)]`, see `params`), the same limits apply as for parameters of
a solver: `threads = 0: must be at least 1`.

Other types are only checked after a failed call. If the call raises a TypeError or an AttributeError, all arguments are
compared with their annotations, and the first mismatch is named: `gap_to: reference = 5: must be a Result`. If every
argument matches its annotation, the original error is raised. `research/notes/argument-checks.md` compares this
module with beartype and pydantic.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import inspect
import numbers
import os
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ParamSpec, TypeVar

import numpy as np

from mlsched.core.errors import InvalidInput, shorten, with_article
from mlsched.core.params import Range, Rule, check_rule, split_annotation

P = ParamSpec("P")
T = TypeVar("T")
#: Number of elements of a list that are checked.
MAX_ELEMENTS = 1000
#: Words for a built-in type, and the types accepted for it. NumPy numbers count as numbers, booleans do not.
_TYPE_WORDS: dict[Any, tuple[str, Any]] = {
    str: ("a text", str),
    int: ("an integer", numbers.Integral),
    float: ("a number", numbers.Real),
    bool: ("True or False", (bool, np.bool_)),
    dict: ("a dictionary", dict),
}
#: Types of plain values.
PLAIN = {str, int, float, bool}
#: Words for other types, by type name.
_KIND_WORDS = {"Callable": "a function", "PathLike": "a path", "Mapping": "a dictionary"}
_UNIONS = (typing.Union, types.UnionType)


def validate_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Wrap a function so that it raises InvalidInput for arguments that violate its annotations."""
    owner = function.__qualname__.split(".")[-2] if function.__name__ == "__init__" else function.__name__

    @functools.wraps(function)
    def wrapper(*given: P.args, **named: P.kwargs) -> T:
        positional, plain = _plain_arguments(function)
        if plain:
            for name, value in (*zip(positional, given, strict=False), *named.items()):
                if name in plain:
                    plain[name].refuse(owner, name, value)
        try:
            return function(*given, **named)
        except (TypeError, AttributeError) as error:
            if (mismatch := wrong_argument(function, given, named)) is None:
                raise
            raise InvalidInput(f"{owner}: {mismatch}") from error

    return wrapper


class ValidatedFields:
    """Base class of dataclasses that raise InvalidInput for fields that violate their annotations."""

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for name, plain in _plain_fields(kind).items():
            plain.refuse(kind.__name__, name, getattr(self, name))


@dataclasses.dataclass(frozen=True)
class _Plain:
    """Annotation of a plain value: the alternative types, each with its rule."""

    hint: Any
    alternatives: tuple[tuple[Any, Rule], ...]

    def refuse(self, owner: str, name: str, value: object) -> None:
        """Raise InvalidInput for a value that the annotation does not allow."""
        for kind, rule in self.alternatives:
            if value is None if kind is None else _is_instance(value, kind):
                check_rule(rule, name, value)
                return
        raise InvalidInput(f"{owner}: {_mismatch(name, value, self.hint)}")


@functools.cache
def _plain_arguments(function: Callable[..., Any]) -> tuple[tuple[str, ...], Mapping[str, _Plain]]:
    """Return the names of a function's positional arguments, in order, and its plain annotations by name."""
    every = inspect.signature(function).parameters.values()
    positional = tuple(p.name for p in every if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
    single_names = {p.name for p in every if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    return positional, _plain_annotations(
        {name: hint for name, hint in _annotations(function).items() if name in single_names}
    )


@functools.cache
def _plain_fields(kind: type) -> Mapping[str, _Plain]:
    """Return the plain annotations of a dataclass by field name."""
    hints = typing.get_type_hints(kind, include_extras=True)
    return _plain_annotations({field.name: hints[field.name] for field in dataclasses.fields(kind)})


def _plain_annotations(hints: Mapping[str, object]) -> Mapping[str, _Plain]:
    """Select the annotations that consist of numbers, texts, booleans and None only.

    A union such as "page or a number of inches" is not plain; the caller checks its texts.
    """
    plain = {}
    for name, hint in hints.items():
        members = typing.get_args(hint) if typing.get_origin(hint) in _UNIONS else (hint,)
        alternatives = [
            (None, None) if member in (None, type(None)) else split_annotation(member) for member in members
        ]
        kinds = {kind for kind, _ in alternatives if kind is not None}
        choice = any(rule is not None and not isinstance(rule, Range) for _, rule in alternatives)
        if kinds and kinds <= PLAIN and not (choice and len(kinds) > 1):
            plain[name] = _Plain(hint, tuple(alternatives))
    return plain


def _is_instance(value: object, kind: object) -> bool:
    """Return whether a value is an instance of a plain type."""
    return isinstance(value, _TYPE_WORDS[kind][1]) and isinstance(value, (bool, np.bool_)) == (kind is bool)


def wrong_argument(function: Callable[..., Any], call_args: Any, kwargs: Any) -> str | None:
    """Describe the first argument of a call that violates its annotation, or return None."""
    try:
        bound = inspect.signature(function).bind(*call_args, **kwargs)
    except TypeError:
        return None  # Python names a missing or surplus argument
    hints = _annotations(function)
    for name, value in bound.arguments.items():
        hint = hints.get(name, Any)
        kind = bound.signature.parameters[name].kind
        values = value if kind is kind.VAR_POSITIONAL else [] if kind is kind.VAR_KEYWORD else [value]
        for element in values:
            if not _matches_type(element, hint):
                return _mismatch(name, element, hint)
    return None


def _mismatch(name: str, value: object, hint: object) -> str:
    return f"{name}: {_short_text(value)}, expected {type_in_words(hint)}"


class _Module(type):
    """Metaclass of stand-ins for names that are imported for type checkers only; such a name may be a module."""

    def __getattr__(cls, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(name)
        return cls


class _Anything(metaclass=_Module):
    """Base class of the stand-ins for names that are imported for type checkers only."""

    def __class_getitem__(cls, of: object) -> type[_Anything]:
        return cls


class _Names(dict[str, Any]):
    """Names of a module while its annotations are evaluated; unknown names get a stand-in."""

    def __missing__(self, name: str) -> object:
        if hasattr(builtins, name) or name.startswith("__"):
            raise KeyError(name)
        return _Module(name, (_Anything,), {})


def _annotations(function: Callable[..., Any]) -> dict[str, object]:
    names = _Names(getattr(inspect.unwrap(function), "__globals__", {}))
    return inspect.get_annotations(function, locals=names, eval_str=True)


def _matches_type(value: object, hint: object) -> bool:
    """Return whether a value fits a type, judged by the first elements of a list."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is None or hint is type(None):
        return value is None
    if origin in _UNIONS:
        return any(_matches_type(value, one) for one in args)
    if origin is Annotated:
        return _matches_type(value, args[0])
    if origin is typing.Literal:
        return value in args
    if hint in _TYPE_WORDS:
        return _is_instance(value, hint)
    kind: Any = origin or hint
    if kind is Any or getattr(kind, "_is_protocol", False) or not isinstance(kind, type) or issubclass(kind, _Anything):
        return True
    if getattr(kind, "__name__", "") == "Callable":
        return callable(value)
    if not isinstance(value, kind) or (isinstance(value, str) and kind is not str):
        return False
    if isinstance(value, (list, tuple)) and len(args) == 1:
        return all(_matches_type(one, args[0]) for one in value[:MAX_ELEMENTS])
    return True


def type_in_words(hint: object) -> str:
    """Describe a type in words: "a Result", "a path", "a list (each a Gap)", "an integer or None"."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is None or hint is type(None):
        return "None"
    if origin in _UNIONS:
        path = any(typing.get_origin(one) is os.PathLike for one in args)
        words = ["a path" if path and one is str else type_in_words(one) for one in args]
        words = list(dict.fromkeys(words))
        return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
    if origin is Annotated:
        return type_in_words(args[0])
    if origin is typing.Literal:
        return " or ".join(map(repr, args))
    if hint in _TYPE_WORDS:
        return _TYPE_WORDS[hint][0]
    kind: Any = origin or hint
    name = getattr(kind, "__name__", str(kind))
    if name in _KIND_WORDS:
        return _KIND_WORDS[name]
    if name in ("Sequence", "Iterable", "Collection", "list", "tuple"):
        return f"a list (each {type_in_words(args[0])})" if args and args[0] is not Any else "a list"
    return with_article(name)


def _short_text(value: object) -> str:
    try:
        text = repr(value)
    except Exception:
        text = with_article(type(value).__name__)
    return shorten(text)
