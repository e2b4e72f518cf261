"""User functions by name: "my_rules:rule", optionally with parameters ("my_rules:rule:limit=3")."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any

from mlsched.core.errors import InvalidInput, describe_exception
from mlsched.core.params import parameters_of, resolve, split_settings
from mlsched.core.registry import registry

_NAME = re.compile(r"(?P<module>[A-Za-z_]\w*(?:\.\w+)*):(?P<function>[A-Za-z_]\w*)(?P<rest>:.*)?")


def is_function(text: str) -> bool:
    """Return whether a text is MODULE:FUNCTION, in contrast to a registered name with parameters ("fitgpp:s=8")."""
    match = _NAME.fullmatch(text)
    return match is not None and all(name != match["module"] for _, name in registry().solvers)


def function_of(text: str) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Import the function that a text names; return it and the parameters in the text.

    The import runs the function's module.
    """
    match = _NAME.fullmatch(text)
    if match is None:
        raise InvalidInput(f"{text}: expected MODULE:FUNCTION")
    name, function = match["module"], match["function"]
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
            raise InvalidInput(f"{text}: {name} needs {error.name}, which is not installed; install it") from None
        raise InvalidInput(
            f"{text}: there is neither a solver nor a module '{name}'; see `mlsched list solvers`, or run in the "
            f"folder of {name}.py"
        ) from None
    except Exception as error:
        raise InvalidInput(f"{text}: importing {name} raised {describe_exception(error)}; mend it") from error
    attribute = getattr(module, function, None)
    if not callable(attribute):
        raise InvalidInput(f"{text}: function '{function}' is missing in {name}; define it there")
    settings = split_settings(f"{function}{match['rest'] or ''}")[1]
    declarations = getattr(attribute, "__mlsched__", None)
    return attribute, settings if declarations else resolve(
        text, parameters_of(attribute), settings
    ) if settings else {}
