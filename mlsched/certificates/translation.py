"""What a problem brings to be certified: its translation, found by the problem's name."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

from mlsched.certificates.cover import Fronts
from mlsched.certificates.formula import Formula
from mlsched.core.contract import Instance, Plan
from mlsched.core.errors import InvalidInput, with_article
from mlsched.core.registry import scan_problems


@dataclasses.dataclass(frozen=True)
class Translation:
    """How instances of a kind ("preemption.instance") are stated in 0-1 formulas.

    `by_objective`: what states each objective that can be certified, and its lemma. The former is a function of an
    instance and a feasible plan: formulas whose values (`Formula.value` of their minima) add up to the best value of
    the objective, provided that this is the value of the plan. It is written from the problem's statement alone, as
    the judge is. The lemma: in a sentence, why plans that the formulas leave out need not be looked at; empty where
    none are.

    `claims(instance, objective, plan, values)`: what no formula proves, in sentences with the numbers of this instance
    and plan, computed from them; `values`: what was proved of each formula. They are what a reader has to follow.

    `fronts`: how its fronts are stated, where they can be certified.
    """

    kind: str
    by_objective: Mapping[str, tuple[Callable[[Any, Any], list[Formula]], str]]
    claims: Callable[[Any, str, Any, list[int]], list[str]] = lambda instance, objective, plan, values: []
    fronts: Fronts | None = None

    def formulas(self, instance: Instance, objective: str, plan: Plan) -> list[Formula]:
        """The formulas of an objective, or InvalidInput where it cannot be certified."""
        return self._stated(objective)[0](instance, plan)

    def lemma(self, objective: str) -> str:
        """Why plans that the formulas leave out need not be looked at; empty where none are."""
        return self._stated(objective)[1]

    def _stated(self, objective: str) -> tuple[Callable[[Any, Any], list[Formula]], str]:
        if objective not in self.by_objective:
            can = ", ".join(self.by_objective)
            raise InvalidInput(f"{objective} of {with_article(self.kind)} cannot be certified; {can} can")
        return self.by_objective[objective]


@functools.cache
def translations() -> dict[str, Translation]:
    """Kind of instance -> its translation, found by scanning the folders beside this file."""
    return {found.kind: found for found in scan_problems("certificates", "TRANSLATION", Translation)}


def translation_of(instance: Instance) -> Translation:
    """The translation for this kind of instance, or InvalidInput."""
    translation = translations().get(instance.kind)
    if translation is None:
        raise InvalidInput(
            f"{with_article(instance.kind)} cannot be certified; {', '.join(sorted(translations()))} can"
        )
    return translation
