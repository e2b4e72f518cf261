"""The glossary has every term that the command line prints."""

from __future__ import annotations

import ast
import re

import pytest
from documentation import DOCS, ROOT

#: Term on the screen -> its heading in the glossary.
TERMS = {
    "bound": "Bound",
    "bounded slowdown": "Bounded slowdown",
    "certified": "Evidence",
    "confirmed": "Evidence",
    "engine": "Engine",
    "feasible": "Status",
    "gap": "Gap",
    "gap to bound": "Gap",
    "grace": "Grace period",
    "open region": "Open region",
    "optimal": "Status",
    "point": "Front",
    "primary criterion": "Primary criterion",
    "relaxed bound": "Relaxed bound",
    "replay": "Replay",
    "shard": "Shard",
    "sort_key": "Sort key",
    "store": "Store",
    "suite": "Suite",
    "ticks": "Tick",
    "utilisation": "Utilisation",
    "verdict": "Verdict",
    "victim": "Victim",
}
#: Modules with the texts of the command line's output.
SCREENS = (
    "mlsched/cli",
    "mlsched/benchmark",
    "mlsched/simulation",
    "plugins/mlsched_admission/cli",
    "plugins/mlsched_papers",
)


def headings() -> list[str]:
    return re.findall(r"^## (.*)$", (DOCS / "reference" / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture(scope="module")
def printed() -> str:
    """All texts in the modules of the output, documentation aside."""
    found = []
    for folder in SCREENS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            found += [
                node.value
                for node in ast.walk(tree)
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in statements
            ]
    return "\n".join(found).lower()


@pytest.mark.parametrize("term", TERMS)
def test_a_term_on_the_screen_is_in_the_glossary(term: str, printed: str) -> None:
    assert re.search(rf"\b{term}", printed), "this term is on no screen any more"
    assert TERMS[term] in headings()


def test_entries_are_in_alphabetical_order_and_short() -> None:
    found = headings()
    assert found == sorted(found, key=str.lower)
    assert len(re.findall(r"\w+", (DOCS / "reference" / "glossary.md").read_text(encoding="utf-8"))) < 1200
