"""Write docs/reference/solvers.md from the registry: `python tools/make_solvers.py`."""

from __future__ import annotations

from pathlib import Path

from mlsched.core.registry import registry

TARGET = Path(__file__).resolve().parents[1] / "docs" / "reference" / "solvers.md"


def table() -> str:
    """The Markdown of the page."""
    lines = [
        "# Solvers",
        "",
        "Everything that answers instances, problem by problem. Parameters follow the name after a colon:",
        "`fitgpp:s=8,P=2`. [Information](glossary.md#information) is what a solver is shown. Another page says",
        "which rules and policies are [better than random actions](../results/against-random.md).",
    ]
    for problem in sorted(registry().problems.values(), key=lambda p: p.name):
        lines += ["", f"## {problem.name}", "", f"{problem.title.capitalize()}. Paper: {problem.paper}.", ""]
        lines += ["| name | kind | information | parameters | what it does | source |", "|---|---|---|---|---|---|"]
        for a in registry().available(problem.name):
            parameters = ", ".join(f"`{p.name}={p.default}`" for p in a.parameters.values())
            lines.append(f"| `{a.name}` | {a.kind} | {a.information} | {parameters} | {a.summary} | {a.paper} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    TARGET.write_text(table(), encoding="utf-8")
