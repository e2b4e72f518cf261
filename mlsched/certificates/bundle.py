"""A certificate as a folder: an instance, a plan, and proofs that no plan is better; and the check of such a folder.

    instance.json, plan.json      what was asked and what is claimed to be best, or close to it
    checker.py                    decides about the proofs without mlsched
    manifest.json                 what is claimed, and the SHA-256 of every other file

Of proofs there are two kinds, in files of their own: `by_prices.py` and `by_formulas.py`. A folder is accepted where
the judge gives the plan the value that is claimed and the proofs hold for the instance. Folders of fronts, with several
plans, are in `fronts.py`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

from mlsched.certificates import by_formulas, by_prices
from mlsched.certificates.received import (
    KIND,
    MOST_LOG,
    PRICES,
    hash_of,
    manifest_of,
    other_than,
    plans_of,
    record_of,
    wrong_files,
)
from mlsched.certificates.translation import translation_of
from mlsched.core import html
from mlsched.core.brief import short_repr
from mlsched.core.contract import Instance, Plan, Primary, format_value, stated_bound
from mlsched.core.deadline import Deadline, OutOfTime
from mlsched.core.errors import BackendError, InvalidInput, one_line
from mlsched.core.files import write_json
from mlsched.core.gap import Gap, gap_between
from mlsched.core.interrupts import finishing
from mlsched.core.opening import shown_path
from mlsched.core.registry import registry
from mlsched.core.temporary import swept_folder
from mlsched.core.versions import versions

#: Wall limit of a check, where no other is given; the largest proofs so far took half a minute.
SECONDS = 300.0


@dataclasses.dataclass(frozen=True)
class Checked:
    """What the check of a folder found: `wrong` is empty exactly when what the folder claims is proved.

    `sort_bound`: no plan is better; where it is the plan's `sort_key`, the plan is optimal. Both order plans, with what
    the objective compares first; `value` and `bound` are the numbers in its unit. `lemma` says why formulas leave out
    nothing that is better, `claims` with which numbers of this instance and plan, recomputed by the check: what a
    reader has to follow, since no formula proves it. `proof`: the kind, "prices" or "formulas".
    """

    instance: Instance
    plan: Plan
    objective: str
    sort_key: int
    lemma: str
    wrong: tuple[str, ...]
    seconds: float
    claims: tuple[str, ...] = ()
    sort_bound: int | None = None
    proof: Literal["dual", "logic"] = "logic"

    def __repr__(self) -> str:
        goal = self.instance.objective(self.objective)
        value = f"{goal.name} {format_value(self.sort_key, self.primary, goal.unit)}"
        if self.wrong:
            return short_repr(self, value, f"not certified: {self.wrong[0]}")
        away = f"certified: at most {self.shown_gap} from the best"
        return short_repr(self, value, "certified" if self.evidence else away)

    def _repr_html_(self) -> str:
        """For notebooks: what is certified, or what does not hold."""
        goal = self.instance.objective(self.objective)
        row = [goal.name, goal.sense, goal.unit, self.value, self.bound, self.shown_gap]
        values = html.table(["objective", "sense", "unit", "value", "bound", "gap at most"], [row])
        wrong = html.table(["what does not hold"], [[line] for line in self.wrong]) if self.wrong else ""
        state = "not certified" if self.wrong else "certified"
        return html.block(f"certificate by {self.proof}", [state, f"checked in {self.seconds:.3g} s"], values, wrong)

    @property
    def primary(self) -> Primary | None:
        """What the objective compares first."""
        return self.instance.primary(self.objective)

    @property
    def value(self) -> int:
        """The value as people read it, without what is compared first."""
        return self.sort_key if self.primary is None else int(self.primary.split(self.sort_key)[1])

    @property
    def bound(self) -> int | None:
        """The bound as people read it; None where it has another count than the plan."""
        shown = stated_bound(self.sort_key, self.sort_bound, self.primary)
        return None if shown is None else int(shown)

    @property
    def evidence(self) -> Literal["certified"] | None:
        """ "certified" where the check passed and the plan is optimal."""
        return None if self.wrong or self.sort_bound != self.sort_key else "certified"

    @property
    def gap(self) -> Gap | None:
        """How far the plan is from the best at most, where the check passed."""
        if self.wrong or self.sort_bound is None:
            return None
        return gap_of(self.instance, self.objective, self.sort_key, self.sort_bound)

    @property
    def shown_gap(self) -> str | None:
        """`gap` in words, rounded up: "1.1 %", "12 ticks"; None where the check did not pass."""
        return None if self.gap is None else self.gap.rounded_up


def gap_of(instance: Instance, objective: str, value: int, bound: int) -> Gap:
    """How far a value is from the best at most, where no plan is better than a bound."""
    goal, rank = instance.objective(objective), instance.primary(objective)
    gap = gap_between(value, bound, sense=goal.sense, unit=goal.unit, primary=rank)
    figure = value if rank is None else int(rank.split(value)[1])
    if figure * (stated_bound(value, bound, rank) or 0) < 0:  # the best may be close to 0: no share of it is so much
        return Gap(gap.difference, goal.unit, None)
    return gap


def check_target(folder: Path) -> None:
    """Refuse a folder that cannot be made, before any work."""
    if os.path.lexists(folder):
        raise InvalidInput(f"{shown_path(folder)}: exists already; name a new folder")
    if not folder.parent.is_dir():
        raise InvalidInput(f"{shown_path(folder)}: there is no folder {shown_path(folder.parent)}; make it first")


def certify(instance: Instance, objective: str, plan: Plan, folder: Path, *, seconds: float | None = None) -> Checked:
    """Prove by formulas that `plan` is optimal and write the certificate to `folder`, which must not exist.

    seconds: limit on the search for each proof and on writing out its steps; the check then takes less. The folder
    appears when it is complete and its check has passed.
    Raises InvalidInput where the folder exists, the plan is infeasible or the instance cannot be certified,
    BackendError where no proof was found, SolverError where the plan is not optimal.
    """
    write = functools.partial(by_formulas.write, instance, objective, plan, seconds=seconds)
    return made(instance, objective, plan, folder, write)


def certify_by_prices(
    instance: Instance, objective: str, plan: Plan, folder: Path, trees: list[list[Any]], bound: int
) -> Checked:
    """Write the certificate that trees of prices make of `bound` to `folder`; the rest is as in `certify`."""
    write = functools.partial(by_prices.write, instance, objective, bound, trees)
    return made(instance, objective, plan, folder, write)


def made(
    instance: Instance, objective: str, plan: Plan, folder: Path, write: Callable[[Path], dict[str, Any]]
) -> Checked:
    """A new certificate whose proofs `write` puts into a folder; it returns what the manifest says of them."""
    check_target(folder)
    if wrong := instance.violations(plan):
        raise InvalidInput(f"the plan is infeasible: {wrong[0]}")
    with new_folder(folder) as new:
        proofs = write(new)
        write_json(new / "plan.json", {**plan.to_json(), "instance_hash": instance.hash})
        seal(new, instance, {**proofs, "objective": objective, "value": instance.evaluate(plan)[objective]})
        with finishing():
            checked = check(new, seconds=None)
        if checked.wrong:
            raise BackendError(f"the certificate did not pass its own check: {checked.wrong[0]}")
    return checked


def seal(folder: Path, instance: Instance, said: dict[str, Any]) -> None:
    """Write the instance, and the manifest with what it says of the proofs and the hash of every file."""
    write_json(folder / "instance.json", instance.to_json())
    document = {
        **said,
        "problem": instance.problem,
        "instance_hash": instance.hash,
        "made_by": {"mlsched": versions()["mlsched"], **said["made_by"]},
        "sha256": {path.name: hash_of(path, MOST_LOG) for path in sorted(folder.iterdir())},
    }
    write_json(folder / "manifest.json", document)


@contextlib.contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A folder that gets its name when the block has ended without an error."""
    try:
        with swept_folder(f".{target.name[:100]}.", target.parent) as made:
            yield made
            mask = os.umask(0)
            os.umask(mask)
            made.chmod(0o777 & ~mask)
            made.rename(target)
    except OSError as error:
        raise InvalidInput(f"{shown_path(target)}: cannot be written: {error.strerror}; check the path") from None


