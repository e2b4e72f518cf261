"""Arguments of a wrong type end in one line that names them: `gap_to: reference = 5: must be a Result`.

Nothing is looked at before a call: one that fails of an argument's type does so by itself, with a TypeError or an
AttributeError from somewhere inside. Then the arguments are held against the annotations, and one that is of another
type is named. Where all are as they are annotated, the error is left as it is.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import numbers
import os
import types
import typing
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from mlsched.core.errors import InvalidInput, a_or_an, shortened

P = ParamSpec("P")
T = TypeVar("T")
#: Elements of a list that are looked at.
MOST = 1000
#: What a built-in type is called in a sentence, and what counts as one: numpy's numbers do.
_CALLED: dict[Any, tuple[str, Any]] = {
    str: ("a text", str),
    int: ("an integer", numbers.Integral),
    float: ("a number", numbers.Real),
    bool: ("True or False", bool),
    dict: ("a dictionary", dict),
}
#: What kinds of things are called, by the names of their types.
_KINDS = {"Callable": "a function", "PathLike": "a path", "Mapping": "a dictionary"}
_UNIONS = (typing.Union, types.UnionType)


def explained(function: Callable[P, T]) -> Callable[P, T]:
    """The function; a call that fails since an argument is of another type than annotated raises InvalidInput."""

    @functools.wraps(function)
    def called(*given: P.args, **named: P.kwargs) -> T:
        try:
            return function(*given, **named)
        except (TypeError, AttributeError) as error:
            if (wrong := wrong_argument(function, given, named)) is None:
                raise
            raise InvalidInput(f"{function.__name__}: {wrong}") from error

    return called


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
                return f"{name} = {_shown(one)}: must be {called_in_words(hint)}"
    return None


class _Anything:
    """Base of what stands for types that are imported for type checkers alone."""

    def __class_getitem__(cls, of: Any) -> type[_Anything]:
        return cls


class _Names(dict[str, Any]):
    """The names of a module, as its annotations are read."""

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name) or name.startswith("__"):
            raise KeyError(name)
        return type(name, (_Anything,), {})


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
    if origin is typing.Literal:
        return value in args
    if hint in _CALLED:
        return isinstance(value, _CALLED[hint][1])
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
