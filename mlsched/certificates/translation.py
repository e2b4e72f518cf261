"""The translation of a problem into formulas, found by the problem's name."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping

from mlsched.certificates.cover import Fronts
from mlsched.certificates.formula import Formula
from mlsched.core.contract import Instance, Plan
from mlsched.core.errors import InvalidInput, with_article
from mlsched.core.registry import scan_problems


@dataclasses.dataclass(frozen=True)
class Translation:
    """The statement of instances of a kind ("preemption.instance") in 0-1 formulas.

    Attributes:
        by_objective: The statement of each certifiable objective, and its lemma. The statement is a function of an
            instance and a feasible plan. The values of its formulas (`Formula.value` of their minima) add up to the
            best value of the objective, provided that this is the value of the plan. It is written from the problem's
            statement only, like the judge. The lemma explains in a sentence why omitted plans are not better; it is
            empty if all plans are covered.
        claims: `claims(instance, objective, plan, values)`: the unproven parts, in sentences with the numbers of this
            instance and plan, computed from them; `values`: the proven value of each formula. A reader has to follow
            them.
        fronts: The statement of its fronts, if they can be certified.
    """

    kind: str
    by_objective: Mapping[str, tuple[Callable[..., list[Formula]], str]]
    claims: Callable[..., list[str]] = lambda instance, objective, plan, values: []
    fronts: Fronts | None = None

    def formulas(self, instance: Instance, objective: str, plan: Plan) -> list[Formula]:
        """Return the formulas of an objective; raise InvalidInput if it cannot be certified."""
        return self._statement_of(objective)[0](instance, plan)

    def lemma(self, objective: str) -> str:
        """Return why omitted plans are not better; empty if all plans are covered."""
        return self._statement_of(objective)[1]

    def _statement_of(self, objective: str) -> tuple[Callable[..., list[Formula]], str]:
        if objective not in self.by_objective:
            can = ", ".join(self.by_objective)
            raise InvalidInput(f"{objective} of {with_article(self.kind)} cannot be certified; {can} can")
        return self.by_objective[objective]


@functools.cache
def translations() -> dict[str, Translation]:
    """Return the translation of each kind of instance, found by scanning the folders of this package."""
    return {translation.kind: translation for translation in scan_problems("certificates", "TRANSLATION", Translation)}


def translation_of(instance: Instance) -> Translation:
    """Return the translation for this kind of instance, or raise InvalidInput."""
    translation = translations().get(instance.kind)
    if translation is None:
        raise InvalidInput(
            f"{with_article(instance.kind)} cannot be certified; {', '.join(sorted(translations()))} can"
        )
    return translation
