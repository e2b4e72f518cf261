"""Verdicts of the experiments by means only, compared with verdicts by intervals.

    python measurements/verdict_changes.py

Reads the recorded results of the experiments (docs/results). Prints one JSON document with a table per experiment: each
claim, its verdict by means alone (a claim holds under an interpretation when every mean lies within its bound, "holds"
when it does so under all interpretations, "does not hold" under none, else "depends on the interpretation"; every
interpretation counts, and nothing is assumed, fitted or untrained), its verdict by intervals (`papers/claim.py`), and
why they differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mlsched_papers.claim import Bound

RESULTS = Path(__file__).parents[1] / "docs" / "results"
#: Experiment -> the recorded result with its claims.
SOURCES = {"FitGpp": "fitgpp", "SLAQ": "slaq", "Harmony": "placement-online", "Chic": "chic", "MLFS": "mlfs"}
MADE = {
    "assumed": "the simulated world supposes what the claim says",
    "fitted": "parameters were fitted to the claim's numbers",
}


def by_means(claim: dict[str, Any]) -> str:
    """The verdict that looks at nothing but means."""
    interpretations: dict[str, list[bool | None]] = {}
    for piece in claim["measurements"]:
        mean = (piece["measured"] or {}).get("mean")
        within = None if mean is None else Bound(**piece["bound"]).admits(mean)
        interpretations.setdefault(piece["interpretation"], []).append(within)
    each = {False if False in found else None if None in found else True for found in interpretations.values()}
    if not each or None in each:
        return "not measured"
    return "depends on the interpretation" if len(each) > 1 else "holds" if True in each else "does not hold"


def reason(claim: dict[str, Any], former: str) -> str:
    """Why intervals say something else than means."""
    verdict, measurements = claim["verdict"], claim["measurements"]
    if verdict == former:
        return ""
    if verdict in MADE:
        return MADE[verdict]
    if verdict == "not trained":
        return f"what it is about is not trained: {next(e['untrained'] for e in measurements if e['untrained'])}"
    counted = [e for e in measurements if e["interpretation"] not in claim["excluded"] and e["measured"]]
    if verdict == "not measured":
        return next((e["repeats"] for e in measurements if e["repeats"]), "")
    if verdict == "undecided":
        unclear = [e for e in counted if e["side"] == "unclear"]
        closest = min(unclear or counted, key=lambda e: abs(Bound(**e["bound"]).margin(e["measured"]["mean"])))
        return f"{len(unclear)} of {len(counted)} intervals cross the bound; {worded(closest)}"
    if claim["excluded"]:
        return f"excluded interpretations do not count: {'; '.join(claim['excluded'])}"
    outside = [e for e in counted if e["side"] == "outside"]
    return f"one refuted piece is enough: {worded(outside[0])}" if outside else ""


def worded(piece: dict[str, Any]) -> str:
    """A piece of evidence in words."""
    half = piece["measured"].get("half")
    interval = f" ± {half:.3g}" if half else ""
    unit = f" {piece['unit']}" if piece["unit"] else ""
    needed = Bound(**piece["bound"])
    return (
        f"{piece['what']} ({piece['interpretation']}): {piece['measured']['mean']:.3g}{interval}{unit}, needed {needed}"
    )


def main() -> None:
    tables = []
    counts = {}
    for name, source in SOURCES.items():
        claims = json.loads((RESULTS / f"{source}.json").read_text(encoding="utf-8"))["document"]["claims"]
        rows = []
        for claim in claims:
            former = by_means(claim)
            rows.append([claim["text"], former, claim["verdict"], reason(claim, former)])
        counts[name] = {"claims": len(rows), "changed": sum(row[1] != row[2] for row in rows)}
        header = ["claim", "by means alone", "by intervals", "why they differ"]
        tables.append({"name": name, "header": header, "rows": rows})
    print(json.dumps({"tables": tables, "counts": counts}, ensure_ascii=False))


if __name__ == "__main__":
    main()