def check(folder: Path, *, seconds: float | None = SECONDS) -> Checked:
    """Check a certificate's folder, by code of this mlsched alone: what lies in the folder is read, never run.

    seconds: wall limit, after which the folder is not certified; None: however long it takes.
    Raises InvalidFile where it holds no certificate that could be read.
    """
    started, deadline = time.perf_counter(), Deadline(seconds)
    manifest = manifest_of(folder, KIND, PRICES)
    prices = manifest["kind"] == PRICES
    instance, wrong = opened(folder, manifest)
    plan: Plan
    plan, answers = record_of(folder / "plan.json", {instance.plan_type.kind: instance.plan_type})
    objective = type(instance).objective(manifest["objective"]).name
    wrong += ["plan.json answers another instance"] if answers != instance.hash else []
    wrong += _wrong_plan(manifest, instance, plan, objective)
    values: list[int] = []
    if not wrong:
        try:
            if prices:
                wrong = list(by_prices.wrong_trees(folder, manifest, instance, objective, deadline))
            else:
                wrong = list(by_formulas.wrong_proofs(folder, manifest, instance, plan, objective, values, deadline))
        except OutOfTime:
            wrong = [f"the check did not end in {seconds:g} s; give it more time (--time-limit)"]
    claims = [] if wrong or prices else translation_of(instance).claims(instance, objective, plan, values)
    took = time.perf_counter() - started
    return Checked(
        instance,
        plan,
        objective,
        manifest["value"],
        "" if prices else manifest["lemma"],
        tuple(map(one_line, wrong)),
        took,
        tuple(claims),
        manifest["bound"] if prices else manifest["value"],
        "dual" if prices else "logic",
    )


def opened(folder: Path, manifest: dict[str, Any]) -> tuple[Instance, list[str]]:
    """The instance of a folder, and what is wrong with that and with the files."""
    wrong = list(wrong_files(folder, manifest))
    problem = registry().problem(manifest["problem"])
    instance: Instance
    path = folder / "instance.json"
    instance, _ = record_of(path, {t.kind: t for t in problem.instance_types})
    wrong += other_than(path, instance)
    if manifest["instance_hash"] != instance.hash:
        wrong.append("instance.json is not the instance that the manifest names")
    return instance, wrong


def opened_points(folder: Path, kind: str) -> tuple[dict[str, Any], Instance, list[Any], list[str]]:
    """Manifest, instance and plans of a folder that has a plan for each point, and what is wrong with its files."""
    manifest = manifest_of(folder, kind)
    instance, wrong = opened(folder, manifest)
    plans, answers = plans_of(folder / "plans.json", instance.plan_type)
    wrong += ["plans.json answers another instance"] if answers != instance.hash else []
    return manifest, instance, plans, wrong


def _wrong_plan(manifest: dict[str, Any], instance: Instance, plan: Plan, objective: str) -> Iterator[str]:
    """The judge gives the plan the value that is claimed."""
    if violations := instance.violations(plan):
        yield f"plan.json is infeasible: {violations[0]}"
    elif (value := instance.evaluate(plan)[objective]) != manifest["value"]:
        yield f"plan.json has {objective} = {value}: the manifest claims {manifest['value']}"
