"""BibTeX of mlsched and of mean gaps, each with the facts that identify the number and the command that makes it again.

An entry names the instances by a hash of their hashes, the objective, the mean gap with its interval, and what the
optima rest on.
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


def mean_gaps(rows: Sequence[Row]) -> dict[tuple[str, str, str, str], str]:
    """BibTeX of each mean gap to proven optima, of rows that `reference.with_gaps` made.

    By problem, preset, objective and solver; exact solvers, the judge and published optima are left out.
    """
    proved, found = references(rows), {}
    keys = group_by(rows, lambda row: (row.problem, row.case, row.objective, row.solver))
    for line in gap_lines(rows, intervals=True):
        key = (line.problem, line.preset, line.objective, line.solver)
        own = [row for row in keys[key] if row.gap_to_optimum is not None]
        if not own or line.kind == "exact" or line.solver in (JUDGE, PUBLISHED) or line.gaps.mean is None:
            continue
        evidence = collections.Counter(proved[row.instance_hash, row.objective].evidence for row in own)
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
        found[key] = _entry("misc", re.sub(r"[^A-Za-z0-9.-]+", "-", name), texts)
    return found


def write_bibtex(rows: Sequence[Row], path: Path) -> None:
    """Write the entry of mlsched in each version that made rows, and one for each mean gap."""
    versions = dict.fromkeys(row.versions.get("mlsched", __version__) for row in rows) or {__version__: None}
    with atomic_write(path) as out:
        out.write("\n\n".join([*map(software, versions), *mean_gaps(rows).values()]) + "\n")


def _entry(kind: str, key: str, fields: dict[str, str]) -> str:
    return f"@{kind}{{{key},\n" + ",\n".join(_lines(fields)) + "\n}"


def _lines(fields: dict[str, str]) -> Iterable[str]:
    return (f"  {name} = {{{value}}}" for name, value in fields.items())
