"""What a problem brings to be certified by prices: its claims, found by the problem's name."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import textwrap
from collections.abc import Callable
from types import ModuleType
from typing import Any

from mlsched.certificates.prices import command, core, documents
from mlsched.core.contract import Instance
from mlsched.core.errors import InvalidInput, with_article
from mlsched.core.record import specs
from mlsched.core.registry import registry, scan_problems

#: Pairs of an objective and a value, for plans that are as good in it.
Within = tuple[tuple[str, int], ...]


@dataclasses.dataclass(frozen=True)
class Statement:
    """How instances of a kind ("quality.instance") are stated as blocks, options and rows.

    `module`: written from the problem's statement alone, as the judge is, it needs Python, `core.py` and the `shared`
    modules only. It has
    CLAIMS: objective -> a function of the instance as JSON data, a bound and `spend`, which is called with how much is
    listed; it returns the claims (`core.py`) which together say that no plan is better than the bound. SIGN:
    objective -> 1 or -1, where there is one claim whose target is that times the bound. `agrees`, where it makes
    tables that the instance has too: whether they are the same. `reaches`: whether prices and branches go as far as the
    best; where not, they leave a gap as a rule, and formulas go on from there. `limits`: whether functions in CLAIMS
    also take pairs of another objective and a value, and then speak of those plans alone that are as good in that.
    """

    kind: str
    module: ModuleType
    shared: tuple[ModuleType, ...] = ()
    agrees: Callable[[Any, dict[str, Any]], bool] = lambda instance, data: True
    reaches: bool = True
    limits: bool = False

    def claims(
        self,
        instance: Instance,
        objective: str,
        bound: int,
        spend: Callable[[int], None] = lambda steps: None,
        within: Within = (),
    ) -> list[Any]:
        """What must be proved so that no plan is better than `bound`; InvalidInput where it cannot be said so.

        within: other objectives and values; what is claimed is of the plans that are as good in these.
        """
        self.check(objective)
        for name, _ in within:
            self.check(name)
        if within and not self.limits:
            raise InvalidInput(
                f"plans of {with_article(self.kind)} that are as good in another objective cannot be bounded"
            )
        data = instance.to_json()
        if not self.agrees(instance, data):
            raise core.Wrong("the tables that the checker makes of the instance are not the judge's")
        made: list[Any] = self.module.CLAIMS[objective](data, bound, spend, *([within] if within else []))
        return made

    def check(self, objective: str) -> None:
        """InvalidInput where the objective cannot be certified by prices."""
        if objective not in self.module.CLAIMS:
            can = ", ".join(self.module.CLAIMS)
            raise InvalidInput(f"{objective} of {with_article(self.kind)} cannot be certified by prices; {can} can")

    def sources(self) -> tuple[str, str, str]:
        """What the checker is made of: the core that is the same for all problems, the statement, and its command."""
        first, second, third = map(_source, ((core,), (*self.shared, self.module), (documents, command)))
        types = registry().problem(self.kind.split(".")[0]).instance_types
        (instance_type,) = (found for found in types if found.kind == self.kind)
        names = ", ".join(f'"{name}"' for name in sorted(["kind", "version", *specs(instance_type)]))
        fields = textwrap.fill(names, 118, initial_indent="    ", subsequent_indent="    ")
        return first, f'{second}\nKIND = "{self.kind}"\nFIELDS = {{\n{fields},\n}}\n', third

    def checker(self) -> str:
        """A program that checks such certificates, for `python -I checker.py FOLDER`."""
        return "\n\n".join(self.sources())


def _source(modules: tuple[ModuleType, ...]) -> str:
    """Their text without what they import from mlsched, which stands before them in the checker."""
    texts = (re.sub(r"(?m)^from mlsched.*\n", "", inspect.getsource(module)) for module in modules)
    return "\n\n".join(text.rstrip() + "\n" for text in texts)


@functools.cache
def statements() -> dict[str, Statement]:
    """Kind of instance -> its statement, found by scanning the folders beside this one."""
    return {found.kind: found for found in scan_problems("certificates", "PRICES", Statement)}


def statement_of(instance: Instance) -> Statement:
    """The statement for this kind of instance, or InvalidInput."""
    statement = statements().get(instance.kind)
    if statement is None:
        raise InvalidInput(
            f"{with_article(instance.kind)} cannot be certified by prices; {', '.join(sorted(statements()))} can"
        )
    return statement
