"""Arguments of a call are held against its annotations: a wrong one ends in one line that names it.

Plain values (numbers, texts, True or False) are looked at before a call: `solve: threads = True: must be an integer`.
Where the annotation also says which numbers or texts there may be (`Annotated[int, Range(1)]`, see `params`), others
are refused by the same words as a parameter of a solver: `threads = 0: must be at least 1`.

Nothing else is looked at before a call: one that fails of an argument's type does so by itself, with a TypeError or an
AttributeError from somewhere inside. Then all arguments are held against the annotations, and one that is of another
type is named: `gap_to: reference = 5: must be a Result`. Where all are as they are annotated, the error is left as it
is. `research/notes/argument-checks.md` compares this with beartype and pydantic.
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

from mlsched.core.errors import InvalidInput, a_or_an, shortened
from mlsched.core.params import Range, Rule, keep_to, ruled

P = ParamSpec("P")
T = TypeVar("T")
#: Elements of a list that are looked at.
MOST = 1000
#: What a built-in type is called in a sentence, and what counts as one: numpy's numbers do, and no truth value is a
#: number.
_CALLED: dict[Any, tuple[str, Any]] = {
    str: ("a text", str),
    int: ("an integer", numbers.Integral),
    float: ("a number", numbers.Real),
    bool: ("True or False", (bool, np.bool_)),
    dict: ("a dictionary", dict),
}
#: The types of plain values.
PLAIN = {str, int, float, bool}
#: What kinds of things are called, by the names of their types.
_KINDS = {"Callable": "a function", "PathLike": "a path", "Mapping": "a dictionary"}
_UNIONS = (typing.Union, types.UnionType)


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """The function, which raises InvalidInput for an argument that its annotations do not allow."""
    owner = function.__qualname__.split(".")[-2] if function.__name__ == "__init__" else function.__name__

    @functools.wraps(function)
    def called(*given: P.args, **named: P.kwargs) -> T:
        order, plain = _plain_arguments(function)
        if plain:
            for name, value in (*zip(order, given, strict=False), *named.items()):
                if name in plain:
                    plain[name].refuse(owner, name, value)
        try:
            return function(*given, **named)
        except (TypeError, AttributeError) as error:
            if (wrong := wrong_argument(function, given, named)) is None:
                raise
            raise InvalidInput(f"{owner}: {wrong}") from error

    return called


class Checked:
    """Base of dataclasses that raise InvalidInput for a field that its annotation does not allow."""

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for name, plain in _plain_fields(kind).items():
            plain.refuse(kind.__name__, name, getattr(self, name))


@dataclasses.dataclass(frozen=True)
class _Plain:
    """The annotation of a plain value: what it may be of each type."""

    hint: Any
    alternatives: tuple[tuple[Any, Rule], ...]

    def refuse(self, owner: str, name: str, value: Any) -> None:
        """Raise InvalidInput for a value that the annotation does not allow."""
        for kind, rule in self.alternatives:
            if value is None if kind is None else _counts_as(value, kind):
                keep_to(rule, name, value)
                return
        raise InvalidInput(f"{owner}: {_wrong(name, value, self.hint)}")


@functools.cache
def _plain_arguments(function: Callable[..., Any]) -> tuple[tuple[str, ...], Mapping[str, _Plain]]:
    """The names of a function's positional arguments, in order, and what those may be that are plain values."""
    every = inspect.signature(function).parameters.values()
    order = tuple(p.name for p in every if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
    single = {p.name for p in every if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    return order, _plain({name: hint for name, hint in _hints(function).items() if name in single})


@functools.cache
def _plain_fields(kind: type) -> Mapping[str, _Plain]:
    """What the fields of a dataclass may be that are plain values."""
    hints = typing.get_type_hints(kind, include_extras=True)
    return _plain({field.name: hints[field.name] for field in dataclasses.fields(kind)})


def _plain(hints: Mapping[str, Any]) -> Mapping[str, _Plain]:
    """The annotations that are of numbers, texts or truth values alone; None may be among them.

    "page" or a number of inches is not plain: a wrong text is refused where both are known.
    """
    found = {}
    for name, hint in hints.items():
        types_of_it = typing.get_args(hint) if typing.get_origin(hint) in _UNIONS else (hint,)
        every = [(None, None) if one in (None, type(None)) else ruled(one) for one in types_of_it]
        kinds = {kind for kind, _ in every if kind is not None}
        choice = any(rule is not None and not isinstance(rule, Range) for _, rule in every)
        if kinds and kinds <= PLAIN and not (choice and len(kinds) > 1):
            found[name] = _Plain(hint, tuple(every))
    return found


def _counts_as(value: Any, kind: Any) -> bool:
    """Whether a value is one of a built-in type."""
    return isinstance(value, _CALLED[kind][1]) and isinstance(value, (bool, np.bool_)) == (kind is bool)


def wrong_argument(function: Callable[..., Any], given: Any, named: Any) -> str | None:
    """The first argument of a call that is not of its annotated type, what it is and what it must be."""
    try:
        bound = inspect.signature(function).bind(*given, **named)
    except TypeError:
        return None  # a missing argument, or one too many: Python says which
    hints = _hints(function)
    for name, value in bound.arguments.items():
        hint = hints.get(name, Any)
        kind = bound.signature.parameters[name].kind
        values = value if kind is kind.VAR_POSITIONAL else [] if kind is kind.VAR_KEYWORD else [value]
        for one in values:
            if not _fits(one, hint):
                return _wrong(name, one, hint)
    return None


def _wrong(name: str, value: Any, hint: Any) -> str:
    return f"{name} = {_shown(value)}: must be {called_in_words(hint)}"


class _Module(type):
    """What is imported for type checkers alone may be a module, which has types."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return cls


class _Anything(metaclass=_Module):
    """Base of what stands for types that are imported for type checkers alone."""

    def __class_getitem__(cls, of: Any) -> type[_Anything]:
        return cls


class _Names(dict[str, Any]):
    """The names of a module, as its annotations are read."""

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name) or name.startswith("__"):
            raise KeyError(name)
        return _Module(name, (_Anything,), {})


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    names = _Names(getattr(inspect.unwrap(function), "__globals__", {}))
    return inspect.get_annotations(function, locals=names, eval_str=True)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type, as far as its first elements tell."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is None or hint is type(None):
        return value is None
    if origin in _UNIONS:
        return any(_fits(value, one) for one in args)
    if origin is Annotated:
        return _fits(value, args[0])
    if origin is typing.Literal:
        return value in args
    if hint in _CALLED:
        return _counts_as(value, hint)
    kind: Any = origin or hint
    if kind is Any or getattr(kind, "_is_protocol", False) or not isinstance(kind, type) or issubclass(kind, _Anything):
        return True
    if getattr(kind, "__name__", "") == "Callable":
        return callable(value)
    if not isinstance(value, kind) or (isinstance(value, str) and kind is not str):
        return False
    if isinstance(value, (list, tuple)) and len(args) == 1:
        return all(_fits(one, args[0]) for one in value[:MOST])
    return True


def called_in_words(hint: Any) -> str:
    """A type in a sentence: "a Result", "a path", "a list (each a Gap)", "an integer or None"."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is None or hint is type(None):
        return "None"
    if origin in _UNIONS:
        path = any(typing.get_origin(one) is os.PathLike for one in args)
        words = ["a path" if path and one is str else called_in_words(one) for one in args]
        words = list(dict.fromkeys(words))
        return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
    if origin is Annotated:
        return called_in_words(args[0])
    if origin is typing.Literal:
        return " or ".join(map(repr, args))
    if hint in _CALLED:
        return _CALLED[hint][0]
    kind: Any = origin or hint
    name = getattr(kind, "__name__", str(kind))
    if name in _KINDS:
        return _KINDS[name]
    if name in ("Sequence", "Iterable", "Collection", "list", "tuple"):
        return f"a list (each {called_in_words(args[0])})" if args and args[0] is not Any else "a list"
    return a_or_an(name)


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:
        text = a_or_an(type(value).__name__)
    return shortened(text)
