"""`mlsched doctor`: installed versions, and solvers tested on models that some solver got wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlsched.cli.output import ChecksFailed, Json, emit, progress, table
from mlsched.core.aliases import Data

if TYPE_CHECKING:
    from mlsched.solvers.backends.known_bugs.models import KnownBug

#: Engines that mlsched trusts by default.
TRUSTED = ("cp-sat", "highs")


def doctor(as_json: Json = False) -> None:
    """Show versions, and test every installed solver on models that some solver got wrong."""
    from mlsched.core.versions import versions
    from mlsched.solvers.backends.known_bugs.ask import ENGINES, judged
    from mlsched.solvers.backends.known_bugs.models import known_bugs
    from mlsched.solvers.backends.known_bugs.trust import TESTED, version_of

    models, verdicts = list(known_bugs()), []
    with progress("solvers on small models", float(len(models))) as update:
        for known_bug in models:
            verdicts.append(_line(known_bug, {engine: judged(known_bug, engine) for engine in ENGINES}))
            update(float(len(verdicts)))
    engines = [_engine(name, version_of(name), verdicts, (name, version_of(name)) in TESTED) for name in ENGINES]
    words = {"right": "right", "wrong": "**wrong**", "silent": "silent", "not asked": ""}
    rows = [
        [c["model"], c["of"], ", ".join(c["features"]), *(words[c["said"][e]["verdict"]] for e in ENGINES)]
        for c in verdicts
    ]
    tables = [{"name": "known_bugs", "header": ["model", "from a", "has", *ENGINES], "rows": rows}]
    document = {"versions": versions(), "engines": engines, "known_bugs": verdicts, "tables": tables}
    emit(as_json, lambda: document, lambda: _tables(document))
    # Releases are tested with known versions, and their known faults are avoided; a fault of another version is news.
    news = [e for e in engines if e["engine"] in TRUSTED and e["wrong"] and not e["tested"]]
    if news:
        raise ChecksFailed(f"{news[0]['engine']} {news[0]['version']} is wrong about {', '.join(news[0]['wrong'])}")


def _line(known_bug: KnownBug, statements: dict[str, tuple[str, str]]) -> Data:
    """Return one model, its true answer, and the answer of each engine."""
    return {
        "model": known_bug.name,
        "of": known_bug.of,
        "source": known_bug.source,
        "features": sorted(known_bug.features),
        "answer": known_bug.answer if isinstance(known_bug.answer, str) else float(known_bug.answer),
        "said": {engine: {"verdict": verdict, "words": words} for engine, (verdict, words) in statements.items()},
    }


def _engine(name: str, version: str, lines: list[Data], tested: bool) -> Data:
    """Return an engine's entry: the number of right answers, and the models it got wrong."""
    verdicts = [(c["model"], c["said"][name]["verdict"]) for c in lines]
    counts = {kind: sum(v == kind for _, v in verdicts) for kind in ("right", "silent", "not asked")}
    wrong_models = [model for model, verdict in verdicts if verdict == "wrong"]
    return {"engine": name, "version": version, "tested": tested, **counts, "wrong": wrong_models}


def _tables(document: Data) -> list[Any]:
    rows = [
        [
            e["engine"],
            e["version"],
            *(str(e[k]) for k in ("right", "silent", "not asked")),
            ", ".join(e["wrong"]) or "-",
        ]
        for e in document["engines"]
    ]
    lines: list[Any] = [
        "versions: " + ", ".join(f"{name} {version}" for name, version in document["versions"].items()),
        table(
            f"{len(document['known_bugs'])} models about which some solver was wrong",
            ["engine", "version", "right", "silent", "not asked", "wrong about"],
            rows,
        ),
    ]
    for known_bug in document["known_bugs"]:
        for engine, statement in known_bug["said"].items():
            if statement["verdict"] == "wrong":
                lines.append(
                    f"{engine} says '{statement['words']}' about {known_bug['model']} (right: "
                    f"{known_bug['answer']}): no proof of models with {' and '.join(known_bug['features'])} by it is "
                    "believed here"
                )
    return lines
