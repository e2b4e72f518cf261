"""Claims of a certificate: values of plans, and for each kind of proof their optimality or gap."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from mlsched.certificates.prices.statement import Within
from mlsched.core.contract import Instance, Plan, stated_bound
from mlsched.core.deadline import Deadline
from mlsched.core.errors import InvalidInput
from mlsched.core.gap import Gap, gap_between

#: A claim: an objective, a point's value of it, and the plans of which it speaks.
Claim = tuple[str, int, Within]
#: The kinds of proof.
Kind = Literal["dual", "logic"]
#: A row of values per plan.
Values = Sequence[Sequence[int]]


@dataclasses.dataclass(frozen=True)
class Claimed(abc.ABC):
    """Plans, and the values that the judge gives them; each subclass is a kind of proof.

    values: For each plan the values of `first`, which are compared before, and then of `objectives`.
    """

    instance: Instance
    plans: Sequence[Plan]
    objectives: Sequence[str]
    first: Sequence[str]
    values: Values

    kind: ClassVar[Kind]

    @classmethod
    def of(
        cls, instance: Instance, plans: Sequence[Plan], objectives: Sequence[str], first: Sequence[str] = ()
    ) -> Self:
        """Return the claim about these plans, in the order of their values.

        Raises:
            InvalidInput: The plans are infeasible, not a front, or cannot be certified.
        """
        cls.check(instance, objectives, first)
        names, rows = (*first, *objectives), []
        for number, plan in enumerate(plans, 1):
            if wrong := instance.violations(plan):
                which = "the plan" if len(names) == 1 else f"plan {number} of the front"
                raise InvalidInput(f"{which} is infeasible: {wrong[0]}")
            judged_values = instance.evaluate(plan)
            rows.append([judged_values[name] for name in names])
        if not plans:
            raise InvalidInput("the front is empty, so it cannot be certified")
        order = sorted(range(len(plans)), key=lambda k: sign_of(instance, objectives[0]) * rows[k][len(first)])
        claimed = cls(instance, [plans[k] for k in order], objectives, first, [rows[k] for k in order])
        if why := claimed.disorder():
            raise InvalidInput(f"these plans are not a front: {why}")
        return claimed

    @property
    def of_front(self) -> bool:
        """Return True if several objectives are claimed, or others are compared before."""
        return bool(self.first) or len(self.objectives) != 1

    @property
    def lemma(self) -> str:
        """Return the manifest's reason why omitted plans are not better; "" if the proofs omit no plans."""
        return ""

    @staticmethod
    @abc.abstractmethod
    def check(instance: Instance, objectives: Sequence[str], first: Sequence[str]) -> None:
        """Raise InvalidInput if the kind of proof cannot certify these objectives."""

    @abc.abstractmethod
    def disorder(self) -> str:
        """Return why the values cannot be a front; "" if they can."""

    @abc.abstractmethod
    def wrong_proofs(self, folder: Path, proofs: list[object], claims: list[str], deadline: Deadline) -> Iterator[str]:
        """Yield why the proofs of a folder do not prove the claims; append the reader's obligations.

        Args:
            folder: The certificate.
            proofs: Entries of the manifest.
            claims: Receives sentences that a reader has to follow.
            deadline: OutOfTime is raised then.
        """

    @abc.abstractmethod
    def bounds(self, proofs: list[Any]) -> tuple[int, ...]:
        """Return the bounds of proofs that are not wrong (`Checked.bounds`)."""


def sign_of(instance: Instance, objective: str) -> int:
    """Return 1 for an objective that is minimised, -1 for others."""
    return 1 if instance.objective(objective).sense == "min" else -1


def claims_of(instance: Instance, objectives: Sequence[str], values: Sequence[Sequence[int]]) -> list[Claim]:
    """Return the claims that plans with these values need: one for each, and one on the second objective."""
    if len(objectives) == 1:
        return [(objectives[0], values[0][0], ())]
    first, second = objectives
    better = sign_of(instance, second)
    limits: list[Within] = [(), *(((second, row[1] - better),) for row in values[:-1])]
    claims: list[Claim] = [(first, row[0], limit) for row, limit in zip(values, limits, strict=True)]
    return [*claims, (second, values[-1][1], ())]


def gap_of(instance: Instance, objective: str, value: int, bound: int) -> Gap:
    """Return the gap of a value to a bound on all plans."""
    goal, rank = instance.objective(objective), instance.primary(objective)
    gap = gap_between(value, bound, sense=goal.sense, unit=goal.unit, primary=rank)
    figure = value if rank is None else int(rank.split(value)[1])
    if figure * (stated_bound(value, bound, rank) or 0) < 0:  # the best may be close to 0, without a relative gap
        return Gap(gap.difference, goal.unit, None)
    return gap
