"""Cite this gap: BibTeX of mlsched and of single gaps, each with what somebody needs to find the same number.

An entry of a gap names the instance by its hash, the objective, the value, the proven optimum and what it rests on, and
the commands that draw the instance and answer it again.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from mlsched._version import __version__
from mlsched.benchmark.formats import LATEX
from mlsched.benchmark.reference import references
from mlsched.benchmark.row import Row
from mlsched.benchmark.tasks import JUDGE, PUBLISHED
from mlsched.core.contract import worded
from mlsched.core.files import atomic_write

#: Digits of an instance's hash in an entry's key.
KEY_DIGITS = 12


def software(version: str = __version__) -> str:
    """BibTeX of mlsched itself."""
    return _entry(
        "software",
        f"mlsched-{version}",
        {
            "title": "{mlsched}: {ML}-cluster scheduling questions answered exactly, by published heuristic and by "
            "trained policy",
            "author": "{The mlsched developers}",
            "version": version,
            "year": "2026",
        },
    )


def gaps(rows: Sequence[Row]) -> list[str]:
    """BibTeX of each gap to a proven optimum, of rows that `reference.with_gaps` made; solvers of other code, too."""
    proved = references(rows)
    made = {}
    for row in rows:
        reference = proved.get((row.instance_hash, row.objective))
        if row.gap_to_optimum is None or reference is None or row.kind == "exact" or row.solver in (JUDGE, PUBLISHED):
            continue
        key = f"mlsched-{row.instance_hash[:KEY_DIGITS]}-{row.objective}-{row.solver}-{row.answer_seed}"
        optimum, value = (worded(v, row.primary, row.unit) for v in (reference.value, row.sort_key))
        made[re.sub(r"[^A-Za-z0-9.-]+", "-", key)] = {
            "title": _tex(
                f"Gap of {row.solver} to the optimum of {row.problem}, {row.objective}: {row.gap_to_optimum}"
            ),
            "author": "{The mlsched developers}",
            "year": (row.made or "2026")[:4],
            "note": _tex(
                f"Instance {row.instance_hash}; value {value}, bound {optimum}, {reference.evidence}; mlsched "
                f"{row.versions.get('mlsched', __version__)}"
            ),
            "howpublished": rf"\texttt{{{_tex(' && '.join(commands(row)))}}}",
        }
    return [_entry("misc", key, fields) for key, fields in made.items()]


def commands(row: Row) -> list[str]:
    """The commands that make the row's value again."""
    source, made = row.source, []
    if source is None:
        source = "instance.json"
        preset = [] if row.preset is None else ["--preset", row.preset]
        sizes = [word for name, value in sorted(row.sizes.items()) for word in ("--size", f"{name}={value}")]
        drawn = ["mlsched", "generate", row.problem, *preset, *sizes, "--seed", str(row.seed), "-o", source]
        made.append(shlex.join(drawn))
    options = ["--solver", row.solver, "--objective", row.objective, "--seed", str(row.answer_seed)]
    read = [word for name, value in sorted(row.sizes.items()) for word in ("--read", f"{name}={value}")]
    made.append(shlex.join(["mlsched", "solve", source, *options, *(read if row.source is not None else [])]))
    return made


def write_bibtex(rows: Sequence[Row], path: Path) -> None:
    """Write the entry of mlsched in each version that made rows, and one for each gap."""
    versions = dict.fromkeys(row.versions.get("mlsched", __version__) for row in rows) or {__version__: None}
    with atomic_write(path) as out:
        out.write("\n\n".join([*map(software, versions), *gaps(rows)]) + "\n")


def _entry(kind: str, key: str, fields: dict[str, str]) -> str:
    return f"@{kind}{{{key},\n" + ",\n".join(_lines(fields)) + "\n}"


def _lines(fields: dict[str, str]) -> Iterable[str]:
    return (f"  {name} = {{{value}}}" for name, value in fields.items())


def _tex(text: str) -> str:
    return text.translate(LATEX)
