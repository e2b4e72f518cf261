"""BibTeX of mlsched and of mean gaps, with the facts that identify a number and the command that reproduces it.

An entry names the instances by a hash of their hashes, the objective, the mean gap with its interval, and the evidence
of the optima.
"""

from __future__ import annotations

import collections
import hashlib
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from mlsched._version import __version__
from mlsched.benchmark.formats import latex_text, with_interval
from mlsched.benchmark.reference import references
from mlsched.benchmark.row import Row
from mlsched.benchmark.table import gap_lines, group_by
from mlsched.benchmark.tasks import JUDGE, PUBLISHED
from mlsched.core.brief import count_of
from mlsched.core.files import atomic_write

#: Digits of the hash of instances.
KEY_DIGITS = 12


def software_entry(version: str = __version__) -> str:
    """Return the BibTeX entry of mlsched."""
    return _bibtex_entry(
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


def mean_gap_entries(rows: Sequence[Row]) -> dict[tuple[str, str, str, str], str]:
    """Return the BibTeX entry of each mean gap to proven optima, for rows from `reference.with_gaps`.

    Keys are problem, preset, objective and solver. Exact solvers, the judge and published optima are omitted.
    """
    optima, entries = references(rows), {}
    keys = group_by(rows, lambda row: (row.problem, row.case, row.objective, row.solver))
    for line in gap_lines(rows, intervals=True):
        key = (line.problem, line.preset, line.objective, line.solver)
        own = [row for row in keys[key] if row.gap_to_optimum is not None]
        if not own or line.kind == "exact" or line.solver in (JUDGE, PUBLISHED) or line.gaps.mean is None:
            continue
        evidence = collections.Counter(optima[row.instance_hash, row.objective].evidence for row in own)
        digest = hashlib.sha256("".join(sorted(row.instance_hash for row in own)).encode()).hexdigest()[:KEY_DIGITS]
        first = own[0]
        instances = f"{line.problem} {line.preset}, {count_of(len(own), 'instance')}, hash {digest}"
        command = shlex.join(["mlsched", "bench", first.suite, "--solver", line.solver])
        versions = ", ".join(dict.fromkeys(row.versions.get("mlsched", __version__) for row in own))
        fields = {
            "title": f"Mean gap of {line.solver} to the optimum of {line.problem} {line.preset}, {line.objective}: "
            f"{with_interval(line.gaps.mean, line.interval)}",
            "author": "{The mlsched developers}",
            "year": (first.made or "2026")[:4],
            "note": f"{instances}; optima: {', '.join(f'{n} {name}' for name, n in evidence.items())}; "
            f"mlsched {versions}",
            "howpublished": rf"\texttt{{{latex_text(command)}}}",
        }
        name = f"mlsched-{digest}-{line.objective}-{line.solver}"
        texts = {k: latex_text(v) if k in ("title", "note") else v for k, v in fields.items()}
        entries[key] = _bibtex_entry("misc", re.sub(r"[^A-Za-z0-9.-]+", "-", name), texts)
    return entries


def write_bibtex(rows: Sequence[Row], path: Path) -> None:
    """Write the entry of mlsched in each version that computed rows, and one per mean gap."""
    versions = dict.fromkeys(row.versions.get("mlsched", __version__) for row in rows) or {__version__: None}
    with atomic_write(path) as out:
        out.write("\n\n".join([*map(software_entry, versions), *mean_gap_entries(rows).values()]) + "\n")


def _bibtex_entry(kind: str, key: str, fields: dict[str, str]) -> str:
    return f"@{kind}{{{key},\n" + ",\n".join(_field_lines(fields)) + "\n}"


def _field_lines(fields: dict[str, str]) -> Iterable[str]:
    return (f"  {name} = {{{value}}}" for name, value in fields.items())
