"""A certificate as a folder: an instance, plans, and proofs of their optimality; and the check of such a folder.

    instance.json, plans.json     the instance, and the claimed best plan; of a front one plan per point
    checker.py                    decides about the proofs without mlsched
    manifest.json                 objectives, values, the list of proofs, and the SHA-256 of every other file

There are two kinds of proof, in separate modules: `by_prices.py` and `by_formulas.py`. A folder is accepted if the
judge confirms the claimed values of the plans, and the proofs match the instance and these values.
"""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from mlsched.certificates import by_formulas, by_prices
from mlsched.certificates.by_formulas import Logic
from mlsched.certificates.by_prices import Dual
from mlsched.certificates.checked import Checked
from mlsched.certificates.claimed import Claimed, Kind
from mlsched.certificates.received import (
    KIND,
    MOST_LOG,
    VERSION,
    differing_fields,
    hash_of,
    manifest_of,
    plans_of,
    record_of,
    wrong_files,
)
from mlsched.core.contract import Instance, Plan
from mlsched.core.deadline import Deadline, OutOfTime
from mlsched.core.errors import BackendError, InvalidInput, one_line, shorten
from mlsched.core.files import write_json
from mlsched.core.interrupts import finishing
from mlsched.core.registry import registry
from mlsched.core.safe_open import shown_path
from mlsched.core.temporary import temporary_directory
from mlsched.core.versions import versions

#: Default wall limit of a check; the largest proofs so far took half a minute.
SECONDS = 300.0
KINDS: dict[Kind, type[Claimed]] = {"dual": Dual, "logic": Logic}


def check_target(folder: Path) -> None:
    """Refuse a folder that cannot be made, before any work."""
    if os.path.lexists(folder):
        raise InvalidInput(f"{shown_path(folder)}: exists already; name a new folder")
    if not folder.parent.is_dir():
        raise InvalidInput(f"{shown_path(folder)}: unknown folder {shown_path(folder.parent)}; make it first")


def certify_logic(
    claimed: Logic, folder: Path, *, seconds: float | None = None, progress: Callable[[str], None] = lambda line: None
) -> Checked:
    """Prove a claim by formulas and write the certificate to `folder`, which must not exist.

    The folder appears when it is complete and its check has passed.

    Args:
        claimed: The claim.
        folder: Target.
        seconds: Limit on the search for each proof and on writing out its steps; the check then takes less.
        progress: Receives lines about the progress.

    Raises:
        InvalidInput: The folder exists.
        BackendError: A proof was not found.
        SolverError: The plan is not optimal, or a point is missing.
    """
    return _write_certificate(
        claimed, folder, functools.partial(by_formulas.write, claimed, seconds=seconds, progress=progress)
    )


def certify_dual(claimed: Dual, folder: Path, proved_trees: Sequence[tuple[list[Any], int]]) -> Checked:
    """Write the certificate that trees of prices make to `folder`; `proved_trees`: see `by_prices.write`."""
    return _write_certificate(claimed, folder, functools.partial(by_prices.write, claimed, proved_trees))


def _write_certificate(claimed: Claimed, folder: Path, write: Callable[[Path], dict[str, Any]]) -> Checked:
    """Return a new certificate; `write` puts its proofs into a folder and returns their manifest entries."""
    check_target(folder)
    instance = claimed.instance
    with new_folder(folder) as new:
        proofs = write(new)
        plans = [plan.to_json() for plan in claimed.plans]
        write_json(new / "plans.json", {"instance_hash": instance.hash, "plans": plans})
        write_json(new / "instance.json", instance.to_json())
        document = {
            "kind": KIND,
            "version": VERSION,
            "problem": instance.problem,
            "instance_hash": instance.hash,
            "objectives": list(claimed.objectives),
            "first": list(claimed.first),
            "values": [list(row) for row in claimed.values],
            "proof": claimed.kind,
            "lemma": claimed.lemma,
            **proofs,
            "made_by": {"mlsched": versions()["mlsched"], **proofs["made_by"]},
            "sha256": {path.name: hash_of(path, MOST_LOG) for path in sorted(new.iterdir())},
        }
        write_json(new / "manifest.json", document)
        with finishing():
            checked = check(new, seconds=None)
        if checked.wrong:
            raise BackendError(f"the certificate did not pass its own check: {checked.wrong[0]}")
    return checked


