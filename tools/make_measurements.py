"""Write the index measurements/README.md: `python tools/make_measurements.py`.

A row is a script: what it measures (the first sentence of its docstring), the CPU minutes of its recorded command, and
the recorded results with the pages that show them. The minutes stand in the index alone and are kept; a script that is
new there gets "-", until somebody enters what it takes.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "measurements" / "README.md"
ROW = re.compile(r"^\| \[(?P<script>\w+\.py)\]\([^)]*\) \| .* \| (?P<minutes>[^|]*) \| [^|]* \|$", re.MULTILINE)
HEAD = """# Measurements

The scripts behind the numbers of the documentation: `python measurements/NAME.py`, from the repository; `--help` and
the docstring say what each takes and prints. What a page shows is recorded in `docs/results/` by `tools/results.py`,
and a test holds the page against it. Minutes are CPU minutes of one core for the recorded command (of several, the
longest), to the tenth; "more than" is said of a run that was stopped there; "-": not measured, since it needs
trainings, other solvers, or a limit that the caller sets. Files that begin with an underscore are parts of others. This
page is made by `tools/make_measurements.py`; the minutes alone are entered by hand.

| script | what it measures | CPU minutes | recorded results |
|---|---|---|---|
"""


def scripts() -> list[Path]:
    """The measurements, in the order of their names."""
    return sorted(path for path in (ROOT / "measurements").glob("*.py") if not path.name.startswith("_"))


def recorded() -> dict[str, list[str]]:
    """Script -> the names of the recorded results that it printed."""
    results: dict[str, list[str]] = {}
    for path in sorted((ROOT / "docs" / "results").glob("*.json")):
        words = shlex.split(json.loads(path.read_text(encoding="utf-8"))["command"])
        if words[0] == "python":
            results.setdefault(Path(words[1]).name, []).append(path.stem)
    return results


def shown() -> dict[str, list[Path]]:
    """Recorded result -> the pages with a table of it."""
    pages: dict[str, list[Path]] = {}
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for name in sorted(set(re.findall(r"<!-- table ([\w-]+)\.", page.read_text(encoding="utf-8")))):
            pages.setdefault(name, []).append(page)
    return pages


def minutes() -> dict[str, str]:
    """Script -> its minutes as the index has them."""
    if not TARGET.exists():
        return {}
    return {row["script"]: row["minutes"] for row in ROW.finditer(TARGET.read_text(encoding="utf-8"))}


def index() -> str:
    """The Markdown of the index."""
    results, pages, known = recorded(), shown(), minutes()
    lines = []
    for path in scripts():
        what = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]
        of = [f"`{name}`{_links(pages.get(name, []))}" for name in results.get(path.name, [])]
        cells = [f"[{path.name}]({path.name})", what.replace("|", r"\|"), known.get(path.name, "-"), ", ".join(of)]
        lines.append(f"| {' | '.join(cells)} |\n")
    return HEAD + "".join(lines)


def _links(pages: list[Path]) -> str:
    links = [f"[{page.name}](../{page.relative_to(ROOT).as_posix()})" for page in pages]
    return f" ({', '.join(links)})" if links else ""


if __name__ == "__main__":
    TARGET.write_text(index(), encoding="utf-8")
