"""Write the tables of docs/reference/log-columns.md from the readers of logs: `python tools/make_columns.py`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from mlsched.instances.traces import columns, nodes

TARGET = Path(__file__).resolve().parents[1] / "docs" / "reference" / "log-columns.md"


def table(names: Mapping[str, tuple[str, ...]]) -> str:
    """Return the fields with the usual names of their columns, as Markdown."""
    rows = [f"| `{field}` | {', '.join(f'`{name}`' for name in known)} |\n" for field, known in names.items()]
    return "| Field | Usual names |\n|---|---|\n" + "".join(rows)


def page() -> str:
    """Return the page with tables of today's names."""
    text = TARGET.read_text(encoding="utf-8")
    for title, names in (("logs", columns.NAMES), ("node lists", nodes.NAMES)):
        block = f"<!-- names of {title} -->\n{table(names)}<!-- end -->"
        text = re.sub(rf"<!-- names of {title} -->\n.*?<!-- end -->", lambda _, b=block: b, text, flags=re.DOTALL)
    return text


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
