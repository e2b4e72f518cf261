"""What a problem brings to be certified: its translation, found by the problem's name."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from mlsched.certificates.formula import Formula
from mlsched.core.contract import Instance
from mlsched.core.errors import InvalidInput
from mlsched.core.registry import scan


@dataclasses.dataclass(frozen=True)
class Translation:
    """How instances of a kind ("preemption.instance") are stated in 0-1 formulas.

    `formulas(instance, objective, plan)`: formulas whose values (`Formula.value` of their minima) add up to the best
    value of the objective, provided that this is the value of `plan`, a feasible one. It is written from the problem's
    statement alone, as the judge is. `lemma(instance, objective, plan)`: in a sentence, why plans that the formulas
    leave out need not be looked at; empty where none are.
    """

    kind: str
    formulas: Callable[[Any, str, Any], list[Formula]]
    lemma: Callable[[Any, str, Any], str] = lambda instance, objective, plan: ""


@functools.cache
def translations() -> dict[str, Translation]:
    """Kind of instance -> its translation, found by scanning the folders beside this file."""
    return {found.kind: found for found in scan("mlsched.certificates", "TRANSLATION", Translation)}


def translation_of(instance: Instance) -> Translation:
    """The translation for this kind of instance, or InvalidInput."""
    found = translations().get(instance.kind)
    if found is None:
        raise InvalidInput(f"a {instance.kind} cannot be certified; {', '.join(sorted(translations()))} can")
    return found
