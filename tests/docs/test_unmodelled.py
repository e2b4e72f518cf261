"""The page of the schedulers' rules has the readers' tables of fields that the model leaves out."""

from __future__ import annotations

from pathlib import Path

from mlsched_admission.instances.states.unmodelled import TABLES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "problems" / "admission-rules.md"
NAMES = {
    "kueue": "Kueue", "kubernetes": "Kubernetes", "kai": "KAI", "gangs": "Groups of pods", "slurm": "Slurm",
}  # fmt: skip


def tables() -> str:
    parts = []
    for key, rows in TABLES.items():
        lines = [f"| {row.kind} | `{'.'.join(row.path)}` | {row.feature} |" for row in rows]
        parts += [f"### {NAMES[key]}", "", "| object | field | feature |", "| --- | --- | --- |", *lines, ""]
    return "\n".join(parts).strip()


def test_the_page_has_the_tables_of_the_readers():
    text = PAGE.read_text()
    written = text.partition("<!-- unmodelled -->")[2].partition("<!-- end -->")[0].strip()
    assert written == tables()
