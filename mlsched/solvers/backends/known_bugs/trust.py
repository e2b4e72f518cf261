"""Whom to believe about which models: a version that is wrong about a known-bug model proves nothing about models like
it.

A model is like a known-bug model when it has all of its features (`features_of`): a solver that is wrong about integer
and continuous variables together is believed about 0-1 variables alone. Versions that this release was tested with are
in `TESTED`; another version is asked all known-bug models once per process, when a model of its is first proved
optimal."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from mlsched.core.errors import BackendError
from mlsched.core.formulation import Outcome, Status
from mlsched.core.versions import versions
from mlsched.solvers.backends.known_bugs.ask import ENGINES, judged
from mlsched.solvers.backends.known_bugs.models import Feature, known_bugs

#: (engine, version) -> the known-bug models about which it is wrong; held against the installed ones by the tests.
TESTED: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("cp-sat", "9.15.6755"): (),
    # Integers with bounds of 10^7 and more, with and without presolve: HiGHS issue 3296 is of that kind.
    ("highs", "1.13.1"): ("equality-with-large-bounds", "equality-with-large-bounds-mixed", "highs-3090"),
    ("scip", "9.15.6755"): (),
    # HiGHS 1.12.0.
    ("ortools-highs", "9.15.6755"): ("highs-2585", "highs-1704", "highs-3090"),
}
#: Known-bug models that only presolve is wrong about: models with continuous columns are proved twice
#: (`second_opinion.py`).
PROVED_TWICE = ("highs-3090",)


def version_of(engine: str) -> str:
    """The version of the engine's distribution."""
    return versions().get(ENGINES[engine], "unknown")


def failed(engine: str) -> tuple[str, ...]:
    """Names of the known-bug models about which the installed version of an engine is wrong."""
    tested = TESTED.get((engine, version_of(engine)))
    return _asked(engine) if tested is None else tested


@functools.cache
def _asked(engine: str) -> tuple[str, ...]:
    return tuple(c.name for c in known_bugs() if judged(c, engine)[0] == "wrong")


def doubt(engine: str, features: Callable[[], frozenset[Feature]]) -> str | None:
    """Why this engine's proof about a model with such features is not believed; None where it is."""
    if engine not in ENGINES or not (wrong := failed(engine)):
        return None
    has = features()
    for known_bug in known_bugs():
        if known_bug.name in wrong and known_bug.name not in PROVED_TWICE and known_bug.features <= has:
            source, kinds = known_bug.source.partition(",")[0], " and ".join(sorted(known_bug.features))
            return (
                f"{engine} {version_of(engine)} is wrong about {known_bug.name} ({source}), a model with {kinds} like "
                "this one: its proof is not believed; install another version (mlsched doctor), or use another solver"
            )
    return None


def refuse(engine: str, features: Callable[[], frozenset[Feature]]) -> None:
    """Raise BackendError where an engine is not believed about a model with such features: a front is proofs alone."""
    if (why := doubt(engine, features)) is not None:
        raise BackendError(why)


def believed(outcome: Outcome, engine: str, features: Callable[[], frozenset[Feature]]) -> Outcome:
    """The outcome of an engine; one that proves nothing, and says why, where the engine is not believed."""
    if outcome.status not in ("optimal", "infeasible") or (why := doubt(engine, features)) is None:
        return outcome
    status: Status = "unknown" if outcome.plan is None else "feasible"
    return Outcome(status, outcome.plan, None, "backend", outcome.work, why)
