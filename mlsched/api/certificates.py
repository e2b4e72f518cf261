"""Certified optima: from an instance to a folder that anyone can check, and the check of such a folder."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from mlsched.api.answers import solve
from mlsched.api.asked import default_solver
from mlsched.certificates import bundle, engine
from mlsched.certificates.by_formulas import Logic
from mlsched.certificates.by_prices import Dual
from mlsched.certificates.checked import Checked
from mlsched.certificates.claimed import Kind, claims_of
from mlsched.certificates.prices.statement import statements
from mlsched.core.aliases import Data
from mlsched.core.arguments import validate_arguments
from mlsched.core.contract import Instance, Plan
from mlsched.core.deadline import MOMENT, Deadline, OutOfTime
from mlsched.core.errors import BackendError, InvalidInput, SolverError
from mlsched.core.interrupts import finishing, stop_requested
from mlsched.core.params import Positive
from mlsched.core.request import resolve_objective
from mlsched.solvers import prices

#: Share of the time limit for the plan, and share of the remaining time for the proof; the rest is for its check.
FOR_PLAN, FOR_PROOF = 0.5, 0.8
#: The proof's share if a logic proof follows a dual proof.
FOR_GAP = 0.3
#: Wall seconds for a first bound after Ctrl-C ended the search for a plan or a proof.
LAST = 10.0


@validate_arguments
def certify(
    instance: Instance,
    folder: str | os.PathLike[str],
    *,
    objective: str | None = None,
    solver: str | None = None,
    plan: Plan | None = None,
    time_limit: Positive | None = None,
    proof: Kind | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> Checked:
    """Prove that a plan is optimal, or bound its gap, and write the proof to a folder that anyone can check.

    Args:
        instance: The instance.
        folder: Target of the proof; it must not exist.
        objective: Name of one of the instance's objectives; by default the first.
        solver: Solver that finds the plan if `plan` is None (default: the problem's).
        plan: The plan to certify. Without one, a better plan that the proof finds replaces the solver's plan.
        time_limit: Wall seconds. Dual proofs: in total; if the plan is not proved optimal in time, the certificate
            states an upper limit of its gap (`Checked.gap`). Logic proofs: for the plan, and again for each proof.
        proof: "dual" or "logic"; by default "dual" if the problem supports it. Dual proofs of task graphs usually prove
            a gap. Then a logic proof is tried for the remaining time (without a limit: until it ends); if it fails, the
            gap is certified.
        progress: Called with a line about the state of the proof.

    Returns:
        The checked certificate.

    Raises:
        InvalidInput: The folder exists, or the instance cannot be certified.
        BackendError: Time was over before a plan or a proof was found.
        SolverError: The plan is not optimal.

    Examples:
        >>> inst = mlsched.generate("quality", "small")
        >>> mlsched.certify(inst, "proof").evidence
        'certified'
    """
    if not isinstance(instance, Instance):
        raise InvalidInput(f"instance: {type(instance).__name__}, expected an instance; see mlsched.generate and load")
    goal = resolve_objective(instance, objective).name
    kinds = (proof,) if proof else _kinds(instance, goal)
    task = _Certification(instance, goal, Path(folder), kinds, time_limit, Deadline(time_limit), progress)
    task.check()
    if plan is not None:
        return task.prove(plan, searched=False)
    progress("finding a plan")
    return task.prove(task.plan_to_certify(solver), searched=True)


Proof = TypeVar("Proof", Dual, Logic)


@dataclasses.dataclass(frozen=True)
class _Certification:
    """One certificate to create: instance, objective, folder, kinds of proof and time."""

    instance: Instance
    objective: str
    folder: Path
    kinds: tuple[Kind, ...]
    seconds: float | None
    deadline: Deadline
    progress: Callable[[str], None]

    def check(self) -> None:
        """Raise InvalidInput, before any work, if the certificate cannot be created."""
        check_folder(self.folder, proof=self.kinds[0])
        bundle.KINDS[self.kinds[0]].check(self.instance, (self.objective,), ())

    def plan_to_certify(self, name: str | None) -> Plan:
        """Return a plan to certify, from a solver by name or from the problem's prover."""
        if name is None:
            name = default_solver(self.instance, self.objective)
        seconds = self.seconds
        if seconds is not None and "dual" in self.kinds:
            seconds = FOR_PLAN * seconds
        plan = solve(self.instance, name, objective=self.objective, time_limit=seconds).plan
        if plan is None:
            raise BackendError(f"{name} found no plan to certify; give it more time, or a plan")
        return plan

    def prove(self, plan: Plan, *, searched: bool) -> Checked:
        """Write the certificate of a plan; if the plan was `searched`, a better plan found by the proof replaces it."""
        if "dual" not in self.kinds:
            return bundle.certify_logic(self._claimed(Logic, plan), self.folder, seconds=self.seconds)
        self._claimed(Dual, plan)
        trees, bound, others = self._trees(plan)
        if bound != self._value(plan) and searched:
            plan = self._best([plan, *(other for other in others if not self.instance.violations(other))])
        if bound != self._value(plan) and "logic" in self.kinds and not stop_requested():
            gap = f"prices prove {self.objective} {bound} at best, and the plan has {self._value(plan)}"
            self.progress(f"{gap}; now looking for a proof of the best by formulas")
            remaining = self.deadline.remaining(MOMENT)
            seconds = None if remaining is None else FOR_PROOF * remaining
            try:
                return bundle.certify_logic(self._claimed(Logic, plan), self.folder, seconds=seconds)
            except (BackendError, InvalidInput) as error:
                self.progress(f"{error}; the gap is certified")
        return bundle.certify_dual(self._claimed(Dual, plan), self.folder, [(trees, bound)])

    def _claimed(self, kind: type[Proof], plan: Plan) -> Proof:
        """Return the claim that the plan is the best; raise InvalidInput if it is infeasible."""
        return kind.of(self.instance, [plan], [self.objective])

    def _trees(self, plan: Plan) -> tuple[list[list[Any]], int, list[Plan]]:
        """Return the dual proof for a plan, the bound that it proves, and better plans found meanwhile.

        After Ctrl-C without a proof, the proof is the result of a last short search.
        """
        remaining, share = self.deadline.remaining(), FOR_GAP if "logic" in self.kinds else FOR_PROOF
        limit = Deadline(None if remaining is None else share * remaining)
        value, others = self._value(plan), list[Plan]()
        callbacks: Data = {"progress": self.progress, "better": others.append}
        try:
            try:
                trees, bound = prices.trees(self.instance, self.objective, value, limit, **callbacks)
            except (BackendError, OutOfTime):
                if not stop_requested():
                    raise
                self.progress("interrupted: looking for a bound for a last moment")
                with finishing():
                    trees, bound = prices.trees(self.instance, self.objective, value, Deadline(LAST), **callbacks)
        except prices.Refuted:
            raise SolverError(
                f"the plan is not optimal: its {self.objective} is {value}, and a better plan exists"
            ) from None
        return trees, bound, others

    def _value(self, plan: Plan) -> int:
        value: int = self.instance.evaluate(plan)[self.objective]
        return value

    def _best(self, plans: Sequence[Plan]) -> Plan:
        """Return the best plan, the first of equal ones."""
        best = min if self.instance.objective(self.objective).sense == "min" else max
        return best(plans, key=self._value)


def _kinds(instance: Instance, objective: str) -> tuple[Kind, ...]:
    """Return the kinds of proof to try, in order, by default."""
    statement = statements().get(instance.kind)
    if statement is None or objective not in statement.module.CLAIMS:
        return ("logic",)
    return ("dual",) if statement.reaches else ("dual", "logic")


def check_folder(folder: str | os.PathLike[str], *files: str | os.PathLike[str] | None, proof: Kind = "logic") -> None:
    """Raise InvalidInput, before any work, if a certificate of this kind cannot be written to a folder.

    Args:
        folder: Target of the certificate.
        files: Other files that the command writes.
        proof: Kind of the certificate.
    """
    if proof == "logic":
        engine.version()
    bundle.check_target(Path(folder))
    for file in files:
        if file is not None and Path(file).absolute() == Path(folder).absolute():
            raise InvalidInput(f"{folder}: is to be a file and the folder of the proof; give them two names")


def check_objectives(instance: Instance, objectives: Sequence[str], proof: Kind | None = None) -> Kind:
    """Return the kind of proof for a front in these objectives; raise InvalidInput if it cannot be certified."""
    statement = statements().get(instance.kind)
    if proof is None:
        proof = "dual" if statement is not None and statement.limits else "logic"
    bundle.KINDS[proof].check(instance, objectives, ())
    return proof


@validate_arguments
def certify_front(
    instance: Instance,
    plans: Sequence[Plan],
    folder: str | os.PathLike[str],
    *,
    objectives: Sequence[str],
    first: Sequence[str] = (),
    time_limit: Positive | None = None,
    proof: Kind | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> Checked:
    """Prove that plans are the complete front of an instance, or bound their distance from it, for `check_certificate`.

    Logic proofs (admission, preemption, quality and rounds; extra "certify"): one formula, which asks for a plan that
    no point covers, is proved unsatisfiable. Dual proofs (task graphs, two objectives): each point is proved to be
    within a distance of the best, which bounds the distance of all points from every plan (`Checked.claim`); the front
    need not be complete.

    Args:
        instance: The instance.
        plans: One plan per point, for example `pareto(...).plans`.
        folder: Target of the proof; it must not exist.
        objectives: Names of the front's objectives.
        first: Objectives that are compared before them; only for logic proofs.
        time_limit: Wall seconds for the proof. With dual proofs, the results at the limit are certified.
        proof: "dual" or "logic"; by default the kind that the problem supports.
        progress: Called with a line about the state of the proof.

    Returns:
        The checked certificate.

    Raises:
        InvalidInput: The folder exists, the plans are not a front, or it cannot be certified.
        BackendError: Time was over before a proof was found.
        SolverError: A point is missing (logic proofs).

    Examples:
        >>> inst = mlsched.generate("taskgraph", "small")
        >>> goals = ["total_jct", "makespan"]
        >>> front = mlsched.pareto(inst, goals)
        >>> mlsched.certify_front(inst, front.plans, "points", objectives=goals).claim
        'for every plan, the point is as good in makespan and at most 5.9 % worse in total_jct'
    """
    if not isinstance(instance, Instance):
        raise InvalidInput(f"instance: {type(instance).__name__}, expected an instance; see mlsched.generate and load")
    objectives, first = ([names] if isinstance(names, str) else names for names in (objectives, first))
    kind = check_objectives(instance, objectives, proof)
    check_folder(folder, proof=kind)
    if kind == "logic":
        claimed = Logic.of(instance, plans, objectives, first)
        return bundle.certify_logic(claimed, Path(folder), seconds=time_limit, progress=progress)
    points, proofs, deadline = Dual.of(instance, plans, objectives, first), [], Deadline(time_limit)
    claims = claims_of(instance, objectives, points.values)
    for remain, (objective, value, within) in zip(range(len(claims), 0, -1), claims, strict=True):
        remaining, conditions = (
            deadline.remaining(),
            "".join(f" with {name} as good as {most}" for name, most in within),
        )
        limit = Deadline(None if remaining is None else FOR_PROOF / remain * remaining)
        report = functools.partial(_of_plans, progress, f"{objective} of plans{conditions}")
        proofs.append(prices.trees(instance, objective, value, limit, report, within))
    return bundle.certify_dual(points, Path(folder), proofs)


def _of_plans(progress: Callable[[str], None], plans: str, line: str) -> None:
    progress(f"{plans}: {line}")


@validate_arguments
def check_certificate(folder: str | os.PathLike[str], *, time_limit: Positive | None = bundle.SECONDS) -> Checked:
    """Check a folder that `certify` or `certify_front` wrote: judge, claims or formulas, proofs, hashes.

    The folder's content is never executed.

    Args:
        folder: The folder.
        time_limit: Wall seconds, after which the check fails; None for unlimited time.

    Returns:
        A `Checked`; its `wrong` lists the faults.

    Raises:
        InvalidFile: The folder lacks a readable certificate.

    Examples:
        >>> made = mlsched.certify(mlsched.generate("quality", "small"), "proof")
        >>> mlsched.check_certificate("proof").wrong
        ()
    """
    return bundle.check(Path(folder), seconds=time_limit)