@contextlib.contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Create a folder that gets its name when the block has ended without an error."""
    try:
        with temporary_directory(f".{target.name[:100]}.", target.parent) as new:
            yield new
            mask = os.umask(0)
            os.umask(mask)
            new.chmod(0o777 & ~mask)
            new.rename(target)
    except OSError as error:
        raise InvalidInput(f"{shown_path(target)}: cannot be written: {error.strerror}; check the path") from None


def check(folder: Path, *, seconds: float | None = SECONDS) -> Checked:
    """Check a certificate's folder with only the code of this mlsched: the folder's files are read, never run.

    Args:
        folder: The certificate.
        seconds: Wall limit, after which the folder is not certified; None for no limit.

    Raises:
        InvalidFile: The folder does not contain a readable certificate.
    """
    start, deadline = time.perf_counter(), Deadline(seconds)
    manifest = manifest_of(folder)
    instance, plans, wrong = _read_contents(folder, manifest)
    kind, proofs = KINDS[manifest["proof"]], manifest["proofs"]
    objectives, first = tuple(manifest["objectives"]), tuple(manifest["first"])
    kind.check(instance, objectives, first)
    wrong += _wrong_plans(instance, plans, (*first, *objectives), manifest["values"])
    claimed = kind(instance, plans, objectives, first, [] if wrong else manifest["values"])
    if not wrong and (why := claimed.disorder()):
        wrong.append(f"the plans are not a front: {why}")
    if not wrong and manifest["lemma"] != claimed.lemma:
        wrong.append("the manifest's lemma is not the one for this objective")
    claims: list[str] = []
    if not wrong:
        try:
            wrong += claimed.wrong_proofs(folder, proofs, claims, deadline)
        except OutOfTime:
            wrong.append(f"the check did not end in {seconds:g} s; give it more time (--time-limit)")
    return Checked(
        instance,
        tuple(plans),
        objectives,
        first,
        tuple(tuple(row[len(first) :]) for row in claimed.values),
        () if wrong else claimed.bounds(proofs),
        manifest["proof"],
        manifest["lemma"],
        tuple(claims),
        tuple(map(one_line, wrong)),
        time.perf_counter() - start,
    )


def _read_contents(folder: Path, manifest: dict[str, Any]) -> tuple[Instance, list[Plan], list[str]]:
    """Return the instance, the plans, and the faults of a certificate's folder."""
    wrong = list(wrong_files(folder, manifest))
    problem = registry().problem(manifest["problem"])
    instance: Instance
    path = folder / "instance.json"
    instance, _ = record_of(path, {t.kind: t for t in problem.instance_types})
    wrong += differing_fields(path, instance)
    if manifest["instance_hash"] != instance.hash:
        wrong.append("instance.json is not the instance that the manifest names")
    plans, answers = plans_of(folder / "plans.json", instance.plan_type)
    wrong += ["plans.json answers another instance"] if answers != instance.hash else []
    return instance, plans, wrong


def _wrong_plans(
    instance: Instance, plans: Sequence[Plan], names: Sequence[str], values: Sequence[list[int]]
) -> Iterator[str]:
    """Return faults unless the judge gives the plans the claimed values of these objectives."""
    if len(values) != len(plans):
        yield f"the manifest has {len(values)} points, plans.json {len(plans)}"
        return
    for number, (plan, claimed_row) in enumerate(zip(plans, values, strict=True), 1):
        if violations := instance.violations(plan):
            yield f"plan {number} is infeasible: {violations[0]}"
            return
        values_of_judge = instance.evaluate(plan)
        row = [values_of_judge[name] for name in names]
        if claimed_row != row or any(type(value) is not int for value in claimed_row):
            yield f"plan {number} has {', '.join(map(str, row))}: the manifest claims {shorten(str(claimed_row), 100)}"
            return
