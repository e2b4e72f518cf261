"""Trust in engines: a version that is wrong about a known-bug model proves nothing about similar models.

A model is similar to a known-bug model if it has all of its features (`features_of`). For example, a solver that is
wrong about models with both integer and continuous variables is still trusted on pure 0-1 models. `TESTED` lists the
versions that this release was tested with. Any other version is tested on all known-bug models once per process, when
it first proves a model optimal.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from mlsched.core.errors import BackendError
from mlsched.core.formulation import Outcome, Status
from mlsched.core.versions import versions
from mlsched.solvers.backends.known_bugs.ask import ENGINES, judged
from mlsched.solvers.backends.known_bugs.models import Feature, known_bugs

#: (engine, version) -> the known-bug models about which it is wrong; the tests compare this with the installed
#: versions.
TESTED: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("cp-sat", "9.15.6755"): (),
    # Integers with bounds of at least 10^7, with and without presolve, as in HiGHS issue 3296.
    ("highs", "1.13.1"): ("equality-with-large-bounds", "equality-with-large-bounds-mixed", "highs-3090"),
    ("scip", "9.15.6755"): (),
    # HiGHS 1.12.0.
    ("ortools-highs", "9.15.6755"): ("highs-2585", "highs-1704", "highs-3090"),
}
#: Known-bug models about which only presolve is wrong: models with continuous columns are proved twice
#: (`second_opinion.py`).
PROVED_TWICE = ("highs-3090",)


def version_of(engine: str) -> str:
    """Return the version of the engine's distribution."""
    return versions().get(ENGINES[engine], "unknown")


def failed(engine: str) -> tuple[str, ...]:
    """Return the names of the known-bug models about which the installed version of an engine is wrong."""
    tested = TESTED.get((engine, version_of(engine)))
    return _asked(engine) if tested is None else tested


@functools.cache
def _asked(engine: str) -> tuple[str, ...]:
    return tuple(c.name for c in known_bugs() if judged(c, engine)[0] == "wrong")


def doubt(engine: str, features: Callable[[], frozenset[Feature]]) -> str | None:
    """Return why this engine's proof about a model with such features is rejected; None if it is accepted."""
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
    """Raise BackendError if an engine is not trusted on a model with such features: a front consists only of proofs."""
    if (why := doubt(engine, features)) is not None:
        raise BackendError(why)


def believed(outcome: Outcome, engine: str, features: Callable[[], frozenset[Feature]]) -> Outcome:
    """Return the outcome of an engine; if the engine is not trusted, an outcome without proof that explains this."""
    if outcome.status not in ("optimal", "infeasible") or (why := doubt(engine, features)) is None:
        return outcome
    status: Status = "unknown" if outcome.plan is None else "feasible"
    return Outcome(status, outcome.plan, None, "backend", outcome.work, why)
